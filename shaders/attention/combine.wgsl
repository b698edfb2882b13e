// Joins the spans of `tile.wgsl`: one workgroup a (read, query head), a thread a column.
//
// Constants: GROUP, DV, SPAN.

// [heads, reads, spans, DV + 2]: numerator, normaliser, largest logit. Only spans that the read sees are written.
@group(0) @binding(0) var<storage, read> partial: array<f32>;
@group(0) @binding(1) var<storage, read> after: array<u32>;
// [heads, reads, DV].
@group(0) @binding(2) var<storage, read_write> outputs: array<f32>;

struct Step {
    first_read: u32,
    batch_reads: u32,
    window: u32,
    first_span: u32,
    spans: u32,
}
var<immediate> step: Step;

@compute @workgroup_size(GROUP)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let read = group.x;
    let head = group.z;
    let a = after[step.first_read + read];
    let first = (a - min(a, step.window)) / SPAN - step.first_span;
    let last = (a - 1u) / SPAN - step.first_span;
    let rows = (head * step.batch_reads + read) * step.spans;
    var top = LOWEST;
    for (var s = first; s <= last; s++) {
        top = max(top, partial[(rows + s) * (DV + 2u) + DV + 1u]);
    }
    for (var column = lane; column < DV; column += GROUP) {
        var numerator = 0.0;
        var normaliser = 0.0;
        for (var s = first; s <= last; s++) {
            let row = (rows + s) * (DV + 2u);
            let factor = exp(partial[row + DV + 1u] - top);
            numerator += factor * partial[row + column];
            normaliser += factor * partial[row + DV];
        }
        outputs[(head * step.batch_reads + read) * DV + column] = numerator / normaliser;
    }
}
