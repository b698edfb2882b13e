//! Batches: many dispatches and copies in one submission, with one readback of all that is wanted.

use std::ops::Range;
use std::sync::{Arc, mpsc};
use std::time::Duration;

use bytemuck::NoUninit;

use super::{Bound, Gpu, GpuError, MAX_PARAMETERS, lock};

/// A submission that takes longer is taken for a device that hangs. Software adapters are slow.
const PATIENCE: Duration = Duration::from_mins(5);

/// Staging buffers kept for the next readback.
const POOL: usize = 4;

enum Op {
    Dispatch { bound: Bound, parameters: Range<usize>, groups: [u32; 3] },
    Copy { from: wgpu::Buffer, from_at: u64, to: wgpu::Buffer, to_at: u64, bytes: u64 },
    Clear { buffer: wgpu::Buffer },
}

/// Which range of a [`Readback`] a [`Batch::read`] asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReadId(Range<usize>);

/// Work to be submitted together. See the module's page of [`crate::gpu`].
pub struct Batch {
    gpu: Arc<Gpu>,
    ops: Vec<Op>,
    /// The parameters of all dispatches, one after the other.
    parameters: Vec<u8>,
    reads: Vec<(wgpu::Buffer, u64, u64)>,
    read_bytes: usize,
    trouble: Option<GpuError>,
}

impl std::fmt::Debug for Batch {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Batch({} operations, {} reads)", self.ops.len(), self.reads.len())
    }
}

impl Gpu {
    /// An empty batch.
    #[must_use]
    pub fn batch(self: &Arc<Self>) -> Batch {
        Batch { gpu: Arc::clone(self), ops: Vec::new(), parameters: Vec::new(), reads: Vec::new(), read_bytes: 0, trouble: None }
    }
}

impl Batch {
    /// Adds a dispatch of `groups` workgroups with its own `parameters` (the kernel's `var<immediate>`; `&()` for none).
    /// No workgroups, no dispatch.
    pub fn dispatch<P: NoUninit>(&mut self, bound: &Bound, parameters: &P, groups: [u32; 3]) {
        if groups.contains(&0) {
            return;
        }
        let what = || format!("kernel {}", bound.name.name());
        let most = self.gpu.limits().max_compute_workgroups_per_dimension;
        let widest = groups.into_iter().max().unwrap_or(0);
        let bytes = bytemuck::bytes_of(parameters);
        let checked = self
            .gpu
            .limit(&what(), widest.into(), most.into(), "workgroups along a dimension")
            .and_then(|()| self.gpu.limit(&what(), bytes.len() as u64, MAX_PARAMETERS.into(), "bytes of parameters"));
        if let Err(error) = checked {
            self.trouble.get_or_insert(error);
            return;
        }
        let start = self.parameters.len();
        self.parameters.extend_from_slice(bytes);
        self.ops.push(Op::Dispatch { bound: bound.clone(), parameters: start..self.parameters.len(), groups });
    }

    /// Copies `count` 4-byte numbers between two buffers, after the operations so far and before those to come.
    pub fn copy(&mut self, from: &wgpu::Buffer, from_at: usize, to: &wgpu::Buffer, to_at: usize, count: usize) {
        if count > 0 {
            self.ops.push(Op::Copy {
                from: from.clone(),
                from_at: from_at as u64 * 4,
                to: to.clone(),
                to_at: to_at as u64 * 4,
                bytes: count as u64 * 4,
            });
        }
    }

    /// Fills a buffer with zeros, after the operations so far and before those to come.
    pub fn clear(&mut self, buffer: &wgpu::Buffer) {
        self.ops.push(Op::Clear { buffer: buffer.clone() });
    }

    /// Asks for the 4-byte numbers `range` of a buffer as they are when the whole batch is done.
    pub fn read(&mut self, buffer: &wgpu::Buffer, range: Range<usize>) -> ReadId {
        let bytes = range.len() * 4;
        let id = ReadId(self.read_bytes..self.read_bytes + bytes);
        if bytes > 0 {
            self.reads.push((buffer.clone(), range.start as u64 * 4, bytes as u64));
            self.read_bytes += bytes;
        }
        id
    }

    /// Operations so far.
    #[must_use]
    pub fn len(&self) -> usize {
        self.ops.len()
    }

    /// True without operations and reads.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.ops.is_empty() && self.reads.is_empty()
    }

    /// Submits the work and returns at once. Dropping what is returned leaves the work running.
    ///
    /// Drivers give up on submissions of some seconds (two, on some systems): split very long work.
    ///
    /// # Errors
    /// [`GpuError::Limit`] for what was recorded, or the device's trouble.
    pub fn submit(self) -> Result<Pending, GpuError> {
        if let Some(error) = self.trouble {
            return Err(error);
        }
        self.gpu.check()?;
        let staging = match self.read_bytes {
            0 => None,
            bytes => Some(self.gpu.staging(bytes as u64)?),
        };
        let mut encoder = self.gpu.device.create_command_encoder(&wgpu::CommandEncoderDescriptor { label: Some("batch") });
        encode(&mut encoder, &self.ops, &self.parameters);
        if let Some(staging) = &staging {
            let mut at = 0;
            for (buffer, from, bytes) in &self.reads {
                encoder.copy_buffer_to_buffer(buffer, *from, staging, at, *bytes);
                at += bytes;
            }
        }
        let submission = self.gpu.queue.submit([encoder.finish()]);
        let (send, mapped) = mpsc::channel();
        if let Some(staging) = &staging {
            // The receiver is gone if nobody waits any more: then nobody wants to know.
            staging.map_async(wgpu::MapMode::Read, ..self.read_bytes as u64, move |result| drop(send.send(result)));
        }
        self.gpu.check()?;
        Ok(Pending { gpu: self.gpu, submission, staging, bytes: self.read_bytes, mapped })
    }
}

/// Dispatches that follow each other share a pass; copies and clears stand between passes.
fn encode(encoder: &mut wgpu::CommandEncoder, ops: &[Op], parameters: &[u8]) {
    let mut at = 0;
    while at < ops.len() {
        match &ops[at] {
            Op::Dispatch { .. } => {
                let mut pass = encoder.begin_compute_pass(&wgpu::ComputePassDescriptor::default());
                let mut last: Option<&Bound> = None;
                while let Some(Op::Dispatch { bound, parameters: range, groups: [x, y, z] }) = ops.get(at) {
                    if last.is_none_or(|l| l.pipeline != bound.pipeline) {
                        pass.set_pipeline(&bound.pipeline);
                    }
                    if last.is_none_or(|l| l.group != bound.group) {
                        pass.set_bind_group(0, &bound.group, &[]);
                    }
                    if !range.is_empty() {
                        pass.set_immediates(0, &parameters[range.clone()]);
                    }
                    pass.dispatch_workgroups(*x, *y, *z);
                    last = Some(bound);
                    at += 1;
                }
            }
            Op::Copy { from, from_at, to, to_at, bytes } => {
                encoder.copy_buffer_to_buffer(from, *from_at, to, *to_at, *bytes);
                at += 1;
            }
            Op::Clear { buffer } => {
                encoder.clear_buffer(buffer, 0, None);
                at += 1;
            }
        }
    }
}

/// Submitted work.
#[derive(Debug)]
pub struct Pending {
    gpu: Arc<Gpu>,
    submission: wgpu::SubmissionIndex,
    staging: Option<wgpu::Buffer>,
    bytes: usize,
    mapped: mpsc::Receiver<Result<(), wgpu::BufferAsyncError>>,
}

impl Pending {
    /// Waits until the work is done, and hands out what it was asked to read.
    ///
    /// # Errors
    /// [`GpuError::Lost`] if the device went away or hangs, [`GpuError::Refused`] if it refused something.
    pub fn wait(self) -> Result<Readback, GpuError> {
        let poll = wgpu::PollType::Wait { submission_index: Some(self.submission), timeout: Some(PATIENCE) };
        let polled = self.gpu.device.poll(poll);
        self.gpu.check()?;
        polled.map_err(|e| GpuError::Lost(format!("waiting for it failed: {e}")))?;
        let Some(staging) = self.staging else { return Ok(Readback { gpu: self.gpu, staging: None, view: None }) };
        let lost = |e: String| GpuError::Lost(format!("its memory cannot be read: {e}"));
        self.mapped.recv_timeout(PATIENCE).map_err(|e| lost(e.to_string()))?.map_err(|e| lost(e.to_string()))?;
        let view = staging.get_mapped_range(..self.bytes as u64).map_err(|e| lost(e.to_string()))?;
        Ok(Readback { gpu: self.gpu, staging: Some(staging), view: Some(view) })
    }
}

/// What a batch was asked to read, as numbers.
#[derive(Debug)]
pub struct Readback {
    gpu: Arc<Gpu>,
    staging: Option<wgpu::Buffer>,
    view: Option<wgpu::BufferView>,
}

impl Readback {
    fn bytes(&self, id: &ReadId) -> &[u8] {
        self.view.as_ref().map_or(&[], |view| &view[id.0.clone()])
    }

    /// Numbers read, as float32.
    #[must_use]
    pub fn f32(&self, id: &ReadId) -> Vec<f32> {
        bytemuck::pod_collect_to_vec(self.bytes(id))
    }

    /// Numbers read, as whole numbers.
    #[must_use]
    pub fn i32(&self, id: &ReadId) -> Vec<i32> {
        bytemuck::pod_collect_to_vec(self.bytes(id))
    }

    /// Numbers read, as whole numbers without sign.
    #[must_use]
    pub fn u32(&self, id: &ReadId) -> Vec<u32> {
        bytemuck::pod_collect_to_vec(self.bytes(id))
    }
}

impl Drop for Readback {
    fn drop(&mut self) {
        // The view must be gone before its buffer is unmapped.
        self.view = None;
        if let Some(staging) = self.staging.take() {
            staging.unmap();
            let mut pool = lock(&self.gpu.staging);
            if pool.len() >= POOL {
                // The smallest one is the easiest to make again.
                if let Some(smallest) = (0..pool.len()).min_by_key(|&i| pool[i].size()) {
                    pool.swap_remove(smallest);
                }
            }
            pool.push(staging);
        }
    }
}

impl Gpu {
    /// A buffer to read back through, of at least so many bytes.
    fn staging(&self, bytes: u64) -> Result<wgpu::Buffer, GpuError> {
        self.limit("a readback", bytes, self.limits.max_buffer_size, "bytes in one buffer")?;
        let mut pool = lock(&self.staging);
        let fits = |i: &usize| pool[*i].size() >= bytes;
        if let Some(index) = (0..pool.len()).filter(fits).min_by_key(|&i| pool[i].size()) {
            return Ok(pool.swap_remove(index));
        }
        drop(pool);
        Ok(self.device.create_buffer(&wgpu::BufferDescriptor {
            label: Some("readback"),
            size: bytes.next_power_of_two().min(self.limits.max_buffer_size),
            usage: wgpu::BufferUsages::MAP_READ | wgpu::BufferUsages::COPY_DST,
            mapped_at_creation: false,
        }))
    }
}
