//! A key/value head for each query head: what a memory with maps of its own for every query head needs.

use std::borrow::Cow;

use ndarray::{Array, Array2, Axis, RemoveAxis};

use super::{Gates, Stream};

impl Stream {
    /// The same stream with keys, values and gates repeated, so that each query head has a key/value head of its own: a layer then
    /// keeps one state a query head. Itself where that is so already.
    #[must_use]
    pub fn repeated(&self) -> Cow<'_, Self> {
        let group = self.query_heads() / self.kv_heads();
        if group == 1 {
            return Cow::Borrowed(self);
        }
        let mut stream = self.clone();
        stream.parts.keys = each(&self.parts.keys, group);
        stream.parts.values = each(&self.parts.values, group);
        let gate = |g: &Option<Array2<f32>>| g.as_ref().map(|g| each(g, group));
        stream.extras.gates = self.extras.gates.as_ref().map(|g| Gates { decay: gate(&g.decay), rate: gate(&g.rate) });
        Cow::Owned(stream)
    }
}

/// Every head `times` times, one after the other.
fn each<D: RemoveAxis>(heads: &Array<f32, D>, times: usize) -> Array<f32, D> {
    let order: Vec<usize> = (0..heads.len_of(Axis(0))).flat_map(|h| std::iter::repeat_n(h, times)).collect();
    heads.select(Axis(0), &order)
}

#[cfg(test)]
mod tests {
    use ndarray::Array3;

    use super::*;
    use crate::stream::{Labels, StreamParts, Targets};

    #[test]
    fn every_query_head_has_the_head_that_it_read() {
        let number = |(h, i, d): (usize, usize, usize)| (100 * h + 10 * i + d) as f32;
        let stream = Stream::new(StreamParts {
            keys: Array3::from_shape_fn((2, 3, 4), number),
            values: Array3::from_shape_fn((2, 3, 2), number),
            queries: Array3::ones((6, 3, 4)),
            after: vec![1, 2, 3],
            beta: 1.0,
            targets: Targets::FullAttention,
            labels: Labels::default(),
        })
        .unwrap();
        let gates = Gates { decay: Some(Array2::from_shape_fn((2, 3), |(h, i)| 0.1 * (h + i) as f32)), rate: None };
        let stream = stream.with_gates(gates).unwrap();
        let own = stream.repeated();
        assert_eq!((own.kv_heads(), own.query_heads()), (6, 6));
        for head in 0..6 {
            let read = stream.kv_head_of(head);
            assert_eq!((own.kv_head_of(head), own.keys_of(head)), (head, stream.keys_of(read)));
            assert_eq!(own.values().index_axis(Axis(0), head), stream.values().index_axis(Axis(0), read));
            let decay = |s: &Stream, h| s.gates().unwrap().decay.as_ref().unwrap().row(h).to_owned();
            assert_eq!(decay(&own, head), decay(&stream, read));
        }
        assert!(matches!(own.repeated(), Cow::Borrowed(_)), "a stream that is so already is not copied");
    }
}
