//! `steps`: one row a step of a lane, for each of its heads.
//!
//! Lanes have chunks of their own, so that every row says its lane and its writes. The columns after that are those of any lane: its
//! channels along the steps of one number, and the lengths of its lists (`<name>_length`); a lane without one has no value there.

use std::rc::Rc;

use crate::export::columns::{Source, Table};
use crate::export::cut::Cut;
use crate::session::plan::Plan;
use crate::trace::{Axis, Channel, Heads, Kind, LaneTrace, Width};

/// Rows of one head of a lane.
struct Block {
    lane: usize,
    heads: Heads,
    head: usize,
    /// The first of its rows.
    start: usize,
    rows: usize,
}

/// All rows, head by head.
struct Rows<'a> {
    plan: &'a Plan,
    traces: &'a [LaneTrace],
    cut: &'a Cut,
    blocks: Vec<Block>,
}

impl Rows<'_> {
    /// The block of a row, and the step.
    fn at(&self, row: usize) -> Option<(&Block, usize)> {
        let block = &self.blocks[self.blocks.partition_point(|b| b.start + b.rows <= row)..].first()?;
        Some((block, self.cut.steps[block.lane].slice(row - block.start..row - block.start + 1).next()?))
    }

    /// The channel that a row has of this name.
    fn channel(&self, block: &Block, name: &str) -> Option<&Channel> {
        self.traces[block.lane].channel(name).filter(|c| c.spec().axis == Axis::Step && c.spec().heads == block.heads)
    }
}

fn series(channel: &Channel) -> bool {
    channel.spec().axis == Axis::Step && matches!(channel.spec().width, Width::Fixed(1) | Width::Ragged)
}

pub(super) fn table<'a>(plan: &'a Plan, traces: &'a [LaneTrace], cut: &'a Cut) -> Table<'a> {
    let mut blocks = Vec::new();
    let mut start = 0;
    for &lane in &cut.lanes {
        let own = || traces[lane].channels().iter().filter(|c| series(c));
        for heads in [Heads::KeyValue, Heads::Query] {
            let count = own().filter(|c| c.spec().heads == heads).map(Channel::heads).max().unwrap_or(0);
            for head in 0..count {
                let rows = cut.steps[lane].len();
                blocks.push(Block { lane, heads, head, start, rows });
                start += rows;
            }
        }
    }
    let rows = Rc::new(Rows { plan, traces, cut, blocks });
    let mut columns = places(&rows);
    columns.extend(of_channels(&rows));
    let about = "One row a step of a lane (a chunk of its own), for each of its heads; lane by lane.";
    Table { name: "steps", about, rows: start, columns }
}

/// Which lane, head and step a row is of.
fn places<'a>(rows: &Rc<Rows<'a>>) -> Vec<Source<'a>> {
    let whole = |name, unit, meaning, of: fn(&Rows<'a>, &Block, usize) -> i64| {
        let rows = Rc::clone(rows);
        Source::whole(name, unit, meaning, move |row| rows.at(row).map(|(block, step)| of(&rows, block, step)))
    };
    let text = |name, meaning, of: fn(&Rows<'a>, &Block) -> String| {
        let rows = Rc::clone(rows);
        Source::text(name, "", meaning, move |row| rows.at(row).map(|(block, _)| of(&rows, block)))
    };
    vec![
        text("lane", "The lane.", |rows, block| rows.plan.lanes[block.lane].name.clone()),
        text("heads", "What `head` counts: `key/value` or `query` heads.", |rows, block| {
            // A lane with learned maps has a state for each query head.
            let own = rows.plan.lanes[block.lane].setup.stream.kv_heads() == rows.plan.stream.kv_heads();
            (if block.heads == Heads::KeyValue && own { "key/value" } else { "query" }).to_owned()
        }),
        whole("head", "head", "The head, from 0.", |_, block, _| block.head as i64),
        whole("step", "step", "The lane's step: its chunk's number, from 0.", |_, _, step| step as i64),
        whole("from", "write", "The first write of the chunk.", |rows, block, step| {
            let setup = &rows.plan.lanes[block.lane].setup;
            setup.stream.chunk_range(setup.chunk, step).start as i64
        }),
        whole("to", "writes", "Writes seen after the step: the first write of the next chunk.", |rows, block, step| {
            let setup = &rows.plan.lanes[block.lane].setup;
            setup.stream.chunk_range(setup.chunk, step).end as i64
        }),
    ]
}

/// One column a name, whichever lanes have it.
fn of_channels<'a>(rows: &Rc<Rows<'a>>) -> Vec<Source<'a>> {
    let mut found: Vec<(&'static str, Vec<(&str, &'a Channel)>)> = Vec::new();
    for &lane in &rows.cut.lanes {
        for channel in rows.traces[lane].channels().iter().filter(|c| series(c)) {
            let (name, own) = (channel.spec().name, (rows.plan.lanes[lane].name.as_str(), channel));
            match found.iter_mut().find(|(n, _)| *n == name) {
                Some((_, all)) => all.push(own),
                None => found.push((name, vec![own])),
            }
        }
    }
    found.into_iter().map(|(name, channels)| column(rows, name, &channels)).collect()
}

fn column<'a>(rows: &Rc<Rows<'a>>, name: &'static str, channels: &[(&str, &'a Channel)]) -> Source<'a> {
    let lists = channels.iter().any(|(_, c)| c.spec().width == Width::Ragged);
    let first = channels[0].1.spec();
    let same = channels.iter().all(|(_, c)| c.spec().meaning == first.meaning);
    let meaning = if same {
        first.meaning.to_owned()
    } else {
        channels.iter().map(|(lane, c)| format!("{lane}: {}", c.spec().meaning)).collect::<Vec<_>>().join("; ")
    };
    let own = Rc::clone(rows);
    if lists {
        let meaning = format!("How many there are in the step's list `{name}`: {meaning}");
        return Source::whole(&format!("{name}_length"), "1", &meaning, move |row| {
            let (block, step) = own.at(row)?;
            let channel = own.channel(block, name).filter(|c| step < c.len() && block.head < c.heads())?;
            Some(channel.range(block.head, step).len() as i64)
        });
    }
    let value = move |row: usize| {
        let (block, step) = own.at(row)?;
        own.channel(block, name).filter(|c| block.head < c.heads() && step < c.len())?.values(block.head).get(step)
    };
    if channels.iter().all(|(_, c)| c.spec().kind == Kind::Whole) {
        Source::whole(name, first.unit, &meaning, move |row| value(row).map(|x| x as i64))
    } else {
        Source::real(name, first.unit, &meaning, channels.iter().map(|(_, c)| *c), value)
    }
}
