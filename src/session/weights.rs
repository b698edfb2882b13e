//! Learned feature maps of a lane, from a file: Hedgehog's weights for each query head of a model's layer.
//!
//! The file is safetensors: `weights_q` and `weights_k` [layers, query heads, dk, d] in F16, BF16, F32 or F64, where
//! phi(x) = [softmax(x W), softmax(-x W)], and perhaps `log_linear_weight` [layers, query heads], whose exponential is `LoLA`'s
//! `linear_weight`. A file that holds only some layers or query heads of a model says which in its metadata: `layers` and
//! `query_heads`, JSON lists; without them they are numbered from 0. What is taken is the capture's layer, and the query heads
//! that read the key/value heads chosen.
//!
//! Maps are learned for each query head, so keys have one for each query head that reads them, and the lane keeps one state a
//! query head ([`Stream::repeated`]).

use std::borrow::Cow;
use std::io::Read;
use std::path::Path;

use ndarray::{ArrayD, IxDyn};
use safetensors::SafeTensors;
use safetensors::tensor::TensorView;
use thiserror::Error;

use super::file::resolve;
use super::{CaptureSource, Source};
use crate::layer::{Arrays, LayerKind};
use crate::param::Resolved;
use crate::stream::Stream;
use crate::stream::capture::{BUNDLED, Capture, CaptureError, convert};

/// Hedgehog maps of the bundled capture's layer and heads (`assets/README.md`).
static BUNDLED_BYTES: &[u8] = include_bytes!("../../assets/smollm2_hedgehog_layer12_kv0.safetensors");

/// A file larger than this is something else.
const MAX_BYTES: u64 = 1 << 30;

/// The name of the array and tensor whose exponential is `linear_weight`.
pub const LOG_LINEAR_WEIGHT: &str = "log_linear_weight";

/// Why a lane cannot have its weights.
#[derive(Debug, Clone, PartialEq, Error)]
#[allow(missing_docs, reason = "each variant's own line explains its fields")]
pub enum WeightsError {
    /// The layer has no feature map.
    #[error("`weights` is {file}, but the layer `{layer}` has no feature map that could take them; `lola` and `linear` have")]
    Layer { file: String, layer: &'static str },
    /// The stream is no model's.
    #[error(
        "`weights` is {file}, but the stream is the task `{task}`: weights belong to a layer and heads of a model, so they need a capture (or another `fmap` than hedgehog, which leaves them unused)"
    )]
    Task { file: String, task: String },
    /// The capture whose layer is asked for.
    #[error(transparent)]
    Capture(#[from] CaptureError),
    /// The file cannot be read, or is something else.
    #[error("{file}: the weights cannot be read: {reason}")]
    Read { file: String, reason: String },
    /// A tensor is absent.
    #[error(
        "{file}: the tensor `{tensor}` is missing; weights are `weights_q` and `weights_k`, each [layers, query heads, dk, d]; the file has {found}"
    )]
    Tensor { file: String, tensor: &'static str, found: String },
    /// A tensor has another shape or type.
    #[error("{file}: `{tensor}` is {found}, but {expected} is expected")]
    Shape { file: String, tensor: &'static str, found: String, expected: String },
    /// A number that is not finite.
    #[error("{file}: `{tensor}` holds {value} at [layer {layer}, query head {head}], but every number must be finite in float32")]
    NotFinite { file: String, tensor: &'static str, layer: u32, head: usize, value: f64 },
    /// A list in the metadata.
    #[error("{file}: the metadata's `{field}` is {found}, but {expected} is expected")]
    Field { file: String, field: &'static str, found: String, expected: String },
    /// The layer or query head wanted is not there.
    #[error("{file}: `weights_q` holds no {what} {wanted}, which this stream needs; its {what}s are {held}")]
    Absent { file: String, what: &'static str, wanted: usize, held: String },
}

/// What a lane gets from its file of weights.
#[derive(Debug, Clone, Default)]
pub(super) struct Learned {
    /// `weights_q`, `weights_k` [query heads, dk, d] and perhaps `log_linear_weight` [query heads]; none where the lane's
    /// feature map is another one, which leaves them unused.
    pub arrays: Arrays,
    /// What was done, for the screen.
    pub note: String,
}

/// The arrays of a lane with `weights` at `path` on `stream`, which is that of `source`.
///
/// # Errors
/// If the layer takes none, the source is no capture, or the file does not hold what is needed.
pub(super) fn load(
    path: &Path,
    base: Option<&Path>,
    source: &Source,
    kind: &dyn LayerKind,
    params: &Resolved,
    stream: &Stream,
) -> Result<Learned, WeightsError> {
    let file = path.display().to_string();
    if !kind.params().iter().any(|p| p.name == "fmap") {
        return Err(WeightsError::Layer { file, layer: kind.name() });
    }
    let map = params.choice("fmap");
    if map != "hedgehog" {
        return Ok(Learned { arrays: Arrays::new(), note: format!("the weights of {file} are not used: the feature map is {map}") });
    }
    let capture = match source {
        Source::Capture(capture) => capture,
        Source::Task(task) => return Err(WeightsError::Task { file, task: task.name.clone() }),
    };
    let (layer, heads) = wanted(capture, base, stream)?;
    let (bytes, file) = bytes(path, base)?;
    let tensors = SafeTensors::deserialize(&bytes).map_err(|e| WeightsError::Read { file: file.clone(), reason: e.to_string() })?;
    File { name: &file, tensors, metadata: metadata(&bytes, &file)? }.learned(layer, &heads, stream.key_dim())
}

/// The layer and the query heads of a capture's stream.
fn wanted(source: &CaptureSource, base: Option<&Path>, stream: &Stream) -> Result<(u32, Vec<usize>), CaptureError> {
    let layer = match source.layer {
        Some(layer) => layer,
        None if source.is_bundled() => Capture::bundled()?.layers().first().copied().unwrap_or(0),
        None => Capture::open(&resolve(&source.path, base))?.layers().first().copied().unwrap_or(0),
    };
    let group = stream.query_heads() / stream.kv_heads();
    let kv_heads = source.kv_heads.clone().unwrap_or_else(|| (0..stream.kv_heads() as u32).collect());
    Ok((layer, kv_heads.iter().flat_map(|&h| h as usize * group..(h as usize + 1) * group).collect()))
}

/// A file's bytes, and what messages call it.
fn bytes(path: &Path, base: Option<&Path>) -> Result<(Cow<'static, [u8]>, String), WeightsError> {
    if path.as_os_str() == BUNDLED {
        return Ok((Cow::Borrowed(BUNDLED_BYTES), "the bundled weights".to_owned()));
    }
    let path = resolve(path, base);
    let file = path.display().to_string();
    let failed = |reason: String| WeightsError::Read { file: file.clone(), reason };
    let mut bytes = Vec::new();
    let read = std::fs::File::open(&path).and_then(|f| f.take(MAX_BYTES).read_to_end(&mut bytes));
    read.map_err(|e| failed(e.to_string()))?;
    if bytes.len() as u64 == MAX_BYTES {
        return Err(failed(format!("it has {MAX_BYTES} bytes or more, too many for weights")));
    }
    Ok((Cow::Owned(bytes), file))
}

fn metadata(bytes: &[u8], file: &str) -> Result<std::collections::HashMap<String, String>, WeightsError> {
    let header = SafeTensors::read_metadata(bytes).map_err(|e| WeightsError::Read { file: file.to_owned(), reason: e.to_string() })?;
    Ok(header.1.metadata().clone().unwrap_or_default())
}

/// An open file of weights.
struct File<'a> {
    name: &'a str,
    tensors: SafeTensors<'a>,
    metadata: std::collections::HashMap<String, String>,
}

impl File<'_> {
    fn learned(&self, layer: u32, heads: &[usize], dk: usize) -> Result<Learned, WeightsError> {
        let [q, k] = [self.tensor("weights_q")?, self.tensor("weights_k")?];
        let shape = q.shape().to_vec();
        if shape.len() != 4 || shape.contains(&0) || shape[2] != dk {
            return Err(self.shape("weights_q", &q, format!("[layers, query heads, {dk}, d] (the stream's keys have {dk} numbers)")));
        }
        if k.shape() != shape {
            return Err(self.shape("weights_k", &k, format!("{shape:?}, as `weights_q` is,")));
        }
        let layers = self.list("layers", shape[0])?;
        let held = self.list("query_heads", shape[1])?;
        let place = |what, all: &[usize], wanted: usize| {
            let held = || all.iter().map(usize::to_string).collect::<Vec<_>>().join(", ");
            let absent = || WeightsError::Absent { file: self.name.to_owned(), what, wanted, held: held() };
            all.iter().position(|&x| x == wanted).ok_or_else(absent)
        };
        let at = place("layer", &layers, layer as usize)?;
        let rows = heads.iter().map(|&h| place("query head", &held, h)).collect::<Result<Vec<_>, _>>()?;
        let rows: Vec<usize> = rows.into_iter().map(|row| at * shape[1] + row).collect();
        let each = shape[2] * shape[3];
        let maps = [heads.len(), shape[2], shape[3]];
        let mut arrays = Arrays::new();
        for (tensor, view) in [("weights_q", &q), ("weights_k", &k)] {
            arrays.insert(tensor.to_owned(), self.rows(tensor, view, &rows, each, &maps, (layer, heads))?);
        }
        if let Ok(view) = self.tensors.tensor(LOG_LINEAR_WEIGHT) {
            if view.shape() != &shape[..2] {
                return Err(self.shape(
                    LOG_LINEAR_WEIGHT,
                    &view,
                    format!("[{}, {}], one number a layer and query head,", shape[0], shape[1]),
                ));
            }
            let weights = self.rows(LOG_LINEAR_WEIGHT, &view, &rows, 1, &[heads.len()], (layer, heads))?;
            arrays.insert(LOG_LINEAR_WEIGHT.to_owned(), weights);
        }
        Ok(Learned { note: self.note(layer, heads, &arrays), arrays })
    }

    fn note(&self, layer: u32, heads: &[usize], arrays: &Arrays) -> String {
        let which = heads.iter().map(usize::to_string).collect::<Vec<_>>().join(", ");
        let plural = if heads.len() == 1 { "head" } else { "heads" };
        let factor = if arrays.contains_key(LOG_LINEAR_WEIGHT) { ", with the factor of each state" } else { "" };
        let model = self.metadata.get("model").map_or_else(String::new, |m| format!(" for {}", m.split(" (").next().unwrap_or(m)));
        format!(
            "Hedgehog maps learned{model}, from {}: layer {layer}, query {plural} {which}{factor}; each query head has its own, so keys and values are \
             repeated and one state is kept for each query head",
            self.name
        )
    }

    fn tensor(&self, tensor: &'static str) -> Result<TensorView<'_>, WeightsError> {
        self.tensors.tensor(tensor).map_err(|_| {
            let mut names = self.tensors.names();
            names.sort_unstable();
            let found = if names.is_empty() { "none".to_owned() } else { names.join(", ").chars().take(400).collect() };
            WeightsError::Tensor { file: self.name.to_owned(), tensor, found }
        })
    }

    fn shape(&self, tensor: &'static str, view: &TensorView<'_>, expected: String) -> WeightsError {
        WeightsError::Shape { file: self.name.to_owned(), tensor, found: format!("{:?}", view.shape()), expected }
    }

    /// Which layers or query heads the file's `count` are: the metadata's list, or those from 0.
    fn list(&self, field: &'static str, count: usize) -> Result<Vec<usize>, WeightsError> {
        let Some(text) = self.metadata.get(field) else { return Ok((0..count).collect()) };
        serde_json::from_str::<Vec<usize>>(text).ok().filter(|list| list.len() == count).ok_or_else(|| WeightsError::Field {
            file: self.name.to_owned(),
            field,
            found: format!("`{}`", text.chars().take(80).collect::<String>()),
            expected: format!("a JSON list of {count} whole numbers, as many as `weights_q` has"),
        })
    }

    /// The rows `rows` of a tensor seen as rows of `each` numbers, in float32 with the shape `shape`.
    fn rows(
        &self,
        tensor: &'static str,
        view: &TensorView<'_>,
        rows: &[usize],
        each: usize,
        shape: &[usize],
        (layer, heads): (u32, &[usize]),
    ) -> Result<ArrayD<f32>, WeightsError> {
        let dtype = view.dtype();
        if !convert::is_real(dtype) {
            let (found, expected) = (format!("of type {dtype}"), "F16, BF16, F32 or F64".to_owned());
            return Err(WeightsError::Shape { file: self.name.to_owned(), tensor, found, expected });
        }
        let width = dtype.bitsize() / 8;
        let mut numbers = Vec::with_capacity(rows.len() * each);
        for (&row, &head) in rows.iter().zip(heads) {
            let from = row * each * width;
            for bytes in view.data()[from..from + each * width].chunks_exact(width) {
                let value = convert::number(dtype, bytes);
                if !(value as f32).is_finite() {
                    return Err(WeightsError::NotFinite { file: self.name.to_owned(), tensor, layer, head, value });
                }
                numbers.push(value as f32);
            }
        }
        Ok(ArrayD::from_shape_vec(IxDyn(shape), numbers).unwrap_or_else(|e| unreachable!("as many numbers as the shape says: {e}")))
    }
}
