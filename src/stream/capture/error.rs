//! Why a capture cannot be read: every message names the file, the tensor or field, what was found and what is expected.

use thiserror::Error;

/// Why a capture cannot be read.
#[derive(Debug, Clone, PartialEq, Error)]
#[allow(missing_docs, reason = "each variant's own line explains its fields")]
pub enum CaptureError {
    /// The file cannot be opened or mapped.
    #[error("{file}: cannot be opened: {reason}")]
    Open { file: String, reason: String },
    /// The file is shorter or longer than its header says.
    #[error("{file}: holds {found} bytes, but its header tells of {expected}: it is {}", if found < expected { "truncated" } else { "followed by something else" })]
    Length { file: String, found: u64, expected: u64 },
    /// The header is not one of safetensors.
    #[error("{file}: is not a safetensors file: {reason}")]
    Header { file: String, reason: String },
    /// No tensor has a name that a capture needs.
    #[error("{file}: holds no tensors `layers.N.q`, `layers.N.k` and `layers.N.v`; its tensors are {found}")]
    NoLayer { file: String, found: String },
    /// The wanted layer is absent.
    #[error("{file}: holds no layer {layer}; its layers are {layers}")]
    Layer { file: String, layer: u32, layers: String },
    /// A layer lacks one of its three tensors.
    #[error("{file}: the tensor `{tensor}` is missing; layer {layer} has {found}")]
    Tensor { file: String, layer: u32, tensor: String, found: String },
    /// A tensor has a type that cannot be converted.
    #[error("{file}: `{tensor}` is of type {found}, but F16, BF16, F32 or F64 is expected")]
    Dtype { file: String, tensor: String, found: String },
    /// A tensor has a wrong shape.
    #[error("{file}: `{tensor}` is {found}, but {expected} is expected")]
    Shape { file: String, tensor: String, found: String, expected: String },
    /// A number that is not finite, or too large for float32.
    #[error(
        "{file}: `{tensor}` holds {value} at [head {head}, token {token}, column {column}], but every number must be finite in float32"
    )]
    NotFinite { file: String, tensor: String, head: usize, token: usize, column: usize, value: f64 },
    /// A field of the metadata cannot be understood.
    #[error("{file}: the metadata's `{field}` is {found}, but {expected} is expected")]
    Field { file: String, field: &'static str, found: String, expected: String },
    /// The session asks for something that the file does not have.
    #[error("{file}: {field} is {found}, but {expected} is expected")]
    Wanted { file: String, field: &'static str, found: String, expected: String },
    /// The numbers make no stream.
    #[error("{file}: {reason}")]
    Stream { file: String, reason: String },
}

/// A text cut to a length at which a message can still be read.
pub(super) fn short(text: &str) -> String {
    const LIMIT: usize = 80;
    if text.chars().count() <= LIMIT { format!("`{text}`") } else { format!("`{}..`", text.chars().take(LIMIT).collect::<String>()) }
}
