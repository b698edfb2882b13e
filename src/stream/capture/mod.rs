//! Captures: queries, keys and values of a real model, from safetensors.
//!
//! A capture holds, for some layers N, the tensors `layers.N.q` [Hq, T, dk], `layers.N.k` [Hkv, T, dk] and `layers.N.v`
//! [Hkv, T, dv] in F16, BF16, F32 or F64: what a head's attention was given, after the position encoding. Layers with gates may
//! have `layers.N.decay` and `layers.N.rate` [Hkv, T] as well ([`Gates`]). Its metadata may hold
//! `tokens` (a JSON list of T texts), `token_ids`, `needle` (a JSON pair, the tokens from..to that hold the fact asked for),
//! `answer`, `scale` (the logit scale, `0.125` or `64^-0.5`; 1/sqrt(dk) where absent), `model`, `prompt` and `rope`.
//!
//! The file is memory-mapped, and only the layer and heads that are wanted are converted.

pub(crate) mod convert;
mod error;
mod meta;
mod summary;

use std::fs::File;
use std::path::Path;

use memmap2::Mmap;
use ndarray::{Array3, Axis};
use safetensors::SafeTensors;
use safetensors::tensor::{Metadata, SafeTensorError, TensorInfo};

pub use error::CaptureError;
pub use meta::Facts;
pub use summary::{CaptureSummary, LayerSummary, TensorSummary};

use crate::session::CaptureSource;
use crate::stream::{Gates, Labels, Roles, Stream, StreamParts, Targets};

/// The path that stands for the capture inside the program.
pub const BUNDLED: &str = "bundled";

/// Most tokens a capture's stream may have.
pub const MAX_TOKENS: usize = 131_072;

/// Most numbers in a key or a value.
pub const MAX_DIM: usize = 256;

static BUNDLED_BYTES: &[u8] = include_bytes!("../../../assets/smollm2_needle_2k_layer12_kv0.safetensors");

/// Bytes in front of the header of a safetensors file: its length.
const LENGTH_BYTES: usize = 8;

#[derive(Debug)]
enum Bytes {
    Mapped(Mmap),
    Static(&'static [u8]),
    /// A file too short to be mapped.
    Empty,
}

impl Bytes {
    fn get(&self) -> &[u8] {
        match self {
            Self::Mapped(map) => map,
            Self::Static(bytes) => bytes,
            Self::Empty => &[],
        }
    }
}

/// An open capture: its header and metadata are read, its numbers are not.
#[derive(Debug)]
pub struct Capture {
    file: String,
    bytes: Bytes,
    data_start: usize,
    header: Metadata,
    facts: Facts,
}

/// The tensors that hold a layer's gates, where a capture has them, with the largest number each may hold.
const GATES: [(&str, f32); 2] = [("decay", 1.0), ("rate", f32::MAX)];

/// The tensors of a layer, checked against each other.
struct LayerTensors<'a> {
    q: &'a TensorInfo,
    k: &'a TensorInfo,
    v: &'a TensorInfo,
    /// In the order of [`GATES`].
    gates: [Option<&'a TensorInfo>; 2],
}

impl LayerTensors<'_> {
    fn heads(&self) -> (usize, usize) {
        (self.q.shape[0], self.k.shape[0])
    }
}

impl Capture {
    /// Opens a capture: a file, or the one inside the program for the path `bundled`.
    ///
    /// # Errors
    /// If the file cannot be opened, is no whole safetensors file, or its metadata cannot be understood.
    pub fn open(path: &Path) -> Result<Self, CaptureError> {
        if path == Path::new(BUNDLED) {
            return Self::bundled();
        }
        let file = path.display().to_string();
        let unreadable = |e: std::io::Error| CaptureError::Open { file: file.clone(), reason: e.to_string() };
        let handle = File::open(path).map_err(unreadable)?;
        let about = handle.metadata().map_err(unreadable)?;
        if !about.is_file() {
            return Err(CaptureError::Open { file, reason: "it is not a file".to_owned() });
        }
        let bytes = if about.len() == 0 { Bytes::Empty } else { Bytes::Mapped(map(&handle).map_err(unreadable)?) };
        Self::read(file, bytes)
    }

    /// The capture inside the program: layer 12, key/value head 0 of SmolLM2-135M-Instruct on a needle prompt of 2048 tokens
    /// (`assets/README.md`).
    ///
    /// # Errors
    /// Never, as a test shows.
    pub fn bundled() -> Result<Self, CaptureError> {
        Self::read(BUNDLED.to_owned(), Bytes::Static(BUNDLED_BYTES))
    }

    fn read(file: String, bytes: Bytes) -> Result<Self, CaptureError> {
        let (length, header) = SafeTensors::read_metadata(bytes.get()).map_err(|e| header_error(&file, bytes.get(), &e))?;
        let facts = Facts::read(&file, header.metadata().as_ref())?;
        Ok(Self { file, bytes, data_start: LENGTH_BYTES + length, header, facts })
    }

    /// What the metadata tells.
    #[must_use]
    pub fn facts(&self) -> &Facts {
        &self.facts
    }

    /// The layers of which at least one tensor is there, ascending.
    #[must_use]
    pub fn layers(&self) -> Vec<u32> {
        let mut layers: Vec<u32> = self.header.offset_keys().iter().filter_map(|n| layer_of(n)).collect();
        layers.sort_unstable();
        layers.dedup();
        layers
    }

    /// Loads a layer's heads as a stream: every token is a write and a read that sees itself and what came before.
    ///
    /// # Errors
    /// If the layer, a tensor, a head or the number of tokens wanted is not there, has a wrong type, shape or size, or if a
    /// number is not finite.
    pub fn stream(&self, source: &CaptureSource) -> Result<Stream, CaptureError> {
        let layer = self.pick_layer(source.layer)?;
        let tensors = self.tensors(layer)?;
        let (query_heads, kv_heads) = tensors.heads();
        let group = query_heads / kv_heads;
        let wanted = self.pick_heads(source.kv_heads.as_deref(), kv_heads)?;
        let total = tensors.k.shape[1];
        let tokens = self.pick_tokens(source.tokens, total)?;
        let queries_wanted: Vec<usize> = wanted.iter().flat_map(|h| h * group..(h + 1) * group).collect();
        let keys = self.convert(&format!("layers.{layer}.k"), tensors.k, &wanted, tokens)?;
        let values = self.convert(&format!("layers.{layer}.v"), tensors.v, &wanted, tokens)?;
        let queries = self.convert(&format!("layers.{layer}.q"), tensors.q, &queries_wanted, tokens)?;
        let beta = self.facts.scale.unwrap_or_else(|| 1.0 / (tensors.k.shape[2] as f64).sqrt()) as f32;
        let labels = self.labels(layer, &wanted, kv_heads, total, tokens)?;
        let gates = self.gates(layer, &tensors, &wanted, tokens)?;
        let after = (1..=tokens as u32).collect();
        let parts = StreamParts { keys, values, queries, after, beta, targets: Targets::FullAttention, labels };
        let stream = Stream::new(parts).and_then(|stream| match gates {
            Gates { decay: None, rate: None } => Ok(stream),
            gates => stream.with_gates(gates),
        });
        stream.map_err(|e| CaptureError::Stream { file: self.file.clone(), reason: e.to_string() })
    }

    /// The layer's own gates for the heads wanted and their first `tokens` tokens.
    fn gates(&self, layer: u32, tensors: &LayerTensors<'_>, heads: &[usize], tokens: usize) -> Result<Gates, CaptureError> {
        let gate = |index: usize| {
            let Some(info) = tensors.gates[index] else { return Ok(None) };
            let (part, max) = GATES[index];
            let tensor = format!("layers.{layer}.{part}");
            // A gate is one number a token.
            let single = TensorInfo { shape: vec![info.shape[0], info.shape[1], 1], dtype: info.dtype, data_offsets: info.data_offsets };
            let gate = self.convert(&tensor, &single, heads, tokens)?.remove_axis(Axis(2));
            match gate.indexed_iter().find(|(_, x)| !(0.0..=max).contains(*x)) {
                None => Ok(Some(gate)),
                Some(((head, token), value)) => {
                    let found = format!("{value} at [head {}, token {token}]", heads[head]);
                    let expected = if max > 1.0 { "a number not below 0" } else { "a number from 0 to 1" };
                    Err(CaptureError::Shape { file: self.file.clone(), tensor, found, expected: expected.to_owned() })
                }
            }
        };
        Ok(Gates { decay: gate(0)?, rate: gate(1)? })
    }

    fn pick_layer(&self, wanted: Option<u32>) -> Result<u32, CaptureError> {
        let layers = self.layers();
        let Some(&first) = layers.first() else {
            let names = self.header.offset_keys();
            let found = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
            return Err(CaptureError::NoLayer { file: self.file.clone(), found: found.chars().take(400).collect() });
        };
        let layer = wanted.unwrap_or(first);
        if layers.contains(&layer) {
            return Ok(layer);
        }
        let layers = layers.iter().map(u32::to_string).collect::<Vec<_>>().join(", ");
        Err(CaptureError::Layer { file: self.file.clone(), layer, layers })
    }

    fn pick_heads(&self, wanted: Option<&[u32]>, heads: usize) -> Result<Vec<usize>, CaptureError> {
        let Some(wanted) = wanted else { return Ok((0..heads).collect()) };
        let mut sorted = wanted.to_vec();
        sorted.sort_unstable();
        sorted.dedup();
        if sorted.is_empty() || sorted.len() != wanted.len() || sorted.iter().any(|&h| h as usize >= heads) {
            let expected = format!("a list of different heads from 0 to {}", heads - 1);
            return Err(CaptureError::Wanted { file: self.file.clone(), field: "kv_heads", found: format!("{wanted:?}"), expected });
        }
        Ok(wanted.iter().map(|&h| h as usize).collect())
    }

    fn pick_tokens(&self, wanted: Option<usize>, total: usize) -> Result<usize, CaptureError> {
        let tokens = wanted.unwrap_or(total);
        if (1..=total.min(MAX_TOKENS)).contains(&tokens) {
            return Ok(tokens);
        }
        let limit = total.min(MAX_TOKENS);
        let found = if wanted.is_some() { tokens.to_string() } else { format!("not set, and the capture holds {total}") };
        Err(CaptureError::Wanted { file: self.file.clone(), field: "tokens", found, expected: format!("a number from 1 to {limit}") })
    }

    /// The tensors of a layer, if they are there and fit together.
    fn tensors(&self, layer: u32) -> Result<LayerTensors<'_>, CaptureError> {
        let info = |part: &str| {
            let tensor = format!("layers.{layer}.{part}");
            self.header.info(&tensor).ok_or_else(|| {
                let found = ["q", "k", "v"].iter().map(|p| format!("layers.{layer}.{p}")).filter(|n| self.header.info(n).is_some());
                CaptureError::Tensor { file: self.file.clone(), layer, tensor, found: found.collect::<Vec<_>>().join(" and ") }
            })
        };
        let gates = GATES.map(|(part, _)| self.header.info(&format!("layers.{layer}.{part}")));
        let tensors = LayerTensors { q: info("q")?, k: info("k")?, v: info("v")?, gates };
        for (part, info) in [("q", tensors.q), ("k", tensors.k), ("v", tensors.v)] {
            let tensor = format!("layers.{layer}.{part}");
            if !convert::is_real(info.dtype) {
                return Err(CaptureError::Dtype { file: self.file.clone(), tensor, found: info.dtype.to_string() });
            }
            let shape = |expected: String| CaptureError::Shape {
                file: self.file.clone(),
                tensor: tensor.clone(),
                found: format!("{:?}", info.shape),
                expected,
            };
            if info.shape.len() != 3 || info.shape.contains(&0) {
                return Err(shape("[heads, tokens, dim], none of them 0,".to_owned()));
            }
            if info.shape[2] > MAX_DIM {
                return Err(shape(format!("[heads, tokens, at most {MAX_DIM}]")));
            }
            let k = &tensors.k.shape;
            let fits = match part {
                "q" => k.len() != 3 || k.contains(&0) || (info.shape[0] % k[0] == 0 && info.shape[1..] == k[1..]),
                _ => info.shape[..2] == k[..2],
            };
            if !fits {
                let (heads, tokens, dim) = (k[0], k[1], k[2]);
                return Err(shape(match part {
                    "q" => format!("[a multiple of the {heads} key/value heads, {tokens}, {dim}]"),
                    _ => format!("[{heads}, {tokens}, dv]"),
                }));
            }
        }
        self.check_gates(layer, &tensors)?;
        Ok(tensors)
    }

    fn check_gates(&self, layer: u32, tensors: &LayerTensors<'_>) -> Result<(), CaptureError> {
        for ((part, _), info) in GATES.iter().zip(tensors.gates) {
            let Some(info) = info else { continue };
            let (file, tensor) = (self.file.clone(), format!("layers.{layer}.{part}"));
            if !convert::is_real(info.dtype) {
                return Err(CaptureError::Dtype { file, tensor, found: info.dtype.to_string() });
            }
            if info.shape != tensors.k.shape[..2] {
                let (found, expected) = (format!("{:?}", info.shape), format!("{:?}, a number for each token,", &tensors.k.shape[..2]));
                return Err(CaptureError::Shape { file, tensor, found, expected });
            }
        }
        Ok(())
    }

    fn convert(&self, tensor: &str, info: &TensorInfo, heads: &[usize], tokens: usize) -> Result<Array3<f32>, CaptureError> {
        let (from, to) = info.data_offsets;
        let data = &self.bytes.get()[self.data_start + from..self.data_start + to];
        convert::heads(data, info, heads, tokens).map_err(|at| CaptureError::NotFinite {
            file: self.file.clone(),
            tensor: tensor.to_owned(),
            head: at.head,
            token: at.token,
            column: at.column,
            value: at.value,
        })
    }

    fn labels(&self, layer: u32, heads: &[usize], of_heads: usize, total: usize, tokens: usize) -> Result<Labels, CaptureError> {
        let facts = &self.facts;
        if let Some(texts) = facts.tokens.as_ref().filter(|t| t.len() != total) {
            let (found, expected) = (format!("a list of {}", texts.len()), format!("one of {total}, a text for each token"));
            return Err(CaptureError::Field { file: self.file.clone(), field: "tokens", found, expected });
        }
        if let Some(needle) = facts.needle.as_ref().filter(|n| n.end > total) {
            let (found, expected) = (format!("[{}, {}]", needle.start, needle.end), format!("a span within {total} tokens"));
            return Err(CaptureError::Field { file: self.file.clone(), field: "needle", found, expected });
        }
        let mut roles = Roles { names: vec!["token".to_owned()], of_write: vec![0; tokens], of_read: Vec::new(), marked: None };
        if let Some(needle) = &facts.needle {
            roles.names.push("needle".to_owned());
            roles.marked = Some(1);
            roles.of_write[needle.start.min(tokens)..needle.end.min(tokens)].fill(1);
        }
        roles.of_read.clone_from(&roles.of_write);
        let mut notes = Vec::new();
        if facts.scale.is_none() {
            notes.push("the capture names no logit scale; beta is 1/sqrt(dk)".to_owned());
        }
        let which = match heads {
            [one] => format!("key/value head {one}"),
            _ if heads.len() == of_heads => format!("{of_heads} key/value heads"),
            _ => format!("key/value heads {}", heads.iter().map(usize::to_string).collect::<Vec<_>>().join(", ")),
        };
        let model = facts.model.as_deref().map_or(self.file.as_str(), |m| m.split(" (").next().unwrap_or(m));
        Ok(Labels {
            title: format!("{model}, layer {layer}, {which}"),
            about: self.facts.about(tokens),
            tokens: facts.tokens.as_ref().map(|t| t[..tokens].to_vec()),
            read_tokens: None,
            roles,
            notes,
            answer_at: None,
        })
    }
}

/// `12` and `q` of `layers.12.q`.
fn part_of(name: &str) -> Option<(u32, &str)> {
    let (number, part) = name.strip_prefix("layers.")?.split_once('.')?;
    let layer = number.parse::<u32>().ok().filter(|n| n.to_string() == number)?;
    Some((layer, part))
}

/// `12` of `layers.12.q`; `None` for what makes no layer.
fn layer_of(name: &str) -> Option<u32> {
    part_of(name).filter(|(_, part)| matches!(*part, "q" | "k" | "v")).map(|(layer, _)| layer)
}

#[allow(unsafe_code, reason = "a memory map is the one way to open a capture of many gigabytes at once")]
fn map(file: &File) -> std::io::Result<Mmap> {
    // SAFETY: the map is read-only and private to this value, every pattern of bytes is a valid `[u8]`, and nothing keeps a
    // reference into it beyond a bounds-checked copy while `Capture` lives. What is left is what every map of a file shares:
    // another program that rewrites the file meanwhile changes the numbers read (they are checked for being finite after
    // they were copied), and one that cuts it short ends the program with a bus error, not with memory of somebody else.
    unsafe { Mmap::map(file) }
}

/// Turns the library's error into a sentence, with sizes where the file is too short.
fn header_error(file: &str, bytes: &[u8], error: &SafeTensorError) -> CaptureError {
    let file = file.to_owned();
    let found = bytes.len() as u64;
    let Some(length) = bytes.first_chunk::<LENGTH_BYTES>().map(|b| u64::from_le_bytes(*b)) else {
        return CaptureError::Header { file, reason: format!("it holds {found} bytes, fewer than the 8 of a header's length") };
    };
    let body = LENGTH_BYTES as u64;
    match error {
        SafeTensorError::InvalidHeaderLength if bytes.get(LENGTH_BYTES) == Some(&b'{') => {
            CaptureError::Length { file, found, expected: length.saturating_add(body) }
        }
        SafeTensorError::MetadataIncompleteBuffer => {
            let end = LENGTH_BYTES + length as usize;
            let header = bytes.get(LENGTH_BYTES..end).and_then(|b| serde_json::from_slice::<Metadata>(b).ok());
            let data = header.map_or(0, |h| h.data_len() as u64);
            CaptureError::Length { file, found, expected: body + length + data }
        }
        other => CaptureError::Header { file, reason: other.to_string() },
    }
}

#[cfg(test)]
mod tests;
