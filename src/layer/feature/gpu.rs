//! Feature maps on the GPU (`shaders/feature/map.wgsl`): rows of keys or queries become rows of features.

use std::ops::Range;
use std::sync::Arc;

use super::{FeatureMap, Map, SHARPNESS, projection, weights};
use crate::gpu::{Batch, Bound, Constant, Gpu, Kernel, KernelSpec, NUMBERS};
use crate::layer::{LayerError, Setup};

/// Threads of a workgroup.
const GROUP: usize = 64;

#[repr(C)]
#[derive(Debug, Clone, Copy, bytemuck::Pod, bytemuck::Zeroable)]
struct Step {
    total: u32,
    first: u32,
    count: u32,
    weights_stride: u32,
    beta: f32,
    sharpness: f32,
}

/// A feature map on the device.
#[derive(Debug)]
pub struct GpuFeatures {
    kernel: Kernel,
    dim: usize,
    beta: f32,
    sharpness: f32,
    /// For queries and for keys: the buffer, and the numbers from one head's weights to the next (0: all share them).
    weights: [(wgpu::Buffer, u32); 2],
}

/// What rows are: their weights differ.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rows {
    /// Queries, of query heads.
    Queries,
    /// Keys, of key/value heads.
    Keys,
}

/// A feature map bound to rows and to where their features go.
#[derive(Debug)]
pub struct BoundFeatures {
    bound: Bound,
    step: Step,
    heads: u32,
    total: usize,
}

impl GpuFeatures {
    /// The map that a layer's parameters and arrays describe, see [`FeatureMap::new`].
    ///
    /// # Errors
    /// If an array does not fit, or the device allows no buffer or kernel of this size.
    pub fn new(layer: &'static str, setup: &Setup, gpu: &Arc<Gpu>) -> Result<Self, LayerError> {
        let host = FeatureMap::<f32>::new(layer, setup)?;
        let (map, dim) = (host.map(), host.dim());
        let mut half = 1;
        let mut learned = false;
        let none = || gpu.zeroed("no weights", 1).map(|buffer| (buffer, 0));
        let buffers = match map {
            Map::Favor => {
                let rows = projection(layer, setup)?;
                let buffer = gpu.upload("the projection of FAVOR+", rows.as_standard_layout().as_slice().unwrap_or_default())?;
                [(buffer.clone(), 0), (buffer, 0)]
            }
            Map::Hedgehog => {
                half = dim / 2;
                match weights(layer, setup)? {
                    None => [none()?, none()?],
                    Some([queries, keys]) => {
                        learned = true;
                        let upload = |w: &ndarray::Array3<f32>| {
                            let (heads, rows, columns) = w.dim();
                            let stride = if heads == 1 { 0 } else { rows * columns };
                            gpu.upload("the weights of Hedgehog", w.as_standard_layout().as_slice().unwrap_or_default())
                                .map(|buffer| (buffer, stride as u32))
                        };
                        [upload(&queries)?, upload(&keys)?]
                    }
                }
            }
            _ => [none()?, none()?],
        };
        // The most that a thread goes over: its features, some made by products with a key, and twice every thread's ends.
        let product = if learned || map == Map::Favor { setup.stream.key_dim() } else { 0 };
        let loops = dim.div_ceil(GROUP) * (3 + product) + setup.stream.key_dim() + 3 * GROUP;
        gpu.check_loops(&format!("a feature map of {dim} features"), loops)?;
        let kernel = gpu.kernel(&KernelSpec {
            name: "feature/map",
            source: &[NUMBERS, include_str!("../../../shaders/feature/map.wgsl")],
            constants: &[
                ("GROUP", GROUP.into()),
                ("DK", setup.stream.key_dim().into()),
                ("D", dim.into()),
                ("MAP", Constant::U32(number(map))),
                ("HALF", half.into()),
                ("LEARNED", Constant::Bool(learned)),
            ],
        })?;
        Ok(Self { kernel, dim, beta: setup.beta() as f32, sharpness: setup.params.float(SHARPNESS.name) as f32, weights: buffers })
    }

    /// Features, D.
    #[must_use]
    pub fn dim(&self) -> usize {
        self.dim
    }

    /// Binds the map to `rows` [heads, total, dk] and to `features`, which each dispatch fills with [heads, count, D].
    ///
    /// # Errors
    /// If the device refuses it.
    pub fn bind(
        &self,
        gpu: &Gpu,
        what: Rows,
        rows: &wgpu::Buffer,
        heads: usize,
        total: usize,
        features: &wgpu::Buffer,
    ) -> Result<BoundFeatures, LayerError> {
        let (weights, weights_stride) = &self.weights[usize::from(what == Rows::Keys)];
        let bound = self.kernel.bind(gpu, &[rows, weights, features])?;
        let (beta, sharpness) = (self.beta, self.sharpness);
        let step = Step { total: total as u32, first: 0, count: 0, weights_stride: *weights_stride, beta, sharpness };
        Ok(BoundFeatures { bound, step, heads: heads as u32, total })
    }
}

impl BoundFeatures {
    /// Adds the features of the rows `range` of every head to a batch. At most 65535 rows (what any adapter dispatches
    /// along one dimension).
    pub fn dispatch(&self, batch: &mut Batch, range: &Range<usize>) {
        debug_assert!(range.end <= self.total, "rows {range:?} of {}", self.total);
        let step = Step { first: range.start as u32, count: range.len() as u32, ..self.step };
        batch.dispatch(&self.bound, &step, [step.count, 1, self.heads]);
    }
}

/// The map's number in the kernel.
fn number(map: Map) -> u32 {
    match map {
        Map::Elu1 => 0,
        Map::Relu => 1,
        Map::Hedgehog => 2,
        Map::Taylor2 => 3,
        Map::Favor => 4,
    }
}
