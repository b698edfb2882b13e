//! A stream on the device, uploaded once for all the lanes that see it.

use std::sync::Arc;

use super::{Gpu, GpuError};
use crate::stream::Stream;

/// A stream's arrays on the device, shared by the lanes that see the same stream.
#[derive(Debug)]
pub struct GpuStream {
    /// The device they are on.
    pub gpu: Arc<Gpu>,
    /// The stream.
    pub stream: Arc<Stream>,
    /// f32 [Hkv, T, dk].
    pub keys: wgpu::Buffer,
    /// f32 [Hkv, T, dv].
    pub values: wgpu::Buffer,
    /// f32 [Hq, R, dk]; one number where there are no reads.
    pub queries: wgpu::Buffer,
    /// u32 `[R]`; one number where there are no reads.
    pub after: wgpu::Buffer,
}

impl GpuStream {
    /// Uploads a stream.
    ///
    /// # Errors
    /// [`GpuError::Limit`] that names the array if the adapter allows no buffer so large.
    pub fn new(gpu: &Arc<Gpu>, stream: &Arc<Stream>) -> Result<Arc<Self>, GpuError> {
        let array = |what, array: &ndarray::Array3<f32>| {
            // A stream's arrays are in standard layout: `as_slice` is there.
            gpu.upload(what, array.as_slice().unwrap_or_default())
        };
        Ok(Arc::new(Self {
            keys: array("the stream's keys", stream.keys())?,
            values: array("the stream's values", stream.values())?,
            queries: array("the stream's queries", stream.queries())?,
            after: gpu.upload("the stream's reads", stream.after())?,
            gpu: Arc::clone(gpu),
            stream: Arc::clone(stream),
        }))
    }
}
