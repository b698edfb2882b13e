//! What is inside a capture and what was understood of it, for `inspect` and for the window's dialog of layers and heads.

use serde::Serialize;

use super::{Capture, Facts, GATES, layer_of, part_of};

/// One tensor of the file, as its header describes it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct TensorSummary {
    /// Its name.
    pub name: String,
    /// Its type, as safetensors calls it.
    pub dtype: String,
    /// Its shape.
    pub shape: Vec<usize>,
    /// Its bytes in the file.
    pub bytes: usize,
}

/// One layer of the capture.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LayerSummary {
    /// Its number in the model.
    pub layer: u32,
    /// T.
    pub tokens: usize,
    /// Hq.
    pub query_heads: usize,
    /// Hkv.
    pub kv_heads: usize,
    /// Query heads a key/value head: 1 without grouped queries.
    pub group: usize,
    /// dk.
    pub key_dim: usize,
    /// dv.
    pub value_dim: usize,
    /// The gates of its own that it has for each token: `decay`, `rate`.
    pub gates: Vec<&'static str>,
    /// Why the layer cannot be used (the sizes above are then 0).
    pub problem: Option<String>,
}

/// See the module's page.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CaptureSummary {
    /// The file, as it was named.
    pub file: String,
    /// Its size.
    pub bytes: usize,
    /// Every tensor, in the file's order.
    pub tensors: Vec<TensorSummary>,
    /// The layers, ascending.
    pub layers: Vec<LayerSummary>,
    /// What the metadata tells.
    pub facts: Facts,
    /// Texts of tokens in the metadata.
    pub token_texts: Option<usize>,
    /// The needle's text.
    pub needle_text: Option<String>,
}

impl Capture {
    /// What is inside, and what was understood.
    #[must_use]
    pub fn summary(&self) -> CaptureSummary {
        let tensors = self.header.offset_keys().into_iter().filter_map(|name| {
            let info = self.header.info(&name)?;
            let bytes = info.data_offsets.1 - info.data_offsets.0;
            Some(TensorSummary { dtype: info.dtype.to_string(), shape: info.shape.clone(), bytes, name })
        });
        let text = |span: &std::ops::Range<usize>| Some(self.facts.tokens.as_ref()?.get(span.clone())?.concat());
        CaptureSummary {
            file: self.file.clone(),
            bytes: self.bytes.get().len(),
            tensors: tensors.collect(),
            layers: self.layers().into_iter().map(|l| self.layer_summary(l)).collect(),
            token_texts: self.facts.tokens.as_ref().map(Vec::len),
            needle_text: self.facts.needle.as_ref().and_then(text),
            facts: self.facts.clone(),
        }
    }

    fn layer_summary(&self, layer: u32) -> LayerSummary {
        let mut summary = LayerSummary {
            layer,
            tokens: 0,
            query_heads: 0,
            kv_heads: 0,
            group: 0,
            key_dim: 0,
            value_dim: 0,
            gates: Vec::new(),
            problem: None,
        };
        match self.tensors(layer) {
            Ok(t) => {
                (summary.query_heads, summary.kv_heads) = t.heads();
                summary.group = summary.query_heads / summary.kv_heads;
                summary.tokens = t.k.shape[1];
                summary.key_dim = t.k.shape[2];
                summary.value_dim = t.v.shape[2];
                summary.gates = GATES.iter().zip(t.gates).filter_map(|((part, _), info)| info.map(|_| *part)).collect();
            }
            Err(e) => summary.problem = Some(e.to_string()),
        }
        summary
    }
}

impl CaptureSummary {
    /// Tensors that belong to no layer and are ignored.
    pub fn ignored(&self) -> impl Iterator<Item = &TensorSummary> {
        let gate = |name| {
            part_of(name)
                .is_some_and(|(layer, part)| GATES.iter().any(|(gate, _)| *gate == part) && self.layers.iter().any(|l| l.layer == layer))
        };
        self.tensors.iter().filter(move |t| layer_of(&t.name).is_none() && !gate(&t.name))
    }
}
