// Sums the slices of `read.wgsl` and divides: phi(q)^T H / (phi(q)^T s + EPSILON). One thread a number: the outputs, and what each read
// is divided by.
//
// Constants: GROUP, DV, SLICES, EPSILON, OF_MEAN: it is added to the mean over the writes seen, t times as much in the sum.

// [query heads * reads of the batch, SLICES, DV + 1]: numerator, normaliser.
@group(0) @binding(0) var<storage, read> parts: array<f32>;
// [query heads * reads of the batch, DV + 1]: outputs, then phi(q)^T s.
@group(0) @binding(1) var<storage, read_write> outputs: array<f32>;

// Of every read, the writes that it sees.
@group(0) @binding(2) var<storage, read> after: array<u32>;

struct Step {
    rows: u32,             // query heads x reads of the batch
    batch_first_read: u32,
    batch_reads: u32,
}
var<immediate> step: Step;

@compute @workgroup_size(GROUP)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let index = flat_group(group, groups) * GROUP + lane;
    if index >= step.rows * (DV + 1u) {
        return;
    }
    let row = index / (DV + 1u);
    let column = index % (DV + 1u);
    var numerator = 0.0;
    var normaliser = 0.0;
    for (var s = 0u; s < SLICES; s++) {
        let at = (row * SLICES + s) * (DV + 1u);
        numerator += parts[at + column];
        normaliser += parts[at + DV];
    }
    var epsilon = EPSILON;
    if OF_MEAN {
        epsilon *= f32(after[step.batch_first_read + row % step.batch_reads]);
    }
    outputs[index] = select(numerator / (normaliser + epsilon), normaliser, column == DV);
}
