// A block of writes enters the state of linear attention: H += sum phi(k) v^T, s += sum phi(k). One thread a number of the
// state, so that no order of additions is left to chance. The block is summed first: fewer roundings of a large number.
//
// Constants: GROUP, D, DV.

// [heads, writes of the batch, D].
@group(0) @binding(0) var<storage, read> key_features: array<f32>;
// [heads, T, DV].
@group(0) @binding(1) var<storage, read> values: array<f32>;
@group(0) @binding(2) var<storage, read_write> state: array<f32>;
@group(0) @binding(3) var<storage, read_write> normaliser: array<f32>;

struct Step {
    heads: u32,
    batch_first_write: u32,
    batch_writes: u32,
    first_write: u32,   // of this block
    block_writes: u32,
    writes: u32,        // T
}
var<immediate> step: Step;

@compute @workgroup_size(GROUP)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let index = flat_group(group, groups) * GROUP + lane;
    if index >= step.heads * D * (DV + 1u) {
        return;
    }
    let row = index / (DV + 1u);
    let column = index % (DV + 1u);
    let head = row / D;
    let j = row % D;
    let feature = (head * step.batch_writes + step.first_write - step.batch_first_write) * D + j;
    let value = (head * step.writes + step.first_write) * DV + column;
    var sum = 0.0;
    if column == DV {
        for (var i = 0u; i < step.block_writes; i++) {
            sum += key_features[feature + i * D];
        }
        normaliser[row] += sum;
    } else {
        for (var i = 0u; i < step.block_writes; i++) {
            sum += key_features[feature + i * D] * values[value + i * DV];
        }
        state[row * DV + column] += sum;
    }
}
