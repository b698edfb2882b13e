// The keys under which a chunk's own writes are attended to: those of the codes that stand for them (VQ attention).
@group(0) @binding(9) var<storage, read> codes: array<u32>;

fn own_key4(row: u32, column: u32) -> vec4<f32> {
    return dict_k[((row / WRITES) * CAPACITY + codes[row]) * DK4 + column];
}
