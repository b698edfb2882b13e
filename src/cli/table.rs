//! Plain tables for standard output.

use std::io::{self, Write};

/// Writes rows in aligned columns, two spaces apart, under the heads. A column whose head begins with `>` is aligned right.
pub fn write(out: &mut dyn Write, heads: &[&str], rows: &[Vec<String>]) -> io::Result<()> {
    let right: Vec<bool> = heads.iter().map(|h| h.starts_with('>')).collect();
    let heads: Vec<String> = heads.iter().map(|h| h.trim_start_matches('>').to_owned()).collect();
    let width = |at: usize| rows.iter().chain([&heads]).filter_map(|r| r.get(at)).map(|c| c.chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..heads.len()).map(width).collect();
    for row in std::iter::once(&heads).chain(rows) {
        let cell = |(at, text): (usize, &String)| {
            let width = widths.get(at).copied().unwrap_or(0);
            if right.get(at).copied().unwrap_or(false) { format!("{text:>width$}") } else { format!("{text:<width$}") }
        };
        let line = row.iter().enumerate().map(cell).collect::<Vec<_>>().join("  ");
        writeln!(out, "{}", line.trim_end())?;
    }
    Ok(())
}

/// Bytes in the largest unit that keeps the number whole enough to read: `2.0 GiB`.
pub fn bytes(count: u64) -> String {
    const UNITS: [&str; 5] = ["bytes", "KiB", "MiB", "GiB", "TiB"];
    let power = (count.max(1).ilog2() / 10).min(4);
    if power == 0 {
        format!("{count} bytes")
    } else {
        format!("{:.1} {}", count as f64 / f64::from(1_u32 << 10).powi(power as i32), UNITS[power as usize])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_as_wide_as_their_widest_cell() {
        let mut out = Vec::new();
        write(&mut out, &["lane", ">n"], &[vec!["a".into(), "12".into()], vec!["longer".into(), "3".into()]]).unwrap();
        assert_eq!(String::from_utf8(out).unwrap(), "lane     n\na       12\nlonger   3\n");
    }

    #[test]
    fn bytes_are_said_in_their_unit() {
        assert_eq!([bytes(1023), bytes(1024), bytes(48 << 10), bytes(2_147_483_647)], ["1023 bytes", "1.0 KiB", "48.0 KiB", "2.0 GiB"]);
    }
}
