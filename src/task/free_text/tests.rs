//! What a text becomes: facts, questions and filler, and what cannot be read as a text.

use proptest::prelude::*;

use super::super::common::testing::{bits, check_recall, codes, make, message, writes_of};
use super::*;
use crate::param::Params;

fn text(text: &str) -> Params {
    Params::default().with("text", text)
}

fn stream(words: &str) -> Stream {
    let stream = make(&FreeText, &text(words), 0).unwrap();
    check_recall(&stream);
    stream
}

fn tokens(stream: &Stream) -> Vec<&str> {
    stream.labels().tokens.as_ref().unwrap().iter().map(String::as_str).collect()
}

/// The questions, how many writes they see, and the write that answers.
fn asked(stream: &Stream) -> Vec<(&str, u32, u32)> {
    let labels = stream.labels();
    let (texts, at) = (labels.read_tokens.as_ref().unwrap(), labels.answer_at.as_ref().unwrap());
    texts.iter().zip(stream.after()).zip(at).map(|((text, &after), &at)| (text.as_str(), after, at)).collect()
}

#[test]
fn the_stream_of_a_seed_never_changes() {
    assert_eq!(bits(&make(&FreeText, &Params::default(), 0).unwrap()), PINNED);
}
const PINNED: [u64; 3] = [2_962_500_269_130_879_160, 12_274_195_458_143_963_872, 140_534_667_418_800_806];

#[test]
fn facts_filler_and_questions_become_writes_and_reads() {
    let stream = stream("The sky, grey.\nPass word = Blue  Heron\n\npass  WORD ?\npass word=green\npass word?\nsky?");
    assert_eq!(tokens(&stream), ["the", "sky", "grey", "pass word = blue heron", "pass word = green"]);
    assert_eq!(asked(&stream), [("pass word ?", 4, 3), ("pass word ?", 5, 4), ("sky ?", 5, 1)]);
    assert_eq!((writes_of(&stream, "overwritten"), writes_of(&stream, "fact")), (vec![3], vec![4]));
    // Words in the order in which they come: the, sky, grey, pass word, blue heron, green.
    assert_eq!(codes(&stream).1, [4, 5, 1]);
    assert_eq!(stream.labels().roles.marked, Some(ROLE_FACT));
}

#[test]
fn without_a_question_every_name_is_asked_at_the_end() {
    assert_eq!(asked(&stream("a = x\nhay\nb = y\na = z")), [("b ?", 4, 2), ("a ?", 4, 3)]);
    // Without a fact, every word is.
    assert_eq!(asked(&stream("hay and hay")), [("and ?", 3, 1), ("hay ?", 3, 2)]);
    // A fact stands where its name comes again as filler.
    assert_eq!(asked(&stream("b = x\na b c\na = y\na b\na ?\nb ?\nc ?")), [("a ?", 7, 4), ("b ?", 7, 0), ("c ?", 7, 3)]);
    // A line without a name or a value is no fact.
    assert_eq!(tokens(&stream("a =\n= b\nc = d = e")), ["a", "b", "c = d = e"]);
}

#[test]
fn a_word_keeps_its_vectors_when_the_text_changes() {
    let (before, after) = (stream("a = x\nb = y"), stream("some hay first\nb = y\nq = a\na = x"));
    let key = |s: &Stream, i: usize| s.keys_of(0).row(i).to_vec();
    let value = |s: &Stream, i: usize| s.values().slice(ndarray::s![0, i, ..]).to_vec();
    assert_eq!((key(&before, 0), value(&before, 0)), (key(&after, 5), value(&after, 5)));
    assert_eq!((key(&before, 1), value(&before, 1)), (key(&after, 3), value(&after, 3)));
    // Another seed has other vectors, and a word's key is not its code.
    let other = make(&FreeText, &text("a = x\nb = y"), 1).unwrap();
    assert_ne!(key(&before, 0), key(&other, 0));
    assert_ne!(key(&stream("hay"), 0), value(&stream("hay"), 0));
}

#[test]
fn what_cannot_be_answered_is_named_with_its_line() {
    assert_eq!(
        message(&FreeText, &text("hay\n\nzebra ?")),
        "task free_text.text, line 3, is `zebra ?`, but no line before it writes that name or word"
    );
    assert_eq!(
        message(&FreeText, &text(" \n")),
        "task free_text.text is the whole, but it makes 0 tokens, and there must be from 1 to 131072"
    );
    // A word that comes as a value only was never asked about.
    assert!(message(&FreeText, &text("a = b\nb ?")).contains("line 2"));
}

#[test]
fn the_default_text_makes_its_point() {
    let stream = make(&FreeText, &Params::default(), 0).unwrap();
    check_recall(&stream);
    let facts = [("berth ?", 22, 21), ("password ?", 61, 9), ("captain ?", 61, 20), ("berth ?", 61, 41)];
    assert_eq!(asked(&stream), facts);
    assert_eq!(writes_of(&stream, "overwritten"), [21]);
    assert!(stream.labels().notes[0].contains("different words"), "{:?}", stream.labels().notes);
}

#[test]
fn neighbours_are_the_nearest_keys() {
    let params = Resolved::new("task free_text", FreeText.params(), &text("a b c d e f g = h").with("dk", 8)).unwrap();
    let near = neighbours(&params, 3, "B", 3);
    // One fact: its name is `a b c d e f g`, and `b` is no word of its own.
    assert!(near.is_empty());
    let params = Resolved::new("task free_text", FreeText.params(), &text("a b c d e f g\nx = y").with("dk", 8)).unwrap();
    let near = neighbours(&params, 3, "B", 3);
    assert_eq!(near.len(), 3);
    assert!(near.is_sorted_by(|x, y| x.1 >= y.1) && near.iter().all(|n| n.0 != "b" && n.1.abs() < 1.0));
    let stream = make(&FreeText, &text("a b c d e f g\nx = y").with("dk", 8), 3).unwrap();
    // Every word but `y` is the key of a write, in this order.
    let of = |word: &str| "abcdefgx".find(word).map(|i| stream.keys_of(0).row(i).dot(&stream.keys_of(0).row(1)));
    for (word, cosine) in &near {
        if let Some(expected) = of(word) {
            assert!((f64::from(expected) - cosine).abs() < 1e-6, "{word}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    /// Any text makes a whole stream, or a sentence.
    #[test]
    fn any_text_is_a_stream_or_a_sentence(lines in prop::collection::vec("[ab =?.é]{0,8}", 0..12), seed in 0_u64..100) {
        let params = text(&lines.join("\n")).with("dk", 6).with("dv", 5);
        match make(&FreeText, &params, seed) {
            Ok(stream) => {
                check_recall(&stream);
                prop_assert!(stream.reads() > 0);
                prop_assert_eq!(make(&FreeText, &params, seed).unwrap(), stream);
            }
            Err(error) => prop_assert!(error.to_string().starts_with("task free_text.text")),
        }
    }
}
