//! Mnemoscope: an explorer of how attention layers remember.
//!
//! It runs memory layers (OVQ, LoLA and the ones they compete with) chunk by chunk on the GPU, and shows the memory at work.
//! This page is the house: how data flows, what the words mean, and how to add a layer, a task or a panel.
//!
//! # One way for the data
//!
//! ```text
//! session.ron -> Session -> Plan        checked once, every error named with its field
//! Task | Capture -> Stream              keys, values, reads, labels, targets
//! panel -> Command -> App -> engine     a thread that owns the device and the layers' state
//! Layer::advance(chunks) -> TraceBlock  pieces of the layer's channels, then the metric's
//! bounded channel                       when it is full the engine waits, the window never does
//! App drains it -> LaneTrace            one writer, a generation number
//! playhead + selection -> panels        read channels by range, keep their pictures until something changes
//! ```
//!
//! Without a window the same plan goes through the same engine, and an exporter or the terminal takes the window's place.
//!
//! The engine has its own device, apart from the one that paints, and runs ahead of the playhead: the first block is one step,
//! so that pictures come at once, and blocks grow from there. Time travel is exact and bounded in memory: [`engine`] keeps
//! the layers' whole state every so many chunks and runs the layer itself from there, on the same backend, so that the
//! state at any step has the same bits as when the run passed it. What panels draw at the playhead comes from the trace.
//!
//! # Rooms
//!
//! | | |
//! |---|---|
//! | [`param`] | parameters as data: sliders, `--set`, session files and checks come from one list |
//! | [`stream`] | writes, reads, heads, labels; captures of real models |
//! | [`task`] | synthetic streams with known answers |
//! | [`layer`] | the memory layers: CPU in two precisions, GPU, channels |
//! | [`gpu`] | device, kernels, buffers, readback; knows no layer |
//! | [`trace`] | channels, blocks, the store |
//! | [`engine`] | the worker, keyframes, headless runs, CPU against GPU in lockstep, sweeps |
//! | [`metric`] | recall, error, cosine, by age, position and role; retention; cost; health of a codebook, spectra, projections, novelty, events |
//! | [`session`] | the session file, older versions of it, the same with its trace, and the plan made of it |
//! | [`export`] | what leaves: which part of a run, in which formats, and what it says of itself; one file a format |
//! | [`cli`] | the command line: one file a subcommand |
//! | `app`, `panel`, `widget` | the window (feature `gui`): commands and time; pictures of memory; drawing that knows no layer |
//!
//! # Words
//!
//! - A **stream** is T **writes** (a key and a value) and R **reads** (a query, and how many writes it may see).
//! - A **chunk** is what a layer takes in before its state changes; a **step** of the timeline is the smallest chunk of the lanes.
//! - A **lane** is a layer with its parameters in a session; all lanes of a run advance together.
//! - A **channel** is a named array that a layer writes while it runs; its [`trace::ChannelSpec`] says what it means.
//! - **Effective attention** is what weight every original token has in a read's output, whatever the layer
//!   ([`layer::effective`]); **retention** is with which error a followed token is recalled, step by step ([`metric::retention`]).
//! - A **study** is a long question answered beside the run (`app::study`): effective attention, retention, a sweep.
//! - A **snapshot** is a layer's whole state at a chunk boundary. Panels get any of them from the engine (`app::states`); what needs
//!   those of all steps is replayed from the trace ([`layer::replay`]).
//! - A **hand** changes a lane's memory at a step, in a branch of the lane ([`session::hand`]): ours, not the papers'.
//! - A **subject** is what can be selected and spoken of by itself: a token, a centroid, a cached pair, a read, a step, a lane.
//! - A **centroid** is a row of OVQ's dictionary; a **founder** is the token whose key and value a row starts with; a row's
//!   **count** is how many tokens it stands for.
//! - **Self-recall error** (SRE) is how far what a linear state recalls for a token's own key is from the token's value; the
//!   **sparse cache** holds the tokens where it is largest.
//!
//! # Adding
//!
//! - **A layer**: a folder in `src/layer` with a [`layer::LayerKind`] (its parameters, limits and channels), a [`layer::Layer`]
//!   for the CPU over [`layer::real::Real`] and one for the GPU with its kernels in `shaders/`, and one line in
//!   [`layer::KINDS`]. Menus, sliders, `--set`, exports, the golden suite and the lockstep check follow from those.
//! - **A task**: one file in `src/task` with a [`task::Task`], and one line in [`task::TASKS`]; a session with lanes that fit it
//!   in `sessions/`, and one line in `src/session/examples.rs`.
//! - **A panel**: one file in `src/panel` with a `Panel`, and one line in `PANELS`. It reads channels by name and pushes commands.

#[cfg(feature = "gui")]
pub mod app;
pub mod cli;
pub mod engine;
pub mod export;
pub mod gpu;
pub mod layer;
pub mod metric;
#[cfg(feature = "gui")]
pub mod panel;
pub mod param;
pub mod session;
pub mod stream;
pub mod task;
pub mod trace;
#[cfg(feature = "gui")]
pub mod widget;
