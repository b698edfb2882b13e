//! What `screenshot` and `animate` have in common: what the picture is of, how large, in which theme.

use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use clap::ValueEnum;
use thiserror::Error;

use super::{CliError, source};
use crate::app::App;
use crate::app::lesson::session_of;
use crate::app::offscreen::{Setting, Stage, Unsettled};
use crate::app::picture::Subject;
use crate::app::picture::caption::session_hash;
use crate::app::picture::film::FilmError;
use crate::app::picture::painter::PaintError;
use crate::export::WriteError;
use crate::panel::{PANELS, choices};
use crate::session::file::SessionError;
use crate::session::lesson::{self, Lesson};
use crate::session::plan::{Plan, PlanError, load_stream};
use crate::session::saved::{self, is_saved};
use crate::session::{BackendChoice, Choice, Chosen, Session, View, put_over, view};
use crate::stream::capture::BUNDLED;

/// What the picture is of.
#[derive(Debug, clap::Args)]
pub struct Shared {
    /// A session, a capture, `bundled`, `gallery:NAME`, or a step of a lesson inside the program: `lesson:ovq@3`
    pub session: PathBuf,
    /// One panel alone, with a caption, in place of the window, by its name or its title; a wrong one is answered with the nearest name
    #[arg(long, value_name = "NAME", value_parser = panel)]
    pub panel: Option<Subject>,
    /// Choose inside a panel, as a session does in `view.choices`: `state.view=collisions`; may be given several times
    #[arg(long, value_name = "PANEL.NAME=VALUE", value_parser = choice)]
    pub choose: Vec<[String; 3]>,
    /// Width and height in points [default: 1440x900, or 800x520 for a panel]
    #[arg(long, value_name = "WxH", value_parser = size)]
    pub size: Option<[u32; 2]>,
    /// Pixels a point; in an SVG, those of what is no vector (heatmaps) [default: 1, or 2 for SVG]
    #[arg(long, value_parser = scale)]
    pub scale: Option<f32>,
    /// The theme [default: dark for the window as PNG, light for a panel and for SVG]
    #[arg(long, value_enum)]
    pub theme: Option<Theme>,
}

/// The themes that a picture can have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Theme {
    /// Dark text on white.
    Light,
    /// Light text on black.
    Dark,
}

/// Why there is no picture.
#[derive(Debug, Error)]
pub enum PictureError {
    /// What is asked for is not there.
    #[error("{0}")]
    Usage(String),
    /// The session.
    #[error(transparent)]
    Session(#[from] SessionError),
    /// What the session asks for cannot be, with the file and the place in it.
    #[error("{0}")]
    Plan(String),
    /// There are fewer steps.
    #[error("{option} is {step}, but the timeline has {steps} steps: from 0 to {steps} can be done")]
    #[allow(missing_docs, reason = "the message explains them")]
    Step { option: &'static str, step: usize, steps: usize },
    /// There are fewer tokens.
    #[error("--token is {token}, but the stream has the writes 0 to {last}")]
    #[allow(missing_docs, reason = "the message explains them")]
    Token { token: usize, last: usize },
    /// No threads.
    #[error("no thread could be started: {0}")]
    Thread(#[from] std::io::Error),
    /// The session cannot run, or it was cancelled.
    #[error(transparent)]
    Unsettled(#[from] Unsettled),
    /// Nothing to paint with.
    #[error(transparent)]
    Paint(#[from] PaintError),
    /// The file.
    #[error(transparent)]
    Write(#[from] WriteError),
    /// The folder has frames already.
    #[error("{0}")]
    Frames(String),
}

impl From<FilmError> for PictureError {
    fn from(error: FilmError) -> Self {
        match error {
            FilmError::Unsettled(error) => error.into(),
            FilmError::Paint(error) => error.into(),
            FilmError::Write(error) => error.into(),
            FilmError::Frames(_) => Self::Frames(error.to_string()),
        }
    }
}

impl PictureError {
    /// The exit code, of the kinds that the command line documents.
    pub fn code(&self) -> u8 {
        match self {
            Self::Usage(_) | Self::Step { .. } | Self::Token { .. } | Self::Paint(PaintError::Size { .. }) => 2,
            Self::Session(_) | Self::Plan(_) => 3,
            Self::Paint(_) => 4,
            Self::Unsettled(Unsettled::Run(_)) | Self::Thread(_) => 5,
            Self::Write(_) | Self::Frames(_) => 6,
            Self::Unsettled(Unsettled::Cancelled) => 130,
        }
    }
}

impl Shared {
    /// The window on the session, its run complete, and the stage that it is on; `svg`: one that needs no adapter.
    pub fn open(&self, svg: bool, cancel: &AtomicBool) -> Result<(Stage, App), PictureError> {
        let (session, mut stage) = self.stage(svg)?;
        self.check_view(&session)?;
        let mut app = self.app(&stage, session.clone())?;
        stage.settle(&mut app, cancel).map_err(|error| self.why(error, &session))?;
        Ok((stage, app))
    }

    /// The window on the session; one that was saved with its trace is not computed again.
    fn app(&self, stage: &Stage, session: Session) -> Result<App, PictureError> {
        if self.session.as_os_str() != BUNDLED && is_saved(&self.session) {
            let mut saved = saved::open(&self.session)?;
            // The same session, with what is asked for here.
            saved.session.view = session.view;
            return Ok(stage.app_showing(saved, self.session.clone())?);
        }
        Ok(stage.app(session, Some(self.session.clone()))?)
    }

    /// Holds what the file looks at against its stream, before the run. What cannot be loaded is left to the run, which says why.
    fn check_view(&self, session: &Session) -> Result<(), PictureError> {
        if session.view == View::default() || is_saved(&self.session) || lesson_step(&self.session).is_some() {
            return Ok(());
        }
        let Ok(stream) = load_stream(session, self.session.parent()) else { return Ok(()) };
        // As it is in its file, without what is chosen here.
        view::check(&Session::open(&self.session)?, &stream).map_err(|wrong| self.planned(wrong))
    }

    /// What the step of a lesson says, where the picture is of one.
    pub fn lesson_words(&self) -> Option<String> {
        let (lesson, at) = lesson_step(&self.session)?.ok()?;
        let step = &lesson.steps[at];
        Some(format!("{}\nStep {} of {}, {}: {}", lesson.about, at + 1, lesson.steps.len(), step.title, step.text))
    }

    /// What a session that does not run has wrong, with its place in the file, where that is what is wrong.
    fn why(&self, error: Unsettled, session: &Session) -> PictureError {
        let wrong = matches!(error, Unsettled::Run(_)).then(|| Plan::new(session, self.session.parent()).err()).flatten();
        match wrong {
            Some(wrong) => self.planned(wrong),
            None => error.into(),
        }
    }

    /// What cannot be of the session, with its place in the file.
    fn planned(&self, wrong: PlanError) -> PictureError {
        PictureError::Plan(CliError::plan(&self.session, wrong).to_string())
    }

    fn choices(&self) -> Chosen {
        let mut all = Chosen::new();
        for [panel, name, value] in &self.choose {
            all.entry(panel.clone()).or_default().insert(name.clone(), value.clone());
        }
        all
    }

    /// The session, and a stage for it; `svg`: one that needs no adapter, on which the session runs on the CPU unless it asks for a
    /// GPU itself.
    fn stage(&self, svg: bool) -> Result<(Session, Stage), PictureError> {
        let mut session = of_lesson(&self.session).unwrap_or_else(|| Session::open(&self.session).map_err(Into::into))?;
        // The picture is of the session as it is in its file, as where only another step is asked for.
        let hash = session_hash(&session);
        let chosen = self.choices();
        if let Some(wrong) = choices::lost_lanes(&chosen, &session.lanes).into_iter().next() {
            let name = wrong.name.unwrap_or_default();
            return Err(PictureError::Usage(format!("--choose {}.{name}: {}", wrong.panel, wrong.reason)));
        }
        put_over(&mut session.view.choices, &chosen);
        let subject = self.panel.unwrap_or_default();
        let dark = self.theme.map_or(!svg && subject == Subject::Window, |theme| theme == Theme::Dark);
        let setting = Setting {
            subject,
            size: self.size.unwrap_or_else(|| subject.size()),
            scale: self.scale.unwrap_or(if svg { 2.0 } else { 1.0 }),
            dark,
            session: hash,
        };
        if svg && session.backend == BackendChoice::Auto {
            session.backend = BackendChoice::Cpu;
        }
        let stage = if svg { Stage::drawing(setting)? } else { Stage::painting(setting)? };
        Ok((session, stage))
    }
}

/// The session of a step of a lesson inside the program, the first where none is named; nothing for a path that names no lesson.
fn of_lesson(path: &Path) -> Option<Result<Session, PictureError>> {
    Some(lesson_step(path)?.map(|(lesson, at)| session_of(lesson, at)).map_err(PictureError::Usage))
}

/// The lesson inside the program that a path names, and its step, from 0.
fn lesson_step(path: &Path) -> Option<Result<(&'static Lesson, usize), String>> {
    let text = path.to_str()?.strip_prefix(lesson::PREFIX)?;
    let (name, step) = text.split_once('@').unwrap_or((text, "1"));
    Some(step_of_lesson(name, step))
}

fn step_of_lesson(name: &str, step: &str) -> Result<(&'static Lesson, usize), String> {
    let unknown = || {
        let names = lesson::lessons().iter().map(|(name, _)| *name);
        format!("there is no lesson `{name}` inside the program; there are {}", source::known(name, names))
    };
    let found: &'static Lesson = lesson::lesson(name).ok_or_else(unknown)?;
    let last = found.steps.len();
    let step: Option<usize> = step.parse().ok().filter(|step| (1..=last).contains(step));
    let step = step.ok_or_else(|| format!("the lesson `{name}` has the steps 1 to {last}: `lesson:{name}@{last}` is its last"))?;
    Ok((found, step - 1))
}

/// The panels by name, and by title where that is another word: what `--panel` takes. In lines of at most `width` letters.
pub fn panels(width: usize) -> String {
    let mut lines = vec!["PANELS:".to_owned()];
    for (at, panel) in PANELS.iter().enumerate() {
        let title = if panel.title.to_lowercase() == panel.name { String::new() } else { format!(" ({})", panel.title) };
        let word = format!("{}{title}{}", panel.name, if at + 1 < PANELS.len() { "," } else { "." });
        match lines.last_mut().filter(|line| line.len() + 1 + word.len() <= width) {
            Some(line) => *line += &format!(" {word}"),
            None => lines.push(word),
        }
    }
    lines.join("\n")
}

fn panel(name: &str) -> Result<Subject, String> {
    Subject::panel(name)
}

fn choice(text: &str) -> Result<[String; 3], String> {
    let parts = text.split_once('=').and_then(|(what, value)| Some((what.split_once('.')?, value)));
    let ((panel, name), value) = parts.ok_or_else(|| format!("`{text}` is no choice; one is written as state.view=collisions"))?;
    let [panel, name, value] = [panel, name, value].map(|part| part.trim().to_owned());
    let chosen = Chosen::from([(panel.clone(), Choice::from([(name.clone(), value.clone())]))]);
    match choices::wrong(&chosen).pop() {
        Some(wrong) => Err(wrong.reason),
        None => Ok([panel, name, value]),
    }
}

fn size(text: &str) -> Result<[u32; 2], String> {
    let parts = text.split_once(['x', 'X', '×']).and_then(|(w, h)| Some([w.trim().parse().ok()?, h.trim().parse().ok()?]));
    parts.filter(|[w, h]: &[u32; 2]| *w > 0 && *h > 0).ok_or_else(|| format!("`{text}` is no size; one is written as 1440x900"))
}

fn scale(text: &str) -> Result<f32, String> {
    let wanted = || format!("`{text}` is no scale; it is a number from 0.5 to 4");
    text.parse().ok().filter(|s| (0.5..=4.0).contains(s)).ok_or_else(wanted)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn choices_are_read_or_refused_with_the_nearest() {
        let made = |a: &str, b: &str, c: &str| Ok([a.to_owned(), b.to_owned(), c.to_owned()]);
        assert_eq!(choice("state.view=collisions"), made("state", "view", "collisions"));
        assert_eq!(choice("retention.curves of = others"), made("retention", "curves of", "others"));
        assert!(choice("state=collisions").is_err_and(|e| e.contains("state.view=collisions")));
        assert!(choice("state.view=colisions").is_err_and(|e| e.ends_with("the nearest is `collisions`")));
        assert!(choice("stat.view=map").is_err_and(|e| e.ends_with("the nearest is `state`")));
    }

    #[test]
    fn every_panel_is_named_in_the_help() {
        let text = panels(60);
        assert!(text.lines().all(|line| line.len() <= 60), "{text}");
        let flat = text.replace('\n', " ");
        let words: Vec<&str> = flat.strip_prefix("PANELS: ").and_then(|t| t.strip_suffix('.')).unwrap().split(", ").collect();
        assert_eq!(words.len(), PANELS.len(), "{text}");
        for (word, entry) in words.iter().zip(PANELS) {
            let name = word.split(' ').next().unwrap();
            assert_eq!(Subject::panel(name), Ok(Subject::Panel(entry.name)), "{word}");
            assert_eq!(Subject::panel(entry.title), Ok(Subject::Panel(entry.name)), "{word}");
        }
        assert!(words.contains(&"notes") && words.contains(&"residency (Cache)"), "{text}");
    }

    #[test]
    fn the_words_of_a_lesson_are_those_of_its_step() {
        let shared =
            |session: &str| Shared { session: session.into(), panel: None, choose: Vec::new(), size: None, scale: None, theme: None };
        let found = lesson::lesson("ovq").unwrap();
        let words = shared("lesson:ovq@3").lesson_words().unwrap();
        assert!(words.starts_with(&found.about) && words.ends_with(&found.steps[2].text), "{words}");
        assert!(words.contains(&format!("\nStep 3 of 9, {}: ", found.steps[2].title)), "{words}");
        assert_eq!((shared("lesson:ovq@99").lesson_words(), shared("gallery:ties").lesson_words()), (None, None));
    }

    #[test]
    fn steps_of_lessons_are_found_or_refused_with_what_there_is() {
        let open = |text: &str| of_lesson(Path::new(text)).map(|found| found.map_err(|e| e.to_string()));
        assert!(open("lesson.ron").is_none() && open("gallery:ties").is_none());
        let titled = |text: &str| open(text).and_then(Result::ok).map(|s| (s.title, s.view.position));
        let title = lesson::lesson("ovq").map(|l| l.title.clone()).unwrap();
        assert_eq!(titled("lesson:ovq"), Some((title.clone(), Some(0))));
        assert_eq!(titled("lesson:ovq@3"), Some((title, Some(512))));
        let refused = |text: &str, words: &str| open(text).is_some_and(|found| found.is_err_and(|e| e.contains(words)));
        assert!(refused("lesson:ovk@3", "(did you mean `ovq`?)"));
        for wrong in ["lesson:ovq@0", "lesson:ovq@10", "lesson:ovq@last", "lesson:ovq@"] {
            assert!(refused(wrong, "has the steps 1 to 9: `lesson:ovq@9` is its last"), "{wrong}");
        }
    }

    #[test]
    fn sizes_are_read_or_refused_with_an_example() {
        assert_eq!(size("1440x900"), Ok([1440, 900]));
        assert_eq!(size("800X600"), Ok([800, 600]));
        for wrong in ["", "1440", "0x5", "axb", "-1x4", "1x2x3"] {
            assert!(size(wrong).is_err_and(|e| e.contains("1440x900")), "{wrong}");
        }
        assert_eq!(scale("2"), Ok(2.0));
        assert!(scale("9").is_err() && scale("nan").is_err());
    }
}
