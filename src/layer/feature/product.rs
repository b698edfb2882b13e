//! phi(q).phi(k) of one query with many keys, in float64: what effective attention weighs the state's writes with.

use ndarray::{ArrayView1, ArrayView2, Axis};
use rayon::prelude::*;

use super::{FeatureMap, Map};

/// Features that each thread holds at once (2 MiB).
const FEATURE_NUMBERS: usize = 1 << 18;

impl FeatureMap<f64> {
    /// phi(q).phi(k) of a query `[dk]` of query head `query_head` with each of the keys [n, dk] of key/value head `kv_head`: `[n]`.
    ///
    /// The dk^2 features of `taylor2` are never made: their product is 1 + z + z^2 / 2 with z = beta q.k.
    #[must_use]
    pub fn products(&self, query_head: usize, query: &[f32], kv_head: usize, keys: &ArrayView2<'_, f32>) -> Vec<f64> {
        let query = ArrayView1::from(query).mapv(f64::from);
        let taylor2 = self.map() == Map::Taylor2;
        let phi = if taylor2 { query.clone() } else { self.queries(query_head, &query.view().insert_axis(Axis(0))).row(0).to_owned() };
        let rows = (FEATURE_NUMBERS / phi.len().max(1)).max(1);
        let blocks: Vec<_> = keys.axis_chunks_iter(Axis(0), rows).collect();
        let products = |keys: &ArrayView2<'_, f32>| -> Vec<f64> {
            let keys = keys.mapv(f64::from);
            if taylor2 {
                let closed = |x: f64| {
                    let z = self.beta * x;
                    1.0 + z + 0.5 * z * z
                };
                return keys.dot(&phi).into_iter().map(closed).collect();
            }
            self.keys(kv_head, &keys.view()).dot(&phi).to_vec()
        };
        blocks.par_iter().map(products).collect::<Vec<_>>().concat()
    }
}
