// H += phi(k) v^T and s += phi(k) over the folded pairs, in the order of their ids. A workgroup owns 16 x 16 numbers of H,
// a thread 4 of them; the workgroups of the first columns own s as well. Nobody else writes there: no atomics.
@group(0) @binding(0) var<storage, read> keys: array<f32>;
@group(0) @binding(1) var<storage, read> values: array<f32>;
@group(0) @binding(2) var<storage, read> folded: array<u32>;
@group(0) @binding(3) var<storage, read> features: array<f32>;
@group(0) @binding(4) var<storage, read_write> state: array<f32>;

const SIDE: u32 = 16u;
const STATE_STRIDE: u32 = D * (DV + 1u);

var<workgroup> phi_tile: array<f32, 256>;
var<workgroup> value_tile: array<f32, 256>;

// Feature `j` of the folded pair number `i`, write `id`. The many features of taylor2 are made here, from two numbers each.
fn feature(head: u32, i: u32, id: u32, j: u32) -> f32 {
    if MAP != 3u {
        return features[(head * step.fold_stride + i) * D + j];
    }
    let key = (head * step.writes + id) * DK;
    if j == 0u {
        return 1.0;
    }
    if j <= DK {
        return step.first_order * keys[key + j - 1u];
    }
    let pair = j - 1u - DK;
    return step.second_order * (keys[key + pair / DK] * keys[key + pair % DK]);
}

@compute @workgroup_size(64)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
    let head = group.z;
    let columns = group.x * SIDE;
    let first = group.y * SIDE;
    let d = lane / 4u;
    let e = (lane % 4u) * 4u;
    let h = head * STATE_STRIDE;
    // The chunk is summed on its own, then added: a long stream loses less than by adding each pair to a large number.
    var sum: array<f32, 4>;
    let owns_s = group.x == 0u && lane < SIDE && first + lane < D;
    var whole = 0.0;
    for (var base = 0u; base < step.folded; base += SIDE) {
        for (var t = lane; t < SIDE * SIDE; t += 64u) {
            let i = base + t / SIDE;
            let c = t % SIDE;
            var p = 0.0;
            var v = 0.0;
            if i < step.folded {
                let id = folded[head * step.fold_stride + i];
                // Nothing is in a place that a hand has emptied.
                if id < step.writes && first + c < D {
                    p = feature(head, i, id, first + c);
                }
                if id < step.writes && columns + c < DV {
                    v = values[(head * step.writes + id) * DV + columns + c];
                }
            }
            phi_tile[t] = p;
            value_tile[t] = v;
        }
        workgroupBarrier();
        let count = min(SIDE, step.folded - base);
        for (var i = 0u; i < count; i++) {
            let p = phi_tile[i * SIDE + d];
            for (var c = 0u; c < 4u; c++) {
                sum[c] += p * value_tile[i * SIDE + e + c];
            }
        }
        if owns_s {
            for (var i = 0u; i < count; i++) {
                whole += phi_tile[i * SIDE + lane];
            }
        }
        workgroupBarrier();
    }
    for (var c = 0u; c < 4u; c++) {
        if first + d < D && columns + e + c < DV {
            state[h + (first + d) * DV + columns + e + c] += sum[c];
        }
    }
    if owns_s {
        state[h + D * DV + first + lane] += whole;
    }
}
