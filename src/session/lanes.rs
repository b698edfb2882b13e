//! Edits to the list of lanes that keep it sound: names stay unique, every lane keeps its colour, and no two lanes that run share one.

use super::hand::{BRANCH, Hand};
use super::{LaneSpec, MAX_LANES};
use crate::layer::{LayerKind, kind};
use crate::param::{ParamSpec, ParamValue, Resolved};

/// Colours of the palette: as many as lanes that run at once.
pub const PALETTE: usize = MAX_LANES;

/// The longest name in bytes.
const MAX_NAME: usize = 64;

/// The palette's place of every lane: its own where it has one, else its place in the list; where two lanes that are switched on
/// want the same, the one that says so has it, then the earlier one, and the other takes the first that is free.
#[must_use]
pub fn colours(lanes: &[LaneSpec]) -> Vec<usize> {
    let mut out: Vec<usize> = lanes.iter().enumerate().map(|(i, l)| l.colour.map_or(i, usize::from) % PALETTE).collect();
    let mut taken = [false; PALETTE];
    for explicit in [true, false] {
        for (i, _) in lanes.iter().enumerate().filter(|(_, l)| l.enabled && l.colour.is_some() == explicit) {
            if taken[out[i]]
                && let Some(free) = taken.iter().position(|t| !t)
            {
                out[i] = free;
            }
            taken[out[i]] = true;
        }
    }
    out
}

/// A place of the palette that no lane which is switched on has; the one of fewest lanes where all are taken.
fn free_colour(lanes: &[LaneSpec]) -> u8 {
    let colours = colours(lanes);
    let used = |place: usize, on: bool| colours.iter().zip(lanes).filter(|(c, l)| **c == place && (l.enabled || !on)).count();
    let best = (0..PALETTE).min_by_key(|&place| (used(place, true), used(place, false))).unwrap_or(0);
    best as u8
}

/// True if one more lane can be switched on; where it cannot, a new one is added switched off.
fn has_room(lanes: &[LaneSpec]) -> bool {
    lanes.iter().filter(|l| l.enabled).count() < MAX_LANES
}

/// Gives every lane the colour that it has now as its own, so that its place in the list may change.
fn pin(lanes: &mut [LaneSpec]) {
    for (place, lane) in colours(lanes).into_iter().zip(lanes) {
        lane.colour = Some(place as u8);
    }
}

/// A name that no lane has: `base`, or with the first number from 2 on that makes it free. The number of a numbered copy of
/// another lane is replaced.
#[must_use]
pub fn free_name(lanes: &[LaneSpec], base: &str) -> String {
    let taken = |name: &str| lanes.iter().any(|l| l.name == name);
    if !taken(base) {
        return base.to_owned();
    }
    let numbered = base.rsplit_once(' ').filter(|(stem, number)| number.parse::<u32>().is_ok() && taken(stem));
    let mut stem = numbered.map_or(base, |(stem, _)| stem);
    // Room for a space and a number of five digits.
    let room = (0..=stem.len().min(MAX_NAME - 6)).rev().find(|&at| stem.is_char_boundary(at)).unwrap_or(0);
    stem = stem[..room].trim_end();
    // One number more than there are lanes: one of them is free.
    (2..=lanes.len() + 2).map(|n| format!("{stem} {n}")).find(|name| !taken(name)).unwrap_or_default()
}

/// Adds a lane of a layer at the end, switched on where one more can run, with the layer's defaults; its place.
pub fn add(lanes: &mut Vec<LaneSpec>, kind: &dyn LayerKind) -> usize {
    let mut lane = LaneSpec::new(&free_name(lanes, kind.title()), kind.name(), crate::param::Params::default());
    lane.colour = Some(free_colour(lanes));
    lane.enabled = has_room(lanes);
    lanes.push(lane);
    lanes.len() - 1
}

/// Puts a copy of a lane after it, with a name and a colour of its own.
pub fn duplicate(lanes: &mut Vec<LaneSpec>, lane: usize) {
    let Some(original) = lanes.get(lane).cloned() else { return };
    pin(lanes);
    let (name, colour) = (free_name(lanes, &original.name), Some(free_colour(lanes)));
    let enabled = original.enabled && has_room(lanes);
    lanes.insert(lane + 1, LaneSpec { name, enabled, colour, ..original });
}

/// Puts a copy of a lane after it to whose memory one more thing is done by hand; its place. `None`, and nothing done, where no more
/// lanes can run.
pub fn branch(lanes: &mut Vec<LaneSpec>, lane: usize, hand: Hand) -> Option<usize> {
    let mut copy = lanes.get(lane)?.clone();
    if !has_room(lanes) {
        return None;
    }
    pin(lanes);
    copy.hands.push(hand);
    let base = format!("{}{BRANCH}{} @ {}", copy.name, hand.what.short(), hand.step);
    let stem = copy.name.split(BRANCH).next().unwrap_or(&copy.name);
    // Room for a number that makes it unique.
    let base = if base.len() <= MAX_NAME - 6 { base } else { format!("{stem}{BRANCH}{} by hand", copy.hands.len()) };
    (copy.name, copy.colour, copy.enabled) = (free_name(lanes, &base), Some(free_colour(lanes)), true);
    lanes.insert(lane + 1, copy);
    Some(lane + 1)
}

/// Takes a lane out, unless it is the last.
pub fn remove(lanes: &mut Vec<LaneSpec>, lane: usize) -> Option<LaneSpec> {
    if lanes.len() < 2 || lane >= lanes.len() {
        return None;
    }
    pin(lanes);
    Some(lanes.remove(lane))
}

/// Puts a lane that was taken out back to its place, with another name or colour where its own has been given away.
pub fn put_back(lanes: &mut Vec<LaneSpec>, at: usize, mut lane: LaneSpec) {
    pin(lanes);
    lane.name = free_name(lanes, &lane.name);
    let at = at.min(lanes.len());
    lanes.insert(at, lane);
    unshare(lanes, at);
}

/// Moves a lane to another place; it keeps its colour.
pub fn shift(lanes: &mut Vec<LaneSpec>, from: usize, to: usize) {
    if from < lanes.len() && to < lanes.len() && from != to {
        pin(lanes);
        let lane = lanes.remove(from);
        lanes.insert(to, lane);
    }
}

/// Gives a lane a place of the palette; a lane that is switched on and has it takes the other's.
pub fn recolour(lanes: &mut [LaneSpec], lane: usize, place: usize) {
    let colours = colours(lanes);
    let (Some(&own), true) = (colours.get(lane), place < PALETTE) else { return };
    for (other, spec) in lanes.iter_mut().enumerate() {
        if other != lane && spec.enabled && colours[other] == place {
            spec.colour = Some(own as u8);
        }
    }
    lanes[lane].colour = Some(place as u8);
}

/// Switches a lane on or off. One that is switched on gives its colour way to a lane that runs already.
pub fn enable(lanes: &mut [LaneSpec], lane: usize, enabled: bool) {
    if let Some(spec) = lanes.get_mut(lane) {
        spec.enabled = enabled;
        unshare(lanes, lane);
    }
}

/// Gives a lane a free colour where another that is switched on has its own.
fn unshare(lanes: &mut [LaneSpec], lane: usize) {
    let own = lanes[lane].colour.map_or(lane, usize::from) % PALETTE;
    let colours = {
        let mut others = lanes.to_vec();
        others[lane].enabled = false;
        colours(&others)
    };
    let shared = colours.iter().zip(lanes.iter()).enumerate().any(|(i, (c, l))| i != lane && l.enabled && *c == own);
    if lanes[lane].enabled && shared {
        let others: Vec<LaneSpec> = lanes
            .iter()
            .enumerate()
            .filter(|(i, _)| *i != lane)
            .map(|(i, l)| LaneSpec { colour: Some(colours[i] as u8), ..l.clone() })
            .collect();
        lanes[lane].colour = Some(free_colour(&others));
    }
}

/// The lane that a lane is compared with: the nearest earlier one of the same layer.
#[must_use]
pub fn twin(lanes: &[LaneSpec], lane: usize) -> Option<usize> {
    (0..lane).rev().find(|&i| lanes[i].layer == lanes[lane].layer)
}

/// What one lane has otherwise than its twin.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Difference {
    /// The parameter's name; `weights` for the file of weights, `hands` for what is done by hand.
    pub name: &'static str,
    /// The parameter's title.
    pub title: &'static str,
    /// The value that the lane has.
    pub own: String,
    /// The value that its twin has.
    pub theirs: String,
}

/// What a lane has otherwise than its twin, in the order of the parameters; only those that have an effect.
#[must_use]
pub fn differences(lanes: &[LaneSpec], lane: usize) -> Vec<Difference> {
    let (Some(other), Some(kind)) = (twin(lanes, lane), kind(&lanes[lane].layer)) else { return Vec::new() };
    let (own, theirs) = (&lanes[lane], &lanes[other]);
    let resolved = Resolved::new(&own.name, kind.params(), &own.params).ok();
    let applies = |spec: &&ParamSpec| resolved.as_ref().is_none_or(|r| kind.applies(spec.name, r));
    let mut out: Vec<Difference> = kind
        .params()
        .iter()
        .filter(applies)
        .filter_map(|spec| {
            let [a, b] = [own, theirs].map(|l| value(spec, l));
            (!same(a.as_ref(), b.as_ref())).then(|| Difference {
                name: spec.name,
                title: spec.title,
                own: words(spec, a.as_ref()),
                theirs: words(spec, b.as_ref()),
            })
        })
        .collect();
    if own.hands != theirs.hands {
        let [own, theirs] = [own, theirs].map(|l| match &l.hands[..] {
            [] => "nothing".to_owned(),
            hands => hands.iter().map(ToString::to_string).collect::<Vec<_>>().join(", "),
        });
        out.push(Difference { name: "hands", title: "by hand", own, theirs });
    }
    if own.weights != theirs.weights {
        let [own, theirs] = [own, theirs].map(|l| l.weights.as_ref().map_or_else(|| "none".to_owned(), |p| p.display().to_string()));
        out.push(Difference { name: "weights", title: "weights", own, theirs });
    }
    out
}

/// The value in use, as far as the session says: what is drawn with the session's seed or taken from the stream has none.
fn value(spec: &ParamSpec, lane: &LaneSpec) -> Option<ParamValue> {
    let set = lane.params.get(spec.name).cloned().filter(|v| *v != ParamValue::from("auto"));
    if spec.name == "seed" { set } else { set.or_else(|| spec.default_value()) }
}

fn same(a: Option<&ParamValue>, b: Option<&ParamValue>) -> bool {
    match (a, b) {
        (Some(a), Some(b)) => a == b || a.number().is_some_and(|a| Some(a) == b.number()),
        (a, b) => a == b,
    }
}

fn words(spec: &ParamSpec, value: Option<&ParamValue>) -> String {
    match value {
        Some(value) => value.to_string(),
        None if spec.name == "seed" => "the session's".to_owned(),
        None => "auto".to_owned(),
    }
}

/// The lanes that are the same as `before` but for their names: their old and their new ones.
#[must_use]
pub fn renamed<'a>(before: &'a [LaneSpec], now: &'a [LaneSpec]) -> Vec<(&'a str, &'a str)> {
    let named = |lanes: &[LaneSpec], name: &str| lanes.iter().any(|lane| lane.name == name);
    let same_places = before.len() == now.len();
    let pairs = before.iter().zip(now).filter(|_| same_places);
    pairs
        .filter(|(old, new)| old.layer == new.layer && !named(now, &old.name) && !named(before, &new.name))
        .map(|(old, new)| (old.name.as_str(), new.name.as_str()))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::param::Params;
    use crate::session::hand::Act;
    use proptest::prelude::*;

    fn lanes(names: &[&str]) -> Vec<LaneSpec> {
        names.iter().map(|n| LaneSpec::new(n, "lola", Params::default())).collect()
    }

    #[test]
    fn a_copy_comes_after_its_original_with_a_name_and_a_colour_of_its_own() {
        let mut all = lanes(&["a", "b", "c"]);
        all[1].params.set("cache", 64);
        duplicate(&mut all, 1);
        let names: Vec<&str> = all.iter().map(|l| l.name.as_str()).collect();
        assert_eq!(names, ["a", "b", "b 2", "c"]);
        assert_eq!(all[2].params, all[1].params);
        // The others keep the colours of their old places; 3 is the first that is free.
        assert_eq!(colours(&all), [0, 1, 3, 2]);
        duplicate(&mut all, 2);
        assert_eq!(all[3].name, "b 3", "a copy of a numbered copy counts on");
        assert_eq!(colours(&all), [0, 1, 3, 4, 2]);
    }

    #[test]
    fn a_branch_comes_after_its_lane_with_one_thing_more_done_by_hand() {
        let mut all = lanes(&["LoLA", "full"]);
        let evict = Hand { step: 24, kv_head: 0, what: Act::Evict { write: 702 } };
        assert_eq!(branch(&mut all, 0, evict), Some(1));
        assert_eq!((all[1].name.as_str(), &all[1].hands, all[1].enabled), ("LoLA · evict 702 @ 24", &vec![evict], true));
        assert!(all[0].hands.is_empty() && colours(&all) == [0, 2, 1]);
        // Of a branch: with both, and once more under another name.
        let forget = Hand { step: 30, kv_head: 0, what: Act::Forget };
        assert_eq!((branch(&mut all, 1, forget), branch(&mut all, 1, forget)), (Some(2), Some(2)));
        assert_eq!((all[3].name.as_str(), &all[3].hands), ("LoLA · evict 702 @ 24 · forget @ 30", &vec![evict, forget]));
        assert_eq!(all[2].name, "LoLA · evict 702 @ 24 · forget @ 30 2");
        let found = differences(&all, 1);
        assert_eq!((found[0].own.as_str(), found[0].theirs.as_str()), ("evict token 702 at step 24", "nothing"));
        // A name has an end.
        assert_eq!(branch(&mut all, 3, Hand { step: 31, kv_head: 0, what: Act::Move { row: 12, to: 702 } }), Some(4));
        assert_eq!(all[4].name, "LoLA · 3 by hand");
        crate::session::plan::check_names(&all).unwrap();
        while all.len() < MAX_LANES {
            assert!(branch(&mut all, 0, evict).is_some());
        }
        let before = all.clone();
        assert_eq!((branch(&mut all, 0, evict), all == before), (None, true));
    }

    #[test]
    fn names_with_numbers_of_their_own_keep_them() {
        let all = lanes(&["OVQ 1024", "x"]);
        assert_eq!(free_name(&all, "OVQ 1024"), "OVQ 1024 2");
        assert_eq!(free_name(&all, "y"), "y");
        let long = "é".repeat(32);
        let all = lanes(&[&long]);
        let name = free_name(&all, &long);
        assert!(name.len() <= 64 && name.ends_with(" 2"), "{name}");
    }

    #[test]
    fn the_last_lane_stays_and_a_removed_one_comes_back() {
        let mut all = lanes(&["a", "b", "c"]);
        let out = remove(&mut all, 0).unwrap();
        assert_eq!(colours(&all), [1, 2]);
        add(&mut all, kind("lola").unwrap());
        assert_eq!(colours(&all), [1, 2, 0], "a new lane takes what is free");
        put_back(&mut all, 0, out);
        assert_eq!((all[0].name.as_str(), colours(&all)), ("a", vec![3, 1, 2, 0]), "its colour has been given away");
        let mut one = lanes(&["a"]);
        assert_eq!((remove(&mut one, 0), one.len()), (None, 1));
    }

    #[test]
    fn a_moved_lane_keeps_its_colour_and_a_chosen_one_is_swapped() {
        let mut all = lanes(&["a", "b", "c", "d"]);
        shift(&mut all, 3, 0);
        assert_eq!(colours(&all), [3, 0, 1, 2]);
        recolour(&mut all, 0, 1);
        assert_eq!(colours(&all), [1, 0, 3, 2]);
        recolour(&mut all, 0, 7);
        assert_eq!(colours(&all), [7, 0, 3, 2]);
    }

    #[test]
    fn a_lane_that_is_switched_on_takes_no_colour_that_is_in_use() {
        let mut all = lanes(&["0", "1", "2", "3", "4", "5", "6", "7", "8", "9"]);
        all[3..].iter_mut().for_each(|l| l.enabled = false);
        // Number 8 would have the colour of number 0.
        enable(&mut all, 8, true);
        assert_eq!(colours(&all)[..3], [0, 1, 2]);
        assert!((3..8).contains(&colours(&all)[8]));
    }

    #[test]
    fn differences_from_the_twin_are_named_with_both_values() {
        let mut all = lanes(&["LoLA", "x"]);
        all[1].layer = "full".to_owned();
        all.push(LaneSpec::new("LoLCATs", "lola", Params::default().with("cache", 0)));
        all[0].params.set("cache", 128);
        assert_eq!((twin(&all, 2), twin(&all, 1), twin(&all, 0)), (Some(0), None, None));
        let found = differences(&all, 2);
        let cache: Vec<_> = found.iter().map(|d| (d.name, d.own.as_str(), d.theirs.as_str())).collect();
        assert_eq!(cache, [("cache", "0", "128")]);
        assert!(differences(&all, 0).is_empty());
        // A whole number and the same real number are the same value.
        all[0].params = Params::default().with("linear_weight", 2);
        all[2].params = Params::default().with("linear_weight", 2.0);
        assert!(differences(&all, 2).is_empty());
    }

    proptest! {
        /// Whatever is done, names stay unique and lanes that run have colours of their own.
        #[test]
        fn no_two_running_lanes_share_a_colour_or_a_name(moves in proptest::collection::vec((0u8..7, 0usize..12, 0usize..12), 0..40)) {
            let mut all = lanes(&["a", "b", "c"]);
            let mut out = None;
            for (what, a, b) in moves {
                let at = a % all.len();
                let on = |lanes: &[LaneSpec]| lanes.iter().filter(|l| l.enabled).count();
                match what {
                    0 if on(&all) < MAX_LANES => { add(&mut all, kind("full").unwrap()); }
                    1 if on(&all) < MAX_LANES => duplicate(&mut all, at),
                    2 => { if let Some(lane) = remove(&mut all, at) { out = Some((at, lane)); } }
                    3 => { let to = b % all.len(); shift(&mut all, at, to); }
                    4 => recolour(&mut all, at, b),
                    5 => { let wanted = b % 2 == 0 && on(&all) < MAX_LANES; enable(&mut all, at, wanted); }
                    6 if on(&all) < MAX_LANES => { if let Some((at, lane)) = out.take() { put_back(&mut all, at, lane); } }
                    _ => {}
                }
                let colours = colours(&all);
                for (i, (lane, colour)) in all.iter().zip(&colours).enumerate() {
                    for (other, its) in all.iter().zip(&colours).take(i) {
                        prop_assert_ne!(&lane.name, &other.name);
                        prop_assert!(colour != its || !lane.enabled || !other.enabled);
                    }
                }
            }
        }
    }
}
