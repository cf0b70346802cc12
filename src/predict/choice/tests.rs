//! Every choice in words and back.

use super::*;
use crate::config::PREDICTORS;
use proptest::prelude::*;

fn choice(words: &str) -> PredictorChoice {
    words.parse().unwrap()
}

#[test]
fn what_is_printed_can_be_parsed() {
    for words in [
        "default",
        "match",
        "last",
        "none",
        "noah:3",
        "recent:3/8",
        "graph:2/0.65",
        "popular:7",
        "pcm:32/2/0.3",
        "pcm:16/1/0.05",
        "epcm:32/26/0.55",
        "epcm:64/48/0.75/paper",
    ] {
        assert_eq!(choice(words).to_string(), words);
    }
}

#[test]
fn what_is_left_out_has_its_default() {
    for (words, full) in [
        ("noah", "noah:2"),
        ("recent", "recent:2/4"),
        ("recent:5", "recent:5/5"),
        ("recent:/6", "recent:2/6"),
        ("graph:5", "graph:5/0.3"),
        ("popular", "popular:64"),
        ("pcm", "pcm:32/2/0.3"),
        ("pcm:64", "pcm:64/2/0.3"),
        ("pcm:64//0.5", "pcm:64/2/0.5"),
        ("epcm", "epcm:32/26/0.55"),
        ("epcm:///paper", "epcm:32/26/0.55/paper"),
    ] {
        assert_eq!(choice(words).to_string(), full);
    }
}

#[test]
fn each_builds_what_it_says_and_is_known_to_the_option() {
    for (name, parameters) in PREDICTORS {
        let choice = choice(name);
        assert_eq!((choice.name(), choice.build().choice()), (*name, choice));
        assert_eq!(choice.to_string().contains(':'), !parameters.is_empty(), "{name}");
        assert!(super::words::choice("lru").unwrap_err().to_string().contains(name));
    }
}

#[test]
fn errors_say_what_is_wrong() {
    let error = |words: &str| words.parse::<PredictorChoice>().unwrap_err().to_string();
    assert_eq!(
        error("lru"),
        "unknown predictor 'lru': known are default, match, last, noah, recent, graph, pcm, epcm, popular and none"
    );
    assert_eq!(error("match:3"), "predictor 'match' takes no parameters");
    assert_eq!(error("last:"), "predictor 'last' takes no parameters");
    assert_eq!(error("noah:0"), "'0' is no number of repetitions: expected 1 to 255 times in a row");
    assert_eq!(error("recent:9"), "'9' is no number of occurrences: expected 1 to 8 times");
    assert_eq!(error("recent:3/2"), "'2' is no number of successors: expected 3 to 8 files");
    assert_eq!(error("graph:17"), "'17' is no window: expected 1 to 16 files");
    assert_eq!(error("graph:9/0"), "'0' is no threshold: expected a likelihood from 0.01 to 1");
    assert_eq!(error("popular:all"), "'all' is no number of files: expected 1 to 1024 files");
    assert_eq!(error("pcm:1"), "'1' is no partition size: expected 2 to 65535 nodes");
    assert_eq!(error("pcm:+9"), "'+9' is no partition size: expected 2 to 65535 nodes");
    assert_eq!(error("pcm:32/2.5"), "'2.5' is no order: expected 1 to 64 files");
    assert_eq!(error("pcm:32/2/NaN"), "'NaN' is no threshold: expected a likelihood from 0.01 to 1");
    assert_eq!(error("pcm:9/2/1/4"), "'pcm:9/2/1/4' has too many parameters: expected at most pcm:32/2/0.3");
    assert_eq!(error("epcm:8"), "order 26 is too long for partitions of 8 nodes: it must be less");
    assert_eq!(error("epcm:32/24/1/4"), "'4' is no estimator: expected 'paper' or nothing");
}

proptest! {
    #[test]
    fn any_words_are_taken_or_refused(name in 0..PREDICTORS.len(), parameters in "[0-9./a-e]{0,12}") {
        if let Ok(choice) = format!("{}:{parameters}", PREDICTORS[name].0).parse::<PredictorChoice>() {
            prop_assert_eq!(choice.to_string().parse::<PredictorChoice>(), Ok(choice));
        }
    }
}
