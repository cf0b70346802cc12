//! Round trips, an old file as a fixture, and every kind of damage.

use super::*;
use crate::id::FileId;
use proptest::prelude::*;

fn sample() -> (Names, Programs, Learned) {
    let (mut names, mut programs) = (Names::new(), Programs::new());
    names.intern_path(b"src/main.rs");
    names.intern_path(b"src/lib.rs");
    programs.intern("/usr/bin/cc");
    let learned = Learned { facts: vec![0], predictor: "match".into(), history: vec![0] };
    (names, programs, learned)
}

fn encoded(names: &Names, programs: &Programs, learned: &Learned) -> Vec<u8> {
    let (mut of_names, mut of_programs) = (Vec::new(), Vec::new());
    names.save(&mut of_names);
    programs.save(&mut of_programs);
    encode(&of_names, &of_programs, learned)
}

#[test]
fn saved_is_loaded() {
    let (names, programs, learned) = sample();
    let bytes = encoded(&names, &programs, &learned);
    let model = decode(&bytes).unwrap();
    assert_eq!(model.names.len(), names.len());
    assert_eq!(model.names.find_path(b"src/lib.rs"), names.find_path(b"src/lib.rs"));
    assert_eq!(model.programs.identity(crate::id::ProgramId(0)), Some("/usr/bin/cc"));
    assert_eq!(model.learned, learned);
    assert_eq!(encoded(&model.names, &model.programs, &model.learned), bytes);
}

/// Written by the first version. Must be readable for as long as `VERSION` says so.
#[test]
fn a_file_of_the_first_version_is_read() {
    let model = decode(include_bytes!("fixture-v1.model")).unwrap();
    assert_eq!(model.names.path(FileId(3)).as_deref(), Some(&b"src/lib.rs"[..]));
    let (names, programs, learned) = sample();
    assert_eq!(encoded(&names, &programs, &learned), include_bytes!("fixture-v1.model"));
}

#[test]
fn errors_say_where_and_what() {
    let (names, programs, learned) = sample();
    let good = encoded(&names, &programs, &learned);
    let error = |bytes: &[u8]| decode(bytes).unwrap_err().to_string();
    assert!(error(b"").starts_with("not a model file"));
    assert!(error(b"#!/bin/sh\necho hello").starts_with("not a model file"));
    let mut newer = good.clone();
    newer[8] = 9;
    assert_eq!(error(&newer), "a model of version 9: expected at most 1");
    let mut flipped = good.clone();
    flipped[40] ^= 1;
    assert!(error(&flipped).starts_with("at byte 28: expected a names section with checksum"));
    assert_eq!(error(&good[..11]), "in the head: at byte 10: expected a number of sections");
    let mut longer = good.clone();
    longer.push(0);
    assert_eq!(error(&longer), format!("in the head: at byte {}: expected the end of the file", good.len()));
}

#[test]
fn sections_from_the_future_are_skipped_and_missing_ones_are_damage() {
    let (names, programs, learned) = sample();
    let mut bytes = encoded(&names, &programs, &learned);
    bytes[10] = 5;
    put_section(&mut bytes, 77, |out| out.extend_from_slice(b"whatever"));
    assert!(decode(&bytes).is_ok());
    let mut few = MAGIC.to_vec();
    few.extend_from_slice(&[1, 0, 0, 0]);
    assert!(decode(&few).unwrap_err().to_string().contains("expected the section itself"));
}

proptest! {
    #[test]
    fn any_bytes_are_an_error(bytes: Vec<u8>) {
        prop_assert!(decode(&bytes).is_err());
        let mut disguised = MAGIC.to_vec();
        disguised.extend_from_slice(&[1, 0, 4, 0]);
        disguised.extend_from_slice(&bytes);
        prop_assert!(decode(&disguised).is_err());
    }

    #[test]
    fn a_part_or_a_flipped_bit_is_an_error(cut in 0.0..1.0f64, bit in any::<prop::sample::Index>()) {
        let (names, programs, learned) = sample();
        let good = encoded(&names, &programs, &learned);
        prop_assert!(decode(&good[..(good.len() as f64 * cut) as usize]).is_err());
        let mut bad = good.clone();
        let bit = bit.index(good.len() * 8);
        bad[bit / 8] ^= 1 << (bit % 8);
        // Also in the number of sections, a kind, or a length: nothing is taken for something else.
        prop_assert!(decode(&bad).is_err());
    }
}
