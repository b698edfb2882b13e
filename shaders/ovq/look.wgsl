// All that only reads the state: each write's nearest centroids (stage 2), and the reads' softmax over the dictionary and
// the chunk's own pairs (stage 1), each shared out over workgroups by blocks of BLOCK rows and splits of the dictionary.
// `settle` puts the splits together.
//
// A workgroup takes its split in tiles of ROWS = 64 rows. A thread holds the products of 4 left rows and 4 right rows; slices
// of W4 columns pass through workgroup memory. Loads come in fours, and small sums stand in variables of their own, so
// that they do not depend on what a compiler makes of a loop.

@group(0) @binding(3) var<storage, read> after: array<u32>;
@group(0) @binding(4) var<storage, read> dict_k: array<vec4<f32>>;
@group(0) @binding(5) var<storage, read> dict_v: array<vec4<f32>>;
@group(0) @binding(6) var<storage, read> log_counts: array<f32>;
// Of a write's split: best, second best, row of the best. Of a read's split: largest logit, sum of weights.
@group(0) @binding(7) var<storage, read_write> stats: array<vec4<f32>>;
// Of a read's split: weighted values under that largest logit.
@group(0) @binding(8) var<storage, read_write> sums: array<vec4<f32>>;

const ROWS: u32 = 64u;
const STRIDE: u32 = W4 + 1u; // an odd number of vec4: rows in different banks
const TILE_STRIDE: u32 = ROWS / 4u + 1u;
const PARTS: u32 = THREADS / BLOCK; // threads that scan one left row of a tile
const PART4: u32 = 16u / PARTS; // of its 16 vec4, those of one thread
const SLICES_K: u32 = (DK4 + W4 - 1u) / W4;
const SLICES_V: u32 = (DV4 + W4 - 1u) / W4;
const SUMS_EACH: u32 = BLOCK * W4 / THREADS; // left rows of one column that a thread sums values for

// Room for BLOCK * STRIDE of the left rows, or one vec4 a thread.
var<workgroup> left: array<vec4<f32>, LEFT>;
var<workgroup> right: array<vec4<f32>, RIGHT>;
var<workgroup> tile: array<vec4<f32>, BLOCK * TILE_STRIDE>;

// Place `i` of a slice of left rows, row by row: of the queries if `reads`, else of the keys; zeros beyond `count` rows.
fn left4(reads: bool, row: u32, count: u32, slice: u32, i: u32) -> vec4<f32> {
    let r = i / W4;
    let column = slice * W4 + i % W4;
    if r >= count || column >= DK4 {
        return vec4<f32>();
    }
    if reads {
        return query4(row + r, column);
    }
    return key4(row + r, column);
}

// Place `i` of a slice of right rows: of the keys of the chunk's own writes if `raw`, else of the dictionary.
fn right4(raw: bool, row: u32, count: u32, slice: u32, i: u32) -> vec4<f32> {
    let r = i / W4;
    let column = slice * W4 + i % W4;
    if r >= count || column >= DK4 {
        return vec4<f32>();
    }
    if raw {
        return own_key4(row + r, column);
    }
    return dict_k[(row + r) * DK4 + column];
}

// Place `i` of a slice of value rows.
fn value_at(raw: bool, row: u32, count: u32, slice: u32, i: u32) -> vec4<f32> {
    let r = i / W4;
    let column = slice * W4 + i % W4;
    if r >= count || column >= DV4 {
        return vec4<f32>();
    }
    if raw {
        return value4(row + r, column);
    }
    return dict_v[(row + r) * DV4 + column];
}

fn put_left(i: u32, x: vec4<f32>) {
    if i < BLOCK * W4 {
        left[(i / W4) * STRIDE + i % W4] = x;
    }
}

// Row 4 a + b of the tile goes to place 16 b + a, so that the 16 threads that read rows 4 a .. 4 a + 3 read 16 places in
// a row.
fn put_right(i: u32, x: vec4<f32>) {
    if i < ROWS * W4 {
        let r = i / W4;
        right[((r & 3u) * 16u + (r >> 2u)) * STRIDE + i % W4] = x;
    }
}

fn put_values(i: u32, x: vec4<f32>) {
    if i < ROWS * W4 {
        right[i] = x;
    }
}

// Products of left rows 4 * (lane / 16) .. + 3 (the columns) with right rows 4 * (lane % 16) .. + 3.
fn products(reads: bool, left_row: u32, left_count: u32, raw: bool, right_row: u32, right_count: u32, lane: u32) -> mat4x4<f32> {
    var s0 = vec4<f32>();
    var s1 = vec4<f32>();
    var s2 = vec4<f32>();
    var s3 = vec4<f32>();
    let tx = lane % 16u;
    let ty = lane / 16u * 4u;
    for (var slice = 0u; slice < SLICES_K; slice++) {
        workgroupBarrier();
        for (var i = lane; i < BLOCK * W4; i += 4u * THREADS) {
            let x0 = left4(reads, left_row, left_count, slice, i);
            let x1 = left4(reads, left_row, left_count, slice, i + THREADS);
            let x2 = left4(reads, left_row, left_count, slice, i + 2u * THREADS);
            let x3 = left4(reads, left_row, left_count, slice, i + 3u * THREADS);
            put_left(i, x0);
            put_left(i + THREADS, x1);
            put_left(i + 2u * THREADS, x2);
            put_left(i + 3u * THREADS, x3);
        }
        for (var i = lane; i < ROWS * W4; i += 4u * THREADS) {
            let x0 = right4(raw, right_row, right_count, slice, i);
            let x1 = right4(raw, right_row, right_count, slice, i + THREADS);
            let x2 = right4(raw, right_row, right_count, slice, i + 2u * THREADS);
            let x3 = right4(raw, right_row, right_count, slice, i + 3u * THREADS);
            put_right(i, x0);
            put_right(i + THREADS, x1);
            put_right(i + 2u * THREADS, x2);
            put_right(i + 3u * THREADS, x3);
        }
        workgroupBarrier();
        for (var k = 0u; k < W4; k++) {
            let b0 = right[tx * STRIDE + k];
            let b1 = right[(16u + tx) * STRIDE + k];
            let b2 = right[(32u + tx) * STRIDE + k];
            let b3 = right[(48u + tx) * STRIDE + k];
            let a0 = left[ty * STRIDE + k];
            let a1 = left[(ty + 1u) * STRIDE + k];
            let a2 = left[(ty + 2u) * STRIDE + k];
            let a3 = left[(ty + 3u) * STRIDE + k];
            s0 += vec4<f32>(dot(a0, b0), dot(a0, b1), dot(a0, b2), dot(a0, b3));
            s1 += vec4<f32>(dot(a1, b0), dot(a1, b1), dot(a1, b2), dot(a1, b3));
            s2 += vec4<f32>(dot(a2, b0), dot(a2, b1), dot(a2, b2), dot(a2, b3));
            s3 += vec4<f32>(dot(a3, b0), dot(a3, b1), dot(a3, b2), dot(a3, b3));
        }
    }
    return mat4x4<f32>(s0, s1, s2, s3);
}

// Puts a thread's four products with left row `r` into the tile, LOWEST in place of those from column `seen` on.
fn put_tile(r: u32, lane: u32, seen: u32, x: vec4<f32>) {
    let columns = vec4<u32>(0u, 1u, 2u, 3u) + (lane % 16u) * 4u;
    tile[r * TILE_STRIDE + lane % 16u] = select(x, vec4<f32>(LOWEST), columns >= vec4<u32>(seen));
}

// What is added to a thread's products with the `rows` rows of a tile from `source` on: their log counts if `counts`, and in any case
// LOWEST for a dead row, which no product of unit vectors changes: it then is as a hidden one.
fn bias_of(source: u32, rows: u32, lane: u32, counts: bool) -> vec4<f32> {
    var bias = vec4<f32>();
    let column = (lane % 16u) * 4u;
    for (var j = 0u; j < 4u; j++) {
        if column + j < rows {
            let log_count = log_counts[source + column + j];
            bias[j] = select(0.0, log_count, counts || log_count == LOWEST);
        }
    }
    return bias;
}

// The nearest centroids of one block of writes within one split of the dictionary.
fn nearest(index: u32, lane: u32) {
    let split = index % step.token_splits;
    let block = (index / step.token_splits) % step.token_blocks;
    let head = index / (step.token_splits * step.token_blocks);
    let first = block * BLOCK;
    let count = min(BLOCK, step.length - first);
    let token = lane / PARTS;
    let part = lane % PARTS;
    // Before there is any centroid the chunk's first key stands in for one.
    let rows = max(step.rows, 1u);
    let end = min((split + 1u) * step.token_tiles, (rows + ROWS - 1u) / ROWS);
    var best = LOWEST;
    var second = LOWEST;
    var at = 0u;
    for (var t = split * step.token_tiles; t < end; t++) {
        let row = t * ROWS;
        let source = select(head * CAPACITY + row, head * WRITES + step.start, step.rows == 0u);
        var s = products(false, head * WRITES + step.start + first, count, step.rows == 0u, source, min(ROWS, rows - row), lane);
        let r = lane / 16u * 4u;
        if DEAD_ROWS && step.rows != 0u {
            let dead = bias_of(source, min(ROWS, rows - row), lane, false);
            s = mat4x4<f32>(s[0] + dead, s[1] + dead, s[2] + dead, s[3] + dead);
        }
        put_tile(r, lane, rows - row, s[0]);
        put_tile(r + 1u, lane, rows - row, s[1]);
        put_tile(r + 2u, lane, rows - row, s[2]);
        put_tile(r + 3u, lane, rows - row, s[3]);
        workgroupBarrier();
        // Ascending rows and a strict comparison: of equals the lower row stays.
        for (var i = 0u; i < PART4; i++) {
            let x = tile[token * TILE_STRIDE + part * PART4 + i];
            for (var j = 0u; j < 4u; j++) {
                if x[j] > best {
                    second = best;
                    best = x[j];
                    at = row + (part * PART4 + i) * 4u + j;
                } else if x[j] > second {
                    second = x[j];
                }
            }
        }
    }
    workgroupBarrier();
    left[lane] = vec4<f32>(best, second, f32(at), 0.0);
    workgroupBarrier();
    if part == 0u && token < count {
        var all = left[lane];
        for (var p = 1u; p < PARTS; p++) {
            all = nearer(all, left[lane + p]);
        }
        stats[(head * CHUNK + first + token) * step.token_splits + split] = all;
    }
}

// How many of the `rows` rows from `row` on the read `reader` of this dispatch sees.
fn seen(reader: u32, raw: bool, row: u32, rows: u32) -> u32 {
    if reader >= step.read_count {
        return 0u;
    }
    if raw {
        return min(rows, max(after[step.read_start + reader] - step.start, row) - row);
    }
    return rows;
}

// One block of reads of one query head over one split of [dictionary tiles, tiles of the chunk].
fn predict(index: u32, lane: u32) {
    let split = index % step.read_splits;
    let block = (index / step.read_splits) % step.read_blocks;
    let query_head = index / (step.read_splits * step.read_blocks);
    let head = query_head / QUERIES_EACH;
    let first = block * BLOCK;
    let count = min(BLOCK, step.read_count - first);
    let dict_tiles = (step.rows + ROWS - 1u) / ROWS;
    let end = min((split + 1u) * step.read_tiles, dict_tiles + (step.visible + ROWS - 1u) / ROWS);
    let reader = lane / PARTS;
    let part = lane % PARTS;
    let px = lane % W4;
    let py = lane / W4;
    // A thread's sums for left rows py * SUMS_EACH + 0 .. 3, by slice; SUMS_EACH is 1, 2 or 4.
    var acc0 = array<vec4<f32>, SLICES_V>();
    var acc1 = array<vec4<f32>, SLICES_V>();
    var acc2 = array<vec4<f32>, SLICES_V>();
    var acc3 = array<vec4<f32>, SLICES_V>();
    var largest = LOWEST;
    var sum = 0.0;
    for (var t = split * step.read_tiles; t < end; t++) {
        let raw = t >= dict_tiles;
        let row = select(t, t - dict_tiles, raw) * ROWS;
        let rows = min(ROWS, select(step.rows, step.visible, raw) - row);
        let source = select(head * CAPACITY, head * WRITES + step.start, raw) + row;
        let s = products(true, query_head * READS + step.read_start + first, count, raw, source, rows, lane);
        var bias = vec4<f32>();
        if (COUNT_BIAS || DEAD_ROWS) && !raw {
            bias = bias_of(source, rows, lane, COUNT_BIAS);
        }
        let r = lane / 16u * 4u;
        put_tile(r, lane, seen(first + r, raw, row, rows), BETA * s[0] + bias);
        put_tile(r + 1u, lane, seen(first + r + 1u, raw, row, rows), BETA * s[1] + bias);
        put_tile(r + 2u, lane, seen(first + r + 2u, raw, row, rows), BETA * s[2] + bias);
        put_tile(r + 3u, lane, seen(first + r + 3u, raw, row, rows), BETA * s[3] + bias);
        workgroupBarrier();
        var peak = LOWEST;
        for (var i = 0u; i < PART4; i++) {
            let x = tile[reader * TILE_STRIDE + part * PART4 + i];
            peak = max(peak, max(max(x.x, x.y), max(x.z, x.w)));
        }
        left[lane] = vec4<f32>(peak, 0.0, 0.0, 0.0);
        workgroupBarrier();
        let before = largest;
        for (var p = 0u; p < PARTS; p++) {
            largest = max(largest, left[reader * PARTS + p].x);
        }
        let scale = exp(before - largest);
        var own = 0.0;
        for (var i = 0u; i < PART4; i++) {
            let place = reader * TILE_STRIDE + part * PART4 + i;
            let x = tile[place];
            // A hidden row has no weight, also where every row of the split is hidden.
            let w = select(exp(x - largest), vec4<f32>(), x == vec4<f32>(LOWEST));
            own += w.x + w.y + w.z + w.w;
            tile[place] = w;
        }
        right[lane] = vec4<f32>(own, scale, 0.0, 0.0);
        workgroupBarrier();
        sum *= scale;
        for (var p = 0u; p < PARTS; p++) {
            sum += right[reader * PARTS + p].x;
        }
        let own_row = py * SUMS_EACH;
        var rescale = vec4<f32>(right[own_row * PARTS].y);
        if SUMS_EACH > 1u {
            rescale.y = right[(own_row + 1u) * PARTS].y;
        }
        if SUMS_EACH > 2u {
            rescale.z = right[(own_row + 2u) * PARTS].y;
            rescale.w = right[(own_row + 3u) * PARTS].y;
        }
        for (var slice = 0u; slice < SLICES_V; slice++) {
            workgroupBarrier();
            for (var i = lane; i < ROWS * W4; i += 4u * THREADS) {
                let x0 = value_at(raw, source, rows, slice, i);
                let x1 = value_at(raw, source, rows, slice, i + THREADS);
                let x2 = value_at(raw, source, rows, slice, i + 2u * THREADS);
                let x3 = value_at(raw, source, rows, slice, i + 3u * THREADS);
                put_values(i, x0);
                put_values(i + THREADS, x1);
                put_values(i + 2u * THREADS, x2);
                put_values(i + 3u * THREADS, x3);
            }
            workgroupBarrier();
            var a0 = acc0[slice] * rescale.x;
            var a1 = acc1[slice] * rescale.y;
            var a2 = acc2[slice] * rescale.z;
            var a3 = acc3[slice] * rescale.w;
            for (var j = 0u; j < ROWS / 4u; j++) {
                let values_of = mat4x4<f32>(
                    right[(4u * j) * W4 + px],
                    right[(4u * j + 1u) * W4 + px],
                    right[(4u * j + 2u) * W4 + px],
                    right[(4u * j + 3u) * W4 + px],
                );
                let at = own_row * TILE_STRIDE + j;
                a0 += values_of * tile[at];
                if SUMS_EACH > 1u {
                    a1 += values_of * tile[at + TILE_STRIDE];
                }
                if SUMS_EACH > 2u {
                    a2 += values_of * tile[at + 2u * TILE_STRIDE];
                    a3 += values_of * tile[at + 3u * TILE_STRIDE];
                }
            }
            acc0[slice] = a0;
            acc1[slice] = a1;
            acc2[slice] = a2;
            acc3[slice] = a3;
        }
    }
    if part == 0u && reader < count {
        stats[READ_STATS + (query_head * PASS + first + reader) * step.read_splits + split] = vec4<f32>(largest, sum, 0.0, 0.0);
    }
    for (var slice = 0u; slice < SLICES_V; slice++) {
        let column = slice * W4 + px;
        let r = py * SUMS_EACH;
        put_sum(query_head, first + r, split, column, acc0[slice]);
        if SUMS_EACH > 1u {
            put_sum(query_head, first + r + 1u, split, column, acc1[slice]);
        }
        if SUMS_EACH > 2u {
            put_sum(query_head, first + r + 2u, split, column, acc2[slice]);
            put_sum(query_head, first + r + 3u, split, column, acc3[slice]);
        }
    }
}

fn put_sum(query_head: u32, reader: u32, split: u32, column: u32, x: vec4<f32>) {
    if reader < step.read_count && column < DV4 {
        sums[((query_head * PASS + reader) * step.read_splits + split) * DV4 + column] = x;
    }
}

@compute @workgroup_size(THREADS)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
    let index = flat_group(group, groups);
    let tokens = HEADS * step.token_blocks * step.token_splits;
    if index < tokens {
        nearest(index, lane);
    } else if index < tokens + QUERY_HEADS * step.read_blocks * step.read_splits {
        predict(index - tokens, lane);
    }
}
