//! The engine's thread: takes requests, runs blocks between them, and hands events to the window.

use std::any::Any;
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use crossbeam_channel::{Receiver, Select, Sender, TryRecvError};

use super::factory::LayerFactory;
use super::lane::Keep;
use super::run::{Run, RunError, Sink, Stop};
use super::{BackendInfo, Event, Request, RunId};
use crate::session::plan::Plan;
use crate::trace::TraceBlock;

/// The thread's own side of the channels: sends events, and takes requests in while it must wait for room.
struct Port {
    events: Sender<Event>,
    requests: Receiver<Request>,
    /// Requests taken in but not yet carried out.
    pending: VecDeque<Request>,
    /// False when the window's end is gone.
    open: bool,
    wake: Box<dyn Fn() + Send + Sync>,
}

impl Port {
    /// Takes in what has been asked for meanwhile.
    fn take_in(&mut self) {
        loop {
            match self.requests.try_recv() {
                Ok(request) => self.pending.push_back(request),
                Err(TryRecvError::Empty) => return,
                Err(TryRecvError::Disconnected) => {
                    self.open = false;
                    return;
                }
            }
        }
    }

    /// True if the run is to stop: a newer one, a cancel, or nobody left to listen.
    fn is_interrupted(&self) -> bool {
        self.is_overtaken() || self.pending.iter().any(|r| matches!(r, Request::Cancel))
    }

    /// True if nothing about the current run is of interest any more: a newer one is asked for, or nobody listens.
    fn is_overtaken(&self) -> bool {
        !self.open || self.is_replaced()
    }

    /// True if another run is asked for, or is there already.
    fn is_replaced(&self) -> bool {
        self.pending.iter().any(|r| matches!(r, Request::Run { .. } | Request::Hold { .. }))
    }

    /// Queues an event; waits while the channel is full, unless `give_up` says that there is no use in it any more.
    fn send(&mut self, event: Event, give_up: fn(&Self) -> bool) -> Result<(), Stop> {
        loop {
            self.take_in();
            if give_up(self) {
                return Err(Stop::Cancelled);
            }
            let mut select = Select::new();
            let room = select.send(&self.events);
            select.recv(&self.requests);
            let ready = select.select();
            if ready.index() == room {
                if ready.send(&self.events, event).is_err() {
                    self.open = false;
                    return Err(Stop::Cancelled);
                }
                (self.wake)();
                return Ok(());
            }
            match ready.recv(&self.requests) {
                Ok(request) => self.pending.push_back(request),
                Err(_) => self.open = false,
            }
        }
    }
}

/// A run's sink that sends events under the run's number.
struct EventSink<'a> {
    port: &'a mut Port,
    id: RunId,
    /// What it writes is known: it runs for its states alone.
    known: bool,
}

impl EventSink<'_> {
    fn send(&mut self, event: Event) -> Result<(), Stop> {
        self.port.send(event, Port::is_interrupted)
    }
}

impl Sink for EventSink<'_> {
    fn block(&mut self, lane: usize, block: TraceBlock, chunks: usize, seconds: f64) -> Result<(), Stop> {
        if self.known {
            return Ok(());
        }
        self.send(Event::Block { id: self.id, lane, block, chunks, seconds })
    }

    fn reached(&mut self, writes: usize) -> Result<(), Stop> {
        if self.known {
            return Ok(());
        }
        self.send(Event::Reached { id: self.id, writes })
    }

    fn moved(&mut self, text: &str, backend: &BackendInfo) -> Result<(), Stop> {
        // Of a run that is known, where the trace was made stays where it was.
        let backend = (!self.known).then(|| backend.clone());
        self.send(Event::Banner { id: self.id, text: text.to_owned(), backend })
    }

    fn poll(&mut self) -> Result<(), Stop> {
        self.port.take_in();
        if self.port.is_interrupted() { Err(Stop::Cancelled) } else { Ok(()) }
    }
}

/// A run with its number, and the states asked for that it has not reached.
struct Active {
    id: RunId,
    run: Run,
    /// False once it is complete, cancelled or failed; its states can still be asked for.
    running: bool,
    /// Each `(lane, chunks)`.
    wanted: Vec<(usize, usize)>,
    /// What it writes is known: only its states are of interest.
    known: bool,
}

/// A run whose trace is known, of which no state has been asked for.
struct Held {
    id: RunId,
    plan: Arc<Plan>,
    made: BackendInfo,
}

/// All that the thread owns.
pub struct Worker {
    factory: Box<dyn LayerFactory>,
    port: Port,
    active: Option<Active>,
    held: Option<Held>,
}

impl Worker {
    pub fn new(
        factory: Box<dyn LayerFactory>,
        requests: Receiver<Request>,
        events: Sender<Event>,
        wake: Box<dyn Fn() + Send + Sync>,
    ) -> Self {
        let port = Port { events, requests, pending: VecDeque::new(), open: true, wake };
        Self { factory, port, active: None, held: None }
    }

    /// Works until the window's end is gone. A panic of a layer ends its run with a message, not the thread.
    pub fn work(mut self) {
        while self.port.open {
            let id = self.active.as_ref().map_or(0, |a| a.id);
            if let Err(panic) = catch_unwind(AssertUnwindSafe(|| self.turn())) {
                // The layers may be in any state now: they are dropped, and nothing of them is used again.
                self.active = None;
                let error = Some(format!("a mistake in the program stopped the run: {}", panic_text(panic.as_ref())));
                self.tell(Event::Ended { id, error, states: Vec::new() });
            }
        }
    }

    /// One turn: the requests that wait, then one block, or a pause until something is asked for.
    fn turn(&mut self) {
        let busy = self.active.as_ref().is_some_and(|a| a.running);
        if !busy && self.port.pending.is_empty() {
            match self.port.requests.recv() {
                Ok(request) => self.port.pending.push_back(request),
                Err(_) => self.port.open = false,
            }
        }
        self.port.take_in();
        while let Some(request) = self.port.pending.pop_front() {
            self.carry_out(request);
        }
        self.answer_states();
        self.block();
    }

    fn carry_out(&mut self, request: Request) {
        match request {
            Request::Run { id, plan } => {
                // Only the newest of several runs asked for is begun.
                if !self.port.is_replaced() {
                    self.begin(id, plan);
                }
            }
            Request::Hold { id, plan, made } => {
                // What ran before goes: its states are of no interest any more.
                self.active = None;
                self.held = Some(Held { id, plan, made });
            }
            Request::States { id, wanted } => {
                if let Some(held) = self.held.take_if(|held| held.id == id && !wanted.is_empty()) {
                    self.begin_again(held);
                }
                if let Some(active) = self.active.as_mut().filter(|a| a.id == id) {
                    active.wanted = wanted;
                }
            }
            Request::Cancel => {
                if let Some(active) = self.active.as_mut().filter(|a| a.running && !a.known) {
                    active.running = false;
                    let id = active.id;
                    self.tell(Event::Ended { id, error: None, states: Vec::new() });
                }
            }
        }
    }

    fn begin(&mut self, id: RunId, plan: Arc<Plan>) {
        // The old layers go first: two runs' buffers need not fit the device together.
        self.active = None;
        self.held = None;
        let choice = plan.session.backend;
        match Run::new(plan, choice, Keep::Keyframes, self.factory.as_mut()) {
            Ok(run) => {
                let backend = run.backend().clone();
                self.active = Some(Active { id, run, running: true, wanted: Vec::new(), known: false });
                self.tell(Event::Started { id, backend });
            }
            Err(error) => self.tell(Event::Ended { id, error: Some(error.to_string()), states: Vec::new() }),
        }
    }

    /// Runs a plan once more whose trace is known, for its states.
    fn begin_again(&mut self, held: Held) {
        let Held { id, plan, made } = held;
        let choice = plan.session.backend;
        match Run::new(plan, choice, Keep::Keyframes, self.factory.as_mut()) {
            Ok(run) => {
                let here = run.backend().clone();
                self.active = Some(Active { id, run, running: true, wanted: Vec::new(), known: true });
                if !here.is_on(made.gpu, &made.adapter) {
                    let text = format!(
                        "Exact states are computed again, on {}; the trace was made on {}: they may differ from it in their last digits, and choices \
                         that are nearly ties may fall otherwise.",
                        here.adapter, made.adapter
                    );
                    self.tell(Event::Banner { id, text, backend: None });
                }
            }
            Err(error) => {
                let text = format!("Exact states cannot be computed: {error}");
                self.tell(Event::Banner { id, text, backend: None });
            }
        }
    }

    /// Answers the states that are wanted and reached.
    fn answer_states(&mut self) {
        let Some(active) = &mut self.active else { return };
        let mut sink = EventSink { port: &mut self.port, id: active.id, known: active.known };
        let mut wanted = std::mem::take(&mut active.wanted);
        let mut left = Vec::new();
        while let Some((lane, chunks)) = wanted.pop() {
            let answer = active.run.state_or_move(lane, chunks, self.factory.as_mut(), &mut sink);
            let sent = match answer {
                Ok(Some(snapshot)) => sink.send(Event::State { id: active.id, lane, snapshot }),
                Ok(None) => {
                    left.push((lane, chunks));
                    Ok(())
                }
                Err(RunError::Cancelled) => Err(Stop::Cancelled),
                Err(error) => {
                    let text = format!("The state after {chunks} chunks cannot be shown: {error}");
                    sink.send(Event::Banner { id: active.id, text, backend: None })
                }
            };
            if sent.is_err() {
                // Interrupted: what is still wanted is answered after the request that did it, if the run is then still there.
                wanted.push((lane, chunks));
                left.append(&mut wanted);
            }
        }
        // A run that is over gets no further: what it has not reached now it never will.
        let reachable = |(lane, chunks): &(usize, usize)| active.running || active.run.has_reached(*lane, *chunks);
        left.retain(reachable);
        active.wanted = left;
    }

    /// One block of the run, if one is running.
    fn block(&mut self) {
        let Some(active) = self.active.as_mut().filter(|a| a.running) else { return };
        let (id, known) = (active.id, active.known);
        let mut sink = EventSink { port: &mut self.port, id, known };
        match active.run.advance(self.factory.as_mut(), &mut sink) {
            // Interrupted: the request that did it decides what comes of the run.
            Ok(true) | Err(RunError::Cancelled) => {}
            Ok(false) if known => {
                active.running = false;
                self.answer_states();
            }
            Ok(false) => {
                active.running = false;
                let last = active.run.last_states(self.factory.as_mut(), &mut sink);
                self.answer_states();
                let (states, error) = match last {
                    Ok(states) => (states, None),
                    // Interrupted: the request that did it comes next, and nobody asks for this run's states any more.
                    Err(RunError::Cancelled) => (Vec::new(), None),
                    Err(error) => (Vec::new(), Some(error.to_string())),
                };
                self.tell(Event::Ended { id, error, states });
            }
            Err(error) if known => {
                active.running = false;
                self.tell(Event::Banner { id, text: format!("Exact states cannot be computed: {error}"), backend: None });
            }
            Err(error) => {
                active.running = false;
                self.tell(Event::Ended { id, error: Some(error.to_string()), states: Vec::new() });
            }
        }
    }

    /// Sends an event that is only lost when a newer run overtakes it, and then of no interest.
    fn tell(&mut self, event: Event) {
        if self.port.send(event, Port::is_overtaken).is_err() {
            log::debug!("an event was overtaken by a newer run");
        }
    }
}

fn panic_text(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|s| (*s).to_owned()).or_else(|| panic.downcast_ref::<String>().cloned());
    text.unwrap_or_else(|| "a panic without a message".to_owned())
}
