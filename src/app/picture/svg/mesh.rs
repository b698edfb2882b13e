//! Meshes: triangles in one colour as one path, squares of a texture as pictures or as the marks that they show.

use eframe::egui::epaint::{Mesh, Vertex};
use eframe::egui::{Color32, Pos2, Rect, TextureId};

use super::painted;
use super::pen::Pen;
use super::shapes::point;

impl Pen<'_> {
    pub(super) fn mesh(&mut self, mesh: &Mesh) {
        if mesh.texture_id == TextureId::default() {
            self.triangles(mesh);
            return;
        }
        let quads: Vec<[&Vertex; 6]> = mesh
            .indices
            .chunks_exact(6)
            .filter_map(|six| {
                let all: Vec<&Vertex> = six.iter().filter_map(|i| mesh.vertices.get(*i as usize)).collect();
                <[&Vertex; 6]>::try_from(all).ok()
            })
            .collect();
        let many = quads.len() > 1;
        for quad in quads {
            let rect = Rect::from_points(&quad.map(|v| v.pos));
            let uv = Rect::from_points(&quad.map(|v| v.uv));
            let tint = quad[0].color;
            if self.mark(mesh.texture_id, uv, rect, tint) {
                continue;
            }
            if many {
                self.stamp(mesh.texture_id, uv, rect, tint);
            } else {
                self.picture(mesh.texture_id, uv, rect, tint);
            }
        }
    }

    /// Triangles one after the other in one colour are one path, so that no seams are seen between them. One with a colour at each corner
    /// has their mean.
    fn triangles(&mut self, mesh: &Mesh) {
        let mut held: Option<(Color32, String)> = None;
        for three in mesh.indices.chunks_exact(3) {
            let corner = |i: usize| mesh.vertices.get(three[i] as usize).copied();
            let (Some(a), Some(mut b), Some(mut c)) = (corner(0), corner(1), corner(2)) else { continue };
            let colour = mean([a.color, b.color, c.color]);
            // All the same way round: an edge that two triangles share cancels out.
            if area(a.pos, b.pos, c.pos) < 0.0 {
                std::mem::swap(&mut b, &mut c);
            }
            let path = format!("M{}L{}L{}Z", point(a.pos), point(b.pos), point(c.pos));
            match &mut held {
                Some((same, d)) if *same == colour => *d += &path,
                _ => {
                    self.filled(held.replace((colour, path)));
                }
            }
        }
        self.filled(held);
    }

    fn filled(&mut self, path: Option<(Color32, String)>) {
        if let Some((colour, d)) = path.filter(|(colour, _)| *colour != Color32::TRANSPARENT) {
            self.body += &format!("<path d=\"{d}\"{}/>\n", painted("fill", colour));
        }
    }
}

fn area(a: Pos2, b: Pos2, c: Pos2) -> f32 {
    (b.x - a.x) * (c.y - a.y) - (c.x - a.x) * (b.y - a.y)
}

fn mean(colours: [Color32; 3]) -> Color32 {
    let part = |of: fn(&Color32) -> u8| (colours.iter().map(|c| u32::from(of(c))).sum::<u32>() / 3) as u8;
    if colours[0] == colours[1] && colours[1] == colours[2] {
        return colours[0];
    }
    Color32::from_rgba_premultiplied(part(Color32::r), part(Color32::g), part(Color32::b), part(Color32::a))
}
