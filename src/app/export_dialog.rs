//! What of a run is exported, how, and where: asked for in one dialog.

use std::path::PathBuf;

use eframe::egui::{self, DragValue, Key, Label, RichText, TextEdit, Ui};

use crate::engine::RunId;
use crate::export::{ArrayFormats, Request, TableFormats, Writes};

/// Which writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum What {
    /// All.
    All,
    /// Those of a stretch of the timeline.
    Range,
    /// Those that are selected.
    Selected,
}

/// What is asked for, as the dialog stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExportForm {
    /// The run that it is about.
    pub run: RunId,
    /// Writes of the stream.
    pub total: usize,
    /// Which writes.
    pub what: What,
    /// The first write of a stretch.
    pub from: usize,
    /// The end of a stretch: the first write that is not in it.
    pub to: usize,
    /// The tokens that are selected.
    pub selected: Vec<usize>,
    /// The lanes by name, and whether each is wanted.
    pub lanes: Vec<(String, bool)>,
    /// Formats of arrays.
    pub arrays: ArrayFormats,
    /// Formats of tables.
    pub tables: TableFormats,
    /// The folder, as typed or chosen.
    pub folder: String,
    /// True until the field of the folder has been given the focus.
    pub fresh: bool,
}

/// What was pressed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Pressed {
    /// The button that asks the system for a folder.
    Choose,
    /// Export, with this request, into this folder.
    Export(Request, PathBuf),
    /// Cancel.
    Cancel,
}

impl ExportForm {
    /// The request, or why there is none.
    ///
    /// # Errors
    /// A sentence on what is missing.
    pub fn request(&self) -> Result<Request, &'static str> {
        let lanes: Vec<usize> = (0..self.lanes.len()).filter(|l| self.lanes[*l].1).collect();
        let writes = match self.what {
            What::All => Writes::All,
            What::Range if self.from < self.to && self.to <= self.total => Writes::Range(self.from..self.to),
            What::Range => return Err("The first write must be below the last."),
            What::Selected if self.selected.is_empty() => return Err("No token is selected."),
            What::Selected => Writes::Tokens(self.selected.clone()),
        };
        if lanes.is_empty() {
            return Err("No lane is chosen.");
        }
        if !self.arrays.npz && !self.arrays.safetensors && self.tables.endings().is_empty() {
            return Err("No format is chosen.");
        }
        let lanes = (lanes.len() < self.lanes.len()).then_some(lanes);
        Ok(Request { lanes, writes, arrays: self.arrays, tables: self.tables })
    }

    /// Draws the dialog.
    pub fn ui(&mut self, ui: &mut Ui) -> Option<Pressed> {
        ui.label(RichText::new("Export the trace").heading().strong());
        ui.add_space(6.0);
        self.what(ui);
        ui.add_space(6.0);
        if self.lanes.len() > 1 {
            ui.horizontal_wrapped(|ui| {
                ui.label("Lanes");
                for (name, wanted) in &mut self.lanes {
                    ui.checkbox(wanted, name.as_str());
                }
            });
            ui.add_space(6.0);
        }
        ui.horizontal_wrapped(|ui| {
            ui.label("Arrays");
            ui.checkbox(&mut self.arrays.npz, "NPZ").on_hover_text("trace.npz, for numpy.load");
            ui.checkbox(&mut self.arrays.safetensors, "safetensors").on_hover_text("trace.safetensors, which can be mapped into memory");
        });
        ui.horizontal_wrapped(|ui| {
            ui.label("Tables");
            ui.checkbox(&mut self.tables.csv, "CSV");
            ui.checkbox(&mut self.tables.jsonl, "JSON Lines");
            ui.checkbox(&mut self.tables.parquet, "Parquet");
        });
        ui.add_space(6.0);
        self.place(ui)
    }

    fn what(&mut self, ui: &mut Ui) {
        ui.radio_value(&mut self.what, What::All, format!("The whole run: {} writes", self.total));
        ui.horizontal_wrapped(|ui| {
            ui.radio_value(&mut self.what, What::Range, "Part of the timeline: the writes from");
            let from = ui.add(DragValue::new(&mut self.from).range(0..=self.total.saturating_sub(1)));
            let from = from.accessible_name("First write");
            ui.label("up to, and without,");
            let to = ui.add(DragValue::new(&mut self.to).range(1..=self.total)).accessible_name("End of the writes");
            if from.changed() || to.changed() {
                self.what = What::Range;
            }
        });
        let words = match self.selected.len() {
            0 => "The selected tokens (none is selected)".to_owned(),
            1 => format!("The selected token, {}", self.selected[0]),
            count => format!("The {count} selected tokens"),
        };
        ui.add_enabled_ui(!self.selected.is_empty(), |ui| ui.radio_value(&mut self.what, What::Selected, words));
        let cut = match self.what {
            What::All => "Every write, read and step.",
            What::Range => "With the reads whose newest visible write is one of these, and of each lane the chunks that hold one.",
            What::Selected => {
                "With the reads whose newest visible write is one of these, the chunks that hold one, and their stays in caches."
            }
        };
        ui.add(Label::new(RichText::new(cut).weak().small()).wrap());
    }

    fn place(&mut self, ui: &mut Ui) -> Option<Pressed> {
        let mut pressed = None;
        let field = ui
            .horizontal(|ui| {
                let label = ui.label("Folder");
                if ui.button("Choose…").on_hover_text("Ask the system for a folder").clicked() {
                    pressed = Some(Pressed::Choose);
                }
                let field = TextEdit::singleline(&mut self.folder).desired_width(f32::INFINITY).hint_text("path");
                ui.add(field).labelled_by(label.id)
            })
            .inner;
        if std::mem::take(&mut self.fresh) {
            field.request_focus();
        }
        let note = "README.md in it says what every name means. A trace that is there already is replaced as a whole.";
        ui.add(Label::new(RichText::new(note).weak().small()).wrap());
        ui.add_space(8.0);
        let entered = field.lost_focus() && ui.input(|i| i.key_pressed(Key::Enter));
        let (request, folder) = (self.request(), self.folder.trim());
        let why_not = request.as_ref().err().copied().or(folder.is_empty().then_some("No folder is given."));
        ui.horizontal_wrapped(|ui| {
            let able = ui.add_enabled(why_not.is_none(), egui::Button::new("Export"));
            if (able.clicked() || entered)
                && let (Ok(request), None) = (&request, why_not)
            {
                pressed = Some(Pressed::Export(request.clone(), PathBuf::from(folder)));
            }
            if ui.button("Cancel").clicked() {
                pressed = Some(Pressed::Cancel);
            }
            if let Some(why) = why_not {
                ui.label(RichText::new(why).weak());
            }
        });
        pressed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn form() -> ExportForm {
        ExportForm {
            run: 1,
            total: 100,
            what: What::All,
            from: 10,
            to: 20,
            selected: vec![3, 5],
            lanes: vec![("a".to_owned(), true), ("b".to_owned(), true)],
            arrays: ArrayFormats { npz: true, safetensors: false },
            tables: TableFormats::default(),
            folder: String::new(),
            fresh: true,
        }
    }

    #[test]
    fn the_form_is_a_request_or_a_reason() {
        let all = form();
        assert_eq!(all.request(), Ok(Request { tables: TableFormats::default(), ..Request::default() }));
        let range = ExportForm { what: What::Range, lanes: vec![("a".to_owned(), false), ("b".to_owned(), true)], ..form() };
        let request = range.request().unwrap();
        assert_eq!((request.writes, request.lanes), (Writes::Range(10..20), Some(vec![1])));
        assert_eq!(ExportForm { what: What::Selected, ..form() }.request().unwrap().writes, Writes::Tokens(vec![3, 5]));
        let reason = |form: ExportForm| form.request().unwrap_err();
        assert_eq!(reason(ExportForm { what: What::Range, from: 20, ..form() }), "The first write must be below the last.");
        assert_eq!(reason(ExportForm { what: What::Selected, selected: Vec::new(), ..form() }), "No token is selected.");
        assert_eq!(reason(ExportForm { lanes: vec![("a".to_owned(), false)], ..form() }), "No lane is chosen.");
        assert_eq!(reason(ExportForm { arrays: ArrayFormats::default(), ..form() }), "No format is chosen.");
    }
}
