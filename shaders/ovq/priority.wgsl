// Random founding: the priority of a write, as in src/layer/ovq/founding.rs. Whole numbers below 2^24, exact in float32.

// The last step of MurmurHash3 (32 bits).
fn scramble(start: u32) -> u32 {
    var x = start;
    x ^= x >> 16u;
    x *= 0x85ebca6bu;
    x ^= x >> 13u;
    x *= 0xc2b2ae35u;
    return x ^ (x >> 16u);
}

fn priority(head: u32, write: u32) -> f32 {
    let seed = scramble(scramble(SEED_LOW ^ 0x9e3779b9u) ^ SEED_HIGH);
    return f32(scramble(scramble(seed ^ head) ^ write) >> 8u);
}
