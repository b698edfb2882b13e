//! A device that paints into a texture which nobody sees, and reads it back.

use eframe::egui::epaint::{ClippedShape, ImageDelta};
use eframe::egui::{Color32, Context, ImageData, TextureId, TextureOptions, TexturesDelta};
use eframe::egui_wgpu::{Renderer, RendererOptions, ScreenDescriptor};
use image::RgbaImage;
use thiserror::Error;

use super::textures::Textures;

/// Colours are blended as on screen: egui's own gamma space.
const FORMAT: wgpu::TextureFormat = wgpu::TextureFormat::Rgba8Unorm;

/// Pixels either way of the smallest picture.
const SMALLEST: u32 = 64;

/// Why there is no picture.
#[derive(Debug, Error)]
pub enum PaintError {
    /// Nothing to paint with.
    #[error("no adapter to paint with: {0}; software Vulkan (Mesa's lavapipe) is enough, and a panel as SVG needs none")]
    Adapter(String),
    /// The picture is too large or too small.
    #[error("a picture of {width} x {height} pixels cannot be made; from {SMALLEST} to {limit} either way can")]
    #[allow(missing_docs, reason = "the message explains them")]
    Size { width: u32, height: u32, limit: u32 },
    /// The device failed while painting.
    #[error("the picture could not be read back: {0}")]
    Readback(String),
}

/// A device with egui's renderer on it.
pub struct Painter {
    device: wgpu::Device,
    queue: wgpu::Queue,
    renderer: Renderer,
    /// What the last frame freed: it still painted it.
    freed: Vec<TextureId>,
}

impl std::fmt::Debug for Painter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Painter").finish_non_exhaustive()
    }
}

impl Painter {
    /// Opens an adapter: hardware first, GL last.
    ///
    /// # Errors
    /// If there is none.
    pub fn open() -> Result<Self, PaintError> {
        let adapter = adapter()?;
        let descriptor = wgpu::DeviceDescriptor { label: Some("offscreen"), required_limits: adapter.limits(), ..Default::default() };
        let opened = pollster::block_on(adapter.request_device(&descriptor));
        let (device, queue) = opened.map_err(|e| PaintError::Adapter(e.to_string()))?;
        let renderer = Renderer::new(&device, FORMAT, RendererOptions::PREDICTABLE);
        Ok(Self { device, queue, renderer, freed: Vec::new() })
    }

    /// The longest side of a picture, in pixels.
    #[must_use]
    pub fn limit(&self) -> u32 {
        self.device.limits().max_texture_dimension_2d
    }

    /// Says whether a picture of so many pixels can be made.
    ///
    /// # Errors
    /// If it cannot.
    pub fn check(&self, size: [u32; 2]) -> Result<(), PaintError> {
        check_size(size, self.limit())
    }

    /// Takes in what has changed in the textures in a frame. What was freed in it is still painted in it: it goes with the next one.
    pub fn update(&mut self, delta: &TexturesDelta) {
        for id in self.freed.drain(..) {
            self.renderer.free_texture(&id);
        }
        self.freed.extend(delta.free.iter().copied());
        for (id, images) in &delta.set {
            for image in images {
                self.renderer.update_texture(&self.device, &self.queue, *id, image);
            }
        }
    }

    /// Takes in textures of another context.
    pub fn adopt(&mut self, textures: &Textures) {
        for (id, texture) in textures.iter() {
            let options = TextureOptions { magnification: texture.magnified, minification: texture.magnified, ..TextureOptions::default() };
            let delta = ImageDelta::full(ImageData::Color(std::sync::Arc::clone(&texture.image)), options);
            self.renderer.update_texture(&self.device, &self.queue, id, &delta);
        }
    }

    /// Paints shapes onto a picture of `size` pixels, `scale` of them a point, and reads it back. The letters are those of `ctx`.
    ///
    /// # Errors
    /// If the size is beyond the device, or the device fails.
    pub fn paint(
        &mut self,
        ctx: &Context,
        shapes: Vec<ClippedShape>,
        size: [u32; 2],
        scale: f32,
        paper: Color32,
    ) -> Result<RgbaImage, PaintError> {
        self.check(size)?;
        let screen = ScreenDescriptor { size_in_pixels: size, pixels_per_point: scale };
        let jobs = ctx.tessellate(shapes, scale);
        let mut encoder = self.device.create_command_encoder(&wgpu::CommandEncoderDescriptor { label: Some("picture") });
        let buffers = self.renderer.update_buffers(&self.device, &self.queue, &mut encoder, &jobs, &screen);
        let texture = self.device.create_texture(&wgpu::TextureDescriptor {
            label: Some("picture"),
            size: wgpu::Extent3d { width: size[0], height: size[1], depth_or_array_layers: 1 },
            mip_level_count: 1,
            sample_count: 1,
            dimension: wgpu::TextureDimension::D2,
            format: FORMAT,
            usage: wgpu::TextureUsages::RENDER_ATTACHMENT | wgpu::TextureUsages::COPY_SRC,
            view_formats: &[],
        });
        let view = texture.create_view(&wgpu::TextureViewDescriptor::default());
        let [r, g, b, _] = paper.to_array().map(|v| f64::from(v) / 255.0);
        let mut pass = encoder
            .begin_render_pass(&wgpu::RenderPassDescriptor {
                label: Some("picture"),
                color_attachments: &[Some(wgpu::RenderPassColorAttachment {
                    view: &view,
                    resolve_target: None,
                    ops: wgpu::Operations { load: wgpu::LoadOp::Clear(wgpu::Color { r, g, b, a: 1.0 }), store: wgpu::StoreOp::Store },
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
    ) -> Result<RgbaImage, PaintError> {
        let failed = |what: String| PaintError::Readback(what);
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
        // A picture is opaque, whatever blending has left in the alpha channel.
        bytes.iter_mut().skip(3).step_by(4).for_each(|a| *a = 255);
        RgbaImage::from_raw(width, height, bytes).ok_or_else(|| failed("the picture has another size than its texture".to_owned()))
    }
}

/// Says whether a picture of so many pixels can be made where the longest side is `limit`.
///
/// # Errors
/// If it cannot.
pub fn check_size([width, height]: [u32; 2], limit: u32) -> Result<(), PaintError> {
    if [width, height].iter().all(|p| (SMALLEST..=limit).contains(p)) { Ok(()) } else { Err(PaintError::Size { width, height, limit }) }
}

/// Any adapter that paints: hardware first, GL last (it is the one that lacks things).
fn adapter() -> Result<wgpu::Adapter, PaintError> {
    let mut descriptor = wgpu::InstanceDescriptor::new_without_display_handle();
    descriptor.flags = wgpu::InstanceFlags::empty();
    let instance = wgpu::Instance::new(descriptor.with_env());
    let found = pollster::block_on(instance.enumerate_adapters(wgpu::Backends::all()));
    let rank = |a: &wgpu::Adapter| {
        let info = a.get_info();
        (info.backend == wgpu::Backend::Gl, info.device_type == wgpu::DeviceType::Cpu)
    };
    found.into_iter().min_by_key(rank).ok_or_else(|| PaintError::Adapter("this machine has none".to_owned()))
}
