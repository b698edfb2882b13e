// Writes of a recurrent layer, one after the other, and the reads between them. One workgroup a (block of columns of the state,
// key/value head): columns do not know each other. A column's rows are dealt out to ROWS threads, which hold them all the
// while; what a sum over rows gives is added up from the threads' shares in the order of the threads.
//
// Constants: DK, DV, ROWS and COLUMNS (threads), PER (rows of a thread), TILE (writes fetched at once), SET (answers worked out at
// once), BLOCKS (of columns), ERASES (the delta rule), QUERY_SCALES and NORMS (where these begin in their buffers).

// [key/value heads, T, DK].
@group(0) @binding(0) var<storage, read> keys: array<f32>;
// [key/value heads, T, DV].
@group(0) @binding(1) var<storage, read> values: array<f32>;
// [query heads, R, DK].
@group(0) @binding(2) var<storage, read> queries: array<f32>;
@group(0) @binding(3) var<storage, read> after: array<u32>;
// [key/value heads, T, 3]: a, b, and what the key is multiplied with; from QUERY_SCALES on [query heads, R].
@group(0) @binding(4) var<storage, read> gates: array<f32>;
// [key/value heads, DK, DV].
@group(0) @binding(5) var<storage, read_write> state: array<f32>;
// [query heads, reads of the batch, DV].
@group(0) @binding(6) var<storage, read_write> outputs: array<f32>;
// Sums of squares over a block's columns: of v - S^T k [key/value heads, writes of the batch, BLOCKS]; from NORMS on of the
// state [chunks of the batch, key/value heads, BLOCKS].
@group(0) @binding(7) var<storage, read_write> measures: array<f32>;

struct Step {
    writes: u32,            // T
    reads: u32,             // R
    heads_per_key: u32,
    first_write: u32,
    end_write: u32,
    first_read: u32,        // none of them sees fewer than `first_write` writes, or more than `end_write`
    end_read: u32,
    batch_first_write: u32,
    batch_writes: u32,
    batch_first_read: u32,
    batch_reads: u32,
    norm_slot: u32,         // NONE within a chunk
    record: u32,            // 0: errors are not wanted
}
var<immediate> step: Step;

const NONE: u32 = 0xffffffffu;
const LANES: u32 = ROWS * COLUMNS;
const PADDED: u32 = PER * ROWS; // rows, with zeros at their end

var<workgroup> tile: array<f32, TILE * PADDED>;
var<workgroup> tile_values: array<f32, TILE * COLUMNS>;
var<workgroup> tile_gates: array<f32, TILE * 2u>;
// Shares of sums, [2, SET, COLUMNS, ROWS]: one half is filled while the other may still be read.
var<workgroup> shares: array<f32, 2u * SET * LANES>;
// Squares of what was off, [2, COLUMNS], of a write and the one before.
var<workgroup> errors: array<f32, 2u * COLUMNS>;

// This thread's rows of its column: row, ROWS + row, 2 ROWS + row, ..
var<private> own: array<f32, PER>;
var<private> flip: u32;

fn total(at: u32) -> f32 {
    var sum = 0.0;
    for (var i = 0u; i < ROWS; i++) {
        sum += shares[at + i];
    }
    return sum;
}

// Where the shares of answer `x` of a set begin for a column.
fn place(x: u32, column: u32) -> u32 {
    return ((flip * SET + x) * COLUMNS + column) * ROWS;
}

// Answers the reads `first..end` with the state as it is.
fn answer(first: u32, end: u32, kv: u32, block: u32, row: u32, column: u32, lane: u32) {
    let answers = (end - first) * step.heads_per_key;
    for (var start = 0u; start < answers; start += SET) {
        let count = min(SET, answers - start);
        for (var x = 0u; x < count; x++) {
            let read = first + (start + x) / step.heads_per_key;
            let head = kv * step.heads_per_key + (start + x) % step.heads_per_key;
            let query = head * step.reads + read;
            var sum = 0.0;
            for (var p = 0u; p < PER; p++) {
                let j = p * ROWS + row;
                if j < DK {
                    sum += queries[query * DK + j] * own[p];
                }
            }
            shares[place(x, column) + row] = sum * gates[QUERY_SCALES + query];
        }
        workgroupBarrier();
        for (var y = lane; y < count * COLUMNS; y += LANES) {
            let x = y / COLUMNS;
            let at = block * COLUMNS + y % COLUMNS;
            let read = first + (start + x) / step.heads_per_key;
            let head = kv * step.heads_per_key + (start + x) % step.heads_per_key;
            if at < DV {
                outputs[(head * step.batch_reads + read - step.batch_first_read) * DV + at] = total(place(x, y % COLUMNS));
            }
        }
        flip = 1u - flip;
    }
}

// Fetches the writes `first..first + count`.
fn fetch(first: u32, count: u32, kv: u32, block: u32, lane: u32) {
    workgroupBarrier();
    let base = kv * step.writes + first;
    for (var x = lane; x < count * PADDED; x += LANES) {
        let i = base + x / PADDED;
        let j = x % PADDED;
        var key = 0.0;
        if j < DK {
            key = keys[i * DK + j] * gates[i * 3u + 2u];
        }
        tile[x] = key;
    }
    for (var x = lane; x < count * COLUMNS; x += LANES) {
        let at = block * COLUMNS + x % COLUMNS;
        var value = 0.0;
        if at < DV {
            value = values[(base + x / COLUMNS) * DV + at];
        }
        tile_values[x] = value;
    }
    for (var x = lane; x < count * 2u; x += LANES) {
        tile_gates[x] = gates[(base + x / 2u) * 3u + x % 2u];
    }
    workgroupBarrier();
}

// Writes down the error of a write, whose squares are all there.
fn note(write: u32, kv: u32, block: u32) {
    var sum = 0.0;
    for (var c = 0u; c < COLUMNS; c++) {
        sum += errors[(write & 1u) * COLUMNS + c];
    }
    measures[(kv * step.batch_writes + write - step.batch_first_write) * BLOCKS + block] = sum;
}

@compute @workgroup_size(LANES)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let block = group.x;
    let kv = group.y;
    let column = lane % COLUMNS;
    let row = lane / COLUMNS;
    let at = block * COLUMNS + column;
    for (var p = 0u; p < PER; p++) {
        let j = p * ROWS + row;
        own[p] = 0.0;
        if j < DK && at < DV {
            own[p] = state[(kv * DK + j) * DV + at];
        }
    }
    flip = 0u;
    var read = step.first_read;
    var seen = read;
    while seen < step.end_read && after[seen] <= step.first_write {
        seen++;
    }
    answer(read, seen, kv, block, row, column, lane);
    read = seen;
    for (var write = step.first_write; write < step.end_write; write++) {
        let w = (write - step.first_write) % TILE;
        if w == 0u {
            fetch(write, min(TILE, step.end_write - write), kv, block, lane);
        }
        let a = tile_gates[w * 2u];
        let b = tile_gates[w * 2u + 1u];
        let value = tile_values[w * COLUMNS + column];
        if ERASES {
            var sum = 0.0;
            for (var p = 0u; p < PER; p++) {
                own[p] = a * own[p];
                sum += tile[w * PADDED + p * ROWS + row] * own[p];
            }
            shares[place(0u, column) + row] = sum;
            workgroupBarrier();
            let off = value - total(place(0u, column));
            flip = 1u - flip;
            if step.record != 0u {
                if lane == 0u && write > step.first_write {
                    note(write - 1u, kv, block);
                }
                if row == 0u {
                    errors[(write & 1u) * COLUMNS + column] = off * off;
                }
            }
            for (var p = 0u; p < PER; p++) {
                own[p] += tile[w * PADDED + p * ROWS + row] * (b * off);
            }
        } else {
            for (var p = 0u; p < PER; p++) {
                own[p] = a * own[p] + tile[w * PADDED + p * ROWS + row] * (b * value);
            }
        }
        while seen < step.end_read && after[seen] <= write + 1u {
            seen++;
        }
        answer(read, seen, kv, block, row, column, lane);
        read = seen;
    }
    var squares = 0.0;
    for (var p = 0u; p < PER; p++) {
        let j = p * ROWS + row;
        if j < DK && at < DV {
            state[(kv * DK + j) * DV + at] = own[p];
        }
        squares += own[p] * own[p];
    }
    shares[place(0u, column) + row] = squares;
    workgroupBarrier();
    if lane == 0u {
        if ERASES && step.record != 0u && step.end_write > step.first_write {
            note(step.end_write - 1u, kv, block);
        }
        if step.norm_slot != NONE {
            var sum = 0.0;
            for (var c = 0u; c < COLUMNS; c++) {
                sum += total(place(0u, c));
            }
            measures[NORMS + (step.norm_slot * groups.y + kv) * BLOCKS + block] = sum;
        }
    }
}
