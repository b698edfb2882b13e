// Splits a head's candidates into those kept, which become the cache, and those to fold, both in the order of their ids.
// One workgroup a head. The cache is rewritten in place: a block's ids are read before any of them is written, and none
// moves to a later place.
@group(0) @binding(0) var<storage, read> ranks: array<u32>;
@group(0) @binding(1) var<storage, read_write> cached: array<u32>;
@group(0) @binding(2) var<storage, read_write> folded: array<u32>;
@group(0) @binding(3) var<storage, read_write> record: array<u32>;

var<workgroup> counts: array<u32, WIDE>;

@compute @workgroup_size(WIDE)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
    let head = group.x;
    let to = step.record_at + head * step.record_stride;
    // Kept before this block, and kept of those that were in the cache already.
    var before = 0u;
    var stayed = 0u;
    for (var base = 0u; base < step.candidates; base += WIDE) {
        let at = base + lane;
        let is_candidate = at < step.candidates;
        var keep = false;
        var id = 0u;
        if is_candidate {
            keep = step.kept == step.candidates || ranks[head * step.candidate_stride + at] < step.kept;
            id = step.raw_start + at - step.cached;
            if at < step.cached {
                id = cached[head * step.cache + at];
            }
        }
        // An inclusive prefix count of `keep`.
        counts[lane] = select(0u, 1u, keep);
        workgroupBarrier();
        for (var reach = 1u; reach < WIDE; reach *= 2u) {
            var more = 0u;
            if lane >= reach {
                more = counts[lane - reach];
            }
            workgroupBarrier();
            counts[lane] += more;
            workgroupBarrier();
        }
        let slot = before + counts[lane] - select(0u, 1u, keep);
        if step.cached > base && step.cached <= base + WIDE {
            stayed = before + counts[step.cached - base - 1u];
        }
        before += counts[WIDE - 1u];
        storageBarrier();
        workgroupBarrier();
        if is_candidate && keep {
            cached[head * step.cache + slot] = id;
            if at >= step.cached {
                record[to + RECORD_LISTS + slot - stayed] = id;
            }
        }
        if is_candidate && !keep {
            folded[head * step.fold_stride + at - slot] = id;
            if at < step.cached {
                record[to + RECORD_LISTS + step.events + at - slot] = id;
            }
        }
    }
    if lane == 0u {
        record[to + RECORD_STAYED] = stayed;
    }
}
