// Reads of linear attention over one slice of the features: parts of phi(q)^T H and phi(q)^T s, where H and s are the state
// before the block of writes, plus the block's own writes before `after`. All of it is a sum over features, so slices are
// summed by `combine.wgsl`. One workgroup a (read, slice, query head).
//
// Constants: GROUP, D, DV, SLICE (features in a slice), SLICES, BLOCK (the most writes in a block).

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
// [query heads, reads of the batch, SLICES, DV + 1]: numerator, normaliser.
@group(0) @binding(6) var<storage, read_write> parts: array<f32>;

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

var<workgroup> phi: array<f32, SLICE>;
var<workgroup> weight: array<f32, BLOCK>;
var<workgroup> part: array<f32, GROUP>;

@compute @workgroup_size(GROUP)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
    let head = group.z;
    let kv = head / step.heads_per_key;
    let read = step.first_read + group.x;
    let row = head * step.batch_reads + read - step.batch_first_read;
    let first = group.y * SLICE;
    let count = min(SLICE, D - first);
    let seen = after[read] - step.first_write;
    let own = kv * step.batch_writes + step.first_write - step.batch_first_write;
    var sum = 0.0;
    for (var j = lane; j < count; j += GROUP) {
        let x = query_features[row * D + first + j];
        phi[j] = x;
        sum += x * normaliser[kv * D + first + j];
    }
    workgroupBarrier();
    for (var i = lane; i < seen; i += GROUP) {
        var w = 0.0;
        for (var j = 0u; j < count; j++) {
            w += phi[j] * key_features[(own + i) * D + first + j];
        }
        weight[i] = w;
        sum += w;
    }
    part[lane] = sum;
    workgroupBarrier();
    let at = (row * SLICES + group.y) * (DV + 1u);
    if lane == 0u {
        var whole = 0.0;
        for (var i = 0u; i < GROUP; i++) {
            whole += part[i];
        }
        parts[at + DV] = whole;
    }
    for (var column = lane; column < DV; column += GROUP) {
        var numerator = 0.0;
        for (var j = 0u; j < count; j++) {
            numerator += phi[j] * state[(kv * D + first + j) * DV + column];
        }
        for (var i = 0u; i < seen; i++) {
            numerator += weight[i] * values[(kv * step.writes + step.first_write + i) * DV + column];
        }
        parts[at + column] = numerator;
    }
}
