// A feature map phi (src/layer/feature/mod.rs) of rows of keys or queries: one workgroup a (row, head).
//
// Constants: GROUP, DK, D (features), MAP (0 elu1, 1 relu, 2 hedgehog, 3 taylor2, 4 favor), HALF (Hedgehog: D / 2, else 1),
// LEARNED (Hedgehog: weights are given).

// [heads, total rows, DK].
@group(0) @binding(0) var<storage, read> rows: array<f32>;
// Hedgehog: [heads or 1, DK, HALF]. FAVOR+: [D, DK]. Else not looked at.
@group(0) @binding(1) var<storage, read> weights: array<f32>;
// [heads, rows of this dispatch, D].
@group(0) @binding(2) var<storage, read_write> features: array<f32>;

struct Step {
    total: u32,
    first: u32,
    count: u32,
    weights_stride: u32,    // numbers from one head's weights to the next; 0 where all share them
    beta: f32,
    sharpness: f32,
}
var<immediate> step: Step;

var<workgroup> x: array<f32, DK>;
var<workgroup> z: array<f32, HALF>;
var<workgroup> ends: array<vec2<f32>, GROUP>;

// Softmax of z and of -z, both with the largest exponent taken out.
fn hedgehog(lane: u32, head: u32, at: u32) {
    var top = vec2(LOWEST);
    for (var j = lane; j < HALF; j += GROUP) {
        var sum = 0.0;
        if LEARNED {
            for (var d = 0u; d < DK; d++) {
                sum += x[d] * weights[head * step.weights_stride + d * HALF + j];
            }
        } else {
            sum = step.sharpness * x[j];
        }
        z[j] = sum;
        top = max(top, vec2(sum, -sum));
    }
    ends[lane] = top;
    workgroupBarrier();
    for (var i = 0u; i < GROUP; i++) {
        top = max(top, ends[i]);
    }
    workgroupBarrier();
    var part = vec2(0.0);
    for (var j = lane; j < HALF; j += GROUP) {
        part += exp(vec2(z[j], -z[j]) - top);
    }
    ends[lane] = part;
    workgroupBarrier();
    var whole = vec2(0.0);
    for (var i = 0u; i < GROUP; i++) {
        whole += ends[i];
    }
    for (var j = lane; j < HALF; j += GROUP) {
        let e = exp(vec2(z[j], -z[j]) - top) / whole;
        features[at + j] = e.x;
        features[at + HALF + j] = e.y;
    }
}

@compute @workgroup_size(GROUP)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
    let head = group.z;
    let row = (head * step.total + step.first + group.x) * DK;
    let at = (head * step.count + group.x) * D;
    for (var d = lane; d < DK; d += GROUP) {
        x[d] = rows[row + d];
    }
    workgroupBarrier();
    if MAP == 2u {
        hedgehog(lane, head, at);
        return;
    }
    var square = 0.0;
    if MAP == 4u {
        for (var d = 0u; d < DK; d++) {
            square += x[d] * x[d];
        }
    }
    for (var j = lane; j < D; j += GROUP) {
        var phi = 0.0;
        if MAP == 0u {
            phi = select(exp(min(x[j], 0.0)), x[j] + 1.0, x[j] > 0.0);
        } else if MAP == 1u {
            phi = max(x[j], 0.0);
        } else if MAP == 3u {
            if j == 0u {
                phi = 1.0;
            } else if j <= DK {
                phi = sqrt(step.beta) * x[j - 1u];
            } else {
                let pair = j - 1u - DK;
                phi = step.beta * 0.70710678 * (x[pair / DK] * x[pair % DK]);
            }
        } else {
            for (var d = 0u; d < DK; d++) {
                phi += weights[j * DK + d] * x[d];
            }
            phi = exp(sqrt(step.beta) * phi - 0.5 * step.beta * square) / sqrt(f32(D));
        }
        features[at + j] = phi;
    }
}
