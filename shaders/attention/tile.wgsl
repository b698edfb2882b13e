// Softmax attention of QT reads of one query head over one span of the keys: the partial sums, relative to the span's
// largest logit. One workgroup a (tile of reads, span, head); `combine.wgsl` joins the spans.
//
// Spans and key tiles lie at fixed places of the stream, and every read's numbers go through the same operations in the
// same order whatever its place in the tile: an answer does not depend on the reads beside it.
//
// Constants: GROUP (threads, and keys in a tile), QT, DK, DV, COLUMNS = ceil(DV / GROUP), SPAN (keys, a multiple of GROUP).

@group(0) @binding(0) var<storage, read> keys: array<f32>;
@group(0) @binding(1) var<storage, read> values: array<f32>;
@group(0) @binding(2) var<storage, read> queries: array<f32>;
@group(0) @binding(3) var<storage, read> after: array<u32>;
// [heads, reads, spans, DV + 2]: numerator, normaliser, largest logit.
@group(0) @binding(4) var<storage, read_write> partial: array<f32>;

struct Step {
    first_read: u32,    // of this batch
    batch_reads: u32,
    reads: u32,         // R
    writes: u32,        // T
    window: u32,
    first_span: u32,
    spans: u32,
    heads_per_key: u32,
    beta: f32,
}
var<immediate> step: Step;

var<workgroup> q: array<f32, QT * DK>;
var<workgroup> weight: array<f32, QT * GROUP>;
var<workgroup> largest: array<f32, QT>;
var<workgroup> factor: array<f32, QT>;
var<workgroup> normaliser: array<f32, QT>;
var<workgroup> low: array<u32, QT>;
var<workgroup> high: array<u32, QT>;

@compute @workgroup_size(GROUP)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
    let head = group.z;
    let kv = head / step.heads_per_key;
    let tile = group.x * QT;
    let span = (step.first_span + group.y) * SPAN;
    if lane < QT {
        // A read past the batch's end sees nothing.
        var start = 0u;
        var end = 0u;
        if tile + lane < step.batch_reads {
            let a = after[step.first_read + tile + lane];
            start = max(a - min(a, step.window), span);
            end = max(min(a, span + SPAN), start);
        }
        low[lane] = start;
        high[lane] = end;
        largest[lane] = LOWEST;
        normaliser[lane] = 0.0;
    }
    for (var i = lane; i < QT * DK; i += GROUP) {
        let read = min(tile + i / DK, step.batch_reads - 1u);
        q[i] = queries[(head * step.reads + step.first_read + read) * DK + i % DK];
    }
    workgroupBarrier();

    var numerator: array<array<f32, COLUMNS>, QT>;
    for (var start = span; start < min(span + SPAN, step.writes); start += GROUP) {
        // Logits: a thread a key.
        let key = start + lane;
        var logit: array<f32, QT>;
        if key < step.writes {
            let row = (kv * step.writes + key) * DK;
            for (var d = 0u; d < DK; d++) {
                let k = keys[row + d];
                for (var r = 0u; r < QT; r++) {
                    logit[r] += q[r * DK + d] * k;
                }
            }
        }
        for (var r = 0u; r < QT; r++) {
            weight[r * GROUP + lane] = select(LOWEST, step.beta * logit[r], key >= low[r] && key < high[r]);
        }
        workgroupBarrier();
        // The largest so far: a thread a read.
        if lane < QT {
            var top = largest[lane];
            for (var i = 0u; i < GROUP; i++) {
                top = max(top, weight[lane * GROUP + i]);
            }
            // Before the first key seen both are LOWEST: the factor is 1, and what it scales is 0.
            factor[lane] = exp(largest[lane] - top);
            largest[lane] = top;
        }
        workgroupBarrier();
        // Weights; 0 for what is not seen, chosen, not multiplied.
        for (var r = 0u; r < QT; r++) {
            let w = exp(weight[r * GROUP + lane] - largest[r]);
            weight[r * GROUP + lane] = select(0.0, w, key >= low[r] && key < high[r]);
        }
        workgroupBarrier();
        if lane < QT {
            var sum = 0.0;
            for (var i = 0u; i < GROUP; i++) {
                sum += weight[lane * GROUP + i];
            }
            normaliser[lane] = normaliser[lane] * factor[lane] + sum;
        }
        // Numerators: a thread a column.
        for (var c = 0u; c < COLUMNS; c++) {
            let column = c * GROUP + lane;
            if column < DV {
                for (var r = 0u; r < QT; r++) {
                    numerator[r][c] *= factor[r];
                }
                let keys_here = min(GROUP, step.writes - start);
                for (var i = 0u; i < keys_here; i++) {
                    let v = values[(kv * step.writes + start + i) * DV + column];
                    for (var r = 0u; r < QT; r++) {
                        numerator[r][c] += weight[r * GROUP + i] * v;
                    }
                }
            }
        }
        workgroupBarrier();
    }

    for (var r = 0u; r < QT; r++) {
        if high[r] > low[r] {
            let row = ((head * step.batch_reads + tile + r) * step.spans + group.y) * (DV + 2u);
            for (var c = 0u; c < COLUMNS; c++) {
                let column = c * GROUP + lane;
                if column < DV {
                    partial[row + column] = numerator[r][c];
                }
            }
            if lane == 0u {
                partial[row + DV] = normaliser[r];
                partial[row + DV + 1u] = largest[r];
            }
        }
    }
}
