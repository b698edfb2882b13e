//! Draws an equation: lines that break where they may, terms that answer the pointer, words with links.

use std::sync::Arc;

use eframe::egui::{Align, Color32, CursorIcon, Id, Label, Layout, Rect, RichText, Role, Sense, Ui, WidgetInfo, pos2, vec2};

use super::equation::{Equation, Piece};
use crate::app::command::{Command, ViewCommand, WindowCommand};
use crate::panel::PANELS;
use crate::panel::common::link;
use crate::widget::cached::{Cached, Letters, is_told};
use crate::widget::math::{Laid, Math};
use crate::widget::palette::{Ink, blend};

/// The size of the letters of an equation.
const SIZE: f32 = 14.0;
/// How far the lines after the first stand in.
const INDENT: f32 = 18.0;

/// The lines of the equations, laid out: kept while they and the letters stay the same.
#[derive(Debug, Default)]
pub struct Drawn {
    number: u64,
    letters: Option<(Color32, Letters)>,
    equations: Vec<Vec<Line>>,
}

/// A line laid out, and the rows that its pieces make in a width.
#[derive(Debug)]
pub struct Line {
    math: Arc<Math>,
    pieces: Vec<Laid>,
    rows: Cached<u32, Vec<Row>>,
}

impl Line {
    /// A line; what `old`, in its place, had the same is taken from it.
    fn new(ui: &Ui, math: &Arc<Math>, colour: Color32, mut old: Option<Self>) -> Self {
        let lay = |(place, piece): (usize, &[Math])| match &mut old {
            Some(old) if old.math.pieces().nth(place) == Some(piece) => std::mem::take(&mut old.pieces[place]),
            _ => Math::layout_row(piece, ui, SIZE, colour),
        };
        let pieces = math.pieces().enumerate().map(lay).collect();
        Self { math: Arc::clone(math), pieces, rows: Cached::default() }
    }
}

/// The pieces of a row, and where each stands from the row's left end.
type Row = Vec<(usize, f32)>;

impl Drawn {
    /// The lines of `equations`, which are known by `number`: others have another.
    pub fn lines(&mut self, ui: &Ui, number: u64, equations: &[Equation]) -> &mut [Vec<Line>] {
        let colour = Ink::of(ui).text;
        let letters = Some((colour, Letters::of(ui)));
        if self.letters != letters {
            *self = Self { letters, ..Self::default() };
        }
        // Equations are numbered from 1 on.
        if self.number != number {
            self.number = number;
            let mut old = std::mem::take(&mut self.equations).into_iter();
            self.equations = equations
                .iter()
                .map(|equation| {
                    let mut old = old.next().into_iter().flatten();
                    equation.lines.iter().map(|math| Line::new(ui, math, colour, old.next())).collect()
                })
                .collect();
        }
        &mut self.equations
    }
}

/// Draws an equation, number `place` of the panel's, into the next rows of `ui`.
pub fn equation(ui: &mut Ui, place: usize, equation: &Equation, lines: &mut [Line], commands: &mut Vec<Command>) {
    if place > 0 {
        ui.add_space(8.0);
    }
    let response = ui.add(Label::new(RichText::new(&equation.heading).strong()).wrap());
    response.widget_info(|| WidgetInfo::labeled(Role::Label, true, equation.plain()));
    for (number, line) in lines.iter_mut().enumerate() {
        draw_line(ui, (place, number), line, equation, commands);
    }
    for pieces in &equation.words {
        sentence(ui, pieces, commands);
    }
}

/// A sentence with links in it.
pub fn sentence(ui: &mut Ui, pieces: &[Piece], commands: &mut Vec<Command>) {
    let high = std::mem::replace(&mut ui.spacing_mut().interact_size.y, 14.0);
    ui.horizontal_wrapped(|ui| {
        ui.spacing_mut().item_spacing = vec2(0.0, 1.0);
        for piece in pieces {
            match piece {
                Piece::Words(words) => drop(ui.label(RichText::new(words).small())),
                Piece::Link(name, subject) => drop(link(ui, RichText::new(name).small(), *subject, commands)),
            }
        }
    });
    ui.spacing_mut().interact_size.y = high;
}

/// The rows that the pieces of a line make in `width`: where each piece stands, from the left end of its row.
fn rows(pieces: &[Laid], width: f32) -> Vec<Row> {
    let mut rows: Vec<Row> = vec![Vec::new()];
    let mut x = 0.0;
    for (i, piece) in pieces.iter().enumerate() {
        if x + piece.width > width && rows.last().is_some_and(|r| !r.is_empty()) {
            rows.push(Vec::new());
            x = INDENT;
        }
        if let Some(row) = rows.last_mut() {
            row.push((i, x));
        }
        x += piece.width;
    }
    rows
}

fn draw_line(ui: &mut Ui, place: (usize, usize), line: &mut Line, equation: &Equation, commands: &mut Vec<Command>) {
    let ink = Ink::of(ui);
    let Line { pieces, rows: broken, .. } = line;
    let width = ui.available_width() - 10.0;
    let broken = broken.get(width.to_bits(), || rows(pieces, width));
    for (number, row) in broken.iter().enumerate() {
        let ascent = row.iter().map(|(i, _)| pieces[*i].ascent).fold(SIZE * 0.75, f32::max);
        let descent = row.iter().map(|(i, _)| pieces[*i].descent).fold(SIZE * 0.22, f32::max);
        let width = row.iter().map(|(i, x)| x + pieces[*i].width).fold(0.0, f32::max);
        let (rect, _) = ui.allocate_exact_size(vec2(width + 10.0, ascent + descent + 3.0), Sense::hover());
        let base = pos2(rect.left() + 8.0, rect.top() + 1.5 + ascent);
        for &(i, x) in row {
            let at = base + vec2(x, 0.0);
            for (n, (term, area)) in pieces[i].terms.iter().enumerate() {
                let id = ui.scope_id().with(("term", place, number, i, n));
                answer(ui, id, area.translate(at.to_vec2()), *term, equation, commands);
            }
            pieces[i].paint(ui.painter(), at, ink.text);
        }
    }
}

/// Marks a term under the pointer, tells what it is and shows its panel when it is clicked.
fn answer(ui: &Ui, id: Id, area: Rect, number: usize, equation: &Equation, commands: &mut Vec<Command>) {
    let Some(term) = equation.terms.get(number) else { return };
    let ink = Ink::of(ui);
    let panel = term.panel.and_then(|name| PANELS.iter().find(|p| p.name == name));
    let live = panel.is_some() || term.subject.is_some();
    let response = ui.interact(area.expand2(vec2(0.5, 1.0)), id, if live { Sense::click() } else { Sense::hover() });
    let role = if live { Role::Link } else { Role::Label };
    response.widget_info(|| WidgetInfo::labeled(role, true, format!("{}: {}", term.symbol, term.value)));
    if live {
        // A quiet line under what leads somewhere.
        let line = blend(ink.paper, ink.text, 0.35);
        ui.painter().hline(area.x_range(), area.bottom() + 1.0, eframe::egui::Stroke::new(0.8, line));
    }
    if response.hovered() {
        ui.painter().rect_filled(area.expand(1.5), 2.0, ui.visuals().selection.bg_fill);
    }
    if response.clicked() {
        commands.extend(term.subject.map(|s| Command::View(ViewCommand::Choose(s))));
        commands.extend(panel.map(|p| Command::Window(WindowCommand::ShowPanel(p.name))));
    }
    if !is_told(&response) {
        return;
    }
    let response = if live { response.on_hover_cursor(CursorIcon::PointingHand) } else { response };
    response.on_hover_ui(|ui| {
        ui.with_layout(Layout::top_down(Align::Min), |ui| {
            ui.label(RichText::new(format!("{} = {}", term.symbol, term.value)).strong());
            ui.label(&term.what);
            if let Some(panel) = panel {
                ui.label(RichText::new(format!("Click: the panel {}", panel.title)).color(Ink::of(ui).quiet));
            }
        });
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_broken_between_its_pieces_and_the_rest_stands_in() {
        let piece = Laid::of_width;
        let pieces = [piece(60.0), piece(50.0), piece(40.0), piece(300.0)];
        assert_eq!(rows(&pieces, 120.0), [vec![(0, 0.0), (1, 60.0)], vec![(2, INDENT)], vec![(3, INDENT)]]);
        assert_eq!(rows(&pieces[..1], 10.0), [vec![(0, 0.0)]], "what does not fit is drawn all the same");
    }
}
