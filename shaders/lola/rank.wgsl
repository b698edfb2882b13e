// Each candidate's rank: how many candidates are better. Larger is better; of equal ones the earlier, which is the older
// write; one that is no number is the worst. No sorting, so nothing depends on the order of threads.
// Their bits: scores are not negative, so that these are in their order; `favour` may have put others in their place.
@group(0) @binding(0) var<storage, read> scores: array<u32>;
@group(0) @binding(1) var<storage, read_write> ranks: array<u32>;
@group(0) @binding(2) var<storage, read_write> record: array<u32>;

var<workgroup> tile: array<u32, GROUP>;

// 0 is for NaN.
fn order(bits: u32) -> u32 {
    return select(bits + 1u, 0u, (bits & 0x7fffffffu) > 0x7f800000u);
}

@compute @workgroup_size(GROUP)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
    let head = group.y;
    let row = head * step.candidate_stride;
    let at = group.x * GROUP + lane;
    let score = scores[row + min(at, step.candidates - 1u)];
    let mine = order(score);
    var rank = 0u;
    for (var base = 0u; base < step.candidates; base += GROUP) {
        tile[lane] = order(scores[row + min(base + lane, step.candidates - 1u)]);
        workgroupBarrier();
        let count = min(GROUP, step.candidates - base);
        for (var i = 0u; i < count; i++) {
            let other = tile[i];
            rank += select(0u, 1u, other > mine || (other == mine && base + i < at));
        }
        workgroupBarrier();
    }
    if at < step.candidates {
        ranks[row + at] = rank;
        let to = step.record_at + head * step.record_stride;
        if rank + 1u == step.kept {
            record[to + RECORD_KEPT] = score;
        }
        if rank == step.kept {
            record[to + RECORD_FOLDED] = score;
        }
    }
}
