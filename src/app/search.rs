//! Search over the text of the tokens: the stream's text as one, so that a match may begin in one token and end in another.

use std::ops::Range;
use std::sync::{Arc, Weak};

use eframe::egui::text::CCursorRange;
use eframe::egui::{Align2, Area, Context, Frame, Id, Key, Order, Pos2, RichText, TextEdit, Ui};

use crate::app::command::{Command, ViewCommand};
use crate::app::icon::{self, Icon};
use crate::panel::common::plural;
use crate::session::plan::Plan;
use crate::stream::Stream;

/// The text of a stream, and where each token ends in it.
#[derive(Debug, Default)]
pub struct Corpus {
    text: String,
    /// Bytes of the text up to the end of each token.
    ends: Vec<usize>,
    case: bool,
}

impl Corpus {
    /// Joins texts; without regard to case unless `case` is set.
    #[must_use]
    pub fn new(tokens: &[String], case: bool) -> Self {
        let mut corpus = Self { case, ..Self::default() };
        for token in tokens {
            if case {
                corpus.text.push_str(token);
            } else {
                corpus.text.extend(token.chars().flat_map(char::to_lowercase));
            }
            corpus.ends.push(corpus.text.len());
        }
        corpus
    }

    /// The tokens of every place where `wanted` is in the text, in order; matches do not overlap in the text.
    #[must_use]
    pub fn find(&self, wanted: &str) -> Vec<Range<usize>> {
        if wanted.is_empty() {
            return Vec::new();
        }
        let lower: String = if self.case { wanted.to_owned() } else { wanted.chars().flat_map(char::to_lowercase).collect() };
        let token = |start: usize| self.ends.partition_point(|end| *end <= start);
        self.text.match_indices(&lower).map(|(at, text)| token(at)..token(at + text.len() - 1) + 1).collect()
    }
}

/// The tokens that `wanted` finds in a stream without texts: those of every role whose name it is part of, stretch by stretch.
#[must_use]
pub fn of_roles(stream: &Stream, wanted: &str) -> Vec<Range<usize>> {
    let roles = &stream.labels().roles;
    let wanted = wanted.trim().to_lowercase();
    if wanted.is_empty() {
        return Vec::new();
    }
    let held: Vec<bool> = roles.names.iter().map(|n| n.to_lowercase().contains(&wanted)).collect();
    let mut found: Vec<Range<usize>> = Vec::new();
    for (write, role) in roles.of_write.iter().enumerate().filter(|(_, r)| held[usize::from(**r)]) {
        match found.last_mut() {
            Some(last) if last.end == write && roles.of_write[write - 1] == *role => last.end += 1,
            _ => found.push(write..write + 1),
        }
    }
    found
}

/// The token that `#123` names, if there is one.
#[must_use]
pub fn of_index(wanted: &str, writes: usize) -> Option<usize> {
    wanted.trim().strip_prefix('#')?.parse().ok().filter(|i| *i < writes)
}

/// The field, and what it has found.
#[derive(Debug, Default)]
pub struct Search {
    open: bool,
    /// The field is to take the focus.
    focus: bool,
    /// The field, if it had the focus when it was drawn last.
    focused: Option<Id>,
    text: String,
    case: bool,
    corpus: Option<(Weak<Plan>, Corpus)>,
    found: Vec<Range<usize>>,
    found_for: Option<(Weak<Plan>, String, bool)>,
    /// The match that was gone to last.
    at: Option<usize>,
}

impl Search {
    /// Opens the field, and gives it the focus.
    pub fn open(&mut self) {
        (self.open, self.focus) = (true, true);
    }

    /// True while the field is open and typed into: Escape is for it then.
    #[must_use]
    pub fn typing(&self) -> bool {
        self.open && self.focused.is_some()
    }

    /// Closes the field; what it selected stays selected.
    pub fn close(&mut self) {
        (self.open, self.focused) = (false, None);
    }

    /// The tokens of every match, while the field is open.
    #[must_use]
    pub fn found(&self) -> &[Range<usize>] {
        if self.open { &self.found } else { &[] }
    }

    /// Draws the field with its lower left corner at `at`, and finds what is typed.
    pub fn ui(&mut self, ctx: &Context, at: Pos2, plan: &Arc<Plan>, commands: &mut Vec<Command>) {
        if !self.open {
            return;
        }
        let area = Area::new(Id::unique("token search")).order(Order::Foreground).pivot(Align2::LEFT_BOTTOM).fixed_pos(at);
        area.show(ctx, |ui| {
            Frame::popup(ui.style()).show(ui, |ui| ui.horizontal(|ui| self.row(ui, plan, commands)));
        });
        self.find(plan);
    }

    fn row(&mut self, ui: &mut Ui, plan: &Arc<Plan>, commands: &mut Vec<Command>) {
        let hint = if plan.stream.labels().tokens.is_some() { "Search the text" } else { "Search a role, or #123" };
        let field = ui.add(TextEdit::singleline(&mut self.text).hint_text(hint).desired_width(170.0));
        let field = field
            .accessible_name("Search the tokens")
            .on_hover_text("Enter goes to the next match, Shift+Enter to the one before; #123 is token 123");
        if std::mem::take(&mut self.focus) {
            field.request_focus();
            // What was sought before can be gone on with, or typed over.
            let mut state = TextEdit::load_state(ui.ctx(), field.id).unwrap_or_default();
            state.cursor.set_char_range(Some(CCursorRange::select_all_str(&self.text)));
            state.store(ui.ctx(), field.id);
        }
        if field.changed() {
            self.at = None;
            self.find(plan);
        }
        let (enter, shift) = ui.input(|i| (i.key_pressed(Key::Enter), i.modifiers.shift));
        if field.lost_focus() && enter {
            self.go(!shift, commands);
            field.request_focus();
        }
        self.focused = field.has_focus().then_some(field.id);
        if plan.stream.labels().tokens.is_some() {
            ui.toggle_value(&mut self.case, "Aa").on_hover_text("Mind capital letters").accessible_name("Mind capital letters");
        }
        if icon::button(ui, Icon::ArrowLeft, "Previous match", false).on_hover_text("The match before (Shift+Enter)").clicked() {
            self.go(false, commands);
        }
        if icon::button(ui, Icon::ArrowRight, "Next match", false).on_hover_text("The next match (Enter)").clicked() {
            self.go(true, commands);
        }
        ui.label(RichText::new(self.words()).size(11.0));
        let all = ui.add_enabled(!self.found.is_empty(), eframe::egui::Button::new("Select all"));
        if all.on_hover_text("Select the tokens of every match together").clicked() {
            let mut writes: Vec<usize> = self.found.iter().cloned().flatten().collect();
            writes.dedup();
            commands.push(Command::View(ViewCommand::Group(writes.into())));
        }
        if ui.button("Close").on_hover_text("Close the search (Esc)").clicked() {
            self.close();
        }
    }

    /// `match 3 of 17`.
    fn words(&self) -> String {
        match (self.at, self.found.len()) {
            _ if self.text.is_empty() => String::new(),
            (_, 0) => "no match".to_owned(),
            (Some(at), n) => format!("match {} of {n}", at + 1),
            (None, n) => plural(n, "match", "matches"),
        }
    }

    fn go(&mut self, forwards: bool, commands: &mut Vec<Command>) {
        let n = self.found.len();
        if n == 0 {
            return;
        }
        let at = match (self.at, forwards) {
            (None, true) => 0,
            (None, false) => n - 1,
            (Some(at), true) => (at + 1) % n,
            (Some(at), false) => (at + n - 1) % n,
        };
        self.at = Some(at);
        commands.push(Command::View(ViewCommand::Group(self.found[at].clone().collect())));
    }

    fn find(&mut self, plan: &Arc<Plan>) {
        let same = |of: &Weak<Plan>| Weak::as_ptr(of) == Arc::as_ptr(plan);
        if self.found_for.as_ref().is_some_and(|(of, text, case)| same(of) && *text == self.text && *case == self.case) {
            return;
        }
        let stream = &plan.stream;
        self.found = match &stream.labels().tokens {
            Some(tokens) => {
                if !self.corpus.as_ref().is_some_and(|(of, corpus)| same(of) && corpus.case == self.case) {
                    self.corpus = Some((Arc::downgrade(plan), Corpus::new(tokens, self.case)));
                }
                self.corpus.as_ref().map_or_else(Vec::new, |(_, corpus)| corpus.find(&self.text))
            }
            None => of_roles(stream, &self.text),
        };
        if self.found.is_empty() {
            self.found.extend(of_index(&self.text, stream.writes()).map(|i| i..i + 1));
        }
        self.at = self.at.filter(|at| *at < self.found.len());
        self.found_for = Some((Arc::downgrade(plan), self.text.clone(), self.case));
    }
}

#[cfg(test)]
#[allow(clippy::single_range_in_vec_init, reason = "one match is a list of one range")]
mod tests {
    use super::*;
    use crate::app::testing::plan;

    fn tokens(texts: &[&str]) -> Vec<String> {
        texts.iter().map(|t| (*t).to_owned()).collect()
    }

    #[test]
    fn a_match_may_begin_in_one_token_and_end_in_another() {
        let texts = tokens(&["The", " ma", "gic", " number", "", " is", " Magic", "al"]);
        let corpus = Corpus::new(&texts, false);
        assert_eq!(corpus.find("magic"), [1..3, 6..7]);
        assert_eq!(corpus.find("MAGICAL"), [6..8]);
        assert_eq!(corpus.find("number is"), [3..6], "through an empty token");
        assert_eq!(corpus.find("e m"), [0..2]);
        assert_eq!((corpus.find(""), corpus.find("nothing")), (vec![], vec![]));
        assert_eq!(Corpus::new(&texts, true).find("Magic"), [6..7]);
    }

    #[test]
    fn letters_that_grow_when_lowered_keep_their_tokens() {
        // The lower case of a dotted capital I has one byte more than the capital.
        let corpus = Corpus::new(&tokens(&["İ", "stan", "bul", "ß"]), false);
        assert_eq!(corpus.find("bul"), [2..3]);
        assert_eq!(corpus.find("ulß"), [2..4]);
    }

    #[test]
    fn without_texts_roles_and_indices_are_found() {
        let plan = plan(64, 16);
        assert_eq!(of_roles(&plan.stream, "Need"), [10..13]);
        assert_eq!(of_roles(&plan.stream, "e"), [10..13]);
        assert_eq!(of_roles(&plan.stream, "ha"), [0..10, 13..64]);
        assert!(of_roles(&plan.stream, "").is_empty());
        assert_eq!((of_index("#12", 64), of_index("#64", 64), of_index("12", 64)), (Some(12), None, None));
    }

    #[test]
    fn enter_goes_round_in_both_directions() {
        let plan = plan(64, 16);
        let mut search = Search { text: "t1".to_owned(), open: true, ..Search::default() };
        search.find(&plan);
        // t1, t10 to t19.
        assert_eq!((search.found().len(), search.words().as_str()), (11, "11 matches"));
        let mut commands = Vec::new();
        for forwards in [true, true, false, false] {
            search.go(forwards, &mut commands);
        }
        let groups: Vec<Vec<usize>> = commands
            .iter()
            .map(|c| match c {
                Command::View(ViewCommand::Group(writes)) => writes.to_vec(),
                other => panic!("{other:?}"),
            })
            .collect();
        assert_eq!(groups, [vec![1], vec![10], vec![1], vec![19]]);
        assert_eq!(search.words(), "match 11 of 11");
    }
}
