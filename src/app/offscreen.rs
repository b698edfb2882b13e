//! The window without a screen: the same [`App`], painted into a texture and read back. For `mnemoscope screenshot`.

use std::time::{Duration, Instant};

use eframe::egui::{self, Context, FullOutput, RawInput, Rect, ViewportId, vec2};
use eframe::egui_wgpu::{Renderer, RendererOptions, ScreenDescriptor};
use image::RgbaImage;
use thiserror::Error;

use crate::app::App;

/// Colours are blended as on screen: egui's own gamma space.
const FORMAT: wgpu::TextureFormat = wgpu::TextureFormat::Rgba8Unorm;

/// Why there is no picture.
#[derive(Debug, Error)]
pub enum OffscreenError {
    /// Nothing to paint with.
    #[error("no adapter to paint with: {0}; software Vulkan (Mesa's lavapipe) is enough")]
    Adapter(String),
    /// The picture is too large or too small.
    #[error("a picture of {width} x {height} pixels cannot be made; from 64 to {limit} either way can")]
    #[allow(missing_docs, reason = "the message explains them")]
    Size { width: u32, height: u32, limit: u32 },
    /// The device failed while painting.
    #[error("the picture could not be read back: {0}")]
    Readback(String),
}

/// A device, and a context that believes it has a window of a certain size.
pub struct Stage {
    device: wgpu::Device,
    queue: wgpu::Queue,
    renderer: Renderer,
    ctx: Context,
    size: [u32; 2],
    scale: f32,
    start: Instant,
    output: Option<FullOutput>,
}

impl std::fmt::Debug for Stage {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Stage").field("size", &self.size).field("scale", &self.scale).finish_non_exhaustive()
    }
}

impl Stage {
    /// A stage of `size` points, with `scale` pixels a point.
    ///
    /// # Errors
    /// If there is no adapter, or the size is beyond its limits.
    pub fn new(size: [u32; 2], scale: f32) -> Result<Self, OffscreenError> {
        let adapter = adapter()?;
        let limits = adapter.limits();
        let limit = limits.max_texture_dimension_2d;
        let pixels = size.map(|s| (s as f32 * scale).round() as u32);
        if pixels.iter().any(|p| !(64..=limit).contains(p)) {
            return Err(OffscreenError::Size { width: pixels[0], height: pixels[1], limit });
        }
        let descriptor = wgpu::DeviceDescriptor { label: Some("offscreen"), required_limits: limits, ..Default::default() };
        let opened = pollster::block_on(adapter.request_device(&descriptor));
        let (device, queue) = opened.map_err(|e| OffscreenError::Adapter(e.to_string()))?;
        let renderer = Renderer::new(&device, FORMAT, RendererOptions::PREDICTABLE);
        Ok(Self { device, queue, renderer, ctx: Context::default(), size, scale, start: Instant::now(), output: None })
    }

    /// The context that the window is made for.
    #[must_use]
    pub fn context(&self) -> &Context {
        &self.ctx
    }

    /// Runs a frame without painting it.
    pub fn frame(&mut self, app: &mut App) {
        let mut input = RawInput {
            screen_rect: Some(Rect::from_min_size(egui::Pos2::ZERO, vec2(self.size[0] as f32, self.size[1] as f32))),
            max_texture_side: Some(self.device.limits().max_texture_dimension_2d as usize),
            time: Some(self.start.elapsed().as_secs_f64()),
            ..RawInput::default()
        };
        input.viewports.entry(ViewportId::ROOT).or_default().native_pixels_per_point = Some(self.scale);
        let mut output = self.ctx.run_ui(input, |ui| app.frame(ui));
        for (id, images) in output.textures_delta.set.drain() {
            for image in images {
                self.renderer.update_texture(&self.device, &self.queue, id, &image);
            }
        }
        for id in output.textures_delta.free.drain() {
            self.renderer.free_texture(&id);
        }
        self.output = Some(output);
    }

    /// Runs frames until the window is at rest, then a few more for what settles late (sizes of texts, scroll bars).
    pub fn settle(&mut self, app: &mut App) {
        loop {
            self.frame(app);
            let failed = app.problem().is_some() || app.runs().current().is_some_and(|r| r.error.is_some());
            if app.at_rest() || failed {
                break;
            }
            std::thread::sleep(Duration::from_millis(2));
        }
        for _ in 0..4 {
            self.frame(app);
        }
    }

    /// Paints the last frame and reads it back.
    ///
    /// # Errors
    /// If the device fails.
    pub fn picture(&mut self) -> Result<RgbaImage, OffscreenError> {
        let shapes = self.output.as_ref().map_or_else(Vec::new, |o| o.shapes.clone());
        let size = self.size.map(|s| (s as f32 * self.scale).round() as u32);
        let screen = ScreenDescriptor { size_in_pixels: size, pixels_per_point: self.ctx.pixels_per_point() };
        let jobs = self.ctx.tessellate(shapes, screen.pixels_per_point);
        let mut encoder = self.device.create_command_encoder(&wgpu::CommandEncoderDescriptor { label: Some("window") });
        let buffers = self.renderer.update_buffers(&self.device, &self.queue, &mut encoder, &jobs, &screen);
        let texture = self.device.create_texture(&wgpu::TextureDescriptor {
            label: Some("window"),
            size: wgpu::Extent3d { width: size[0], height: size[1], depth_or_array_layers: 1 },
            mip_level_count: 1,
            sample_count: 1,
            dimension: wgpu::TextureDimension::D2,
            format: FORMAT,
            usage: wgpu::TextureUsages::RENDER_ATTACHMENT | wgpu::TextureUsages::COPY_SRC,
            view_formats: &[],
        });
        let view = texture.create_view(&wgpu::TextureViewDescriptor::default());
        let mut pass = encoder
            .begin_render_pass(&wgpu::RenderPassDescriptor {
                label: Some("window"),
                color_attachments: &[Some(wgpu::RenderPassColorAttachment {
                    view: &view,
                    resolve_target: None,
                    ops: wgpu::Operations { load: wgpu::LoadOp::Clear(wgpu::Color::BLACK), store: wgpu::StoreOp::Store },
                    depth_slice: None,
                })],
                ..Default::default()
            })
            .forget_lifetime();
        self.renderer.render(&mut pass, &jobs, &screen);
        drop(pass);
        self.read(encoder, buffers, &texture)
    }

    fn read(
        &self,
        mut encoder: wgpu::CommandEncoder,
        buffers: Vec<wgpu::CommandBuffer>,
        texture: &wgpu::Texture,
    ) -> Result<RgbaImage, OffscreenError> {
        let failed = |what: String| OffscreenError::Readback(what);
        let (width, height) = (texture.width(), texture.height());
        let padded = (width * 4).next_multiple_of(wgpu::COPY_BYTES_PER_ROW_ALIGNMENT);
        let buffer = self.device.create_buffer(&wgpu::BufferDescriptor {
            label: Some("picture"),
            size: u64::from(padded) * u64::from(height),
            usage: wgpu::BufferUsages::MAP_READ | wgpu::BufferUsages::COPY_DST,
            mapped_at_creation: false,
        });
        let layout = wgpu::TexelCopyBufferLayout { offset: 0, bytes_per_row: Some(padded), rows_per_image: None };
        let target = wgpu::TexelCopyBufferInfo { buffer: &buffer, layout };
        encoder.copy_texture_to_buffer(texture.as_image_copy(), target, texture.size());
        self.queue.submit(buffers.into_iter().chain(std::iter::once(encoder.finish())));
        let slice = buffer.slice(..);
        let (sender, receiver) = crossbeam_channel::bounded(1);
        slice.map_async(wgpu::MapMode::Read, move |result| drop(sender.send(result)));
        self.device.poll(wgpu::PollType::wait_indefinitely()).map_err(|e| failed(e.to_string()))?;
        receiver.recv().map_err(|e| failed(e.to_string()))?.map_err(|e| failed(e.to_string()))?;
        let mapped = slice.get_mapped_range().map_err(|e| failed(e.to_string()))?;
        let mut bytes = Vec::with_capacity((width * height * 4) as usize);
        for row in mapped.chunks_exact(padded as usize) {
            bytes.extend_from_slice(&row[..width as usize * 4]);
        }
        // The window is opaque, whatever blending has left in the alpha channel.
        bytes.iter_mut().skip(3).step_by(4).for_each(|a| *a = 255);
        RgbaImage::from_raw(width, height, bytes).ok_or_else(|| failed("the picture has another size than its texture".to_owned()))
    }
}

/// Any adapter that paints: hardware first, GL last (it is the one that lacks things).
fn adapter() -> Result<wgpu::Adapter, OffscreenError> {
    let mut descriptor = wgpu::InstanceDescriptor::new_without_display_handle();
    descriptor.flags = wgpu::InstanceFlags::empty();
    let instance = wgpu::Instance::new(descriptor.with_env());
    let found = pollster::block_on(instance.enumerate_adapters(wgpu::Backends::all()));
    let rank = |a: &wgpu::Adapter| {
        let info = a.get_info();
        (info.backend == wgpu::Backend::Gl, info.device_type == wgpu::DeviceType::Cpu)
    };
    found.into_iter().min_by_key(rank).ok_or_else(|| OffscreenError::Adapter("this machine has none".to_owned()))
}
