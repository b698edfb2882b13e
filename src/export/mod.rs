//! What leaves the program: one file a format.

mod atomic;

pub use atomic::{WriteError, write_atomic};
