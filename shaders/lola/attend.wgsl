// Adds to each pair that is kept whole the weight that it has in the normalisers of some reads of one query head of its group.
// A thread owns a pair, reads come in their order, and dispatches follow each other: one order of additions, no atomics.
@group(0) @binding(0) var<storage, read> keys: array<f32>;
@group(0) @binding(1) var<storage, read> queries: array<f32>;
@group(0) @binding(2) var<storage, read> after: array<u32>;
// Not 0 for a read that only looks.
@group(0) @binding(3) var<storage, read> silent: array<u32>;
@group(0) @binding(4) var<storage, read> cached: array<u32>;
// After outputs, shares and the state's parts: the largest logit and the normaliser of each read, as `read.wgsl` had them.
@group(0) @binding(5) var<storage, read> answers: array<f32>;
// [HEADS, T].
@group(0) @binding(6) var<storage, read_write> received: array<f32>;

@compute @workgroup_size(GROUP)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
    let head = group.y;
    let pair = group.x * GROUP + lane;
    if pair >= step.raw_count + step.cached {
        return;
    }
    var id = step.raw_start + pair;
    if pair >= step.raw_count {
        id = cached[head * step.cache + pair - step.raw_count];
        // A place that a hand has emptied.
        if id >= step.writes {
            return;
        }
    }
    let query_head = head * (QUERY_HEADS / HEADS) + step.member;
    let sums = QUERY_HEADS * step.block_reads * (DV + 4u) + (query_head * step.block_reads + step.read_at) * 2u;
    let key = (head * step.writes + id) * DK;
    var sum = 0.0;
    for (var r = 0u; r < step.query_count; r++) {
        let read = step.query_at + r;
        if silent[read] == 0u && id < after[read] {
            let query = (query_head * step.reads + read) * DK;
            var product = 0.0;
            for (var i = 0u; i < DK; i++) {
                product += keys[key + i] * queries[query + i];
            }
            let at = sums + (read - step.first_read) * 2u;
            sum += exp(step.beta * product - answers[at]) / answers[at + 1u];
        }
    }
    received[head * step.writes + id] += sum;
}
