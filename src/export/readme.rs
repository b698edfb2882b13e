//! What a bundle says of itself: `README.md` for people, `columns.json` for programs, and the metadata inside the files. All of it is
//! written from the same lists as the arrays and tables themselves.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde_json::{Map, Value, json};

use super::columns::{Source, Table};
use super::cut::{Cut, Request, Writes};
use super::inventory::{Entry, Inventory};
use super::npz::METADATA;
use crate::param::every;
use crate::session::hash::of_bytes;
use crate::session::plan::Plan;

/// What kind of bundle this is: readers look here first.
pub(crate) const KIND: &str = "bundle 1";

/// All that is known of a bundle before its numbers are written.
pub(crate) struct Bundle<'a> {
    pub plan: &'a Plan,
    pub request: &'a Request,
    pub cut: &'a Cut,
    pub inventory: &'a Inventory<'a>,
    /// None where no format of tables is asked for.
    pub tables: &'a [Table<'a>],
    /// The session as RON.
    pub session: String,
    /// Its SHA-256, in hexadecimal digits.
    pub sha256: String,
    /// True if every lane has been computed to its end.
    pub complete: bool,
    /// The names of all its files.
    pub files: Vec<String>,
}

/// The SHA-256 of a text, in 64 hexadecimal digits.
pub(crate) fn sha256(text: &str) -> String {
    of_bytes(text)
}

impl Bundle<'_> {
    fn writes_in_words(&self) -> String {
        let total = self.plan.stream.writes();
        match &self.request.writes {
            Writes::All => format!("the whole run: all {total} writes"),
            Writes::Range(range) => {
                format!("the writes {} to {} of {total}: {} and all below {}", range.start, range.end, range.start, range.end)
            }
            Writes::Tokens(_) => format!("{} selected writes of {total}", self.cut.writes.len()),
        }
    }

    /// Everything but the arrays' and the tables' own descriptions.
    fn about(&self) -> Map<String, Value> {
        let stream = &self.plan.stream;
        let (what, range) = match &self.request.writes {
            Writes::All => ("all", Some(0..stream.writes())),
            Writes::Range(range) => ("range", Some(range.clone())),
            Writes::Tokens(_) => ("tokens", None),
        };
        let lane = |at: &usize| {
            let own = &self.plan.lanes[*at];
            json!({
                "name": own.name, "layer": own.kind.name(), "title": own.kind.title(), "chunk": own.setup.chunk,
                "params": every(own.kind.params(), &own.setup.params), "notes": own.notes,
            })
        };
        let all = json!({
            "mnemoscope": KIND, "version": env!("CARGO_PKG_VERSION"), "title": stream.labels().title, "about": stream.labels().about,
            "session": self.session, "session_sha256": self.sha256, "complete": self.complete,
            "writes": {
                "of": stream.writes(), "what": what, "from": range.as_ref().map(|r| r.start), "to": range.map(|r| r.end),
                "count": self.cut.writes.len(),
            },
            "reads": { "of": stream.reads(), "count": self.cut.reads.len() },
            "kv_heads": stream.kv_heads(), "query_heads": stream.query_heads(),
            "lanes": self.cut.lanes.iter().map(lane).collect::<Vec<_>>(),
            "left_out": self.inventory.left_out(),
        });
        if let Value::Object(map) = all { map } else { Map::new() }
    }

    fn arrays(&self) -> Value {
        let entry = |e: &Entry| {
            let mut about = json!({ "dtype": e.dtype.name(), "shape": e.shape, "axes": e.axes, "unit": e.unit, "meaning": e.meaning });
            if let Some(offsets) = &e.offsets {
                about["offsets"] = json!(offsets);
            }
            (e.name.clone(), about)
        };
        self.inventory.entries().iter().map(entry).collect::<Map<_, _>>().into()
    }

    /// The metadata of the files of arrays.
    pub fn array_metadata(&self) -> String {
        let mut all = self.about();
        all.insert("arrays".to_owned(), self.arrays());
        Value::Object(all).to_string()
    }

    /// The map of texts of a safetensors file, with [`Bundle::array_metadata`].
    pub fn texts<'m>(&'m self, metadata: &'m str) -> BTreeMap<&'m str, &'m str> {
        BTreeMap::from([
            ("mnemoscope", KIND),
            ("version", env!("CARGO_PKG_VERSION")),
            ("session", self.session.as_str()),
            ("session_sha256", self.sha256.as_str()),
            ("metadata", metadata),
        ])
    }

    /// The keys and texts of a Parquet file: those of the bundle, `columns` (JSON), and every column's meaning under its name.
    pub fn parquet_metadata(&self, table: &Table<'_>) -> Vec<(String, String)> {
        let fixed = [
            ("mnemoscope", format!("table {} 1", table.name)),
            ("version", env!("CARGO_PKG_VERSION").to_owned()),
            ("about", table.about.to_owned()),
            ("session", self.session.clone()),
            ("session_sha256", self.sha256.clone()),
            ("columns", columns(table).to_string()),
        ];
        let of_column =
            |c: &Source<'_>| (c.name.clone(), if c.unit.is_empty() { c.meaning.clone() } else { format!("{} [{}]", c.meaning, c.unit) });
        fixed.into_iter().map(|(key, text)| (key.to_owned(), text)).chain(table.columns.iter().map(of_column)).collect()
    }

    /// `columns.json`.
    pub fn json(&self) -> String {
        let mut all = self.about();
        all.insert("files".to_owned(), json!(self.files));
        all.insert("arrays".to_owned(), if self.has_arrays() { self.arrays() } else { json!({}) });
        let table = |t: &Table<'_>| (t.name.to_owned(), json!({ "about": t.about, "rows": t.rows, "columns": columns(t) }));
        all.insert("tables".to_owned(), Value::Object(self.tables.iter().map(table).collect()));
        format!("{:#}\n", Value::Object(all))
    }

    fn has_arrays(&self) -> bool {
        self.request.arrays.npz || self.request.arrays.safetensors
    }

    /// `README.md`.
    pub fn readme(&self) -> String {
        let mut text = String::new();
        self.write_head(&mut text);
        self.write_axes(&mut text);
        if self.has_arrays() {
            self.write_arrays(&mut text);
        }
        if !self.tables.is_empty() {
            self.write_tables(&mut text);
        }
        if !self.inventory.left_out().is_empty() {
            text.push_str("\n## Left out\n\n");
            self.inventory.left_out().iter().for_each(|sentence| line(&mut text, &format!("- {}", one_line(sentence))));
        }
        let _ = write!(text, "\n## Session\n\nSHA-256 of this text: `{}`\n\n````ron\n{}````\n", self.sha256, self.session);
        text
    }

    fn write_head(&self, text: &mut String) {
        let (stream, session) = (&self.plan.stream, &self.plan.session);
        line(text, &format!("# {}", one_line(&stream.labels().title)));
        for words in [&session.title, &session.caption, &stream.labels().about].into_iter().filter(|w| !w.is_empty()) {
            line(text, "");
            line(text, &one_line(words));
        }
        let _ = write!(
            text,
            "\nA trace that Mnemoscope {} wrote: {}, and the {} of {} reads that belong to them.{}\n\n",
            env!("CARGO_PKG_VERSION"),
            self.writes_in_words(),
            self.cut.reads.len(),
            stream.reads(),
            if self.complete { "" } else { " **The run was not complete**: what it had not reached is not here." }
        );
        line(text, "| lane | layer | chunk | parameters |");
        line(text, "|---|---|---|---|");
        for lane in self.cut.lanes.iter().map(|l| &self.plan.lanes[*l]) {
            let params = serde_json::to_string(&every(lane.kind.params(), &lane.setup.params)).unwrap_or_default();
            line(text, &format!("| {} | {} | {} | {} |", code(&lane.name), lane.kind.title(), lane.setup.chunk, code(&params)));
        }
        text.push_str("\n## Files\n\n");
        self.files.iter().for_each(|file| line(text, &format!("- {}", code(file))));
        text.push_str(READING);
    }

    fn write_axes(&self, text: &mut String) {
        text.push_str(AXES);
        let _ = write!(
            text,
            "\nKey/value heads of the stream: {}. Query heads: {}; query head h reads key/value head {}.\n",
            self.plan.stream.kv_heads(),
            self.plan.stream.query_heads(),
            if self.plan.stream.kv_heads() == self.plan.stream.query_heads() {
                "h".to_owned()
            } else {
                format!("h // {}", self.plan.stream.query_heads() / self.plan.stream.kv_heads())
            }
        );
    }

    fn write_arrays(&self, text: &mut String) {
        text.push_str(ARRAYS);
        line(text, "| array | kind | shape | axes | unit | meaning |");
        line(text, "|---|---|---|---|---|---|");
        for e in self.inventory.entries() {
            let shape = e.shape.iter().map(usize::to_string).collect::<Vec<_>>().join(", ");
            let cells = [
                code(&e.name),
                e.dtype.name().to_owned(),
                format!("[{shape}]"),
                format!("[{}]", e.axes.join("; ")),
                e.unit.clone(),
                e.meaning.clone(),
            ];
            line(text, &row(&cells));
        }
        let _ = write!(
            text,
            "\nBeside these `trace.npz` holds `{METADATA}`: all of this table, the session and its hash as a text of JSON. In `trace.safetensors` \
             it is the text `metadata` of the header.\n"
        );
    }

    fn write_tables(&self, text: &mut String) {
        text.push_str(TABLES);
        for table in self.tables {
            let _ = write!(text, "\n### {}\n\n{} {} rows.\n\n", table.name, table.about, table.rows);
            line(text, "| column | kind | unit | meaning |");
            line(text, "|---|---|---|---|");
            for c in &table.columns {
                line(text, &row(&[code(&c.name), c.cells.name().to_owned(), c.unit.clone(), c.meaning.clone()]));
            }
        }
    }
}

fn columns(table: &Table<'_>) -> Value {
    table.columns.iter().map(|c| json!({ "name": c.name, "type": c.cells.name(), "unit": c.unit, "meaning": c.meaning })).collect()
}

fn line(text: &mut String, words: &str) {
    text.push_str(words);
    text.push('\n');
}

fn one_line(words: &str) -> String {
    words.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// A row of a table of Markdown: a bar inside a cell would end it.
fn row(cells: &[String]) -> String {
    format!("| {} |", cells.iter().map(|c| one_line(c).replace('|', "\\|")).collect::<Vec<_>>().join(" | "))
}

/// Words as code, whatever marks they hold.
fn code(words: &str) -> String {
    let longest = words.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest + 1);
    let space = if longest > 0 { " " } else { "" };
    format!("{fence}{space}{words}{space}{fence}")
}

const READING: &str = "
`columns.json` says for programs what this file says for people. From Python, with the package `mnemoscope` (in `python/` of the
source):

```python
import mnemoscope
bundle = mnemoscope.open(\".\")
bundle.arrays                 # every array, by name
bundle.table(\"tokens\")        # a table
bundle.explain(\"after\")       # what a name means
```

or with NumPy and pandas alone: `numpy.load(\"trace.npz\")`, `pandas.read_csv(\"tokens.csv\", keep_default_na=False, na_values=[\"\"])`.
";

const AXES: &str = "
## What the axes are

- **write**: the writes that were asked for, in the order of the stream. `writes[i]` is the number of entry i in the run.
- **read**: the reads whose newest visible write is one of them (of the writes A to B those with A < `after` <= B). `reads[i]` is
  the number of entry i in the run.
- **step**: of a lane, its chunks that hold at least one of those writes; a chunk is whole or absent. `<lane>.steps[i]` is the number
  of entry i: chunk s holds the writes from s C to (s + 1) C, C being the lane's chunk in the table above.
- **before the first step, then after each**: one entry more than there are steps.
- An array along steps and writes is cut along both. A list leaves whole, with its step, and may name other writes.
- `<lane>.final.*` is the lane's state at the end of the stream; it is here only if the lane's last step is.

Numbers of writes, reads, steps, rows and codes inside arrays and tables are those of the whole run, counted from 0. -1 is none.
";

const ARRAYS: &str = "
## Arrays

`trace.npz` and `trace.safetensors`, whichever is here, hold the same arrays.

";

const TABLES: &str = "
## Tables

Every table is in each of the formats that were asked for, with the same columns. A cell without a value is empty in CSV, `null` in
JSON Lines and missing in Parquet. Numbers that are none: `NaN`, `inf`, `-inf` in CSV; the texts `\"NaN\"`, `\"Infinity\"`, `\"-Infinity\"`
in JSON Lines, which knows no such numbers.
";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_with_marks_stay_whole() {
        assert_eq!((code("a"), code("a`b"), code("``")), ("`a`".to_owned(), "`` a`b ``".to_owned(), "``` `` ```".to_owned()));
        assert_eq!(row(&["a|b".to_owned(), "c\nd".to_owned()]), "| a\\|b | c d |");
    }

    #[test]
    fn a_hash_is_sha_256() {
        assert_eq!(sha256("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    }
}
