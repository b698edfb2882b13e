// Puts the splits of `look` together. One workgroup a head decides where the chunk's writes go (stage 2): to the nearest
// centroid, or, for the `founders` least similar ones (or those of the lowest priority), to a row of their own. The other workgroups finish reads (stage 1).

@group(0) @binding(0) var<storage, read> stats: array<vec4<f32>>;
@group(0) @binding(1) var<storage, read> sums: array<vec4<f32>>;
@group(0) @binding(2) var<storage, read_write> outputs: array<f32>;
@group(0) @binding(3) var<storage, read_write> assignments: array<u32>;
@group(0) @binding(4) var<storage, read_write> similarity: array<f32>;
@group(0) @binding(5) var<storage, read_write> margin: array<f32>;
@group(0) @binding(6) var<storage, read_write> select_margin: array<f32>;

const EACH: u32 = 8u; // threads for one write
// SHARE threads work on four numbers of one read.
const AT_ONCE: u32 = THREADS / (DV4 * SHARE); // reads of a workgroup

var<workgroup> shared4: array<vec4<f32>, THREADS>;
var<workgroup> shared2: array<vec2<f32>, THREADS>;
var<workgroup> scores: array<f32, CHUNK>;
var<workgroup> rows: array<u32, CHUNK>;
var<workgroup> edge: array<f32, 2>;

fn token_stat(head: u32, token: u32, split: u32) -> vec4<f32> {
    if split >= step.token_splits {
        return vec4<f32>(LOWEST, LOWEST, 0.0, 0.0);
    }
    return stats[(head * CHUNK + token) * step.token_splits + split];
}

fn place(head: u32, lane: u32) {
    let own = lane % EACH;
    for (var base = 0u; base < step.length; base += THREADS / EACH) {
        let token = base + lane / EACH;
        var found = vec4<f32>(LOWEST, LOWEST, 0.0, 0.0);
        if token < step.length {
            // Four loads on their way at once; what is beyond the last split is nothing.
            for (var split = own; split < step.token_splits; split += 4u * EACH) {
                let x0 = token_stat(head, token, split);
                let x1 = token_stat(head, token, split + EACH);
                let x2 = token_stat(head, token, split + 2u * EACH);
                let x3 = token_stat(head, token, split + 3u * EACH);
                found = nearer(nearer(found, x0), nearer(x1, nearer(x2, x3)));
            }
        }
        shared4[lane] = found;
        workgroupBarrier();
        if own == 0u && token < step.length {
            for (var p = 1u; p < EACH; p++) {
                found = nearer(found, shared4[lane + p]);
            }
            scores[token] = found.x;
            if RANDOM {
                scores[token] = priority(head, step.start + token);
            }
            rows[token] = u32(found.z);
            similarity[head * WRITES + step.start + token] = found.x;
            margin[head * WRITES + step.start + token] = found.x - found.y;
        }
        workgroupBarrier();
    }
    // The very first write founds row 0 whatever its similarity, which is to itself.
    let given = select(0u, 1u, step.rows == 0u);
    // Farthest-point founders are chosen by `farthest`.
    let cut = select(step.founders - given, 0u, FARTHEST);
    for (var base = 0u; base < step.length; base += THREADS / EACH) {
        let token = base + lane / EACH;
        var before = 0u;
        if token < step.length {
            let score = scores[token];
            for (var other = given + own; other < step.length; other += EACH) {
                if scores[other] < score || (scores[other] == score && other < token) {
                    before++;
                }
            }
        }
        shared4[lane] = vec4<f32>(f32(before), 0.0, 0.0, 0.0);
        workgroupBarrier();
        if own == 0u && token < step.length {
            for (var p = 1u; p < EACH; p++) {
                before += u32(shared4[lane + p].x);
            }
            var row = rows[token];
            if token >= given {
                if before < cut {
                    row = step.rows + given + before;
                }
                if before + 1u == cut {
                    edge[0] = scores[token];
                }
                if before == cut {
                    edge[1] = scores[token];
                }
            }
            assignments[head * WRITES + step.start + token] = row;
        }
        workgroupBarrier();
    }
    if lane == 0u {
        select_margin[head * CHUNKS + step.chunk] = edge[1] - edge[0];
    }
}

fn finish(index: u32, lane: u32) {
    let blocks = (step.read_count + AT_ONCE - 1u) / AT_ONCE;
    let query_head = index / blocks;
    let column = lane % DV4;
    let part = (lane / DV4) % SHARE;
    let r = lane / (DV4 * SHARE);
    let reader = (index % blocks) * AT_ONCE + r;
    let busy = r < AT_ONCE && reader < step.read_count;
    var largest = LOWEST;
    var sum = 0.0;
    var total = vec4<f32>();
    if busy {
        for (var split = part; split < step.read_splits; split += SHARE) {
            let at = (query_head * PASS + reader) * step.read_splits + split;
            let other = stats[READ_STATS + at];
            let top = max(largest, other.x);
            let mine = exp(largest - top);
            let its = exp(other.x - top);
            sum = sum * mine + other.y * its;
            total = total * mine + sums[at * DV4 + column] * its;
            largest = top;
        }
    }
    shared4[lane] = total;
    shared2[lane] = vec2<f32>(largest, sum);
    workgroupBarrier();
    if busy && part == 0u {
        for (var p = 1u; p < SHARE; p++) {
            let other = shared2[lane + p * DV4];
            let top = max(largest, other.x);
            let mine = exp(largest - top);
            let its = exp(other.x - top);
            sum = sum * mine + other.y * its;
            total = total * mine + shared4[lane + p * DV4] * its;
            largest = top;
        }
        for (var i = 0u; i < 4u && column * 4u + i < DV; i++) {
            outputs[(query_head * WINDOW + step.window + reader) * DV + column * 4u + i] = total[i] / sum;
        }
    }
}

@compute @workgroup_size(THREADS)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
    let index = flat_group(group, groups);
    let heads = select(0u, HEADS, step.token_blocks > 0u);
    if index < heads {
        place(index, lane);
    } else if index < heads + QUERY_HEADS * ((step.read_count + AT_ONCE - 1u) / AT_ONCE) {
        finish(index - heads, lane);
    }
}
