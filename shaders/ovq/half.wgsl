// The half float nearest to a whole number below 2^24, of two the one whose last bit is 0; at most 65504, the largest: the twin of
// src/layer/ovq/counting.rs. Written with whole numbers: not every adapter has half floats.
fn half_of(count: u32) -> u32 {
    if count <= 2048u {
        return count;
    }
    // A half float has 11 bits: those below are rounded away.
    let lost = firstLeadingBit(count) - 10u;
    let whole = count >> lost;
    let rest = count & ((1u << lost) - 1u);
    let middle = 1u << (lost - 1u);
    let up = rest > middle || (rest == middle && (whole & 1u) == 1u);
    return min((whole + select(0u, 1u, up)) << lost, 65504u);
}
