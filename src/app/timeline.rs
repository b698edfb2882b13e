//! Time: where the playhead stands, whether it moves, and how fast. Knows no picture (that is `timeline_bar`).
//!
//! Time is counted in writes seen. The playhead rests on step boundaries only: multiples of the run's step, and the end
//! of the stream. What is *wanted* may lie beyond what has been computed; what is *shown* never does, so a playhead sent
//! to the end follows the computation there.

use crate::app::command::TimeCommand;

/// The slowest and the fastest speed, in steps a second.
pub const SPEEDS: std::ops::RangeInclusive<f32> = 0.25..=4096.0;

/// The time of a run. See the module's page.
#[derive(Debug, Clone, PartialEq)]
pub struct Timeline {
    total: usize,
    step: usize,
    reached: usize,
    wanted: usize,
    playing: bool,
    speed: f32,
    repeat: bool,
    /// The part of a step that has passed since the last one, from 0 to 1.
    carry: f64,
}

impl Timeline {
    /// The time of a stream of `total` writes in steps of `step`, at `position` (the end, where it is `None`).
    #[must_use]
    pub fn new(total: usize, step: usize, position: Option<usize>, speed: f32, repeat: bool) -> Self {
        let mut new = Self { total, step: step.max(1), reached: 0, wanted: 0, playing: false, speed, repeat, carry: 0.0 };
        new.set_speed(speed);
        new.seek(position.unwrap_or(total));
        new
    }

    /// The playhead: writes seen, on a step boundary, never beyond what has been computed.
    #[must_use]
    pub fn writes(&self) -> usize {
        self.wanted.min(self.floor(self.reached))
    }

    /// Where the playhead is to be as soon as that has been computed.
    #[must_use]
    pub fn wanted(&self) -> usize {
        self.wanted
    }

    /// The step the playhead stands after: 0 before the first.
    #[must_use]
    pub fn step_index(&self) -> usize {
        self.writes().div_ceil(self.step)
    }

    /// Steps in all, a shorter last one counted.
    #[must_use]
    pub fn steps(&self) -> usize {
        self.total.div_ceil(self.step)
    }

    /// Writes a step.
    #[must_use]
    pub fn step(&self) -> usize {
        self.step
    }

    /// Writes in all.
    #[must_use]
    pub fn total(&self) -> usize {
        self.total
    }

    /// Writes computed so far.
    #[must_use]
    pub fn reached(&self) -> usize {
        self.reached
    }

    /// True while the playhead moves by itself.
    #[must_use]
    pub fn playing(&self) -> bool {
        self.playing
    }

    /// Steps a second.
    #[must_use]
    pub fn speed(&self) -> f32 {
        self.speed
    }

    /// True if playing goes on from the start at the end.
    #[must_use]
    pub fn repeat(&self) -> bool {
        self.repeat
    }

    /// The computation has come this far.
    pub fn reach(&mut self, writes: usize) {
        self.reached = writes.min(self.total);
    }

    /// Another run: the playhead stays at its write (or the end, if it was there), the rest as it was.
    pub fn retarget(&mut self, total: usize, step: usize, reached: usize) {
        let at_end = self.wanted >= self.total;
        self.total = total;
        self.step = step.max(1);
        self.reached = reached.min(total);
        self.seek(if at_end { total } else { self.wanted });
    }

    /// Carries out a command.
    pub fn command(&mut self, command: TimeCommand) {
        match command {
            TimeCommand::Seek(writes) => self.seek(writes),
            TimeCommand::Step(by) => self.step_by(by),
            TimeCommand::Home => self.seek(0),
            TimeCommand::End => self.seek(self.total),
            TimeCommand::TogglePlay => self.toggle_play(),
            TimeCommand::Speed(speed) => self.set_speed(speed),
            TimeCommand::Faster => self.set_speed(self.speed * 2.0),
            TimeCommand::Slower => self.set_speed(self.speed / 2.0),
            TimeCommand::ToggleRepeat => self.repeat = !self.repeat,
        }
    }

    /// Lets `seconds` pass; true if the playhead moved.
    pub fn tick(&mut self, seconds: f64) -> bool {
        if !self.playing {
            return false;
        }
        let before = self.writes();
        self.carry += seconds * f64::from(self.speed);
        let whole = self.carry.floor();
        self.carry -= whole;
        let target = self.after_steps(before, whole as i64);
        if target <= self.reached || self.reached >= self.total {
            self.wanted = target;
        } else {
            // The computation is behind: wait for it, and do not jump when it has caught up.
            self.wanted = self.floor(self.reached);
            self.carry = 0.0;
        }
        if self.wanted >= self.total && self.reached >= self.total {
            if self.repeat && before >= self.total {
                self.wanted = 0;
            } else if !self.repeat {
                self.playing = false;
            }
        }
        self.writes() != before
    }

    /// Seconds until the playhead moves by itself; `None` while it does not.
    #[must_use]
    pub fn until_next(&self) -> Option<f64> {
        self.playing.then(|| ((1.0 - self.carry) / f64::from(self.speed)).max(0.0))
    }

    fn seek(&mut self, writes: usize) {
        let writes = writes.min(self.total);
        let below = self.floor(writes);
        let above = (below + self.step).min(self.total);
        self.wanted = if writes - below <= above.saturating_sub(writes) { below } else { above };
        self.carry = 0.0;
    }

    fn step_by(&mut self, by: i64) {
        self.playing = false;
        self.wanted = self.after_steps(self.writes(), by);
    }

    fn toggle_play(&mut self) {
        self.playing = !self.playing;
        self.carry = 0.0;
        // Playing from the end means playing again.
        if self.playing {
            self.wanted = if self.writes() >= self.total { 0 } else { self.writes() };
        }
    }

    fn set_speed(&mut self, speed: f32) {
        let speed = if speed.is_finite() { speed } else { 8.0 };
        self.speed = speed.clamp(*SPEEDS.start(), *SPEEDS.end());
    }

    /// The boundary `by` steps from the boundary `from`, within the stream.
    fn after_steps(&self, from: usize, by: i64) -> usize {
        let index = (from.div_ceil(self.step) as i64).saturating_add(by).clamp(0, self.steps() as i64);
        (index as usize * self.step).min(self.total)
    }

    /// The last boundary that is not beyond `writes`.
    fn floor(&self, writes: usize) -> usize {
        if writes >= self.total { self.total } else { writes / self.step * self.step }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn computed(total: usize, step: usize) -> Timeline {
        let mut t = Timeline::new(total, step, Some(0), 8.0, false);
        t.reach(total);
        t
    }

    #[test]
    fn the_end_is_a_boundary_even_in_a_short_last_step() {
        let mut t = computed(100, 64);
        t.command(TimeCommand::End);
        assert_eq!((t.writes(), t.step_index(), t.steps()), (100, 2, 2));
        t.command(TimeCommand::Step(-1));
        assert_eq!((t.writes(), t.step_index()), (64, 1));
        t.command(TimeCommand::Step(10));
        assert_eq!(t.writes(), 100);
    }

    #[test]
    fn a_seek_rounds_to_the_nearest_boundary() {
        let mut t = computed(1000, 64);
        for (asked, found) in [(0, 0), (31, 0), (33, 64), (96, 64), (97, 128), (985, 1000), (970, 960), (4000, 1000)] {
            t.command(TimeCommand::Seek(asked));
            assert_eq!(t.writes(), found, "seek {asked}");
        }
    }

    #[test]
    fn the_playhead_never_passes_the_computation_and_follows_it() {
        let mut t = Timeline::new(1024, 64, None, 8.0, false);
        assert_eq!(t.writes(), 0);
        t.reach(200);
        assert_eq!(t.writes(), 192);
        t.reach(1024);
        assert_eq!(t.writes(), 1024);
    }

    #[test]
    fn playing_moves_at_the_speed_and_stops_at_the_end() {
        let mut t = computed(640, 64);
        t.command(TimeCommand::Speed(4.0));
        t.command(TimeCommand::TogglePlay);
        // A quarter of a second at four steps a second is one step, in however many frames it comes.
        for _ in 0..5 {
            t.tick(0.05);
        }
        assert_eq!(t.writes(), 64);
        t.tick(1.0);
        assert_eq!(t.writes(), 64 * 5);
        t.tick(10.0);
        assert_eq!((t.writes(), t.playing()), (640, false));
    }

    #[test]
    fn playing_from_the_end_starts_again_and_repeats_when_asked() {
        let mut t = computed(128, 64);
        t.command(TimeCommand::End);
        t.command(TimeCommand::ToggleRepeat);
        t.command(TimeCommand::TogglePlay);
        assert_eq!(t.writes(), 0);
        t.tick(0.25);
        assert_eq!((t.writes(), t.playing()), (128, true));
        t.tick(0.125);
        assert_eq!((t.writes(), t.playing()), (0, true));
    }

    #[test]
    fn playing_waits_for_the_computation_without_jumping_later() {
        let mut t = Timeline::new(1024, 64, Some(0), 8.0, false);
        t.reach(64);
        t.command(TimeCommand::TogglePlay);
        t.tick(10.0);
        assert_eq!((t.writes(), t.playing()), (64, true));
        t.reach(1024);
        t.tick(0.125);
        assert_eq!(t.writes(), 128);
    }

    #[test]
    fn another_run_keeps_the_write_or_the_end() {
        let mut t = computed(1024, 64);
        t.command(TimeCommand::Seek(512));
        t.retarget(1024, 128, 1024);
        assert_eq!(t.writes(), 512);
        t.command(TimeCommand::End);
        t.retarget(2048, 64, 2048);
        assert_eq!(t.writes(), 2048);
        t.command(TimeCommand::Seek(1024));
        t.retarget(256, 64, 256);
        assert_eq!(t.writes(), 256);
    }

    #[test]
    fn speeds_have_limits() {
        let mut t = computed(64, 64);
        for _ in 0..40 {
            t.command(TimeCommand::Faster);
        }
        assert_eq!(t.speed().to_bits(), 4096f32.to_bits());
        t.command(TimeCommand::Speed(f32::NAN));
        assert!(SPEEDS.contains(&t.speed()));
    }

    proptest! {
        /// Whatever is done, the playhead rests on a boundary within what has been computed.
        #[test]
        fn the_playhead_rests_on_boundaries(
            total in 1usize..5000, step in 1usize..300, reached in 0usize..5000,
            moves in proptest::collection::vec((0u8..6, 0usize..6000), 0..30)
        ) {
            let mut t = Timeline::new(total, step, None, 8.0, false);
            t.reach(reached);
            for (what, amount) in moves {
                match what {
                    0 => t.command(TimeCommand::Seek(amount)),
                    1 => t.command(TimeCommand::Step(amount as i64 - 3000)),
                    2 => t.command(TimeCommand::TogglePlay),
                    3 => { t.tick(amount as f64 / 500.0); }
                    4 => t.reach(reached.max(amount)),
                    _ => t.command(TimeCommand::ToggleRepeat),
                }
                let at = t.writes();
                prop_assert!(at == total || at.is_multiple_of(step));
                prop_assert!(at <= t.reached());
                prop_assert!(t.step_index() <= t.steps());
            }
        }
    }
}
