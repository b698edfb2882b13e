// Scores four candidates of one head against the state before the update: SRE, or (FIFO) the write's index, or (GIVEN) what is
// known of each write.
@group(0) @binding(0) var<storage, read> keys: array<f32>;
@group(0) @binding(1) var<storage, read> values: array<f32>;
@group(0) @binding(2) var<storage, read> cached: array<u32>;
@group(0) @binding(3) var<storage, read> state: array<f32>;
@group(0) @binding(4) var<storage, read> weights: array<f32>;
@group(0) @binding(5) var<storage, read_write> scores: array<f32>;
@group(0) @binding(6) var<storage, read_write> record: array<u32>;
// [HEADS, T] where GIVEN.
@group(0) @binding(7) var<storage, read> given: array<f32>;

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
    var score = vec4<f32>(ids);
    if GIVEN {
        let own = head * step.writes + ids;
        score = vec4<f32>(given[own.x], given[own.y], given[own.z], given[own.w]);
    } else if !FIFO {
        let writes = head * step.writes + ids;
        var recalled: array<vec4<f32>, SLOTS>;
        var whole = vec4<f32>(0.0);
        if step.has_state != 0u {
            for (var i = lane; i < DK; i += GROUP) {
                let base = writes * DK + i;
                rows[i] = vec4<f32>(keys[base.x], keys[base.y], keys[base.z], keys[base.w]);
            }
            workgroupBarrier();
            prepare(lane, head);
            whole = recall(lane, head, &recalled);
        }
        var error = vec4<f32>(0.0);
        for (var slot = 0u; slot < SLOTS; slot++) {
            let e = lane % COLUMNS + slot * COLUMNS;
            let sum = combine(lane, recalled[slot]);
            if lane < COLUMNS && e < DV {
                let base = writes * DV + e;
                let miss = sum / (whole + EPSILON) - vec4<f32>(values[base.x], values[base.y], values[base.z], values[base.w]);
                error += miss * miss;
            }
        }
        score = reduce_sum(lane, error);
    }
    let mine = first + lane;
    if lane < 4u && mine < step.candidates {
        scores[head * step.candidate_stride + mine] = score[lane];
        if mine >= step.recorded_from {
            let to = step.record_at + head * step.record_stride + RECORD_LISTS + 2u * step.events;
            record[to + mine - step.recorded_from] = bitcast<u32>(score[lane]);
        }
    }
}
