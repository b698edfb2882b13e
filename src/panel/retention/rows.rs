//! The rows of the retention map: which followed token is on which, in the orders that there are. No drawing.

use crate::metric::retention::RetentionMap;
use crate::stream::Stream;

/// The order of the rows, from the top.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum Order {
    /// By role, the marked one first and widened where it has few tokens; within a role by position.
    #[default]
    Role,
    /// By position in the stream.
    Position,
    /// By the error at the last step known, mean of the lanes; the smallest first.
    Error,
}

impl Order {
    /// All, in the order of the menu.
    pub const ALL: [Self; 3] = [Self::Role, Self::Position, Self::Error];

    /// The name on screen.
    #[must_use]
    pub fn title(self) -> &'static str {
        match self {
            Self::Role => "by role",
            Self::Position => "by position",
            Self::Error => "by final error",
        }
    }
}

/// The rows of a map, from the top.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Rows {
    /// The number of the followed token on each row; a token may have several rows, one below the other.
    pub tokens: Vec<usize>,
    /// Where one role ends and the next begins: rows above the border.
    pub borders: Vec<usize>,
    /// Whether each row is of the marked role.
    pub marked: Vec<bool>,
}

impl Rows {
    /// The rows for the followed tokens of a map, in an order.
    #[must_use]
    pub fn new(stream: &Stream, map: &RetentionMap, head: usize, order: Order) -> Self {
        let followed = map.probes().tokens();
        let roles = &stream.labels().roles;
        let role = |token: usize| roles.of_write.get(followed[token]).copied().unwrap_or_default();
        let is_marked = |token: usize| roles.marked.is_some() && Some(role(token)) == roles.marked;
        let mut numbers: Vec<usize> = (0..followed.len()).collect();
        let mut rows = Self::default();
        match order {
            Order::Position => {}
            Order::Error => {
                let errors: Vec<f32> = numbers.iter().map(|&t| final_error(map, head, t)).collect();
                numbers.sort_by(|&a, &b| errors[a].total_cmp(&errors[b]));
            }
            Order::Role => numbers.sort_by_key(|&t| (!is_marked(t), role(t))),
        }
        let each = if order == Order::Role { widened(numbers.iter().filter(|&&t| is_marked(t)).count(), numbers.len()) } else { 1 };
        for (i, &token) in numbers.iter().enumerate() {
            if order == Order::Role && i > 0 && role(token) != role(numbers[i - 1]) {
                rows.borders.push(rows.tokens.len());
            }
            let n = if is_marked(token) { each } else { 1 };
            rows.tokens.extend(std::iter::repeat_n(token, n));
            rows.marked.extend(std::iter::repeat_n(is_marked(token), n));
        }
        rows
    }

    /// The rows of a followed token.
    #[must_use]
    pub fn of(&self, token: usize) -> Option<std::ops::Range<usize>> {
        let start = self.tokens.iter().position(|&t| t == token)?;
        Some(start..start + self.tokens[start..].iter().take_while(|&&t| t == token).count())
    }

    /// The stretches of rows of the marked role.
    #[must_use]
    pub fn marked_stretches(&self) -> Vec<std::ops::Range<usize>> {
        let mut out: Vec<std::ops::Range<usize>> = Vec::new();
        for row in (0..self.marked.len()).filter(|&r| self.marked[r]) {
            match out.last_mut() {
                Some(last) if last.end == row => last.end += 1,
                _ => out.push(row..row + 1),
            }
        }
        out
    }
}

/// Rows for each token of the marked role, so that `marked` of `all` tokens have a third of all rows or more.
fn widened(marked: usize, all: usize) -> usize {
    let others = all - marked;
    if marked == 0 { 1 } else { others.div_ceil(2 * marked).max(1) }
}

/// The error of a followed token at the last step known, mean of the lanes that have one; those without come last.
fn final_error(map: &RetentionMap, head: usize, token: usize) -> f32 {
    let mut errors = Vec::new();
    for lane in 0.. {
        let Some(last) = map.done(lane).checked_sub(1) else { break };
        errors.extend(map.error(lane, head, last, token).map(|e| e.min(1.0)));
    }
    if errors.is_empty() { f32::INFINITY } else { errors.iter().sum::<f32>() / errors.len() as f32 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_few_marked_tokens_have_a_third_of_the_rows() {
        assert_eq!((widened(8, 96), widened(0, 5), widened(40, 50)), (6, 1, 1));
        // 8 x 6 of 88 + 48 rows.
        assert!(8 * widened(8, 96) * 3 >= 88 + 48);
    }

    #[test]
    fn stretches_of_marked_rows_are_joined() {
        let rows = Rows { tokens: vec![0, 0, 1, 2, 3], borders: vec![], marked: vec![true, true, false, true, false] };
        assert_eq!(rows.marked_stretches(), [0..2, 3..4]);
        assert_eq!((rows.of(0), rows.of(3), rows.of(9)), (Some(0..2), Some(4..5), None));
    }
}
