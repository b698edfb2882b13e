//! Names that are too long for their place, cut so that they stay apart: in the middle where their ends are what tells them apart.

/// What stands for what was cut out.
const MARK: char = '…';

/// `names` where each may be as wide as `room`, by the widths of their characters. What is too long is cut at its end; where one name goes on
/// where another ends (a branch's), or two would read alike, it is cut in its middle, to a beginning and as many whole words of its end as fit;
/// and where two still read alike, more of the ends is shown, and then words are cut too. Where nothing helps, the first of these.
#[must_use]
pub fn names(names: &[&str], room: f32, width: &dyn Fn(char) -> f32) -> Vec<String> {
    let wide = |text: &str| text.chars().map(width).sum::<f32>();
    if names.iter().all(|n| wide(n) <= room) {
        return names.iter().map(|n| (*n).to_owned()).collect();
    }
    let goes_on = |(i, a): (usize, &&str)| names.iter().enumerate().any(|(j, b)| i != j && a.starts_with(b));
    let first = if names.iter().enumerate().any(goes_on) { (0.75, true) } else { (0.0, false) };
    let ways = [first, (0.75, true), (1.0, true), (0.75, false), (1.0, false), (0.0, false)];
    let cut =
        |way| -> Vec<String> { names.iter().map(|n| if wide(n) <= room { (*n).to_owned() } else { one(n, room, width, way) }).collect() };
    let apart = |cut: &Vec<String>| cut.iter().enumerate().all(|(i, a)| cut[..i].iter().all(|b| a != b));
    ways.into_iter().map(cut).find(apart).unwrap_or_else(|| cut(first))
}

/// One name, with at most the part `share` of the room for its end, in whole words or not.
fn one(name: &str, room: f32, width: &dyn Fn(char) -> f32, (share, whole): (f32, bool)) -> String {
    let chars: Vec<char> = name.chars().collect();
    let free = (room - width(MARK)).max(0.0);
    let mut start = chars.len();
    let mut taken = 0.0;
    while start > 0 && taken + width(chars[start - 1]) <= free * share {
        start -= 1;
        taken += width(chars[start]);
    }
    if whole {
        // Forwards to where a word begins; a single word that does not fit is cut after all.
        let begins = |at: usize| at == 0 || (chars[at - 1] == ' ' && chars[at] != ' ');
        start = (start..chars.len()).find(|at| begins(*at)).unwrap_or(start);
    }
    let end: String = chars[start..].iter().collect();
    let mut left = free - end.chars().map(width).sum::<f32>();
    let beginning: String = chars[..start]
        .iter()
        .take_while(|c| {
            left -= width(**c);
            left >= 0.0
        })
        .collect();
    if end.is_empty() {
        return format!("{beginning}{MARK}");
    }
    format!("{}{MARK}{}", beginning.trim_end_matches([' ', '·']), end.trim_start())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cut(all: &[&str], room: f32) -> Vec<String> {
        names(all, room, &|_| 1.0)
    }

    #[test]
    fn what_fits_stays_and_what_is_cut_shows_its_end_in_whole_words() {
        assert_eq!(cut(&["LoLA", "OVQ"], 4.0), ["LoLA", "OVQ"]);
        assert_eq!(cut(&["LoLA", "OVQ 256"], 5.0), ["LoLA", "OVQ …"], "told apart by its beginning");
        assert_eq!(cut(&["OVQ 512", "OVQ 256"], 5.0), ["O…512", "O…256"]);
        assert_eq!(cut(&["LoLA", "LoLA · evict 702 @ 24"], 14.0), ["LoLA", "LoLA…702 @ 24"]);
    }

    #[test]
    fn names_that_would_read_alike_show_more_of_their_ends() {
        // Three quarters of nine are "@ 24" in whole words: both branches would read "LoLA…@ 24".
        let found = cut(&["LoLA · evict 702 @ 24", "LoLA · evict 711 @ 24"], 10.0);
        assert_eq!(found, ["L…702 @ 24", "L…711 @ 24"]);
        // Of one word, and of what only the beginning tells apart.
        assert_eq!(cut(&["abcdefghij1", "abcdefghij2"], 6.0), ["ab…ij1", "ab…ij2"]);
        assert_eq!(cut(&["1abcdefghij", "2abcdefghij"], 6.0), ["1abcd…", "2abcd…"]);
    }

    #[test]
    fn nothing_is_wider_than_its_room() {
        for room in [1.0, 2.0, 5.0, 9.0, 13.0, 20.0] {
            for name in cut(&["LoLA · evict 702 @ 24 · forget @ 30", "LoLA · evict 702 @ 24", "é · ü"], room) {
                assert!(name.chars().count() as f32 <= room, "{name} in {room}");
            }
        }
    }
}
