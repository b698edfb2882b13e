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

const WORDS: u32 = (CHUNK + 31u) / 32u;

// Which writes of the chunk went to this row, one bit each.
var<workgroup> members: array<atomic<u32>, WORDS>;
var<workgroup> found: vec2<u32>; // members before this write, and from it on
var<workgroup> squares: array<f32, THREADS>;

// Number `d` of the key (then the value) of the write `i`.
fn number(head: u32, i: u32, d: u32) -> f32 {
    let row = head * WRITES + step.start + i;
    if d < DK {
        return keys[row * DK + d];
    }
    return values[row * DV + d - DK];
}

@compute @workgroup_size(THREADS)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
    let index = flat_group(group, groups);
    let head = index / step.length;
    let token = index % step.length;
    if head >= HEADS {
        return;
    }
    let first = head * WRITES + step.start;
    let row = assignments[first + token];
    for (var i = lane; i < step.length; i += THREADS) {
        if assignments[first + i] == row {
            atomicOr(&members[i / 32u], 1u << (i % 32u));
        }
    }
    workgroupBarrier();
    if lane == 0u {
        var counted = vec2<u32>();
        for (var word = 0u; word < WORDS; word++) {
            let bits = atomicLoad(&members[word]);
            let below = clamp(token, word * 32u, word * 32u + 32u) - word * 32u; // bits of writes before this one
            let early = select(bits & ((1u << (below % 32u)) - 1u), bits, below == 32u);
            counted += vec2<u32>(countOneBits(early), countOneBits(bits & ~early));
        }
        found = counted;
    }
    let counted = workgroupUniformLoad(&found);
    if counted.x > 0u {
        return;
    }
    // A row founded by this chunk has held nothing, whatever stands there.
    let held = select(0u, counts[head * CAPACITY + row], row < step.rows);
    let sum = held + counted.y;
    let count = select(sum, half_of(sum), HALF_COUNTS);
    let rate = select(f32(counted.y) / f32(count), CONSTANT_RATE, CONSTANT && held > 0u);
    var square = 0.0;
    for (var d = select(0u, DK, FIXED) + lane; d < DK + DV; d += THREADS) {
        var total = 0.0;
        for (var word = 0u; word < WORDS; word++) {
            var bits = atomicLoad(&members[word]);
            while bits != 0u {
                total += number(head, word * 32u + firstTrailingBit(bits), d);
                bits &= bits - 1u;
            }
        }
        let mean = total / f32(counted.y);
        if d < DK {
            let at = (head * CAPACITY + row) * DK4 * 4u + d;
            let old = select(0.0, dict_k[at], held > 0u);
            let moved = old + rate * (mean - old);
            dict_k[at] = moved;
            square += moved * moved;
        } else {
            let at = (head * CAPACITY + row) * DV4 * 4u + d - DK;
            let old = select(0.0, dict_v[at], held > 0u);
            dict_v[at] = old + rate * (mean - old);
        }
    }
    if NORMALISE {
        squares[lane] = square;
        workgroupBarrier();
        var total = 0.0;
        for (var i = 0u; i < THREADS; i++) {
            total += squares[i];
        }
        let norm = max(sqrt(total), 1e-12);
        // Each thread comes back to the numbers that it wrote.
        for (var d = lane; d < DK; d += THREADS) {
            let at = (head * CAPACITY + row) * DK4 * 4u + d;
            dict_k[at] = dict_k[at] / norm;
        }
    }
    // Every thread has read the old count before the first one writes the new one.
    workgroupBarrier();
    if lane == 0u {
        counts[head * CAPACITY + row] = count;
        log_counts[head * CAPACITY + row] = logs[count];
    }
}
