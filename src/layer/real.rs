//! The two precisions of the CPU layers: every layer is written once, over [`Real`].

use std::fmt::Debug;
use std::iter::Sum;

use ndarray::{Array2, ArrayView2, LinalgScalar, ScalarOperand};
use num_traits::Float;

use crate::trace::Values;

/// f32 or f64.
pub trait Real: LinalgScalar + ScalarOperand + Float + Sum + Default + Debug + Send + Sync {
    /// From the stream's precision; exact.
    fn from_f32(x: f32) -> Self;
    /// From a parameter; rounded for f32.
    fn from_f64(x: f64) -> Self;
    /// To the widest precision; exact.
    fn to_f64(self) -> f64;
    /// Numbers for a trace or a snapshot, in this precision.
    fn values(numbers: Vec<Self>) -> Values;
    /// The numbers of a snapshot, if they are in this precision.
    fn of_values(values: &Values) -> Option<&[Self]>;
}

impl Real for f32 {
    fn from_f32(x: f32) -> Self {
        x
    }
    fn from_f64(x: f64) -> Self {
        x as f32
    }
    fn to_f64(self) -> f64 {
        f64::from(self)
    }
    fn values(numbers: Vec<Self>) -> Values {
        Values::F32(numbers)
    }
    fn of_values(values: &Values) -> Option<&[Self]> {
        values.as_f32()
    }
}

impl Real for f64 {
    fn from_f32(x: f32) -> Self {
        Self::from(x)
    }
    fn from_f64(x: f64) -> Self {
        x
    }
    fn to_f64(self) -> f64 {
        self
    }
    fn values(numbers: Vec<Self>) -> Values {
        Values::F64(numbers)
    }
    fn of_values(values: &Values) -> Option<&[Self]> {
        if let Values::F64(v) = values { Some(v) } else { None }
    }
}

/// A head's rows in precision `R`.
#[must_use]
#[allow(clippy::needless_pass_by_value, reason = "a view is a pointer and a shape")]
pub fn cast<R: Real>(rows: ArrayView2<'_, f32>) -> Array2<R> {
    rows.mapv(R::from_f32)
}

/// Added to every normaliser of linear attention (LAYERS.md, "Baselines").
pub const EPSILON: f64 = 1e-6;
