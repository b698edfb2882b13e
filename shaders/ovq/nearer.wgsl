// Two results [best, second best, row of the best, _] of disjoint rows as one. Equal ones: the lower row.
fn nearer(a: vec4<f32>, b: vec4<f32>) -> vec4<f32> {
    if b.x > a.x || (b.x == a.x && b.z < a.z) {
        return vec4<f32>(b.x, max(b.y, a.x), b.z, 0.0);
    }
    return vec4<f32>(a.x, max(a.y, b.x), a.z, 0.0);
}
