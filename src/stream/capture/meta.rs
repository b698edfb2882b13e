//! The metadata of a capture: texts of tokens, the needle, the answer, the logit scale.

use std::collections::{BTreeMap, HashMap};
use std::fmt::Write;
use std::ops::Range;

use serde::Serialize;

use super::error::{CaptureError, short};

/// What the metadata of a capture tells.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Facts {
    /// The model's name, as it was written.
    pub model: Option<String>,
    /// What the prompt is.
    pub prompt: Option<String>,
    /// The text of each token `[T]`.
    #[serde(skip)]
    pub tokens: Option<Vec<String>>,
    /// The number of each token in the model's vocabulary `[T]`.
    #[serde(skip)]
    pub token_ids: Option<Vec<i64>>,
    /// The tokens that hold the fact that the prompt asks for.
    pub needle: Option<Range<usize>>,
    /// What the prompt's question should be answered with.
    pub answer: Option<String>,
    /// The tokens within the needle whose texts make up the answer, where they can be found.
    pub answer_tokens: Option<Range<usize>>,
    /// The logit scale, beta.
    pub scale: Option<f64>,
    /// Everything else, as it was written.
    pub other: BTreeMap<String, String>,
}

impl Facts {
    pub(super) fn read(file: &str, metadata: Option<&HashMap<String, String>>) -> Result<Self, CaptureError> {
        let mut rest: BTreeMap<String, String> = metadata.into_iter().flatten().map(|(k, v)| (k.clone(), v.clone())).collect();
        let wrong = |field, found: &str, expected: &str| CaptureError::Field {
            file: file.to_owned(),
            field,
            found: short(found),
            expected: expected.to_owned(),
        };
        let mut facts =
            Self { model: rest.remove("model"), prompt: rest.remove("prompt"), answer: rest.remove("answer"), ..Self::default() };
        if let Some(text) = rest.remove("tokens") {
            facts.tokens = Some(serde_json::from_str(&text).map_err(|_| wrong("tokens", &text, "a JSON list of texts"))?);
        }
        if let Some(text) = rest.remove("token_ids") {
            facts.token_ids = Some(serde_json::from_str(&text).map_err(|_| wrong("token_ids", &text, "a JSON list of whole numbers"))?);
        }
        if let Some(text) = rest.remove("needle") {
            let span = serde_json::from_str::<[usize; 2]>(&text).ok().filter(|[from, to]| from < to);
            let [from, to] = span.ok_or_else(|| wrong("needle", &text, "a JSON pair [from, to) of token numbers"))?;
            facts.needle = Some(from..to);
        }
        if let Some(text) = rest.remove("scale") {
            let scale = scale(&text).filter(|s| (*s as f32).is_finite() && *s as f32 > 0.0);
            facts.scale = Some(scale.ok_or_else(|| wrong("scale", &text, "a positive number such as `0.125`, `1/8` or `64^-0.5`"))?);
        }
        facts.answer_tokens = facts.find_answer();
        facts.other = rest;
        Ok(facts)
    }

    /// The shortest run of tokens that ends first within the needle and whose texts, joined and trimmed, are the answer.
    fn find_answer(&self) -> Option<Range<usize>> {
        let (tokens, needle, answer) = (self.tokens.as_ref()?, self.needle.clone()?, self.answer.as_ref()?.trim());
        let texts = tokens.get(needle.clone())?;
        for start in 0..texts.len() {
            let mut joined = String::new();
            for (end, text) in texts.iter().enumerate().skip(start) {
                joined.push_str(text);
                if joined.trim().len() > answer.len() {
                    break;
                }
                if joined.trim() == answer && !text.trim().is_empty() && !texts[start].trim().is_empty() {
                    return Some(needle.start + start..needle.start + end + 1);
                }
            }
        }
        None
    }

    /// A sentence or two for the screen.
    pub(super) fn about(&self, tokens: usize) -> String {
        let mut about = format!("{tokens} tokens of a real model's attention");
        if let Some(prompt) = &self.prompt {
            let _ = write!(about, " on a prompt: {prompt}");
        }
        about.push('.');
        if let Some(needle) = &self.needle {
            let _ = write!(about, " The needle is tokens {} to {}", needle.start, needle.end - 1);
            match (&self.answer, &self.answer_tokens) {
                (Some(answer), Some(at)) => {
                    let _ = write!(about, ", its answer {answer} tokens {} to {}", at.start, at.end - 1);
                }
                (Some(answer), None) => {
                    let _ = write!(about, ", its answer {answer}");
                }
                (None, _) => {}
            }
            about.push('.');
        }
        about
    }
}

/// A number as people write a logit scale: `0.125`, `1/8`, `64^-0.5`, `1/sqrt(64)`.
fn scale(text: &str) -> Option<f64> {
    let text = text.trim();
    // Longer texts are no scale, and would only nest.
    if text.len() > 64 {
        return None;
    }
    if let Some((top, bottom)) = text.split_once('/') {
        return Some(scale(top)? / scale(bottom)?);
    }
    if let Some(inner) = text.strip_prefix("sqrt(").and_then(|t| t.strip_suffix(')')) {
        return Some(scale(inner)?.sqrt());
    }
    if let Some((base, exponent)) = text.split_once('^').or_else(|| text.split_once("**")) {
        return Some(scale(base)?.powf(scale(exponent)?));
    }
    text.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scales_are_read_as_people_write_them() {
        for text in ["0.125", "1/8", "64^-0.5", "64**-0.5", "1/sqrt(64)", " 1 / sqrt( 64 ) "] {
            assert_eq!(scale(text), Some(0.125), "{text}");
        }
        assert_eq!(scale("an eighth"), None);
    }

    #[test]
    fn the_answer_is_found_among_the_needles_tokens() {
        let facts = |tokens: &str| {
            let map =
                HashMap::from([("tokens", tokens), ("needle", "[1, 6]"), ("answer", "42")].map(|(k, v)| (k.to_owned(), v.to_owned())));
            Facts::read("x", Some(&map)).unwrap()
        };
        assert_eq!(facts(r#"["a", "is", " ", "4", "2", ".", "42"]"#).answer_tokens, Some(3..5));
        assert_eq!(facts(r#"["42", "is", " ", "4", "-", "2", "42"]"#).answer_tokens, None);
    }
}
