//! A value kept for as long as what it was made from stays the same: how panels avoid redoing work every frame.

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
