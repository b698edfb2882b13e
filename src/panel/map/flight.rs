//! The short flight of the newest step's tokens to their rows. Time stands still where nothing moves.

use std::ops::Range;

/// Seconds from a key to its row.
const SECONDS: f64 = 0.45;

/// Watches the playhead of a lane, and flies what it has just passed.
#[derive(Debug, Clone, Default)]
pub(super) struct Flight {
    /// Lane, head, writes in memory and writes computed, in the last frame.
    last: Option<(usize, usize, usize, usize)>,
    /// The writes on their way, since when, and the time of the last frame.
    flying: Option<(Range<usize>, f64, f64)>,
}

impl Flight {
    /// Takes in where the playhead is; true if it has moved since the last frame.
    ///
    /// Tokens take off when the playhead of the same lane goes forward by no more than `chunk` writes, all of them computed before:
    /// not while the run computes, and not where time does not pass between frames (`now`, in seconds).
    pub(super) fn watch(&mut self, [lane, head]: [usize; 2], seen: usize, reached: usize, chunk: usize, now: f64) -> bool {
        let last = self.last.replace((lane, head, seen, reached));
        let moved = last.is_some_and(|l| l != (lane, head, seen, reached));
        if moved {
            let step = last.filter(|&(l, h, before, r)| (l, h, r) == (lane, head, reached) && before < seen && seen - before <= chunk);
            self.flying = step.map(|(_, _, before, _)| (before..seen, now, now - 1.0));
        }
        moved
    }

    /// The tokens on their way and the part of it done, eased; `None` once they have arrived.
    pub(super) fn part(&mut self, now: f64) -> Option<(Range<usize>, f32)> {
        let (tokens, since, last) = self.flying.as_mut()?;
        let part = (now - *since) / SECONDS;
        if part >= 1.0 || now <= *last {
            self.flying = None;
            return None;
        }
        *last = now;
        // Slower towards the end.
        Some((tokens.clone(), (1.0 - (1.0 - part).powi(3)) as f32))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_forward_flies_and_comes_to_rest() {
        let mut flight = Flight::default();
        assert!(!flight.watch([0, 0], 64, 2048, 64, 1.0) && flight.part(1.0).is_none(), "the first frame stands");
        assert!(flight.watch([0, 0], 128, 2048, 64, 2.0));
        assert_eq!(flight.part(2.0), Some((64..128, 0.0)));
        assert!(!flight.watch([0, 0], 128, 2048, 64, 2.2));
        let (_, part) = flight.part(2.2).unwrap();
        assert!(part > 0.5 && part < 1.0, "{part}");
        assert_eq!((flight.part(2.5), flight.part(2.6)), (None, None));
    }

    #[test]
    fn jumps_other_lanes_and_a_run_under_way_do_not_fly() {
        for (lane, seen, reached) in [(0, 640, 2048), (0, 0, 2048), (1, 128, 2048), (0, 128, 2112)] {
            let mut flight = Flight::default();
            flight.watch([0, 0], 64, 2048, 64, 1.0);
            assert!(flight.watch([lane, 0], seen, reached, 64, 1.1));
            assert_eq!(flight.part(1.1), None);
        }
        let mut flight = Flight::default();
        flight.watch([0, 0], 64, 2048, 64, 1.0);
        flight.watch([0, 0], 128, 2048, 64, 1.1);
        assert!(flight.part(1.1).is_some() && flight.part(1.1).is_none(), "time stands still");
    }
}
