// Farthest-point founding: one workgroup a head. In each round the write whose best similarity (to the centroids of stage 1,
// and to the founders before it) is smallest founds the next row; then the others' similarities to it are taken in.

@group(0) @binding(0) var<storage, read> keys: array<f32>;
@group(0) @binding(1) var<storage, read> similarity: array<f32>;
@group(0) @binding(2) var<storage, read_write> best: array<f32>; // of a chunk's writes; TAKEN for a founder
@group(0) @binding(3) var<storage, read_write> assignments: array<u32>;
@group(0) @binding(4) var<storage, read_write> select_margin: array<f32>;

struct Step {
    start: u32,  // the chunk's first write
    length: u32, // its writes
    rows: u32,   // dictionary rows in use before it, n
    chunk: u32,  // its number
    first: u32,  // the first round of this dispatch
    rounds: u32, // rounds of this dispatch
    last: u32,   // rounds in all
}
var<immediate> step: Step;

const TAKEN: f32 = -LOWEST;

// The smallest similarity, the second smallest, and the write of the smallest.
struct Low {
    value: f32,
    second: f32,
    write: u32,
}

var<workgroup> lows: array<Low, THREADS>;
var<workgroup> found: Low;
var<workgroup> founder: array<f32, DK>;

// Of equal ones the earlier write.
fn lower(a: Low, b: Low) -> Low {
    if b.value < a.value || (b.value == a.value && b.write < a.write) {
        return Low(b.value, min(b.second, a.value), b.write);
    }
    return Low(a.value, min(a.second, b.value), a.write);
}

@compute @workgroup_size(THREADS)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
    let head = flat_group(group, groups);
    if head >= HEADS {
        return;
    }
    let given = select(0u, 1u, step.rows == 0u);
    let first = head * WRITES + step.start;
    // A thread's own writes are touched by no other.
    if step.first == 0u {
        for (var i = lane; i < step.length; i += THREADS) {
            best[head * CHUNK + i] = select(similarity[first + i], TAKEN, i < given);
        }
        if lane == 0u {
            select_margin[head * CHUNKS + step.chunk] = TAKEN;
        }
    }
    for (var round = step.first; round < step.first + step.rounds; round++) {
        var low = Low(TAKEN, TAKEN, 0xffffffffu);
        for (var i = lane; i < step.length; i += THREADS) {
            low = lower(low, Low(best[head * CHUNK + i], TAKEN, i));
        }
        lows[lane] = low;
        workgroupBarrier();
        for (var half = THREADS / 2u; half > 0u; half /= 2u) {
            if lane < half {
                lows[lane] = lower(lows[lane], lows[lane + half]);
            }
            workgroupBarrier();
        }
        if lane == 0u {
            found = lows[0];
            assignments[first + found.write] = step.rows + given + round;
            if found.second < TAKEN {
                let place = head * CHUNKS + step.chunk;
                select_margin[place] = min(select_margin[place], found.second - found.value);
            }
        }
        let taken = workgroupUniformLoad(&found).write;
        if taken % THREADS == lane {
            best[head * CHUNK + taken] = TAKEN;
        }
        // Nobody asks for the similarities to the last founder.
        if round + 1u < step.last {
            for (var d = lane; d < DK; d += THREADS) {
                founder[d] = keys[(first + taken) * DK + d];
            }
            workgroupBarrier();
            for (var i = lane; i < step.length; i += THREADS) {
                let place = head * CHUNK + i;
                if best[place] < TAKEN {
                    var product = 0.0;
                    for (var d = 0u; d < DK; d++) {
                        product += founder[d] * keys[(first + i) * DK + d];
                    }
                    best[place] = max(best[place], product);
                }
            }
        }
        workgroupBarrier();
    }
}
