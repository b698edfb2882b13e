//! What the window's own context paints, looked at from outside: its textures' pixels, and, where a picture is wanted, everything that is
//! painted in a frame.

use eframe::egui::epaint::ClippedShape;
use eframe::egui::{Context, FullOutput, Plugin, Ui};

use super::textures::Textures;
use crate::app::offscreen::plots;

/// A frame as it is painted.
#[derive(Debug, Clone, Default)]
pub struct Taken {
    /// From back to front.
    pub shapes: Vec<ClippedShape>,
    /// What its plots show, as screen readers have it, each with its left edge.
    pub plots: Vec<(f32, String)>,
}

/// A plugin of the context: see the module's page.
#[derive(Debug, Default)]
pub struct Mirror {
    textures: Textures,
    /// Passes that have begun and not ended: panels in windows of their own are drawn within the main window's.
    depth: usize,
    wanted: bool,
    /// True if the last frame came with words for screen readers.
    described: bool,
    taken: Option<Taken>,
}

impl Mirror {
    /// Looks at a context from now on.
    pub fn install(ctx: &Context) {
        if ctx.plugin_opt::<Self>().is_none() {
            ctx.add_plugin(Self::default());
        }
    }

    /// True if the last frame came with words for screen readers.
    #[must_use]
    pub fn describes(ctx: &Context) -> bool {
        ctx.with_plugin(|mirror: &mut Self| mirror.described).unwrap_or(false)
    }

    /// Wants the frame that is being drawn.
    pub fn want(ctx: &Context) {
        ctx.with_plugin(|mirror: &mut Self| mirror.wanted = true);
    }

    /// The frame that was wanted, and what the textures held in it.
    #[must_use]
    pub fn take(ctx: &Context) -> Option<(Taken, Textures)> {
        ctx.with_plugin(|mirror: &mut Self| mirror.taken.take().map(|taken| (taken, mirror.textures.clone()))).flatten()
    }
}

impl Plugin for Mirror {
    fn debug_name(&self) -> &'static str {
        "pictures"
    }

    fn on_begin_pass(&mut self, _ui: &mut Ui) {
        self.depth += 1;
    }

    fn output_hook(&mut self, _ctx: &Context, output: &mut FullOutput) {
        self.depth = self.depth.saturating_sub(1);
        self.textures.update(&output.textures_delta);
        if self.depth == 0 {
            self.described = output.platform_output.accesskit_update.is_some();
        }
        if self.depth == 0 && std::mem::take(&mut self.wanted) {
            self.taken = Some(Taken { shapes: output.shapes.clone(), plots: plots(output) });
        }
    }
}
