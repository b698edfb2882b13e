// Scores four candidates of one head by how badly phi(q).phi(k) stands in for e^(beta q.k), on up to GROUP queries of one query
// head of the group: a thread owns a query. Dispatches over all queries of the chunk add up. Its twin is
// src/layer/lola/score.rs.
@group(0) @binding(0) var<storage, read> keys: array<f32>;
@group(0) @binding(1) var<storage, read> cached: array<u32>;
@group(0) @binding(2) var<storage, read> weights: array<f32>;
@group(0) @binding(3) var<storage, read> queries: array<f32>;
// [QUERY_HEADS, query_count, D]; not looked at for taylor2.
@group(0) @binding(4) var<storage, read> query_features: array<f32>;
// Not 0 for a read that only looks.
@group(0) @binding(5) var<storage, read> silent: array<u32>;
@group(0) @binding(6) var<storage, read_write> scores: array<f32>;
@group(0) @binding(7) var<storage, read_write> record: array<u32>;

var<workgroup> tile: array<vec4<f32>, GROUP>;

fn candidate(head: u32, at: u32) -> u32 {
    if at < step.cached {
        // Nobody looks at the score of an empty place.
        return min(cached[head * step.cache + at], step.writes - 1u);
    }
    return step.raw_start + at - step.cached;
}

@compute @workgroup_size(GROUP)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
    let head = group.y;
    let first = group.x * 4u;
    // Candidates that are too many for the tile repeat the last one, and are not written.
    let at = min(first + vec4<u32>(0u, 1u, 2u, 3u), vec4<u32>(step.candidates - 1u));
    let ids = vec4<u32>(candidate(head, at.x), candidate(head, at.y), candidate(head, at.z), candidate(head, at.w));
    let writes = head * step.writes + ids;
    for (var i = lane; i < DK; i += GROUP) {
        let base = writes * DK + i;
        rows[i] = vec4<f32>(keys[base.x], keys[base.y], keys[base.z], keys[base.w]);
    }
    workgroupBarrier();

    let query_head = head * (QUERY_HEADS / HEADS) + step.member;
    // Threads without a query go along with the last one's.
    let mine = min(lane, max(step.query_count, 1u) - 1u);
    let read = step.query_at + mine;
    let query = (query_head * step.reads + read) * DK;
    var dots = vec4<f32>(0.0);
    for (var i = 0u; i < DK; i++) {
        dots += rows[i] * queries[query + i];
    }
    let z = step.beta * dots;
    var product = 1.0 + z + 0.5 * z * z;
    if MAP != 3u {
        prepare(lane, head);
        product = vec4<f32>(0.0);
        for (var base = 0u; base < D; base += GROUP) {
            if base + lane < D {
                tile[lane] = phi(base + lane);
            }
            workgroupBarrier();
            let count = min(GROUP, D - base);
            let row = (query_head * step.query_count + mine) * D + base;
            for (var d = 0u; d < count; d++) {
                product += tile[d] * query_features[row + d];
            }
            workgroupBarrier();
        }
    }
    let miss = exp(min(z, vec4<f32>(MOST_LOGIT))) - product;
    var counts = lane < step.query_count;
    if counts {
        counts = silent[read] == 0u;
    }
    let error = reduce_sum(lane, select(vec4<f32>(0.0), miss * miss * step.share, counts));
    let own = first + lane;
    if lane < 4u && own < step.candidates {
        let score = head * step.candidate_stride + own;
        var sum = error[lane];
        if step.fresh == 0u {
            sum += scores[score];
        }
        scores[score] = sum;
        if own >= step.recorded_from {
            let to = step.record_at + head * step.record_stride + RECORD_LISTS + 2u * step.events;
            record[to + own - step.recorded_from] = bitcast<u32>(sum);
        }
    }
}
