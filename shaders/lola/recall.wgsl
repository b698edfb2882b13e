// phi^T H and phi^T s of the four vectors in `rows`. `state` is, for each key/value head, H [D, DV] and then s [D].
// A thread owns SLOTS columns of the values, COLUMNS apart; where there are fewer columns than threads, PARTS threads share
// each column and their sums are put together by `combine`.
const STATE_STRIDE: u32 = D * (DV + 1u);
const COLUMNS: u32 = GROUP / PARTS;

var<workgroup> tile: array<vec4<f32>, GROUP>;

// Adds this thread's part of phi^T H to `sums`, and returns phi^T s.
fn recall(lane: u32, head: u32, sums: ptr<function, array<vec4<f32>, SLOTS>>) -> vec4<f32> {
    let h = head * STATE_STRIDE;
    let s = h + D * DV;
    let column = lane % COLUMNS;
    let part = lane / COLUMNS;
    var whole = vec4<f32>(0.0);
    for (var base = 0u; base < D; base += GROUP) {
        let j = base + lane;
        if j < D {
            let feature = phi(j);
            tile[lane] = feature;
            whole += feature * state[s + j];
        }
        workgroupBarrier();
        let count = min(GROUP, D - base);
        for (var slot = 0u; slot < SLOTS; slot++) {
            let e = column + slot * COLUMNS;
            if e < DV {
                var sum = vec4<f32>(0.0);
                for (var d = part; d < count; d += PARTS) {
                    sum += tile[d] * state[h + (base + d) * DV + e];
                }
                (*sums)[slot] += sum;
            }
        }
        workgroupBarrier();
    }
    return reduce_sum(lane, whole);
}

// The sum over the threads that share a column; complete in the first COLUMNS threads.
fn combine(lane: u32, x: vec4<f32>) -> vec4<f32> {
    if PARTS == 1u {
        return x;
    }
    scratch[lane] = x;
    workgroupBarrier();
    var sum = vec4<f32>(0.0);
    if lane < COLUMNS {
        for (var part = 0u; part < PARTS; part++) {
            sum += scratch[part * COLUMNS + lane];
        }
    }
    workgroupBarrier();
    return sum;
}
