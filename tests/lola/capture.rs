//! The bundled capture: `LoLA` finds the needle in a real model's head, by itself.

use mnemoscope::layer::lola::residency::{Place, Residency};
use mnemoscope::session::CaptureSource;
use mnemoscope::stream::capture::Capture;

use super::*;

/// Of the needle's 21 tokens, those in the cache when the prompt ends. TASKS.md: .90 of them, for layer 12, head 0, with
/// `elu1`, window 64, cache 128, chunk 64.
#[test]
fn the_needle_is_cached() {
    let stream = Capture::bundled().unwrap().stream(&CaptureSource::bundled()).unwrap();
    approx::assert_relative_eq!(stream.beta(), 0.125);
    let roles = &stream.labels().roles;
    let marked = roles.marked.unwrap();
    let needle: Vec<usize> = (0..stream.writes()).filter(|&w| roles.of_write[w] == marked).collect();
    assert_eq!(needle, (699..720).collect::<Vec<_>>());

    let params = Params::default().with("window", 64).with("cache", 128).with("chunk", 64).with("fmap", "elu1");
    let setup = setup(stream, &params, Arrays::new());
    let trace = run(&mut *kind().cpu(&setup, Precision::Single).unwrap(), &setup, 32);
    let mut index = Residency::new(64, 64, setup.stream.writes());
    index.extend(trace.channel("admitted").unwrap(), trace.channel("displaced").unwrap(), 0);
    let cached = |chunks: usize| needle.iter().filter(|&&w| index.at(w, chunks) == Place::Cache).count();
    // Read in chunks 10 and 11, the needle is past the window after chunk 13.
    assert_eq!((cached(10), cached(32)), (0, 19), "19 of 21 is .90");
}
