//! What a picture is of, in words: the line under a figure, and the metadata of every file.

use super::Subject;
use crate::app::App;
use crate::session::Session;
use crate::session::hash::of_bytes;

/// What wrote the file.
pub const PROGRAM: &str = concat!("Mnemoscope ", env!("CARGO_PKG_VERSION"));

/// The words that go with a picture.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Caption {
    /// What the panel is called, and what the session is.
    pub title: String,
    /// What the panel is called: printed before the text under a figure.
    pub name: String,
    /// The lines under a figure: what the session is, lanes, step, heads.
    pub text: String,
    /// What the session's author says there is to see; may be empty.
    pub about: String,
    /// What each plot shows, a sentence a plot, as screen readers have it.
    pub plots: Vec<String>,
    /// The SHA-256 of the session as text, in hexadecimal digits: of a file that this program saved, the file's own.
    pub session: String,
    /// Steps of the timeline that are done.
    pub step: usize,
}

impl Caption {
    /// Everything in one text: the line under the figure, what there is to see, and what each plot shows.
    #[must_use]
    pub fn description(&self) -> String {
        let mut lines = vec![self.text.as_str()];
        lines.extend(Some(self.about.as_str()).filter(|a| !a.is_empty()));
        lines.extend(self.plots.iter().map(String::as_str));
        lines.join("\n")
    }
}

/// The SHA-256 of a session's text in hexadecimal digits; empty if it has no text (a path that is no Unicode).
#[must_use]
pub fn session_hash(session: &Session) -> String {
    session.to_ron().map_or_else(|_| String::new(), of_bytes)
}

impl App {
    /// The words that go with a picture of what is on screen; `None` while nothing is. `session` is the hash of the session.
    #[must_use]
    pub fn caption(&self, subject: Subject, session: &str) -> Option<Caption> {
        let plan = &self.runs.current()?.plan;
        let heads = crate::metric::events::HeadsShown::of(&plan.stream, &self.session.view);
        let titled = self.titled(plan);
        let lanes: Vec<&str> = plan.lanes.iter().map(|l| l.name.as_str()).collect();
        let time = &self.timeline;
        let mut text = format!(
            "{titled}. Lanes: {}. {} of {} steps done, {} of {} writes. Key/value head {}, query head {}.",
            lanes.join(", "),
            time.step_index(),
            time.steps(),
            time.writes(),
            time.total(),
            heads.kv,
            heads.query
        );
        if let Some(token) = self.selection.token {
            text += &format!(" Token {token} is selected.");
        }
        let short = session.get(..12).unwrap_or(session);
        text += &format!(" Session {short}, {PROGRAM}.");
        Some(Caption {
            title: format!("{} · {titled}", subject.title()),
            name: subject.title().to_owned(),
            text,
            about: self.session.caption.clone(),
            plots: Vec::new(),
            session: session.to_owned(),
            step: time.step_index(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hash_of_a_session_is_that_of_its_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("s.ron");
        Session::default().save(&path, None).unwrap();
        let of_file = of_bytes(std::fs::read(&path).unwrap());
        assert_eq!(session_hash(&Session::open(&path).unwrap()), of_file);
        assert_ne!(session_hash(&Session { seed: 1, ..Session::default() }), of_file);
    }
}
