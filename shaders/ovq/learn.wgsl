// Stage 3: every row moves towards the mean of the chunk's writes that were assigned to it. One workgroup a write; the
// row's first write does the work, and sums its members in the order of the stream: no atomics, always the same bits.

@group(0) @binding(0) var<storage, read> keys: array<f32>;
@group(0) @binding(1) var<storage, read> values: array<f32>;
@group(0) @binding(2) var<storage, read> assignments: array<u32>;
@group(0) @binding(3) var<storage, read> logs: array<f32>; // of every count
@group(0) @binding(4) var<storage, read_write> dict_k: array<f32>;
@group(0) @binding(5) var<storage, read_write> dict_v: array<f32>;
@group(0) @binding(6) var<storage, read_write> counts: array<u32>;
@group(0) @binding(7) var<storage, read_write> log_counts: array<f32>;

struct Step {
    start: u32,  // the chunk's first write
    length: u32, // its writes
    rows: u32,   // dictionary rows in use before it, n
}
var<immediate> step: Step;

const EACH: u32 = (DK + THREADS - 1u) / THREADS; // numbers of a key that one thread moves

var<workgroup> rows: array<u32, CHUNK>;
var<workgroup> earlier: atomic<u32>; // members of the row before this write
var<workgroup> own: atomic<u32>;     // members from this write on
var<workgroup> members_of: vec2<u32>;
var<workgroup> squares: array<f32, THREADS>;

@compute @workgroup_size(THREADS)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
    let index = flat_group(group, groups);
    let head = index / step.length;
    let token = index % step.length;
    if head >= HEADS {
        return;
    }
    let first = head * WRITES + step.start;
    for (var i = lane; i < step.length; i += THREADS) {
        rows[i] = assignments[first + i];
    }
    workgroupBarrier();
    let row = rows[token];
    for (var i = lane; i < step.length; i += THREADS) {
        if rows[i] == row {
            if i < token {
                atomicAdd(&earlier, 1u);
            } else {
                atomicAdd(&own, 1u);
            }
        }
    }
    workgroupBarrier();
    if lane == 0u {
        members_of = vec2<u32>(atomicLoad(&earlier), atomicLoad(&own));
    }
    let found = workgroupUniformLoad(&members_of);
    if found.x > 0u {
        return;
    }
    let members = found.y;
    // A row founded by this chunk has held nothing, whatever stands there.
    let held = select(0u, counts[head * CAPACITY + row], row < step.rows);
    let count = held + members;
    let rate = select(f32(members) / f32(count), CONSTANT_RATE, CONSTANT && held > 0u);
    var square = 0.0;
    for (var e = 0u; e < EACH; e++) {
        let d = e * THREADS + lane;
        if d < DK {
            var sum = 0.0;
            for (var i = token; i < step.length; i++) {
                if rows[i] == row {
                    sum += keys[(first + i) * DK + d];
                }
            }
            let at = (head * CAPACITY + row) * DK4 * 4u + d;
            let old = select(0.0, dict_k[at], held > 0u);
            let moved = old + rate * (sum / f32(members) - old);
            dict_k[at] = moved;
            square += moved * moved;
        }
    }
    for (var d = lane; d < DV; d += THREADS) {
        var sum = 0.0;
        for (var i = token; i < step.length; i++) {
            if rows[i] == row {
                sum += values[(first + i) * DV + d];
            }
        }
        let at = (head * CAPACITY + row) * DV4 * 4u + d;
        let old = select(0.0, dict_v[at], held > 0u);
        dict_v[at] = old + rate * (sum / f32(members) - old);
    }
    if NORMALISE {
        squares[lane] = square;
        workgroupBarrier();
        var total = 0.0;
        for (var i = 0u; i < THREADS; i++) {
            total += squares[i];
        }
        let norm = max(sqrt(total), 1e-12);
        for (var d = lane; d < DK; d += THREADS) {
            let at = (head * CAPACITY + row) * DK4 * 4u + d;
            dict_k[at] = dict_k[at] / norm;
        }
    }
    // Every thread has read the old count before the first one writes the moved one.
    workgroupBarrier();
    if lane == 0u {
        counts[head * CAPACITY + row] = count;
        log_counts[head * CAPACITY + row] = logs[count];
    }
}
