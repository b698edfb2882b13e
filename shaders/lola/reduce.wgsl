// Sums and maxima over a workgroup, of four rows at once, by a tree whose shape never changes: the same bits every time.
var<workgroup> scratch: array<vec4<f32>, GROUP>;

fn reduce_max(lane: u32, x: vec4<f32>) -> vec4<f32> {
    scratch[lane] = x;
    workgroupBarrier();
    for (var half = GROUP / 2u; half > 0u; half /= 2u) {
        if lane < half {
            scratch[lane] = max(scratch[lane], scratch[lane + half]);
        }
        workgroupBarrier();
    }
    let result = scratch[0];
    workgroupBarrier();
    return result;
}

fn reduce_sum(lane: u32, x: vec4<f32>) -> vec4<f32> {
    scratch[lane] = x;
    workgroupBarrier();
    for (var half = GROUP / 2u; half > 0u; half /= 2u) {
        if lane < half {
            scratch[lane] += scratch[lane + half];
        }
        workgroupBarrier();
    }
    let result = scratch[0];
    workgroupBarrier();
    return result;
}
