//! A value kept for as long as what it was made from stays the same: how panels avoid redoing work every frame.

use std::sync::Arc;

use eframe::egui::{Color32, FontId, Galley, Response, Ui};

/// One value and the key it was made under.
#[derive(Debug, Clone)]
pub struct Cached<K, V> {
    held: Option<(K, V)>,
    made: usize,
}

impl<K, V> Default for Cached<K, V> {
    fn default() -> Self {
        Self { held: None, made: 0 }
    }
}

impl<K: PartialEq, V> Cached<K, V> {
    /// The value for `key`: the one held if the key is the same, else what `make` returns.
    pub fn get(&mut self, key: K, make: impl FnOnce() -> V) -> &V {
        match self.held.take() {
            Some(held) if held.0 == key => &self.held.insert(held).1,
            // The old value is gone by now: a texture frees its memory before the next one takes some.
            _ => {
                self.made += 1;
                &self.held.insert((key, make())).1
            }
        }
    }

    /// How often a value had to be made; for tests and the frame figures.
    #[must_use]
    pub fn made(&self) -> usize {
        self.made
    }
}

/// The picture that the window's letters are in, as a key for what has been laid out: that shows other letters, or none, once they are
/// drawn anew, in another size of pixels or because their picture was full.
#[derive(Debug, Clone)]
pub struct Letters(Arc<Galley>);

impl Letters {
    /// As they are now.
    #[must_use]
    pub fn of(ui: &Ui) -> Self {
        // What is laid out every frame is kept for just as long as its letters are.
        Self(ui.fonts_mut(|fonts| fonts.layout_no_wrap("x".to_owned(), FontId::proportional(11.0), Color32::PLACEHOLDER)))
    }
}

impl PartialEq for Letters {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

/// True while the pointer is over what a response is of, or its words are still shown: nothing has to be made for them else.
#[must_use]
pub fn is_told(response: &Response) -> bool {
    response.hovered() || response.is_tooltip_open()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_made_once_for_each_key() {
        let mut cached = Cached::default();
        assert_eq!(*cached.get(1, || "one"), "one");
        assert_eq!(*cached.get(1, || "never made"), "one");
        assert_eq!(*cached.get(2, || "two"), "two");
        assert_eq!(*cached.get(1, || "one again"), "one again");
        assert_eq!(cached.made(), 3);
    }
}
