//! Kernels: WGSL put together from snippets, compiled once, and bound to buffers.

use std::fmt::Write as _;
use std::sync::Arc;

use super::{Gpu, GpuError, lock};

/// The most bytes that the parameters of one dispatch may take: what every Vulkan adapter has.
pub const MAX_PARAMETERS: u32 = 128;

/// WGSL: `flat_group(group, groups)`, a workgroup's number where [`Gpu::groups`] split the dispatch over dimensions.
pub const INDEX: &str = include_str!("../../shaders/common/index.wgsl");

/// WGSL: `is_nan(x)`, and the constants `LOWEST` (the smallest finite float32) and `NAN_BITS`.
pub const NUMBERS: &str = include_str!("../../shaders/common/numbers.wgsl");

/// A constant put in front of a kernel's source, so that array sizes and loop ends are known to the compiler.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Constant {
    /// `const NAME: u32`.
    U32(u32),
    /// `const NAME: f32`; must be finite.
    F32(f32),
    /// `const NAME: bool`.
    Bool(bool),
}

impl From<usize> for Constant {
    fn from(x: usize) -> Self {
        Self::U32(x as u32)
    }
}

/// What a kernel is made of.
#[derive(Debug, Clone, Copy)]
pub struct KernelSpec<'a> {
    /// The name in messages: `shaders/ovq/assign.wgsl` is `ovq/assign`.
    pub name: &'a str,
    /// WGSL snippets, joined in this order. The entry point is `main`; storage buffers are bound in group 0, numbered
    /// from 0 without gaps, declared as `@group(0) @binding(N) var<storage, read>` or `read_write` on one line.
    pub source: &'a [&'a str],
    /// Constants put in front.
    pub constants: &'a [(&'a str, Constant)],
}

impl KernelSpec<'_> {
    fn text(&self) -> String {
        let mut text = String::new();
        for (name, value) in self.constants {
            // Writing to a string cannot fail.
            let _ = match value {
                Constant::U32(x) => writeln!(text, "const {name}: u32 = {x}u;"),
                Constant::F32(x) => writeln!(text, "const {name}: f32 = {x:?}f;"),
                Constant::Bool(x) => writeln!(text, "const {name}: bool = {x};"),
            };
        }
        for snippet in self.source {
            text.push_str(snippet);
            text.push('\n');
        }
        text
    }
}

#[derive(Debug)]
struct Inner {
    name: String,
    pipeline: wgpu::ComputePipeline,
    layout: wgpu::BindGroupLayout,
    bindings: usize,
}

/// A compiled kernel. Cloning it is cheap.
#[derive(Debug, Clone)]
pub struct Kernel(Arc<Inner>);

/// A kernel with its buffers: what a batch dispatches. Cloning it is cheap.
#[derive(Debug, Clone)]
pub struct Bound {
    pub(super) pipeline: wgpu::ComputePipeline,
    pub(super) group: wgpu::BindGroup,
    pub(super) name: Kernel,
}

/// Whether each storage binding of group 0 is read-only, by its number.
///
/// The WGSL is the one place where bindings are written down; a kernel whose bindings have gaps is refused.
fn bindings(text: &str) -> Result<Vec<bool>, String> {
    let mut found = Vec::new();
    for line in text.lines() {
        let Some(rest) = line.trim_start().strip_prefix("@group(0) @binding(") else { continue };
        let number = rest.split(')').next().and_then(|n| n.parse::<usize>().ok()).ok_or_else(|| format!("unreadable binding: {line}"))?;
        let read_only = if rest.contains("var<storage, read>") {
            true
        } else if rest.contains("var<storage, read_write>") {
            false
        } else {
            return Err(format!("binding {number} is neither `var<storage, read>` nor `var<storage, read_write>`"));
        };
        found.push((number, read_only));
    }
    found.sort_unstable();
    if let Some((expected, (number, _))) = found.iter().enumerate().find(|(i, (n, _))| i != n) {
        return Err(format!("binding {number} stands where {expected} is expected"));
    }
    Ok(found.into_iter().map(|(_, r)| r).collect())
}

impl Gpu {
    /// Compiles a kernel, or finds it among those compiled already.
    ///
    /// # Errors
    /// [`GpuError::Kernel`] with the compiler's words, [`GpuError::Limit`] if it has more buffers than the adapter allows.
    pub fn kernel(&self, spec: &KernelSpec<'_>) -> Result<Kernel, GpuError> {
        self.check()?;
        let text = spec.text();
        if let Some(kernel) = lock(&self.kernels).get(&text) {
            return Ok(kernel.clone());
        }
        let fail = |reason: String| GpuError::Kernel { kernel: spec.name.to_owned(), reason };
        let bindings = bindings(&text).map_err(fail)?;
        let most = u64::from(self.limits.max_storage_buffers_per_shader_stage);
        self.limit(&format!("kernel {}", spec.name), bindings.len() as u64, most, "storage buffers")?;
        let scopes = [wgpu::ErrorFilter::Internal, wgpu::ErrorFilter::Validation].map(|filter| self.device.push_error_scope(filter));
        let inner = self.compile(spec.name, &text, &bindings);
        for scope in scopes.into_iter().rev() {
            if let Some(error) = pollster::block_on(scope.pop()) {
                return Err(fail(error.to_string()));
            }
        }
        let kernel = Kernel(Arc::new(inner));
        lock(&self.kernels).insert(text, kernel.clone());
        Ok(kernel)
    }

    fn compile(&self, name: &str, text: &str, bindings: &[bool]) -> Inner {
        let entries: Vec<_> = (0..)
            .zip(bindings)
            .map(|(binding, &read_only)| wgpu::BindGroupLayoutEntry {
                binding,
                visibility: wgpu::ShaderStages::COMPUTE,
                ty: wgpu::BindingType::Buffer {
                    ty: wgpu::BufferBindingType::Storage { read_only },
                    has_dynamic_offset: false,
                    min_binding_size: None,
                },
                count: None,
            })
            .collect();
        let layout = self.device.create_bind_group_layout(&wgpu::BindGroupLayoutDescriptor { label: Some(name), entries: &entries });
        let pipeline_layout = self.device.create_pipeline_layout(&wgpu::PipelineLayoutDescriptor {
            label: Some(name),
            bind_group_layouts: &[Some(&layout)],
            immediate_size: MAX_PARAMETERS.min(self.limits.max_immediate_size),
        });
        let module = self
            .device
            .create_shader_module(wgpu::ShaderModuleDescriptor { label: Some(name), source: wgpu::ShaderSource::Wgsl(text.into()) });
        let pipeline = self.device.create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
            label: Some(name),
            layout: Some(&pipeline_layout),
            module: &module,
            entry_point: Some("main"),
            compilation_options: wgpu::PipelineCompilationOptions::default(),
            cache: None,
        });
        Inner { name: name.to_owned(), pipeline, layout, bindings: bindings.len() }
    }
}

impl Kernel {
    /// The name in messages.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.0.name
    }

    /// Binds whole buffers, in the order of their numbers. Do it once, not once a dispatch.
    ///
    /// # Errors
    /// [`GpuError::Kernel`] if they are too many, too few, or one buffer is both read and written.
    pub fn bind(&self, gpu: &Gpu, buffers: &[&wgpu::Buffer]) -> Result<Bound, GpuError> {
        gpu.check()?;
        let fail = |reason: String| GpuError::Kernel { kernel: self.0.name.clone(), reason };
        if buffers.len() != self.0.bindings {
            return Err(fail(format!("{} buffers came, {} are bound", buffers.len(), self.0.bindings)));
        }
        let entries: Vec<_> =
            (0..).zip(buffers).map(|(binding, buffer)| wgpu::BindGroupEntry { binding, resource: buffer.as_entire_binding() }).collect();
        let scope = gpu.device.push_error_scope(wgpu::ErrorFilter::Validation);
        let group = gpu.device.create_bind_group(&wgpu::BindGroupDescriptor {
            label: Some(&self.0.name),
            layout: &self.0.layout,
            entries: &entries,
        });
        match pollster::block_on(scope.pop()) {
            None => Ok(Bound { pipeline: self.0.pipeline.clone(), group, name: self.clone() }),
            Some(error) => Err(fail(error.to_string())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bindings_are_read_from_the_source() {
        let text = "@group(0) @binding(1) var<storage, read_write> b: array<f32>;\n@group(0) @binding(0) var<storage, read> a: array<f32>;";
        assert_eq!(bindings(text), Ok(vec![true, false]));
        assert!(bindings("@group(0) @binding(1) var<storage, read> a: array<f32>;").is_err());
        assert!(bindings("@group(0) @binding(0) var<uniform> a: f32;").is_err());
    }

    #[test]
    fn constants_are_literals_of_their_type() {
        let spec = KernelSpec {
            name: "k",
            source: &["fn f() {}"],
            constants: &[("A", Constant::U32(7)), ("B", Constant::F32(1e-6)), ("C", Constant::Bool(true)), ("D", Constant::F32(2.0))],
        };
        assert_eq!(spec.text(), "const A: u32 = 7u;\nconst B: f32 = 1e-6f;\nconst C: bool = true;\nconst D: f32 = 2.0f;\nfn f() {}\n");
    }
}
