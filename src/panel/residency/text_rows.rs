//! A stream's text cut into rows of a width: where each token stands. No drawing, no memory.

use std::collections::HashMap;
use std::ops::Range;

use crate::stream::Stream;

/// Room within a token's box, left and right of its letters.
pub(super) const PAD: f32 = 1.5;
/// Room between two boxes.
const GAP: f32 = 1.5;

/// The letters that stand for a token: what cannot be seen is shown by a sign. Its number, where tokens have no text.
pub(super) fn shown(stream: &Stream, write: usize) -> String {
    match stream.labels().tokens.as_ref().and_then(|t| t.get(write)) {
        Some(text) if !text.is_empty() => text.chars().map(seen).collect(),
        Some(_) => "·".to_owned(),
        None => write.to_string(),
    }
}

/// What is drawn for a character.
fn seen(c: char) -> char {
    match c {
        '\n' => '¶',
        '\t' => '»',
        c if c.is_control() => '·',
        c => c,
    }
}

/// Where each token of a stream stands.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Rows {
    /// The first token of each row, and at the end the number of tokens.
    starts: Vec<u32>,
    /// Each token's left and right edge.
    edges: Vec<[f32; 2]>,
}

impl Rows {
    /// Cuts a stream into rows of `width` points; `glyph` says how wide a character is. A token with a line end ends its row.
    pub(super) fn new(stream: &Stream, width: f32, mut glyph: impl FnMut(char) -> f32) -> Self {
        // Nearly all characters are among the first 128, and a long stream has hundreds of thousands.
        let plain: Vec<f32> = (0..128_u8).map(|c| glyph(seen(char::from(c)))).collect();
        let mut known: HashMap<char, f32> = HashMap::new();
        let mut wide = |c: char| match plain.get(c as usize) {
            Some(width) => *width,
            None => *known.entry(c).or_insert_with(|| glyph(c)),
        };
        let texts = stream.labels().tokens.as_ref();
        let (mut starts, mut edges) = (vec![0], Vec::with_capacity(stream.writes()));
        let (mut left, mut ended) = (0.0_f32, false);
        for write in 0..stream.writes() {
            let letters: f32 = match texts.and_then(|t| t.get(write)) {
                Some(text) if !text.is_empty() => text.chars().map(|c| wide(if c.is_ascii() { c } else { seen(c) })).sum(),
                Some(_) => wide('·'),
                None => write.to_string().chars().map(&mut wide).sum(),
            };
            let room = letters + 2.0 * PAD;
            if ended || (left > 0.0 && left + room > width) {
                starts.push(write as u32);
                left = 0.0;
            }
            edges.push([left, left + room]);
            left += room + GAP;
            ended = texts.and_then(|t| t.get(write)).is_some_and(|t| t.contains('\n'));
        }
        starts.push(stream.writes() as u32);
        Self { starts, edges }
    }

    /// How many rows there are.
    pub(super) fn len(&self) -> usize {
        self.starts.len().saturating_sub(1)
    }

    /// The tokens of a row.
    pub(super) fn tokens(&self, row: usize) -> Range<usize> {
        let at = |i: usize| self.starts.get(i).map_or(0, |s| *s as usize);
        at(row)..at(row + 1).max(at(row))
    }

    /// The row of a token.
    pub(super) fn row_of(&self, write: usize) -> usize {
        self.starts.partition_point(|s| *s as usize <= write).saturating_sub(1).min(self.len().saturating_sub(1))
    }

    /// A token's left and right edge.
    pub(super) fn edges(&self, write: usize) -> [f32; 2] {
        self.edges.get(write).copied().unwrap_or_default()
    }

    /// The token of a row at `x`, if there is one.
    pub(super) fn at(&self, row: usize, x: f32) -> Option<usize> {
        let tokens = self.tokens(row);
        let found = tokens.start + self.edges.get(tokens.clone())?.partition_point(|[_, right]| *right < x);
        (tokens.contains(&found) && self.edges(found)[0] <= x).then_some(found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::panel::common::testing::blank;
    use crate::stream::Labels;
    use proptest::prelude::*;

    fn stream(texts: Option<&[&str]>, writes: usize) -> Stream {
        blank(writes, Labels { tokens: texts.map(|t| t.iter().map(|&t| t.to_owned()).collect()), ..Labels::default() })
    }

    #[test]
    fn rows_end_where_there_is_no_room_and_after_a_line_end() {
        // Ten points a letter and 3 for the box: 33, 23, 13 wide, with 1.5 between them.
        let rows = Rows::new(&stream(Some(&["abc", "de", "f", "\n", "", "abcdefghij"]), 6), 75.0, |_| 10.0);
        assert_eq!((0..rows.len()).map(|r| rows.tokens(r)).collect::<Vec<_>>(), [0..3, 3..4, 4..5, 5..6]);
        assert_eq!((rows.edges(0), rows.edges(1)), ([0.0, 33.0], [34.5, 57.5]));
        assert_eq!([10.0, 34.0, 40.0, 200.0].map(|x| rows.at(0, x)), [Some(0), None, Some(1), None]);
        assert_eq!([0, 2, 3, 5].map(|w| rows.row_of(w)), [0, 0, 1, 3]);
        assert_eq!(shown(&stream(None, 3), 2), "2");
        assert_eq!(shown(&stream(Some(&["a\n", "\u{1b}"]), 2), 0), "a¶");
    }

    proptest! {
        #[test]
        fn every_token_is_in_one_row_and_found_where_it_stands(lengths in proptest::collection::vec(0_usize..9, 1..60), width in 5.0_f32..200.0) {
            let texts: Vec<String> = lengths.iter().map(|n| "x".repeat(*n)).collect();
            let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
            let rows = Rows::new(&stream(Some(&texts), texts.len()), width, |_| 7.0);
            let all: Vec<usize> = (0..rows.len()).flat_map(|r| rows.tokens(r)).collect();
            prop_assert_eq!(all, (0..texts.len()).collect::<Vec<_>>());
            for write in 0..texts.len() {
                let [left, right] = rows.edges(write);
                prop_assert_eq!(rows.at(rows.row_of(write), f32::midpoint(left, right)), Some(write));
                prop_assert!(right <= width || left == 0.0);
            }
        }
    }
}
