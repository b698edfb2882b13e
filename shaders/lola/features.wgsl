// phi of the keys that are to be folded, four rows at a time: [HEADS, fold_stride, D].
@group(0) @binding(0) var<storage, read> keys: array<f32>;
@group(0) @binding(1) var<storage, read> folded: array<u32>;
@group(0) @binding(2) var<storage, read> weights: array<f32>;
@group(0) @binding(3) var<storage, read_write> features: array<f32>;

@compute @workgroup_size(GROUP)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
    let head = group.y;
    let first = group.x * 4u;
    let at = head * step.fold_stride + min(first + vec4<u32>(0u, 1u, 2u, 3u), vec4<u32>(step.folded - 1u));
    let writes = head * step.writes + min(vec4<u32>(folded[at.x], folded[at.y], folded[at.z], folded[at.w]), vec4<u32>(step.writes - 1u));
    for (var i = lane; i < DK; i += GROUP) {
        let base = writes * DK + i;
        rows[i] = vec4<f32>(keys[base.x], keys[base.y], keys[base.z], keys[base.w]);
    }
    workgroupBarrier();
    prepare(lane, head);
    let count = min(4u, step.folded - first);
    for (var j = lane; j < D; j += GROUP) {
        let feature = phi(j);
        for (var r = 0u; r < count; r++) {
            features[(head * step.fold_stride + first + r) * D + j] = feature[r];
        }
    }
}
