//! The window's end of the engine: requests in, events out, and a thread that ends when this is dropped.

use std::io;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, Sender, bounded, unbounded};

use super::factory::{Devices, LayerFactory};
use super::worker::Worker;
use super::{Event, Request};

/// Events that may wait for the window. With blocks bounded in bytes this bounds the memory between the two as well.
const WAITING_EVENTS: usize = 64;

/// A running engine. Dropping it stops the thread, within one block of a run.
#[derive(Debug)]
pub struct Engine {
    /// `None` only while dropping: closing the channel is what stops the thread.
    requests: Option<Sender<Request>>,
    events: Receiver<Event>,
    thread: Option<JoinHandle<()>>,
}

impl Engine {
    /// Starts the thread, with the layers of this program on this machine's devices.
    ///
    /// `wake` is called after events have been queued, on the engine's thread: the window passes its request to repaint.
    ///
    /// # Errors
    /// If the operating system gives no thread.
    pub fn spawn(wake: impl Fn() + Send + Sync + 'static) -> io::Result<Self> {
        Self::spawn_with(Devices::default(), wake)
    }

    /// The same, with another builder of layers: tests pass one whose device fails.
    ///
    /// # Errors
    /// If the operating system gives no thread.
    pub fn spawn_with(factory: impl LayerFactory + 'static, wake: impl Fn() + Send + Sync + 'static) -> io::Result<Self> {
        let (requests, inbox) = unbounded();
        let (outbox, events) = bounded(WAITING_EVENTS);
        let thread = thread::Builder::new()
            .name("engine".to_owned())
            .spawn(move || Worker::new(Box::new(factory), inbox, outbox, Box::new(wake)).work())?;
        Ok(Self { requests: Some(requests), events, thread: Some(thread) })
    }

    /// Asks for something; never waits.
    pub fn send(&self, request: Request) {
        if let Some(requests) = &self.requests
            && requests.send(request).is_err()
        {
            log::error!("the engine's thread has ended; the request is lost");
        }
    }

    /// The next event, if one waits.
    #[must_use]
    pub fn try_recv(&self) -> Option<Event> {
        self.events.try_recv().ok()
    }

    /// The next event, waiting at most `timeout` for it: for tests and programs without a window.
    #[must_use]
    pub fn recv_timeout(&self, timeout: Duration) -> Option<Event> {
        self.events.recv_timeout(timeout).ok()
    }

    /// Hands waiting events to `handle` until none is left or `budget` is used up; true if some are left, so that the
    /// window knows to paint again.
    pub fn drain(&self, budget: Duration, mut handle: impl FnMut(Event)) -> bool {
        let start = Instant::now();
        while let Some(event) = self.try_recv() {
            handle(event);
            if start.elapsed() >= budget {
                break;
            }
        }
        !self.events.is_empty()
    }
}

impl Drop for Engine {
    fn drop(&mut self) {
        self.requests = None;
        if let Some(thread) = self.thread.take()
            && thread.join().is_err()
        {
            log::error!("the engine's thread had panicked");
        }
    }
}
