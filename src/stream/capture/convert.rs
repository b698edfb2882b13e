//! Conversion of a tensor's bytes to float32, for the heads and tokens that are wanted.

use half::{bf16, f16};
use ndarray::Array3;
use safetensors::tensor::{Dtype, TensorInfo};

/// A number that float32 cannot hold, and where it stands in the file's tensor.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct NotFinite {
    pub head: usize,
    pub token: usize,
    pub column: usize,
    pub value: f64,
}

/// True for the types that [`heads`] converts.
pub(crate) fn is_real(dtype: Dtype) -> bool {
    matches!(dtype, Dtype::F16 | Dtype::BF16 | Dtype::F32 | Dtype::F64)
}

/// [heads, tokens, dim] of the tensor with the bytes `data`: the heads wanted, in that order, and their first `tokens` tokens.
///
/// The shape has been checked: rank 3, every head and token there. F64 is rounded to the nearest float32; the others are exact.
pub(super) fn heads(data: &[u8], info: &TensorInfo, heads: &[usize], tokens: usize) -> Result<Array3<f32>, NotFinite> {
    let (all_tokens, dim) = (info.shape[1], info.shape[2]);
    let width = info.dtype.bitsize() / 8;
    let mut numbers = Vec::with_capacity(heads.len() * tokens * dim);
    for &head in heads {
        let start = head * all_tokens * dim * width;
        let rows = &data[start..start + tokens * dim * width];
        for (at, bytes) in rows.chunks_exact(width).enumerate() {
            let value = number(info.dtype, bytes);
            let narrow = value as f32;
            if !narrow.is_finite() {
                return Err(NotFinite { head, token: at / dim, column: at % dim, value });
            }
            numbers.push(narrow);
        }
    }
    Ok(Array3::from_shape_vec((heads.len(), tokens, dim), numbers)
        .unwrap_or_else(|e| unreachable!("as many numbers as the shape says: {e}")))
}

/// One little-endian number.
pub(crate) fn number(dtype: Dtype, bytes: &[u8]) -> f64 {
    match (dtype, bytes) {
        (Dtype::F16, &[a, b]) => f16::from_le_bytes([a, b]).to_f64(),
        (Dtype::BF16, &[a, b]) => bf16::from_le_bytes([a, b]).to_f64(),
        (Dtype::F32, &[a, b, c, d]) => f64::from(f32::from_le_bytes([a, b, c, d])),
        (_, &[a, b, c, d, e, f, g, h]) => f64::from_le_bytes([a, b, c, d, e, f, g, h]),
        _ => f64::NAN,
    }
}
