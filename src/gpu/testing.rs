//! For tests: one device for all tests of a program, or a word on why there is none.

use std::sync::{Arc, OnceLock};

use super::{Gpu, GpuError};
use crate::session::BackendChoice;

/// Set to anything, this variable turns "no adapter, test skipped" into a failure.
pub const REQUIRE: &str = "MNEMOSCOPE_REQUIRE_GPU";

/// A device for tests, software adapters included; the same one on every call. `None`, with a printed word, without one.
///
/// A test that loses its device must open its own.
///
/// # Panics
/// Without a device, if the variable [`REQUIRE`] is set.
#[must_use]
pub fn gpu_or_skip() -> Option<Arc<Gpu>> {
    static SHARED: OnceLock<Result<Arc<Gpu>, GpuError>> = OnceLock::new();
    match SHARED.get_or_init(|| Gpu::open(BackendChoice::Gpu).map(|(gpu, _)| gpu)) {
        Ok(gpu) => Some(Arc::clone(gpu)),
        Err(error) => {
            assert!(std::env::var_os(REQUIRE).is_none(), "{REQUIRE} is set, but there is {error}");
            eprintln!("GPU test skipped: {error}");
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::*;
    use super::*;

    const SCALE: &str = "
        @group(0) @binding(0) var<storage, read> input: array<f32>;
        @group(0) @binding(1) var<storage, read_write> output: array<f32>;
        struct Step { count: u32, factor: f32 }
        var<immediate> step: Step;
        @compute @workgroup_size(GROUP)
        fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
            let i = flat_group(group, groups) * GROUP + lane;
            if i < step.count { output[i] = step.factor * input[i]; }
        }";

    fn scale(gpu: &Gpu, group: usize) -> Kernel {
        gpu.kernel(&KernelSpec { name: "scale", source: &[INDEX, SCALE], constants: &[("GROUP", group.into())] }).unwrap()
    }

    #[repr(C)]
    #[derive(Clone, Copy, bytemuck::Pod, bytemuck::Zeroable)]
    struct Step {
        count: u32,
        factor: f32,
    }

    #[test]
    fn dispatches_follow_each_other_and_each_has_its_parameters() {
        let Some(gpu) = gpu_or_skip() else { return };
        let kernel = scale(&gpu, 64);
        let a = gpu.upload("a", &(0..100).map(|i| i as f32).collect::<Vec<_>>()).unwrap();
        let b = gpu.filled("b", 100, f32::NAN).unwrap();
        let forth = kernel.bind(&gpu, &[&a, &b]).unwrap();
        let back = kernel.bind(&gpu, &[&b, &a]).unwrap();
        let mut batch = gpu.batch();
        batch.dispatch(&forth, &Step { count: 90, factor: 2.0 }, gpu.groups(2));
        batch.dispatch(&back, &Step { count: 50, factor: 3.0 }, gpu.groups(1));
        batch.copy(&a, 49, &b, 99, 1);
        let (ra, rb) = (batch.read(&a, 0..100), batch.read(&b, 80..100));
        let none = batch.read(&a, 5..5);
        let read = batch.submit().unwrap().wait().unwrap();
        assert_eq!(read.f32(&ra), (0..100).map(|i| if i < 50 { 6.0 * i as f32 } else { i as f32 }).collect::<Vec<_>>());
        // What no dispatch wrote still holds the poison, but for the number that was copied.
        let b = read.f32(&rb);
        assert_eq!(b[..10], (80..90).map(|i| 2.0 * i as f32).collect::<Vec<_>>());
        assert!(b[10..19].iter().all(|x| x.is_nan()));
        assert_eq!(b[19..], [294.0]);
        assert!(read.f32(&none).is_empty());
    }

    #[test]
    fn more_workgroups_than_a_dimension_holds_are_split() {
        let Some(gpu) = gpu_or_skip() else { return };
        let most = gpu.limits().max_compute_workgroups_per_dimension as usize;
        assert_eq!(gpu.groups(0), [0, 0, 0]);
        assert_eq!(gpu.groups(most), [most as u32, 1, 1]);
        let [x, y, z] = gpu.groups(most * most + 1).map(|n| n as usize);
        assert!(x <= most && y <= most && z == 2 && x * y * z > most * most);
        let count = most + 10;
        let (a, b) = (gpu.upload("a", &vec![1.0_f32; count]).unwrap(), gpu.filled("b", count, f32::NAN).unwrap());
        let bound = scale(&gpu, 1).bind(&gpu, &[&a, &b]).unwrap();
        let mut batch = gpu.batch();
        batch.dispatch(&bound, &Step { count: count as u32, factor: 5.0 }, gpu.groups(count));
        let id = batch.read(&b, 0..count);
        assert_eq!(batch.submit().unwrap().wait().unwrap().f32(&id), vec![5.0; count]);
    }

    #[test]
    fn what_is_wrong_is_an_error_that_names_it() {
        let Some(gpu) = gpu_or_skip() else { return };
        let broken = gpu.kernel(&KernelSpec { name: "test/broken", source: &["fn main() { let x: f32 = 1u; }"], constants: &[] });
        assert!(matches!(broken, Err(GpuError::Kernel { ref kernel, .. }) if kernel == "test/broken"), "{broken:?}");
        let a = gpu.zeroed("a", 1).unwrap();
        assert!(matches!(scale(&gpu, 64).bind(&gpu, &[&a]), Err(GpuError::Kernel { .. })));
        let error = gpu.zeroed("a giant", usize::try_from(gpu.limits().max_storage_buffer_binding_size).unwrap()).unwrap_err();
        assert!(matches!(error, GpuError::Limit { ref what, .. } if what == "a giant"), "{error}");
        gpu.check().unwrap();
    }

    #[test]
    fn a_lost_device_is_reported_and_nothing_panics() {
        if gpu_or_skip().is_none() {
            return;
        }
        let (gpu, _) = Gpu::open(BackendChoice::Gpu).unwrap();
        let a = gpu.zeroed("a", 8).unwrap();
        let bound = scale(&gpu, 64).bind(&gpu, &[&a, &gpu.zeroed("b", 8).unwrap()]).unwrap();
        let mut batch = gpu.batch();
        batch.dispatch(&bound, &Step { count: 8, factor: 1.0 }, [1, 1, 1]);
        let mut early = gpu.batch();
        early.dispatch(&bound, &Step { count: 8, factor: 1.0 }, [1, 1, 1]);
        early.read(&a, 0..8);
        let early = early.submit().unwrap();
        gpu.lose();
        assert!(matches!(early.wait(), Err(GpuError::Lost(_))));
        assert!(matches!(batch.submit(), Err(GpuError::Lost(_))));
        assert!(matches!(gpu.zeroed("c", 8), Err(GpuError::Lost(_))));
    }

    #[test]
    fn loops_that_a_device_would_cut_short_are_refused() {
        let Some(gpu) = gpu_or_skip() else { return };
        let limit = gpu.loop_limit().unwrap() as usize;
        gpu.check_loops("short", 1000).unwrap();
        gpu.check_loops("at the limit", limit).unwrap();
        if limit < u32::MAX as usize {
            assert!(matches!(gpu.check_loops("long", limit + 1), Err(GpuError::Limit { ref what, .. }) if what == "long"));
        }
        assert!(limit >= 1 << 15, "{limit}: `check_loops` takes less than that for safe everywhere");
    }

    #[test]
    fn auto_takes_no_software() {
        if let Ok((gpu, reason)) = Gpu::open(BackendChoice::Auto) {
            assert!(gpu.adapter().real && reason == "a real GPU");
        }
        assert!(matches!(Gpu::open(BackendChoice::Cpu), Err(GpuError::NoAdapter(_))));
    }
}
