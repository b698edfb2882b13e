// Reads of linear attention: phi(q)^T H / (phi(q)^T s + EPSILON), where H and s are the state before the block of writes,
// plus the block's own writes before `after`. One workgroup a (read, query head).
//
// Constants: GROUP, D, DV, BLOCK (the most writes in a block), EPSILON.

// [query heads, reads of the batch, D].
@group(0) @binding(0) var<storage, read> query_features: array<f32>;
// [key/value heads, writes of the batch, D].
@group(0) @binding(1) var<storage, read> key_features: array<f32>;
// [key/value heads, T, DV].
@group(0) @binding(2) var<storage, read> values: array<f32>;
@group(0) @binding(3) var<storage, read> after: array<u32>;
// [key/value heads, D, DV] and [key/value heads, D].
@group(0) @binding(4) var<storage, read> state: array<f32>;
@group(0) @binding(5) var<storage, read> normaliser: array<f32>;
// [query heads, reads of the batch, DV].
@group(0) @binding(6) var<storage, read_write> outputs: array<f32>;

struct Step {
    batch_first_read: u32,
    batch_reads: u32,
    first_read: u32,        // of this block
    batch_first_write: u32,
    batch_writes: u32,
    first_write: u32,       // of this block
    writes: u32,            // T
    heads_per_key: u32,
}
var<immediate> step: Step;

var<workgroup> weight: array<f32, BLOCK>;
var<workgroup> part: array<f32, GROUP>;

@compute @workgroup_size(GROUP)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
    let head = group.z;
    let kv = head / step.heads_per_key;
    let read = step.first_read + group.x;
    let row = head * step.batch_reads + read - step.batch_first_read;
    let seen = after[read] - step.first_write;
    let own = kv * step.batch_writes + step.first_write - step.batch_first_write;
    var sum = 0.0;
    for (var i = lane; i < seen; i += GROUP) {
        var w = 0.0;
        for (var j = 0u; j < D; j++) {
            w += query_features[row * D + j] * key_features[(own + i) * D + j];
        }
        weight[i] = w;
        sum += w;
    }
    for (var j = lane; j < D; j += GROUP) {
        sum += query_features[row * D + j] * normaliser[kv * D + j];
    }
    part[lane] = sum;
    workgroupBarrier();
    var whole = 0.0;
    for (var i = 0u; i < GROUP; i++) {
        whole += part[i];
    }
    whole += EPSILON;
    for (var column = lane; column < DV; column += GROUP) {
        var numerator = 0.0;
        for (var j = 0u; j < D; j++) {
            numerator += query_features[row * D + j] * state[(kv * D + j) * DV + column];
        }
        for (var i = 0u; i < seen; i++) {
            numerator += weight[i] * values[(kv * step.writes + step.first_write + i) * DV + column];
        }
        outputs[row * DV + column] = numerator / whole;
    }
}
