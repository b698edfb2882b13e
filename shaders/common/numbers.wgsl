// Numbers at the edges. WGSL lets compilers assume that there is no NaN, so `x != x` is no test for one: look at the bits.
const LOWEST: f32 = -3.4028234e38;
const NAN_BITS: u32 = 0x7fc00000u;

fn is_nan(x: f32) -> bool {
    return (bitcast<u32>(x) & 0x7fffffffu) > 0x7f800000u;
}
