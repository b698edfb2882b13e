// The stream's rows, four numbers at a time: dk and dv are multiples of 4.
@group(0) @binding(0) var<storage, read> keys: array<vec4<f32>>;
@group(0) @binding(1) var<storage, read> values: array<vec4<f32>>;
@group(0) @binding(2) var<storage, read> queries: array<vec4<f32>>;

fn key4(row: u32, column: u32) -> vec4<f32> {
    return keys[row * DK4 + column];
}

fn value4(row: u32, column: u32) -> vec4<f32> {
    return values[row * DV4 + column];
}

fn query4(row: u32, column: u32) -> vec4<f32> {
    return queries[row * DK4 + column];
}
