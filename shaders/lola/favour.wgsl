// What hands have decided goes before the scores that `rank` looks at: a pair that is kept comes first, a place in the cache that
// a hand has emptied comes last. The scores that are recorded stay as they are.
@group(0) @binding(0) var<storage, read> cached: array<u32>;
// [HEADS, T]: not 0 for a write that is kept.
@group(0) @binding(1) var<storage, read> kept: array<u32>;
// The bits of the scores.
@group(0) @binding(2) var<storage, read_write> scores: array<u32>;

@compute @workgroup_size(GROUP)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
    let head = group.y;
    let at = group.x * GROUP + lane;
    if at >= step.candidates {
        return;
    }
    var id = step.raw_start + at - step.cached;
    if at < step.cached {
        id = cached[head * step.cache + at];
    }
    let own = head * step.candidate_stride + at;
    if id >= step.writes {
        scores[own] = NAN_BITS;
    } else if kept[head * step.writes + id] != 0u {
        scores[own] = FIRST;
    }
}
