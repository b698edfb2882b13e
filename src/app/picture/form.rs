//! The window's questions before a picture: what of, in which format, how large, from which step to which.

use eframe::egui::{self, ComboBox, DragValue, Grid, Id, Modal, RichText, Ui};

use super::film::{FPS, Reel};
use super::{FIGURE, Subject};
use crate::panel::PANELS;
use crate::panel::common::plural;

/// Points of a figure, either way.
const SIDES: std::ops::RangeInclusive<u32> = 200..=4000;

/// What a picture becomes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// A still, in pixels.
    Png,
    /// A still, as vectors.
    Svg,
    /// An animation in one file.
    Apng,
    /// An animation as a folder of stills.
    Frames,
}

/// What is wanted.
#[derive(Debug, Clone, PartialEq)]
pub struct Order {
    /// What it is of.
    pub subject: Subject,
    /// What it becomes.
    pub format: Format,
    /// Pixels a point.
    pub scale: f32,
    /// A panel's theme. The window has its own.
    pub dark: bool,
    /// A panel's width and height in points.
    pub size: [u32; 2],
    /// The steps of an animation.
    pub reel: Reel,
    /// Its frames a second.
    pub fps: f32,
}

impl Order {
    /// A still, as it is asked for at first.
    #[must_use]
    pub fn still(subject: Subject, dark: bool, steps: usize) -> Self {
        let reel = Reel { from: 0, to: steps, every: steps.div_ceil(200).max(1) };
        // A figure is for paper; a picture of the window is of the window.
        let dark = dark && subject == Subject::Window;
        Self { subject, format: Format::Png, scale: 2.0, dark, size: FIGURE, reel, fps: 8.0 }
    }

    /// True for an animation.
    #[must_use]
    pub fn moves(&self) -> bool {
        matches!(self.format, Format::Apng | Format::Frames)
    }
}

/// What was pressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pressed {
    /// It is as wanted; where to is asked for in a dialog of the system.
    Export,
    /// It is as wanted; where to is typed, in a field of our own.
    ExportToPath,
    /// It is given up.
    Cancel,
}

/// Asks how `order` is to be; what was pressed, once something was.
pub fn ui(ctx: &egui::Context, order: &mut Order, steps: usize) -> Option<Pressed> {
    let mut answer = None;
    let modal = Modal::new(Id::unique("picture")).show(ctx, |ui| {
        ui.set_width(360.0);
        ui.label(RichText::new(if order.moves() { "Export an animation" } else { "Export a picture" }).heading().strong());
        ui.add_space(6.0);
        Grid::new("order").num_columns(2).spacing([12.0, 6.0]).show(ui, |ui| fields(ui, order, steps));
        ui.add_space(8.0);
        ui.weak(words(order));
        ui.add_space(8.0);
        ui.horizontal(|ui| {
            for (word, hint, pressed) in [
                ("Export…", "Ask the system where to", Pressed::Export),
                ("Export to path…", "Type or paste where to", Pressed::ExportToPath),
            ] {
                if ui.button(word).on_hover_text(hint).clicked() {
                    answer = Some(pressed);
                }
            }
            if ui.button("Cancel").clicked() {
                answer = Some(Pressed::Cancel);
            }
        });
    });
    if modal.should_close() && answer.is_none() {
        answer = Some(Pressed::Cancel);
    }
    answer
}

fn fields(ui: &mut Ui, order: &mut Order, steps: usize) {
    ui.label("Picture of");
    let title = |subject: Subject| if subject == Subject::Window { "The window" } else { subject.title() };
    let subjects = ComboBox::from_id_salt("picture of").selected_text(title(order.subject)).width(180.0);
    let shown = subjects.show_ui(ui, |ui| {
        let panels = PANELS.iter().map(|p| Subject::Panel(p.name));
        for subject in std::iter::once(Subject::Window).chain(panels) {
            ui.selectable_value(&mut order.subject, subject, title(subject));
        }
    });
    shown.response.accessible_name("Picture of");
    ui.end_row();
    ui.label("Format");
    ui.horizontal(|ui| {
        let formats = if order.moves() {
            [(Format::Apng, "One file (APNG)"), (Format::Frames, "Numbered PNGs")]
        } else {
            [(Format::Png, "PNG"), (Format::Svg, "SVG")]
        };
        for (format, name) in formats {
            ui.radio_value(&mut order.format, format, name);
        }
    });
    ui.end_row();
    if order.format != Format::Svg {
        ui.label("Pixels a point");
        ui.horizontal(|ui| {
            for scale in [1.0, 2.0, 3.0, 4.0] {
                ui.radio_value(&mut order.scale, scale, format!("{scale}"));
            }
        });
        ui.end_row();
    }
    if let Subject::Panel(_) = order.subject {
        ui.label("Size in points");
        ui.horizontal(|ui| {
            let [wide, high] = &mut order.size;
            ui.add(DragValue::new(wide).range(SIDES)).accessible_name("Width in points");
            ui.label("×");
            ui.add(DragValue::new(high).range(SIDES)).accessible_name("Height in points");
        });
        ui.end_row();
        ui.label("Theme");
        ui.horizontal(|ui| {
            ui.radio_value(&mut order.dark, false, "Light");
            ui.radio_value(&mut order.dark, true, "Dark");
        });
        ui.end_row();
    }
    if order.moves() {
        moments(ui, order, steps);
    }
}

fn moments(ui: &mut Ui, order: &mut Order, steps: usize) {
    let Order { reel, fps, .. } = order;
    ui.label("Steps");
    ui.horizontal(|ui| {
        ui.add(DragValue::new(&mut reel.from).range(0..=reel.to)).accessible_name("The first frame's step");
        ui.label("to");
        ui.add(DragValue::new(&mut reel.to).range(reel.from..=steps)).accessible_name("The last frame's step");
        ui.label("every");
        ui.add(DragValue::new(&mut reel.every).range(1..=steps.max(1))).accessible_name("Steps from one frame to the next");
    });
    ui.end_row();
    ui.label("Frames a second");
    ui.add(DragValue::new(fps).range(FPS).speed(0.1)).accessible_name("Frames a second");
    ui.end_row();
}

/// What will come of it, in a sentence.
fn words(order: &Order) -> String {
    let frames = order.reel.steps().len();
    match order.format {
        Format::Svg => "Vector marks and real text, with the caption, the step and the session's hash in the file.".to_owned(),
        Format::Png => "With the caption, the step and the session's hash in the file.".to_owned(),
        Format::Apng | Format::Frames => format!(
            "{}, {:.1} s. It is drawn beside the window, which stays free; panels are as they are at first.",
            plural(frames, "frame", "frames"),
            frames as f32 / order.fps
        ),
    }
}
