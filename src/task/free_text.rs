//! The task `free_text`: facts, filler and questions as the user types them; every word is a random direction.

use std::collections::HashMap;

use ndarray::Array2;

use super::common::{DK, DV, Recall, noise, roles};
use super::random::Draw;
use super::{Task, TaskError};
use crate::layer::MAX_WRITES;
use crate::param::{ParamError, ParamKind, ParamSpec, Resolved};
use crate::stream::{Labels, Stream};

const ROLE_FILLER: u8 = 0;
const ROLE_FACT: u8 = 1;
const ROLE_OVERWRITTEN: u8 = 2;
const ROLE_QUESTION: u8 = 3;

/// The longest text, in bytes.
const MAX_TEXT: usize = 32_768;

/// A harbour where one fact changes: what is said once and long ago is lost to a window; what is said anew has two values in a
/// memory that only adds.
const DEFAULT_TEXT: &str = "\
the sky over the harbour is grey again today
password = heron
the ferry is late again and the harbour is full
captain = mila
berth = seven
berth ?
the sky over the harbour is grey again today
the ferry is late again and the harbour is full
berth = nine
the sky over the harbour is grey again today
the ferry is late again and the harbour is full
password ?
captain ?
berth ?
";

/// See the module's page and TASKS.md, "free text".
#[derive(Debug, Clone, Copy)]
pub struct FreeText;

static PARAMS: &[ParamSpec] = &[
    ParamSpec {
        name: "text",
        title: "text",
        doc: "A line `name = value` is a fact. A line that ends in `?` asks for the name before it, as things are at that line. Every \
              word of any other line is filler. Without a question, every name is asked for at the end.",
        kind: ParamKind::Text { default: DEFAULT_TEXT, max_bytes: MAX_TEXT },
    },
    DK,
    DV,
    noise(0.0),
];

impl Task for FreeText {
    fn name(&self) -> &'static str {
        "free_text"
    }

    fn title(&self) -> &'static str {
        "Free text"
    }

    fn about(&self) -> &'static str {
        "Facts, filler and questions as you type them. A fact writes its name's key with its value's code; a word of filler writes \
         itself. A word's key and code are random directions that depend on the word and the seed alone: words that look or mean \
         alike are no nearer to each other. Where a name is set twice the newest value is right: full attention holds both, as \
         strong as each other, and only a memory that overwrites (DeltaNet) or forgets can tell. A fact stands where its name comes \
         again as filler. Capitals make no difference."
    }

    fn params(&self) -> &'static [ParamSpec] {
        PARAMS
    }

    fn generate(&self, params: &Resolved, seed: u64) -> Result<Stream, TaskError> {
        let script = Script::read(params)?;
        let (t, dk) = (script.writes.len(), params.size("dk"));
        let book = vectors(&script.words, "value", params.size("dv"), seed);
        let keys_of = vectors(&script.words, "key", dk, seed);
        let select = |words: Vec<usize>| keys_of.select(ndarray::Axis(0), &words);
        let mut draw = Draw::new(seed);
        let keys = draw.jitter(&select(script.writes.iter().map(|w| w.name).collect()).view(), params.float("noise"));
        let queries = draw.jitter(&select(script.asked.iter().map(|q| q.name).collect()).view(), params.float("noise"));

        let word = |w: usize| script.words[w].as_str();
        let token =
            |w: &Write| if w.role == ROLE_FILLER { word(w.name).to_owned() } else { format!("{} = {}", word(w.name), word(w.value)) };
        let facts = script.writes.iter().filter(|w| w.role != ROLE_FILLER).count();
        let labels = Labels {
            title: format!("Free text: {facts} facts among {t} tokens, {} questions, seed {seed}", script.asked.len()),
            about: self.about().to_owned(),
            tokens: Some(script.writes.iter().map(token).collect()),
            read_tokens: Some(script.asked.iter().map(|q| format!("{} ?", word(q.name))).collect()),
            roles: roles(
                &["filler", "fact", "overwritten", "question"],
                script.writes.iter().map(|w| w.role).collect(),
                vec![ROLE_QUESTION; script.asked.len()],
                Some(ROLE_FACT),
            ),
            notes: notes(&script.words, &keys_of),
            answer_at: Some(script.asked.iter().map(|q| q.answer_at as u32).collect()),
        };
        Recall {
            book,
            keys,
            codes: script.writes.iter().map(|w| w.value).collect(),
            queries,
            after: script.asked.iter().map(|q| q.after as u32).collect(),
            target: script.asked.iter().map(|q| script.writes[q.answer_at].value).collect(),
            labels,
        }
        .stream()
    }
}

/// One write: the words of its key and of its code, by their places in the list of words.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Write {
    name: usize,
    value: usize,
    role: u8,
}

/// One question.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Question {
    name: usize,
    /// Writes before it.
    after: usize,
    /// The newest write of the name among them.
    answer_at: usize,
}

/// A text understood.
#[derive(Debug, Default, PartialEq, Eq)]
struct Script {
    /// Every distinct word, or name of several, in the order in which they come.
    words: Vec<String>,
    writes: Vec<Write>,
    asked: Vec<Question>,
}

impl Script {
    fn read(params: &Resolved) -> Result<Self, TaskError> {
        let mut script = Self::default();
        let mut places = HashMap::new();
        // The newest write of each name.
        let mut newest: HashMap<usize, usize> = HashMap::new();
        for (number, line) in params.text("text").lines().enumerate() {
            let line = line.trim();
            if let Some(name) = line.strip_suffix('?') {
                // A question needs no new word: what was never written has no answer.
                let Some((name, &answer_at)) = places.get(&folded(name)).and_then(|w| Some((*w, newest.get(w)?))) else {
                    return Err(unknown(params, number + 1, line));
                };
                script.asked.push(Question { name, after: script.writes.len(), answer_at });
            } else if let Some((name, value)) = line.split_once('=').map(|(n, v)| (folded(n), folded(v))).filter(is_fact) {
                let (name, value) = (script.word(&mut places, name), script.word(&mut places, value));
                if let Some(old) = newest.insert(name, script.writes.len()).filter(|&old| script.writes[old].role == ROLE_FACT) {
                    script.writes[old].role = ROLE_OVERWRITTEN;
                }
                script.writes.push(Write { name, value, role: ROLE_FACT });
            } else {
                for text in line.split_whitespace().map(folded).filter(|w| !w.is_empty()) {
                    let word = script.word(&mut places, text);
                    // A name's fact stands, wherever the name also comes as filler.
                    if newest.get(&word).is_none_or(|&old| script.writes[old].role == ROLE_FILLER) {
                        newest.insert(word, script.writes.len());
                    }
                    script.writes.push(Write { name: word, value: word, role: ROLE_FILLER });
                }
            }
        }
        if script.writes.is_empty() || script.writes.len() > MAX_WRITES {
            let reason = format!("it makes {} tokens, and there must be from 1 to {MAX_WRITES}", script.writes.len());
            return Err(line_error(params, "text", "the whole", reason));
        }
        if script.asked.is_empty() {
            script.ask_every_name(&newest);
        }
        Ok(script)
    }

    /// The place of a word, a new one at the end.
    fn word(&mut self, places: &mut HashMap<String, usize>, text: String) -> usize {
        let next = self.words.len();
        *places.entry(text).or_insert_with_key(|text| {
            self.words.push(text.clone());
            next
        })
    }

    /// Asks for the names of all facts at the end, in their order; where there are none, for every word of filler.
    fn ask_every_name(&mut self, newest: &HashMap<usize, usize>) {
        let role_asked = if self.writes.iter().any(|w| w.role == ROLE_FACT) { ROLE_FACT } else { ROLE_FILLER };
        let after = self.writes.len();
        let newest_of = |(at, w): (usize, &Write)| {
            (w.role == role_asked && newest.get(&w.name) == Some(&at)).then_some(Question { name: w.name, after, answer_at: at })
        };
        self.asked = self.writes.iter().enumerate().filter_map(newest_of).collect();
    }
}

/// A line with `=` is a fact where something stands on both sides.
fn is_fact((name, value): &(String, String)) -> bool {
    !name.is_empty() && !value.is_empty()
}

/// A word, or a name of several, as it is compared: in small letters, single spaces, no punctuation around it.
fn folded(text: &str) -> String {
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ").to_lowercase();
    words.trim_matches(|c: char| c.is_ascii_punctuation() || c == ' ').to_owned()
}

fn unknown(params: &Resolved, number: usize, line: &str) -> TaskError {
    let short: String = line.chars().take(40).collect();
    line_error(params, &format!("text, line {number},"), &format!("`{short}`"), "no line before it writes that name or word".to_owned())
}

fn line_error(params: &Resolved, name: &str, value: &str, reason: String) -> TaskError {
    ParamError::Conflict { owner: params.owner().to_owned(), name: name.to_owned(), value: value.to_owned(), reason }.into()
}

/// A random direction for every word [words, columns]: it depends on the word, what it is `for`, and the seed, not on the text.
fn vectors(words: &[String], role: &str, columns: usize, seed: u64) -> Array2<f64> {
    let mut out = Array2::zeros((words.len(), columns));
    for (mut row, word) in out.rows_mut().into_iter().zip(words) {
        // FNV-1a.
        let step = |h: u64, b: u8| (h ^ u64::from(b)).wrapping_mul(0x0100_0000_01b3);
        let hash = seed.to_le_bytes().into_iter().chain(role.bytes()).chain([0]).chain(word.bytes()).fold(0xcbf2_9ce4_8422_2325, step);
        row.assign(&Draw::new(hash).directions(1, columns).row(0));
    }
    out
}

/// What may surprise: the two words whose keys are nearest to each other.
fn notes(words: &[String], keys: &Array2<f64>) -> Vec<String> {
    // All pairs of a long text would take seconds.
    if !(2..=1000).contains(&words.len()) {
        return Vec::new();
    }
    let pairs = (0..words.len()).flat_map(|a| (0..a).map(move |b| (b, a)));
    let nearest = pairs.map(|(b, a)| (keys.row(a).dot(&keys.row(b)), b, a)).max_by(|x, y| x.0.total_cmp(&y.0));
    nearest
        .map(|(cosine, b, a)| {
            let (first, second) = (&words[b], &words[a]);
            format!(
                "{} different words and names; the nearest two keys are `{first}` and `{second}`, with a cosine of {cosine:.2}",
                words.len()
            )
        })
        .into_iter()
        .collect()
}

/// The `count` words of the stream whose keys are nearest to that of `word` under these parameters, with the cosines, nearest
/// first; the word itself is left out. Empty where the text cannot be read or does not hold the word.
#[must_use]
pub fn neighbours(params: &Resolved, seed: u64, word: &str, count: usize) -> Vec<(String, f64)> {
    let Ok(script) = Script::read(params) else { return Vec::new() };
    let word = folded(word);
    let Some(own) = script.words.iter().position(|w| *w == word) else { return Vec::new() };
    let keys = vectors(&script.words, "key", params.size("dk"), seed);
    let others = script.words.iter().enumerate().filter(|(i, _)| *i != own);
    let mut near: Vec<(String, f64)> = others.map(|(i, w)| (w.clone(), keys.row(i).dot(&keys.row(own)))).collect();
    near.sort_by(|a, b| b.1.total_cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    near.truncate(count);
    near
}

#[cfg(test)]
mod tests;
