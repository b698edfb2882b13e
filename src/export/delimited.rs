//! Tables as CSV and as JSON Lines.
//!
//! Numbers are written in the fewest digits that give them back. A cell without a value is empty in CSV and `null` in JSON. JSON has no
//! NaN and no infinities: there they are the texts `"NaN"`, `"Infinity"` and `"-Infinity"`, which `float()` reads; in CSV they are
//! `NaN`, `inf` and `-inf`.

use std::fmt::Write as _;
use std::io::{self, Write};

use super::parquet::Column;

/// Appends a cell as CSV has it, before quoting.
fn csv_cell(column: &Column, row: usize, to: &mut String) {
    // Writing to a string cannot fail.
    let _ = match column {
        Column::Text(v) => v[row].as_ref().map(|x| write!(to, "{x}")),
        Column::Real(v) => v[row].map(|x| write!(to, "{x:?}")),
        Column::Single(v) => v[row].map(|x| write!(to, "{x:?}")),
        Column::Whole(v) => v[row].map(|x| write!(to, "{x}")),
        Column::Integer(v) => v[row].map(|x| write!(to, "{x}")),
        Column::Flag(v) => v[row].map(|x| write!(to, "{x}")),
    };
}

/// Appends a cell as JSON has it.
fn json_cell(column: &Column, row: usize, to: &mut String) -> io::Result<()> {
    fn real<T: Into<f64> + Copy + std::fmt::Debug>(x: T, to: &mut String) {
        let wide: f64 = x.into();
        let _ = if wide.is_finite() {
            write!(to, "{x:?}")
        } else if wide.is_nan() {
            write!(to, "\"NaN\"")
        } else {
            write!(to, "\"{}Infinity\"", if wide < 0.0 { "-" } else { "" })
        };
    }
    let before = to.len();
    match column {
        Column::Text(v) => {
            if let Some(x) = &v[row] {
                to.push_str(&serde_json::to_string(x)?);
            }
        }
        Column::Real(v) => v[row].into_iter().for_each(|x| real(x, to)),
        Column::Single(v) => v[row].into_iter().for_each(|x| real(x, to)),
        _ => csv_cell(column, row, to),
    }
    if to.len() == before {
        to.push_str("null");
    }
    Ok(())
}

/// Writes the head of a CSV file.
pub(crate) fn csv_head<'a>(out: &mut impl Write, names: impl Iterator<Item = &'a str>) -> io::Result<()> {
    let mut csv = csv::Writer::from_writer(out);
    csv.write_record(names)?;
    csv.flush()
}

/// Writes rows of a CSV file.
pub(crate) fn csv_rows(out: &mut impl Write, columns: &[Column]) -> io::Result<()> {
    let mut csv = csv::Writer::from_writer(out);
    let mut cell = String::new();
    for row in 0..columns.first().map_or(0, Column::len) {
        for column in columns {
            cell.clear();
            csv_cell(column, row, &mut cell);
            csv.write_field(&cell)?;
        }
        csv.write_record(None::<&[u8]>)?;
    }
    csv.flush()
}

/// Writes rows as lines of JSON.
pub(crate) fn json_rows<'a>(out: &mut impl Write, names: impl Iterator<Item = &'a str>, columns: &[Column]) -> io::Result<()> {
    let keys = names.map(serde_json::to_string).collect::<Result<Vec<_>, _>>()?;
    let mut line = String::new();
    for row in 0..columns.first().map_or(0, Column::len) {
        line.clear();
        for (at, (key, column)) in keys.iter().zip(columns).enumerate() {
            line.push_str(if at == 0 { "{" } else { ", " });
            line.push_str(key);
            line.push_str(": ");
            json_cell(column, row, &mut line)?;
        }
        line.push_str("}\n");
        out.write_all(line.as_bytes())?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_cell_is_written_so_that_it_comes_back() {
        let text = |t: &str| Some(t.to_owned());
        let columns = [
            Column::Text(vec![text("a,\"b\"\n"), None, text("")]),
            Column::Single(vec![Some(0.1), Some(f32::NAN), None]),
            Column::Real(vec![Some(0.1), Some(f64::NEG_INFINITY), Some(1e300)]),
            Column::Integer(vec![Some(-1), None, Some(i64::MAX)]),
        ];
        let names = ["t", "s", "r", "i"];
        let mut csv = Vec::new();
        csv_head(&mut csv, names.into_iter()).unwrap();
        csv_rows(&mut csv, &columns).unwrap();
        let mut read = csv::Reader::from_reader(csv.as_slice());
        assert_eq!(read.headers().unwrap(), names.as_slice());
        let rows: Vec<csv::StringRecord> = read.records().map(Result::unwrap).collect();
        assert_eq!(rows[0], vec!["a,\"b\"\n", "0.1", "0.1", "-1"]);
        assert_eq!(rows[1], vec!["", "NaN", "-inf", ""]);
        assert_eq!((rows[2][2].parse(), &rows[2][3]), (Ok(1e300_f64), "9223372036854775807"));
        let mut json = Vec::new();
        json_rows(&mut json, names.into_iter(), &columns).unwrap();
        let lines: Vec<serde_json::Value> = String::from_utf8(json).unwrap().lines().map(|l| serde_json::from_str(l).unwrap()).collect();
        assert_eq!(lines[0], serde_json::json!({ "t": "a,\"b\"\n", "s": 0.1, "r": 0.1, "i": -1 }));
        assert_eq!(lines[1], serde_json::json!({ "t": null, "s": "NaN", "r": "-Infinity", "i": null }));
        assert_eq!(lines[2], serde_json::json!({ "t": "", "s": null, "r": 1e300, "i": i64::MAX }));
    }
}
