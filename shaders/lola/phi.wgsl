// phi of the four vectors in `rows`, feature by feature. Its twin is src/layer/feature/mod.rs.
// MAP: 0 elu1, 1 relu, 2 hedgehog, 3 taylor2, 4 favor. `weights` is [WEIGHT_HEADS, DK, E]: Hedgehog's W, or the directions
// of FAVOR+ transposed.
var<workgroup> rows: array<vec4<f32>, DK>;
// Hedgehog's x W; one number for the other maps.
var<workgroup> logits: array<vec4<f32>, LOGITS>;

// What the features of a row share: of Hedgehog the largest logit and the sum of both halves, of FAVOR+ beta |x|^2 / 2.
var<private> top: vec4<f32>;
var<private> top_sum: vec4<f32>;
var<private> low: vec4<f32>;
var<private> low_sum: vec4<f32>;
var<private> square: vec4<f32>;

// Column `j` of x W.
fn product(j: u32, head: u32) -> vec4<f32> {
    let base = select(head, 0u, WEIGHT_HEADS == 1u) * DK * E + j;
    var sum = vec4<f32>(0.0);
    for (var i = 0u; i < DK; i++) {
        sum += rows[i] * weights[base + i * E];
    }
    return sum;
}

fn logit(j: u32, head: u32) -> vec4<f32> {
    if WEIGHTED {
        return product(j, head);
    }
    return step.sharpness * rows[j];
}

// To be called by the whole workgroup when `rows` is complete. `head` chooses the weights.
fn prepare(lane: u32, head: u32) {
    if MAP == 2u {
        var most = vec4<f32>(LOWEST);
        var least = vec4<f32>(LOWEST);
        for (var j = lane; j < E; j += GROUP) {
            let z = logit(j, head);
            logits[j] = z;
            most = max(most, z);
            least = max(least, -z);
        }
        top = reduce_max(lane, most);
        low = reduce_max(lane, least);
        var sum = vec4<f32>(0.0);
        var other = vec4<f32>(0.0);
        for (var j = lane; j < E; j += GROUP) {
            sum += exp(logits[j] - top);
            other += exp(-logits[j] - low);
        }
        top_sum = reduce_sum(lane, sum);
        low_sum = reduce_sum(lane, other);
    }
    if MAP == 4u {
        var sum = vec4<f32>(0.0);
        for (var i = lane; i < DK; i += GROUP) {
            sum += rows[i] * rows[i];
        }
        square = 0.5 * step.beta * reduce_sum(lane, sum);
    }
}

// Feature `j` of each row. After `prepare`.
fn phi(j: u32) -> vec4<f32> {
    if MAP == 0u {
        let x = rows[j];
        return select(exp(min(x, vec4<f32>(0.0))), x + 1.0, x > vec4<f32>(0.0));
    }
    if MAP == 1u {
        return max(rows[j], vec4<f32>(0.0));
    }
    if MAP == 2u {
        if j < E {
            return exp(logits[j] - top) / top_sum;
        }
        return exp(-logits[j - E] - low) / low_sum;
    }
    if MAP == 3u {
        if j == 0u {
            return vec4<f32>(1.0);
        }
        if j <= DK {
            return step.first_order * rows[j - 1u];
        }
        let pair = j - 1u - DK;
        return step.second_order * (rows[pair / DK] * rows[pair % DK]);
    }
    return exp(step.first_order * product(j, 0u) - square) / step.feature_scale;
}
