//! What the inspector says, as data: sentences with links, names with values, lives of tokens. No drawing.

use crate::panel::common::{chunk_name, chunk_short, token_name};
use crate::panel::formula::exact::LaneAt;
use crate::panel::{Look, Subject};

use super::life::Life;

/// A piece of a sentence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Part {
    /// Words.
    Words(String),
    /// A name that selects what it stands for.
    Link(String, Subject),
    /// A step of the timeline: a link that selects it and moves the playhead to just after it.
    Step(String, usize),
    /// A panel, by its name.
    Panel(String, &'static str),
}

/// A sentence in the making.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Say(pub Vec<Part>);

impl Say {
    /// A sentence that begins with these words.
    #[must_use]
    pub fn new(words: impl Into<String>) -> Self {
        Self::default().t(words)
    }

    /// Words.
    #[must_use]
    pub fn t(mut self, words: impl Into<String>) -> Self {
        self.0.push(Part::Words(words.into()));
        self
    }

    /// A link to anything.
    #[must_use]
    pub fn link(mut self, name: impl Into<String>, subject: Subject) -> Self {
        self.0.push(Part::Link(name.into(), subject));
        self
    }

    /// A link to a token, by number and text.
    #[must_use]
    pub fn token(self, look: &Look<'_>, write: usize) -> Self {
        self.link(token_name(&look.plan.stream, write), Subject::Token(write))
    }

    /// Links to the first few of these tokens, and how many more there are.
    #[must_use]
    pub fn tokens(mut self, look: &Look<'_>, writes: &[usize], most: usize) -> Self {
        if writes.is_empty() {
            return self.t("none");
        }
        for (i, &write) in writes.iter().take(most).enumerate() {
            self = if i > 0 { self.t(", ") } else { self };
            self = self.token(look, write);
        }
        if writes.len() > most { self.t(format!(" and {} more", writes.len() - most)) } else { self }
    }

    /// A link to a row of a lane's dictionary.
    #[must_use]
    pub fn row(self, lane: &LaneAt<'_>, row: usize) -> Self {
        let name = if lane.plan.kind.name() == "vq" { "code" } else { "centroid" };
        self.link(format!("{name} {row}"), Subject::Centroid { lane: lane.number, row })
    }

    /// A link to the step of the timeline in which a chunk of the lane ended.
    #[must_use]
    pub fn step(mut self, look: &Look<'_>, lane: &LaneAt<'_>, chunk: usize) -> Self {
        let step = step_of(look, lane, chunk);
        // What a chunk of the lane is in steps has been said under the lane's name.
        let same = lane.chunk() == look.plan.step;
        let name = if same { format!("step {step}") } else { format!("step {step} ({})", chunk_short(look.plan, lane.plan, chunk)) };
        self.0.push(Part::Step(name, step));
        self
    }

    /// `Nowhere any more: a hand deleted centroid 3 at the end of step 11.`, of a row deleted after so many of the lane's chunks.
    #[must_use]
    pub fn deleted(look: &Look<'_>, lane: &LaneAt<'_>, row: usize, chunks: usize) -> Self {
        let say = Self::new("Nowhere any more: a hand deleted ").row(lane, row).t(" at the end of ");
        say.step(look, lane, chunks.saturating_sub(1)).t(".")
    }

    /// A link that shows a panel.
    #[must_use]
    pub fn panel(mut self, name: impl Into<String>, panel: &'static str) -> Self {
        self.0.push(Part::Panel(name.into(), panel));
        self
    }

    /// As plain text.
    #[must_use]
    pub fn plain(&self) -> String {
        let text = |part: &Part| match part {
            Part::Words(text) | Part::Link(text, _) | Part::Step(text, _) | Part::Panel(text, _) => text.clone(),
        };
        self.0.iter().map(text).collect()
    }
}

impl From<String> for Say {
    fn from(words: String) -> Self {
        Self::new(words)
    }
}

impl From<&str> for Say {
    fn from(words: &str) -> Self {
        Self::new(words)
    }
}

/// The step of the timeline in which a chunk of the lane ends.
#[must_use]
pub fn step_of(look: &Look<'_>, lane: &LaneAt<'_>, chunk: usize) -> usize {
    look.plan.step_at(lane.written(chunk + 1)).saturating_sub(1)
}

/// One thing that is said.
#[derive(Debug, Clone, PartialEq)]
pub enum Item {
    /// A lane's name, with its colour: what follows is of that lane.
    Lane(usize),
    /// A heading.
    Heading(String),
    /// A sentence.
    Line(Say),
    /// A name and its value.
    Fact(String, Say),
    /// A token's life in the lane.
    Life(Life),
}

/// All that is said of a subject.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Page {
    /// Its name.
    pub title: String,
    /// The text it stands for, where it has one.
    pub text: Option<String>,
    /// What follows.
    pub items: Vec<Item>,
}

impl Page {
    /// Adds a sentence.
    pub fn say(&mut self, say: impl Into<Say>) {
        self.items.push(Item::Line(say.into()));
    }

    /// Adds a name and its value.
    pub fn fact(&mut self, name: impl Into<String>, value: impl Into<Say>) {
        self.items.push(Item::Fact(name.into(), value.into()));
    }

    /// Begins what is said of a lane: its name and, where its chunks are not the steps of the timeline, once which steps `chunk` is.
    pub fn lane(&mut self, look: &Look<'_>, lane: &LaneAt<'_>, chunk: usize) {
        self.items.push(Item::Lane(lane.number));
        if lane.chunk() != look.plan.step {
            self.say(format!("{}.", chunk_name(look.plan, lane.plan, chunk)));
        }
    }

    /// All of it as text, a line each.
    #[must_use]
    pub fn plain(&self) -> String {
        let mut lines = vec![self.title.clone()];
        for item in &self.items {
            lines.push(match item {
                Item::Lane(lane) => format!("lane {lane}"),
                Item::Heading(text) => text.clone(),
                Item::Line(say) => say.plain(),
                Item::Fact(name, say) => format!("{name}: {}", say.plain()),
                Item::Life(life) => life.events.iter().map(|e| e.say.plain()).collect::<Vec<_>>().join(" "),
            });
        }
        lines.join("\n")
    }
}
