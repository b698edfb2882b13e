//! Storage buffers: made, filled, written; checked against the adapter's limits.

use bytemuck::NoUninit;

use super::{Gpu, GpuError};

/// What every buffer of this program can do.
const USAGES: wgpu::BufferUsages = wgpu::BufferUsages::STORAGE.union(wgpu::BufferUsages::COPY_SRC).union(wgpu::BufferUsages::COPY_DST);

impl Gpu {
    /// A storage buffer of `count` 4-byte numbers, all zero. `what` names it in messages.
    ///
    /// A buffer of no numbers is given one: the interface knows no empty bindings.
    ///
    /// # Errors
    /// [`GpuError::Limit`] if the adapter allows none so large, [`GpuError::Refused`] without memory for it.
    pub fn zeroed(&self, what: &str, count: usize) -> Result<wgpu::Buffer, GpuError> {
        let bytes = (count.max(1) * 4) as u64;
        self.limit(what, bytes, self.limits.max_storage_buffer_binding_size, "bytes in one storage buffer")?;
        self.limit(what, bytes, self.limits.max_buffer_size, "bytes in one buffer")?;
        self.check()?;
        let scope = self.device.push_error_scope(wgpu::ErrorFilter::OutOfMemory);
        let buffer =
            self.device.create_buffer(&wgpu::BufferDescriptor { label: Some(what), size: bytes, usage: USAGES, mapped_at_creation: false });
        match pollster::block_on(scope.pop()) {
            None => Ok(buffer),
            Some(error) => Err(GpuError::Refused(format!("no memory for {what} ({bytes} bytes): {error}"))),
        }
    }

    /// A storage buffer that holds `numbers` (4 bytes each, or structs of such).
    ///
    /// # Errors
    /// As [`Gpu::zeroed`].
    pub fn upload<T: NoUninit>(&self, what: &str, numbers: &[T]) -> Result<wgpu::Buffer, GpuError> {
        let buffer = self.zeroed(what, size_of_val(numbers) / 4)?;
        self.write(&buffer, 0, numbers);
        Ok(buffer)
    }

    /// A storage buffer filled with one number: NaN, say, so that a test sees what a kernel left unwritten.
    ///
    /// # Errors
    /// As [`Gpu::zeroed`].
    pub fn filled(&self, what: &str, count: usize, number: f32) -> Result<wgpu::Buffer, GpuError> {
        self.upload(what, &vec![number; count])
    }

    /// Writes numbers into a buffer from its 4-byte number `at` on, before any batch that is submitted later.
    pub fn write<T: NoUninit>(&self, buffer: &wgpu::Buffer, at: usize, numbers: &[T]) {
        if !numbers.is_empty() {
            self.queue.write_buffer(buffer, (at * 4) as u64, bytemuck::cast_slice(numbers));
        }
    }
}
