// All that only reads the state: each write's nearest centroids (stage 2), and the reads' softmax over the dictionary and
// the chunk's own pairs (stage 1), each shared out over workgroups by blocks of BLOCK rows and splits of the dictionary.
// `settle` puts the splits together.
//
// A workgroup takes its split in tiles of ROWS = 64 rows. A thread holds the products of READS_EACH left rows and 4 right
// rows; slices of W4 columns pass through workgroup memory.

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
const READS_EACH: u32 = BLOCK * 16u / THREADS;
const PARTS: u32 = THREADS / BLOCK; // threads that scan one left row of a tile
const PART4: u32 = 16u / PARTS; // of its 16 vec4, those of one thread
const SLICES_K: u32 = (DK4 + W4 - 1u) / W4;
const SLICES_V: u32 = (DV4 + W4 - 1u) / W4;
const SUMS_EACH: u32 = BLOCK * W4 / THREADS; // left rows of one column that a thread sums values for

// Room for BLOCK * STRIDE of the left rows, or one vec4 a thread.
var<workgroup> left: array<vec4<f32>, LEFT>;
var<workgroup> right: array<vec4<f32>, RIGHT>;
var<workgroup> tile: array<vec4<f32>, BLOCK * TILE_STRIDE>;

// Rows from `row` on, `count` of them: of the queries if `reads`, else of the keys.
fn load_left(reads: bool, row: u32, count: u32, slice: u32, lane: u32) {
    for (var i = lane; i < BLOCK * W4; i += THREADS) {
        let r = i / W4;
        let column = slice * W4 + i % W4;
        var x = vec4<f32>();
        if r < count && column < DK4 {
            if reads {
                x = query4(row + r, column);
            } else {
                x = key4(row + r, column);
            }
        }
        left[r * STRIDE + i % W4] = x;
    }
}

// Rows from `row` on, `count` of them: of the stream's keys if `raw`, else of the dictionary. Row 4 a + b of the tile
// goes to place 16 b + a, so that the 16 threads that read rows 4 a .. 4 a + 3 read 16 places in a row.
fn load_right(raw: bool, row: u32, count: u32, slice: u32, lane: u32) {
    for (var i = lane; i < ROWS * W4; i += THREADS) {
        let r = i / W4;
        let column = slice * W4 + i % W4;
        var x = vec4<f32>();
        if r < count && column < DK4 {
            if raw {
                x = key4(row + r, column);
            } else {
                x = dict_k[(row + r) * DK4 + column];
            }
        }
        right[((r & 3u) * 16u + (r >> 2u)) * STRIDE + i % W4] = x;
    }
}

// Products of left rows READS_EACH * (lane / 16) + i with right rows 4 * (lane % 16) .. + 3.
fn products(reads: bool, left_row: u32, left_count: u32, raw: bool, right_row: u32, right_count: u32, lane: u32) -> array<vec4<f32>, READS_EACH> {
    var s = array<vec4<f32>, READS_EACH>();
    let tx = lane % 16u;
    let ty = lane / 16u;
    for (var slice = 0u; slice < SLICES_K; slice++) {
        workgroupBarrier();
        load_left(reads, left_row, left_count, slice, lane);
        load_right(raw, right_row, right_count, slice, lane);
        workgroupBarrier();
        for (var k = 0u; k < W4; k++) {
            let b0 = right[tx * STRIDE + k];
            let b1 = right[(16u + tx) * STRIDE + k];
            let b2 = right[(32u + tx) * STRIDE + k];
            let b3 = right[(48u + tx) * STRIDE + k];
            for (var i = 0u; i < READS_EACH; i++) {
                let a = left[(ty * READS_EACH + i) * STRIDE + k];
                s[i] += vec4<f32>(dot(a, b0), dot(a, b1), dot(a, b2), dot(a, b3));
            }
        }
    }
    return s;
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
        let s = products(false, head * WRITES + step.start + first, count, step.rows == 0u, source, min(ROWS, rows - row), lane);
        for (var i = 0u; i < READS_EACH; i++) {
            var x = s[i];
            for (var j = 0u; j < 4u; j++) {
                if row + (lane % 16u) * 4u + j >= rows {
                    x[j] = LOWEST;
                }
            }
            tile[((lane / 16u) * READS_EACH + i) * TILE_STRIDE + lane % 16u] = x;
        }
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
    var acc = array<vec4<f32>, SLICES_V * SUMS_EACH>();
    var largest = LOWEST;
    var sum = 0.0;
    for (var t = split * step.read_tiles; t < end; t++) {
        let raw = t >= dict_tiles;
        let row = select(t, t - dict_tiles, raw) * ROWS;
        let rows = min(ROWS, select(step.rows, step.visible, raw) - row);
        let source = select(head * CAPACITY, head * WRITES + step.start, raw) + row;
        let s = products(true, query_head * READS + step.read_start + first, count, raw, source, rows, lane);
        for (var i = 0u; i < READS_EACH; i++) {
            let r = (lane / 16u) * READS_EACH + i;
            var seen = 0u; // rows of this tile that the reader sees
            if r < count {
                seen = rows;
                if raw {
                    seen = min(rows, max(after[step.read_start + first + r] - step.start, row) - row);
                }
            }
            var x = BETA * s[i];
            for (var j = 0u; j < 4u; j++) {
                let column = (lane % 16u) * 4u + j;
                if column >= seen {
                    x[j] = LOWEST;
                } else if COUNT_BIAS && !raw {
                    x[j] += log_counts[source + column];
                }
            }
            tile[r * TILE_STRIDE + lane % 16u] = x;
        }
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
        for (var i = 0u; i < SUMS_EACH; i++) {
            let rescale = right[(py * SUMS_EACH + i) * PARTS].y;
            for (var slice = 0u; slice < SLICES_V; slice++) {
                acc[slice * SUMS_EACH + i] *= rescale;
            }
        }
        for (var slice = 0u; slice < SLICES_V; slice++) {
            workgroupBarrier();
            for (var i = lane; i < ROWS * W4; i += THREADS) {
                let column = slice * W4 + i % W4;
                var x = vec4<f32>();
                if i / W4 < rows && column < DV4 {
                    if raw {
                        x = value4(source + i / W4, column);
                    } else {
                        x = dict_v[(source + i / W4) * DV4 + column];
                    }
                }
                right[i] = x;
            }
            workgroupBarrier();
            for (var j = 0u; j < ROWS / 4u; j++) {
                let v0 = right[(4u * j) * W4 + px];
                let v1 = right[(4u * j + 1u) * W4 + px];
                let v2 = right[(4u * j + 2u) * W4 + px];
                let v3 = right[(4u * j + 3u) * W4 + px];
                for (var i = 0u; i < SUMS_EACH; i++) {
                    let w = tile[(py * SUMS_EACH + i) * TILE_STRIDE + j];
                    acc[slice * SUMS_EACH + i] += w.x * v0 + w.y * v1 + w.z * v2 + w.w * v3;
                }
            }
        }
    }
    if part == 0u && reader < count {
        stats[READ_STATS + (query_head * PASS + first + reader) * step.read_splits + split] = vec4<f32>(largest, sum, 0.0, 0.0);
    }
    for (var i = 0u; i < SUMS_EACH; i++) {
        let r = py * SUMS_EACH + i;
        for (var slice = 0u; slice < SLICES_V; slice++) {
            let column = slice * W4 + px;
            if r < count && column < DV4 {
                sums[((query_head * PASS + first + r) * step.read_splits + split) * DV4 + column] = acc[slice * SUMS_EACH + i];
            }
        }
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
