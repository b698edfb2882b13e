//! The command line: one file a subcommand.
//!
//! Standard output is data, standard error is talk: progress, the backend and why, notes, errors. An error is said once,
//! here, and its kind decides the exit code ([`CliError::code`]).
//!
//! A subcommand is a file with `Args` (what clap reads) and `Args::execute`, and one line in `Command`.

#[cfg(feature = "gui")]
mod animate;
mod bench;
mod compare;
mod completions;
mod devices;
mod error;
mod events;
mod gallery;
mod inspect;
mod man;
mod out;
#[cfg(feature = "gui")]
mod picture;
mod run;
mod saved;
#[cfg(feature = "gui")]
mod screenshot;
mod set;
mod source;
mod sweep;
mod table;
mod talk;
mod verify;
mod window;

use std::io::{self, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Parser, Subcommand};

pub use error::CliError;

const EXAMPLES: &str = "\
Examples:
  mnemoscope                                     open the window on the bundled capture
  mnemoscope my_model.safetensors                open it on a capture of your own
  mnemoscope gallery                             the sessions inside the program, by claim
  mnemoscope gallery:needles                     open the window on one of them
  mnemoscope run session.ron --out out           compute and write the trace, with no window
  mnemoscope compare session.ron --seeds 3       what every lane recalls, and what its memory costs
  mnemoscope verify session.ron                  hold the GPU against the CPU
  mnemoscope events session.ron > events.csv     what happened in every lane, a row an event
  mnemoscope devices                             what can compute here
  mnemoscope screenshot bundled --out shot.png   the window as a picture, with no display
  mnemoscope screenshot bundled --panel growth --out growth.svg
  mnemoscope animate bundled --panel growth --out growth.png";

const RUN_EXAMPLES: &str = "\
Examples:
  mnemoscope run --out out                       the bundled capture
  mnemoscope run session.ron --out out --backend cpu --seed 3
  mnemoscope run my_model.safetensors --out out --set LoLA.cache=256 --set OVQ.n_max=1024
  mnemoscope run session.ron --save session.mnemo   the session with its trace, in one file
  mnemoscope run session.mnemo --out out         compute it again, and say whether the trace is the same, bit for bit
  mnemoscope run session.ron --out out --arrays safetensors --tables parquet
  mnemoscope run session.ron --out out --from 640 --to 768 --lane LoLA --arrays none --tables csv,jsonl
  mnemoscope run session.ron --out out --json | jq -r '.lanes[] | [.name, .seconds] | @tsv'

DIR then holds the arrays (trace.npz, trace.safetensors), the tables (tokens, reads, steps, events, centroids, cache), and README.md and
columns.json, which say what every name in them means. They come together at the end or not at all, and take the place of an earlier trace
in DIR; a README.md or columns.json that no trace came with is never overwritten.

--from A --to B keeps the writes from A on and before B; the reads whose newest visible write is one of them; of each lane the steps whose
chunk holds one of them; and what a memory holds at the end of those steps. Numbers in the files are those of the whole run.

Names of files go to standard output; the backend, why it was taken and a line a lane to standard error.";

const COMPARE_EXAMPLES: &str = "\
Examples:
  mnemoscope compare session.ron                 a row a lane: recall, state, arithmetic, time
  mnemoscope compare session.ron --seeds 5 --backend cpu
  mnemoscope compare session.ron --json | jq '.lanes[].score'
  mnemoscope compare session.ron --set task.T=8192 --set OVQ.n_max=1024 --format csv > recall.csv

All lanes run, those that are switched off too (--enabled leaves them out), in groups of 8. Accuracy is over all reads of all
query heads and seeds, with Wilson's 95% interval. A lane that cannot run has a row that says so; the others are still
printed, and the exit code is 5. State, bytes and multiply-adds a token are for
one key/value head of the stream (a lane with a state for each query head: all of those states), multiply-adds a read for one
query head. The relative error is sum |o - y|^2 / sum |y|^2 where a task gives the values to be returned; on a capture it is the root of
that, against full attention's outputs.";

const SWEEP_EXAMPLES: &str = "\
Examples:
  mnemoscope sweep session.ron --vary OVQ.n_max=64..4096:log2 --seeds 3 --out ovq.parquet
  mnemoscope sweep session.ron --vary OVQ+VQ.n_max=64,256,1024 --vary task.T=2048..16384:log2 --out grid.parquet
  mnemoscope sweep session.ron --vary LoLA.score=sre,fifo,random --vary LoLA.cache=0..256:5 --out scores.parquet
  mnemoscope sweep session.ron --vary OVQ.n_max=64..4096:log2 --shard 2/8 --out ovq.parquet
  mnemoscope sweep session.ron --vary OVQ.n_max=64,256 --out ovq.parquet --json

VALUES: a list `64,128,256` or `plateau,linear`; `0..1:5` is 5 points, evenly; `64..4096:log2` is 64 and its doubles; `1..1000:log7`
is 7 points, evenly in the logarithm. Whole numbers are rounded. Several lanes are joined by `+`; `task` is the task.
Two --vary make a grid for what both touch. A lane that is not varied runs once a seed (and once for every value of the task's); one
that is switched off takes part only if it is varied. In a grid, `x` of a lane that only one --vary touches is that one's: see `x_name`.

Every row is a lane at a point with a seed. Rows that FILE holds already (same source, lane, parameters, seed, backend) are not
computed again, and FILE is rewritten whole every few seconds, so a sweep that was stopped goes on where it was. A point that cannot
run is a row with its reason under `error`, and is tried again the next time.

--shard 2/8 does the second of eight equal parts, counted from 1, and writes FILE.shard-2-of-8.parquet beside FILE: start all eight
anywhere, on any scheduler, each with its own number, and then run the same command once without --shard: it reads the
shards' files, does what is missing, and writes FILE. The shards' files can then be deleted.";

const VERIFY_EXAMPLES: &str = "\
Examples:
  mnemoscope verify                              the bundled capture
  mnemoscope verify session.ron --set OVQ.n_max=256
  mnemoscope verify session.ron --json > report.json

A choice (an assignment, a cache member) whose margin is at most 1e-5 may fall either way in float32: a tie. What differs
in the same chunk of the same head is then excused, and the comparison goes on from one state.";

const INSPECT_EXAMPLES: &str = "\
Examples:
  mnemoscope inspect my_model.safetensors        its tensors, its tokens, and the layers that can be run
  mnemoscope inspect session.ron                 its stream, its lanes and what they hold
  mnemoscope inspect bundled --json";

const EVENTS_EXAMPLES: &str = "\
Examples:
  mnemoscope events session.ron > events.csv     every founder, admission, eviction, tie, wrong answer, ..
  mnemoscope events session.ron --kind tie,not-finite --under 1e-4
  mnemoscope events bundled --lane LoLA --kind eviction --head 3 --json
  mnemoscope events session.ron --threshold 'write_error>0.5' --kind threshold --out late.csv

A row an event, in the order in which they are seen: the list of the window's panel Events, whole. Columns: writes_seen (from which
boundary of the timeline on), lane, kind, place and index (write, read or chunk of the lane), write and its text, channel, head,
component, value, sentence. Events are those of one query head and the key/value head that it reads: the session's, or --head's.
How many there are of each kind goes to standard error.";

const DEVICES_EXAMPLES: &str = "\
Examples:
  mnemoscope devices
  mnemoscope devices --json | jq '.choices'";

const GALLERY_EXAMPLES: &str = "\
Examples:
  mnemoscope gallery
  mnemoscope gallery --json | jq '.[].name'
  mnemoscope compare gallery:larger_cache --seeds 5
  mnemoscope run gallery:ties --out out";

const BENCH_EXAMPLES: &str = "\
Examples:
  mnemoscope bench                               every layer over 4096 tokens, OVQ's figures, and the window's frames
  mnemoscope bench frame                         the window's frames alone, without a display
  mnemoscope bench lola ovq --tokens 16384 --repeat 5
  mnemoscope bench --json > speed.json";

#[cfg(feature = "gui")]
const SCREENSHOT_EXAMPLES: &str = "\
Examples:
  mnemoscope screenshot bundled --out shot.png
  mnemoscope screenshot session.ron --step 12 --token 705 --theme light --size 1920x1080 --scale 2 --out shot.png
  mnemoscope screenshot session.ron --panel growth --out growth.svg
  mnemoscope screenshot session.ron --panel residency --size 600x400 --scale 3 --out cache.png
  mnemoscope screenshot lesson:ovq@3 --out step.png   a step of a lesson, as it begins

A panel is drawn alone, with a caption. SVG has vector marks and real text, needs no adapter, and runs a session that leaves the
backend open on the CPU: the same session gives the same file. Both kinds hold a title, a description (the caption, what each plot
shows, and of a step of a lesson its words), the step, the program's version and the SHA-256 of the session as text.";

/// The longest line of a help that is put together, in letters.
#[cfg(feature = "gui")]
const HELP_WIDTH: usize = 134;

/// The examples of `screenshot`, and every panel that there is.
#[cfg(feature = "gui")]
fn screenshot_examples() -> String {
    format!("{SCREENSHOT_EXAMPLES}\n\n{}", picture::panels(HELP_WIDTH))
}

#[cfg(feature = "gui")]
const ANIMATE_EXAMPLES: &str = "\
Examples:
  mnemoscope animate bundled --panel growth --out growth.png
  mnemoscope animate session.ron --from 8 --to 24 --fps 12 --size 1280x800 --out playback.png
  mnemoscope animate session.ron --panel map --every 4 --scale 2 --out frames/

A name that ends in .png or .apng is one APNG, which browsers play; any other is a folder for frame-0001.png and so on, and is not called
as a file is (x.svg). The last frame is always the step of --to. Frames are written as they are made, and nothing is left of an animation
that was stopped.";

const COMPLETIONS_EXAMPLES: &str = "\
Examples:
  mnemoscope completions bash > ~/.local/share/bash-completion/completions/mnemoscope
  mnemoscope completions zsh > ~/.zfunc/_mnemoscope
  mnemoscope completions fish > ~/.config/fish/completions/mnemoscope.fish
  mnemoscope completions powershell >> $PROFILE";

const MAN_EXAMPLES: &str = "\
Examples:
  mnemoscope man | man -l -                      the program's page
  mnemoscope man run | man -l -                  a subcommand's
  mnemoscope man --out ~/.local/share/man/man1   all of them, for `man mnemoscope-run`";

/// The program's name.
const NAME: &str = "mnemoscope";

/// The exit codes, by kind of failure: [`CliError::code`].
const CODES: [(u8, &str); 9] = [
    (0, "done"),
    (1, "a check failed"),
    (2, "wrong use"),
    (3, "a session or capture cannot be read"),
    (4, "no such device"),
    (5, "the run failed"),
    (6, "a file cannot be written"),
    (7, "no window"),
    (130, "interrupted"),
];

/// What `--help` ends with: examples, then the exit codes.
fn long(examples: &str) -> String {
    let codes = CODES.map(|(code, meaning)| format!("{code} {meaning}")).join("; ");
    format!("{examples}\n\nExit codes: {codes}.")
}

/// The command line's description.
fn command() -> clap::Command {
    <Cli as clap::CommandFactory>::command()
}

/// An explorer of how attention layers remember: OVQ, LoLA and the layers they compete with, chunk by chunk.
///
/// Without a subcommand the window opens, on FILE or on the bundled capture of a real model.
#[derive(Debug, Parser)]
#[command(name = NAME, version, args_conflicts_with_subcommands = true, after_help = EXAMPLES, after_long_help = long(EXAMPLES))]
struct Cli {
    #[command(subcommand)]
    command: Option<Command>,

    /// A session (RON) or a capture (safetensors) to open the window on, or `gallery:NAME`.
    file: Option<PathBuf>,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Run a session with no window and write its trace: every channel as arrays, and tables of tokens, reads, steps, events, centroids
    /// and cached pairs.
    #[command(after_help = RUN_EXAMPLES, after_long_help = long(RUN_EXAMPLES))]
    Run(run::Args),
    /// Print the recall table of a session: what every lane scores, over one or more seeds, and what its memory costs.
    #[command(after_help = COMPARE_EXAMPLES, after_long_help = long(COMPARE_EXAMPLES))]
    Compare(compare::Args),
    /// Score a session's lanes over ranges of one or two parameters and several seeds, into a Parquet file.
    #[command(after_help = SWEEP_EXAMPLES, after_long_help = long(SWEEP_EXAMPLES))]
    Sweep(sweep::Args),
    /// Run a session on the CPU and on the GPU side by side, and compare every channel of every lane.
    #[command(after_help = VERIFY_EXAMPLES, after_long_help = long(VERIFY_EXAMPLES))]
    Verify(verify::Args),
    /// Print what is inside a capture or a session, and what was understood of it.
    #[command(after_help = INSPECT_EXAMPLES, after_long_help = long(INSPECT_EXAMPLES))]
    Inspect(inspect::Args),
    /// List the events of a run as CSV: founders, admissions, evictions, ties, numbers that are none, wrong answers, thresholds.
    #[command(after_help = EVENTS_EXAMPLES, after_long_help = long(EVENTS_EXAMPLES))]
    Events(events::Args),
    /// List the adapters of this machine with their limits, and say which one is taken.
    #[command(after_help = DEVICES_EXAMPLES, after_long_help = long(DEVICES_EXAMPLES))]
    Devices(devices::Args),
    /// List the sessions inside the program: one a claim of the papers, one a task, and traps.
    #[command(after_help = GALLERY_EXAMPLES, after_long_help = long(GALLERY_EXAMPLES))]
    Gallery(gallery::Args),
    /// Measure the layers' speed on this machine, on the CPU and on the GPU.
    #[command(after_help = BENCH_EXAMPLES, after_long_help = long(BENCH_EXAMPLES))]
    Bench(bench::Args),
    /// Print a script that completes this command line in a shell.
    #[command(after_help = COMPLETIONS_EXAMPLES, after_long_help = long(COMPLETIONS_EXAMPLES))]
    Completions(completions::Args),
    /// Print a page of the manual, or write all of them.
    #[command(after_help = MAN_EXAMPLES, after_long_help = long(MAN_EXAMPLES))]
    Man(man::Args),
    /// Write playback as an animation, of the window or of one panel, with no display.
    #[cfg(feature = "gui")]
    #[command(after_help = ANIMATE_EXAMPLES, after_long_help = long(ANIMATE_EXAMPLES))]
    Animate(animate::Args),
    /// Draw the window or one panel into a PNG or an SVG, with no display.
    #[cfg(feature = "gui")]
    #[command(after_help = screenshot_examples(), after_long_help = long(&screenshot_examples()))]
    Screenshot(screenshot::Args),
}

/// Runs the command line, and says what went wrong, if anything did.
#[must_use]
pub fn main() -> ExitCode {
    // Drivers' chatter about adapters that are not taken is of no use here; RUST_LOG brings it back.
    env_logger::Builder::from_env(env_logger::Env::default().default_filter_or("error,wgpu_hal=off,mnemoscope=warn")).init();
    let cli = Cli::parse();
    let done = match cli.command {
        None => window::open(cli.file),
        Some(command) => {
            let mut out = io::stdout().lock();
            let done = match command {
                Command::Run(args) => args.execute(&mut out),
                Command::Compare(args) => args.execute(&mut out),
                Command::Sweep(args) => args.execute(&mut out),
                Command::Verify(args) => args.execute(&mut out),
                Command::Inspect(args) => args.execute(&mut out),
                Command::Events(args) => args.execute(&mut out),
                Command::Devices(args) => args.execute(&mut out),
                Command::Gallery(args) => args.execute(&mut out),
                Command::Bench(args) => args.execute(&mut out),
                Command::Completions(args) => args.execute(&mut out),
                Command::Man(args) => args.execute(&mut out),
                #[cfg(feature = "gui")]
                Command::Animate(args) => args.execute(),
                #[cfg(feature = "gui")]
                Command::Screenshot(args) => args.execute(),
            };
            done.and_then(|()| Ok(out.flush()?))
        }
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) if error.is_closed_pipe() => ExitCode::SUCCESS,
        Err(error) => {
            talk::say!("mnemoscope: {error}");
            ExitCode::from(error.code())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_well_formed() {
        command().debug_assert();
    }
}
