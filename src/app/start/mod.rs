//! The start page: everything that is shipped, as cards with a picture and a caption, the recent files, and a way to open another. It
//! lies over the window; what has been loaded stays loaded behind it.

mod card;
mod pictures;

use std::path::Path;

use eframe::egui::{self, Align, Label, Layout, Margin, RichText, ScrollArea, Ui};

use self::pictures::Pictures;
use crate::app::command::{Command, WindowCommand};
use crate::app::focus;
use crate::app::lesson::LessonCommand;
use crate::app::prefs::Preferences;
use crate::session::gallery::{self, Shipped};
use crate::session::lesson::{self, Lesson};
use crate::session::{Session, Source};
use crate::task;

/// Recent files that are offered here.
const RECENT: usize = 5;

/// One card.
#[derive(Debug, Clone)]
pub(super) struct Card {
    /// A name of its own.
    pub(super) name: &'static str,
    pub(super) title: &'static str,
    pub(super) caption: &'static str,
    /// Where its stream is from, and how many lanes it has.
    pub(super) note: String,
    /// PNG.
    pub(super) picture: Option<&'static [u8]>,
    /// What it does.
    pub(super) command: Command,
}

/// Cards under a heading.
#[derive(Debug, Clone)]
struct Section {
    title: &'static str,
    about: &'static str,
    cards: Vec<Card>,
}

/// The page.
#[derive(Debug, Default)]
pub struct StartPage {
    open: bool,
    /// True until the first card has been given the focus.
    take_focus: bool,
    sections: Vec<Section>,
    pictures: Pictures,
}

impl StartPage {
    /// Shown from the start, or not.
    #[must_use]
    pub fn new(open: bool) -> Self {
        Self { open, ..Self::default() }
    }

    /// True while it is shown.
    #[must_use]
    pub fn is_open(&self) -> bool {
        self.open
    }

    /// Shows it, with the focus on its first card, or puts it away.
    pub fn toggle(&mut self) {
        self.open = !self.open;
        self.take_focus = self.open;
    }

    /// Puts it away.
    pub fn close(&mut self) {
        self.open = false;
    }

    /// True when every picture is there, or none is to come. For pictures of the page.
    #[must_use]
    pub fn complete(&self) -> bool {
        !self.open || self.pictures.complete()
    }

    /// Draws it into all of `ui`.
    pub fn ui(&mut self, ui: &mut Ui, preferences: &Preferences, commands: &mut Vec<Command>) {
        if self.sections.is_empty() {
            self.sections = sections();
            let all = self.sections.iter().flat_map(|s| &s.cards).filter_map(|c| Some((c.name, c.picture?))).collect();
            self.pictures.load(ui.ctx(), all);
        }
        self.pictures.receive(ui.ctx());
        ScrollArea::vertical().auto_shrink(false).show(ui, |ui| {
            egui::Frame::new().inner_margin(Margin::symmetric(24, 16)).show(ui, |ui| {
                self.head(ui, preferences, commands);
                let mut first = std::mem::take(&mut self.take_focus);
                for section in &self.sections {
                    ui.add_space(14.0);
                    ui.label(RichText::new(section.title).heading().strong());
                    ui.add(Label::new(section.about).wrap());
                    ui.add_space(8.0);
                    card::grid(ui, &section.cards, &self.pictures, &mut first, commands);
                }
                ui.add_space(10.0);
                focus::follow(ui);
            });
        });
    }

    /// What the program is, files, and how to leave the page.
    fn head(&mut self, ui: &mut Ui, preferences: &Preferences, commands: &mut Vec<Command>) {
        ui.horizontal(|ui| {
            ui.label(RichText::new("Mnemoscope").size(24.0).strong());
            ui.with_layout(Layout::right_to_left(Align::Center), |ui| {
                if ui.button("Close").on_hover_text("Escape; Ctrl+G brings this page back").clicked() {
                    self.open = false;
                }
                let mut begin = preferences.start_page;
                if ui.checkbox(&mut begin, "Begin with this page").changed() {
                    commands.push(WindowCommand::BeginWithStartPage(begin).into());
                }
            });
        });
        ui.add(Label::new("How attention layers remember: choose a session, or open a file of your own. A capture of a real model is loaded behind this page.").wrap());
        ui.add_space(8.0);
        ui.horizontal_wrapped(|ui| {
            if ui.button("Open a file…").on_hover_text("A session (RON) or a capture (safetensors)").clicked() {
                commands.push(WindowCommand::Open.into());
            }
            if ui.button("Open path…").on_hover_text("Type or paste a path").clicked() {
                commands.push(WindowCommand::OpenPath.into());
            }
            if !preferences.recent.is_empty() {
                ui.add_space(10.0);
                ui.label("Recent:");
            }
            for path in preferences.recent.iter().take(RECENT) {
                if ui.link(file_name(path)).on_hover_text(path.display().to_string()).clicked() {
                    commands.push(WindowCommand::OpenFile(path.clone()).into());
                }
            }
        });
    }
}

fn file_name(path: &Path) -> String {
    path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned()
}

/// Everything on the page, in its order: lessons first.
fn sections() -> Vec<Section> {
    let lessons = Section {
        title: "Lessons",
        about: "Each about ten minutes: something is said, something is shown, and there is something to do or to find, which the program sees done.",
        cards: lesson::lessons().iter().map(|(name, lesson)| lesson_card(name, lesson)).collect(),
    };
    let of_gallery = gallery::Section::ALL.iter().map(|section| Section {
        title: section.title(),
        about: section.about(),
        cards: gallery::shipped().iter().filter(|s| s.section == *section).map(card_of).collect(),
    });
    std::iter::once(lessons).chain(of_gallery).collect()
}

fn lesson_card(name: &'static str, of: &'static Lesson) -> Card {
    let note = format!("{} steps · {} minutes", of.steps.len(), of.minutes);
    Card { name, title: &of.title, caption: &of.about, note, picture: lesson::picture(name), command: LessonCommand::Start(name).into() }
}

fn card_of(one: &'static Shipped) -> Card {
    let session = &one.session;
    Card {
        name: one.name,
        title: &session.title,
        caption: &session.caption,
        note: note(session),
        picture: Some(one.picture),
        command: WindowCommand::OpenFile(one.path()).into(),
    }
}

/// `Needles in a haystack · 6 lanes`.
fn note(session: &Session) -> String {
    let source = match &session.source {
        Source::Task(t) => task::task(&t.name).map_or(t.name.as_str(), |t| t.title()),
        Source::Capture(_) => "A head of SmolLM2-135M",
    };
    let lanes = session.lanes.iter().filter(|l| l.enabled).count();
    format!("{source} · {lanes} lanes")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_shipped_session_has_a_card_that_opens_it() {
        let cards: Vec<Card> = sections().into_iter().flat_map(|s| s.cards).collect();
        assert_eq!(cards.len(), gallery::shipped().len() + lesson::lessons().len());
        for (name, _) in lesson::lessons() {
            let card = cards.iter().find(|c| c.command == LessonCommand::Start(name).into());
            assert!(card.is_some_and(|c| c.picture.is_some()), "{name}");
        }
        // Pictures are found by the names of their cards.
        let names: std::collections::BTreeSet<_> = cards.iter().map(|c| c.name).collect();
        assert_eq!(names.len(), cards.len());
        for one in gallery::shipped() {
            let opens = Command::from(WindowCommand::OpenFile(format!("gallery:{}", one.name).into()));
            let card = cards.iter().find(|c| c.command == opens).unwrap();
            assert!(card.note.ends_with(" lanes") && card.picture.is_some(), "{card:?}");
        }
    }

    #[test]
    fn it_is_shown_put_away_and_gives_its_first_card_the_focus_when_it_was_asked_for() {
        let mut page = StartPage::new(true);
        assert!(page.is_open() && !page.take_focus, "at the start of the program nobody has asked for a focus");
        page.toggle();
        assert!(!page.is_open() && page.complete());
        page.toggle();
        assert!(page.is_open() && page.take_focus);
        page.close();
        assert!(!page.is_open());
    }
}
