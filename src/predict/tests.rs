//! What every predictor promises, whatever it learns.

use super::practice::{GROUP, STREAM, begin, open, open_in};
use super::*;
use proptest::prelude::*;

const CHOICES: [&str; 13] = [
    "default",
    "match",
    "last",
    "noah",
    "noah:1",
    "recent",
    "graph",
    "graph:3/0.1",
    "pcm:8/3/0.2",
    "epcm:9/7/0.3",
    "epcm:9/7/0.3/paper",
    "popular:3",
    "none",
];
/// Files in these tests.
const FILES: u32 = 9;

fn begun(words: &str) -> Box<dyn Predictor> {
    let mut predictor = words.parse::<PredictorChoice>().unwrap().build();
    begin(predictor.as_mut(), STREAM, None);
    predictor
}

fn pull(predictor: &mut dyn Predictor, room: usize) -> Vec<Prediction> {
    let mut out = Vec::new();
    predictor.predict(GROUP, room, &mut out);
    out
}

fn saved(predictor: &dyn Predictor) -> Vec<u8> {
    let mut bytes = Vec::new();
    predictor.save(&mut bytes);
    bytes
}

/// Two passes over the same files, a few of them exchanged.
fn opens() -> impl Strategy<Value = Vec<u32>> {
    let pass = prop::collection::vec(0..FILES, 0..40);
    let noise = prop::collection::vec((any::<prop::sample::Index>(), 0..FILES), 0..9);
    (pass, noise).prop_map(|(pass, noise)| {
        let mut opens = [pass.clone(), pass].concat();
        for (place, file) in noise.into_iter().filter(|_| !opens.is_empty()).collect::<Vec<_>>() {
            let place = place.index(opens.len());
            opens[place] = file;
        }
        opens
    })
}

proptest! {
    #[test]
    fn what_was_saved_predicts_the_same(opens in opens(), more in prop::collection::vec(0..FILES, 0..12)) {
        for words in CHOICES {
            let mut predictor = begun(words);
            open(predictor.as_mut(), opens.iter().copied());
            let bytes = saved(predictor.as_ref());
            let mut again = begun(words);
            again.load(&bytes, FILES as usize).unwrap();
            prop_assert_eq!(saved(again.as_ref()), bytes.clone(), "{}", words);
            prop_assert_eq!(again.footprint().files, predictor.footprint().files, "{}", words);
            predictor.load(&bytes, FILES as usize).unwrap();
            begin(predictor.as_mut(), STREAM, None);
            for &file in &more {
                open(predictor.as_mut(), [file]);
                open(again.as_mut(), [file]);
                prop_assert_eq!(again.next(STREAM), predictor.next(STREAM), "{}", words);
                prop_assert_eq!(pull(again.as_mut(), 99), pull(predictor.as_mut(), 99), "{}", words);
            }
        }
    }

    #[test]
    fn damage_is_refused_or_loaded_and_changes_nothing_if_refused(
        opens in opens(), cut in any::<prop::sample::Index>(), byte: u8, garbage: Vec<u8>,
    ) {
        for words in CHOICES {
            let mut predictor = begun(words);
            open(predictor.as_mut(), opens.iter().copied());
            let bytes = saved(predictor.as_ref());
            let mut damaged = bytes.clone();
            if !damaged.is_empty() {
                let place = cut.index(damaged.len());
                damaged[place] = byte;
                if byte % 2 == 0 {
                    damaged.truncate(place);
                }
            }
            for wrong in [&damaged, &garbage] {
                match predictor.load(wrong, FILES as usize) {
                    Ok(()) => predictor.load(&bytes, FILES as usize).unwrap(),
                    Err(_) => prop_assert_eq!(&saved(predictor.as_ref()), &bytes, "{}", words),
                }
            }
        }
    }

    #[test]
    fn files_that_are_not_named_are_refused(opens in opens()) {
        for words in CHOICES {
            let mut predictor = begun(words);
            open(predictor.as_mut(), opens.iter().copied().chain([FILES]));
            let bytes = saved(predictor.as_ref());
            if predictor.footprint().files == u64::from(FILES) + 1 {
                prop_assert!(predictor.load(&bytes, FILES as usize).is_err(), "{}", words);
            }
        }
    }

    #[test]
    fn a_forgotten_file_is_never_predicted(opens in opens(), gone in 0..FILES) {
        for words in CHOICES {
            let mut predictor = begun(words);
            open(predictor.as_mut(), opens.iter().copied());
            predictor.forget(&|file| file.0 == gone);
            // What a group is following already may still name it once.
            predictor.end_group(GROUP);
            for file in (0..FILES).filter(|&file| file != gone) {
                begin(predictor.as_mut(), STREAM, None);
                open(predictor.as_mut(), [file]);
                let next = predictor.next(STREAM);
                let all = pull(predictor.as_mut(), 99);
                prop_assert!(all.iter().chain(&next).all(|p| p.file.0 != gone), "{}", words);
            }
        }
    }

    #[test]
    fn there_is_never_more_than_room_and_nothing_twice(opens in opens(), room in 1..4usize) {
        for words in CHOICES {
            let (mut whole, mut parts) = (begun(words), begun(words));
            for &file in &opens {
                open(whole.as_mut(), [file]);
                open(parts.as_mut(), [file]);
                let expected = pull(whole.as_mut(), 99);
                let mut found = Vec::new();
                while found.len() <= 99 {
                    let part = pull(parts.as_mut(), room);
                    prop_assert!(part.len() <= room);
                    if part.is_empty() {
                        break;
                    }
                    found.extend(part);
                }
                prop_assert_eq!(&found, &expected, "{}", words);
                prop_assert!(expected.iter().all(|p| (0.0..=1.0).contains(&p.likelihood) && p.distance > 0));
            }
        }
    }

    #[test]
    fn a_stranger_changes_nothing(opens in opens()) {
        for words in CHOICES {
            let (mut alone, mut beside) = (begun(words), begun(words));
            for &file in &opens {
                open(alone.as_mut(), [file]);
                open(beside.as_mut(), [file]);
                open_in(beside.as_mut(), StreamId(77), [file / 2]);
                prop_assert_eq!(pull(beside.as_mut(), 99), pull(alone.as_mut(), 99), "{}", words);
            }
            prop_assert_eq!(saved(beside.as_ref()), saved(alone.as_ref()), "{}", words);
        }
    }

    /// A child without a past of its own expects what its parent would.
    #[test]
    fn a_child_starts_where_its_parent_stands(opens in opens()) {
        for words in CHOICES {
            let mut predictor = begun(words);
            open(predictor.as_mut(), opens.iter().copied());
            begin(predictor.as_mut(), StreamId(2), Some(STREAM));
            prop_assert_eq!(predictor.next(StreamId(2)), predictor.next(STREAM), "{}", words);
        }
    }
}

#[test]
fn the_list_of_these_tests_is_whole() {
    for (name, _) in crate::config::PREDICTORS {
        assert!(CHOICES.iter().any(|words| words.split(':').next() == Some(name)), "{name}");
    }
}
