//! Talk: what is said on standard error. Whoever has stopped listening (`2>&1 | head -1`) misses it, and nothing else changes: the work
//! goes on, and the exit code is the one that it has by itself.

use std::fmt;
use std::io::{self, Write};

use super::table;

/// Says a line on standard error, in the form of [`format!`].
macro_rules! say {
    ($($words:tt)*) => {
        $crate::cli::talk::line(format_args!($($words)*))
    };
}
pub(super) use say;

/// Says a line.
pub fn line(words: fmt::Arguments<'_>) {
    line_to(&mut io::stderr().lock(), words);
}

/// Says a table.
pub fn table(heads: &[&str], rows: &[Vec<String>]) {
    // Of a table that nobody reads there is nothing to report.
    table::write(&mut io::stderr().lock(), heads, rows).unwrap_or_default();
}

fn line_to(out: &mut dyn Write, words: fmt::Arguments<'_>) {
    // In one go: a line is not cut where several processes talk into one file.
    out.write_all(format!("{words}\n").as_bytes()).unwrap_or_default();
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A pipe whose reader has gone.
    struct Closed;

    impl Write for Closed {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            Err(io::ErrorKind::BrokenPipe.into())
        }

        fn flush(&mut self) -> io::Result<()> {
            Err(io::ErrorKind::BrokenPipe.into())
        }
    }

    #[test]
    fn a_line_is_said_whole_or_missed() {
        let mut out = Vec::new();
        line_to(&mut out, format_args!("{} of {}", 1, 2));
        assert_eq!(out, b"1 of 2\n");
        line_to(&mut Closed, format_args!("missed"));
    }
}
