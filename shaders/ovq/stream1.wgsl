// The stream's rows, four numbers at a time, zeros beyond dk and dv: these need not be multiples of 4.
@group(0) @binding(0) var<storage, read> keys: array<f32>;
@group(0) @binding(1) var<storage, read> values: array<f32>;
@group(0) @binding(2) var<storage, read> queries: array<f32>;

fn key4(row: u32, column: u32) -> vec4<f32> {
    var x = vec4<f32>();
    for (var i = 0u; i < 4u && column * 4u + i < DK; i++) {
        x[i] = keys[row * DK + column * 4u + i];
    }
    return x;
}

fn value4(row: u32, column: u32) -> vec4<f32> {
    var x = vec4<f32>();
    for (var i = 0u; i < 4u && column * 4u + i < DV; i++) {
        x[i] = values[row * DV + column * 4u + i];
    }
    return x;
}

fn query4(row: u32, column: u32) -> vec4<f32> {
    var x = vec4<f32>();
    for (var i = 0u; i < 4u && column * 4u + i < DK; i++) {
        x[i] = queries[row * DK + column * 4u + i];
    }
    return x;
}
