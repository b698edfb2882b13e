// The keys under which a chunk's own writes are attended to: as they are.
fn own_key4(row: u32, column: u32) -> vec4<f32> {
    return key4(row, column);
}
