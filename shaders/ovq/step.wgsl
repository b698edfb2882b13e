// What `look` and `settle` are told of a chunk: the twin of `Step` in src/layer/ovq/gpu.rs.
struct Step {
    start: u32,        // the chunk's first write
    length: u32,       // its writes
    rows: u32,         // dictionary rows in use before it, n
    founders: u32,     // rows it adds, m
    chunk: u32,        // its number
    token_blocks: u32, // blocks of BLOCK writes to find centroids for; 0: not in this dispatch
    token_splits: u32, // workgroups that share the dictionary out, for each block
    token_tiles: u32,  // tiles of ROWS rows for each of them
    read_start: u32,   // the first read
    read_count: u32,   // reads of this dispatch
    read_blocks: u32,  // blocks of BLOCK reads
    read_splits: u32,  // workgroups that share dictionary and chunk out, for each block
    read_tiles: u32,   // tiles for each of them
    visible: u32,      // writes of the chunk that any of these reads may see
    window: u32,       // where the first read's output goes
}
var<immediate> step: Step;
