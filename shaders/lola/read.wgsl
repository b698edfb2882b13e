// Answers four reads of one query head: the raw pairs and the cached ones by softmax, the rest from the state.
// One pass over the pairs with a running maximum that starts at 0, so that it ends as m = max(0, largest logit).
@group(0) @binding(0) var<storage, read> keys: array<f32>;
@group(0) @binding(1) var<storage, read> values: array<f32>;
@group(0) @binding(2) var<storage, read> queries: array<f32>;
@group(0) @binding(3) var<storage, read> after: array<u32>;
@group(0) @binding(4) var<storage, read> cached: array<u32>;
@group(0) @binding(5) var<storage, read> state: array<f32>;
// The feature map's, and from LINEAR_AT on the factor w on the state's part for each query head.
@group(0) @binding(6) var<storage, read> weights: array<f32>;
// Outputs [QUERY_HEADS, block reads, DV], shares [QUERY_HEADS, block reads, 3], the state's part of the normaliser [QUERY_HEADS, block
// reads], and where ATTENTION the largest logit and the normaliser [QUERY_HEADS, block reads, 2].
@group(0) @binding(7) var<storage, read_write> answers: array<f32>;

var<workgroup> pair_ids: array<u32, GROUP>;

@compute @workgroup_size(GROUP)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
    let query_head = group.y;
    let head = query_head / (QUERY_HEADS / HEADS);
    let first = step.tile_at * 4u + group.x * 4u;
    let reads = min(4u, step.read_count - first);
    // Reads that are too many for the tile repeat its last one, and are not written.
    let at = step.first_read + first + min(vec4<u32>(0u, 1u, 2u, 3u), vec4<u32>(reads - 1u));
    for (var i = lane; i < DK; i += GROUP) {
        let base = (query_head * step.reads + at) * DK + i;
        rows[i] = vec4<f32>(queries[base.x], queries[base.y], queries[base.z], queries[base.w]);
    }
    workgroupBarrier();

    let column = lane % COLUMNS;
    let part = lane / COLUMNS;
    let visible_to = vec4<u32>(after[at.x], after[at.y], after[at.z], after[at.w]);
    // Reads are in order: the last one sees the most.
    let raw = visible_to.w - step.raw_start;
    let pairs = raw + step.cached;
    var top_logit = vec4<f32>(0.0);
    var raw_sum = vec4<f32>(0.0);
    var cache_sum = vec4<f32>(0.0);
    var sums: array<vec4<f32>, SLOTS>;
    for (var base = 0u; base < pairs; base += GROUP) {
        let pair = base + lane;
        var seen = vec4<bool>(false);
        var z = vec4<f32>(LOWEST);
        if pair < pairs {
            var id = step.raw_start + pair;
            seen = vec4<u32>(id) < visible_to;
            if pair >= raw {
                id = cached[head * step.cache + pair - raw];
                // Not where a hand has emptied the place.
                seen = vec4<bool>(id < step.writes);
                id = min(id, step.writes - 1u);
            }
            pair_ids[lane] = id;
            let key = (head * step.writes + id) * DK;
            var dots = vec4<f32>(0.0);
            for (var i = 0u; i < DK; i++) {
                dots += keys[key + i] * rows[i];
            }
            z = select(vec4<f32>(LOWEST), step.beta * dots, seen);
        }
        let higher = max(top_logit, reduce_max(lane, z));
        let rescale = exp(top_logit - higher);
        top_logit = higher;
        let weight = select(vec4<f32>(0.0), exp(z - higher), seen);
        tile[lane] = weight;
        raw_sum = raw_sum * rescale + select(vec4<f32>(0.0), weight, pair < raw);
        cache_sum = cache_sum * rescale + select(weight, vec4<f32>(0.0), pair < raw);
        workgroupBarrier();
        let count = min(GROUP, pairs - base);
        for (var slot = 0u; slot < SLOTS; slot++) {
            let e = column + slot * COLUMNS;
            if e < DV {
                var sum = sums[slot] * rescale;
                for (var p = part; p < count; p += PARTS) {
                    sum += tile[p] * values[(head * step.writes + pair_ids[p]) * DV + e];
                }
                sums[slot] = sum;
            }
        }
        workgroupBarrier();
    }
    raw_sum = reduce_sum(lane, raw_sum);
    cache_sum = reduce_sum(lane, cache_sum);

    let scale = exp(-top_logit);
    let linear = weights[LINEAR_AT + query_head] * scale;
    var of_state = vec4<f32>(0.0);
    var state_sum = vec4<f32>(0.0);
    if step.has_state != 0u {
        prepare(lane, query_head);
        var recalled: array<vec4<f32>, SLOTS>;
        of_state = recall(lane, head, &recalled);
        state_sum = linear * of_state;
        for (var slot = 0u; slot < SLOTS; slot++) {
            sums[slot] += linear * recalled[slot];
        }
    }
    let whole = raw_sum + cache_sum + state_sum + EPSILON * scale;
    let row = query_head * step.block_reads + step.read_at + first;
    for (var slot = 0u; slot < SLOTS; slot++) {
        let e = column + slot * COLUMNS;
        let out = combine(lane, sums[slot]) / whole;
        if part == 0u && e < DV {
            for (var r = 0u; r < reads; r++) {
                answers[(row + r) * DV + e] = out[r];
            }
        }
    }
    if lane < reads {
        let shares = QUERY_HEADS * step.block_reads * DV + (row + lane) * 3u;
        answers[shares] = raw_sum[lane] / whole[lane];
        answers[shares + 1u] = cache_sum[lane] / whole[lane];
        answers[shares + 2u] = state_sum[lane] / whole[lane];
        answers[QUERY_HEADS * step.block_reads * (DV + 3u) + row + lane] = weights[LINEAR_AT + query_head] * of_state[lane];
        if ATTENTION {
            let sums = QUERY_HEADS * step.block_reads * (DV + 4u) + (row + lane) * 2u;
            answers[sums] = top_logit[lane];
            answers[sums + 1u] = whole[lane];
        }
    }
}
