// A workgroup's number where a dispatch is split over dimensions (`Gpu::groups` in src/gpu/mod.rs).
fn flat_group(group: vec3<u32>, groups: vec3<u32>) -> u32 {
    return group.x + groups.x * (group.y + groups.y * group.z);
}
