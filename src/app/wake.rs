//! How other threads ask for a frame of the window without standing in the way of the one that is being made.

use std::sync::atomic::{AtomicU8, Ordering};

use eframe::egui::Context;

/// No frame is being made.
const IDLE: u8 = 0;
/// One is.
const BUSY: u8 = 1;
/// One is, and another was asked for meanwhile.
const ASKED: u8 = 2;

/// Asks for a frame of the window, from any thread.
///
/// To ask, a thread takes the lock of the window's context; and a thread that has waited for a lock for long is handed it over those
/// that are running: the frame would then wait until that thread is given a processor. So what is asked for while a frame is made is
/// noted, and the window's own thread asks for it at the frame's end.
#[derive(Debug)]
pub struct Waker {
    ctx: Context,
    state: AtomicU8,
}

impl Waker {
    /// Of this window.
    #[must_use]
    pub fn new(ctx: &Context) -> Self {
        Self { ctx: ctx.clone(), state: AtomicU8::new(IDLE) }
    }

    /// Asks for a frame.
    pub fn wake(&self) {
        // A frame that begins after this has found none being made sees what it is asked for: that was queued before.
        if self.state.compare_exchange(BUSY, ASKED, Ordering::AcqRel, Ordering::Acquire) == Err(IDLE) {
            self.ctx.request_repaint();
        }
    }

    /// The window's thread begins a frame.
    pub fn begin(&self) {
        self.state.store(BUSY, Ordering::Release);
    }

    /// It has made it: asks for the next one if anybody has asked meanwhile.
    pub fn end(&self) {
        if self.state.swap(IDLE, Ordering::AcqRel) == ASKED {
            self.ctx.request_repaint();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use eframe::egui::RawInput;

    fn frame(ctx: &Context, mut within: impl FnMut()) {
        ctx.run_ui(RawInput::default(), |_| within()).textures_delta.clear();
    }

    /// Frames pass until the context asks for no more at once.
    fn settle(ctx: &Context) {
        (0..10).for_each(|_| frame(ctx, || {}));
    }

    #[test]
    fn a_frame_that_is_asked_for_during_another_comes_after_it() {
        let ctx = Context::default();
        let waker = Waker::new(&ctx);
        settle(&ctx);
        assert!(!ctx.has_requested_repaint());
        frame(&ctx, || {
            waker.begin();
            waker.wake();
            assert!(!ctx.has_requested_repaint(), "only noted");
            waker.end();
            assert!(ctx.has_requested_repaint());
        });
        settle(&ctx);
        waker.begin();
        waker.end();
        assert!(!ctx.has_requested_repaint(), "nobody has asked");
        waker.wake();
        assert!(ctx.has_requested_repaint(), "at once, where none is being made");
    }
}
