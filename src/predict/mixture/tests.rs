//! The vote, its parts against obvious ones, and what it is for: better than any expert alone.

use super::super::practice::{GROUP, STREAM, begin, open, open_in};
use super::panel::{Expert, Panel, Vote, Votes};
use super::*;
use crate::id::SessionId;
use proptest::prelude::*;
use std::collections::HashMap;

const CC: ProgramId = ProgramId(3);

fn mixture() -> Mixture {
    let mut mixture = Mixture::default();
    begin(&mut mixture, STREAM, None);
    mixture
}

fn expected(mixture: &Mixture, stream: StreamId) -> Option<u32> {
    mixture.next(stream).map(|next| next.file.0)
}

/// Two compilers side by side, each opening its unit and then the same headers.
fn build(mixture: &mut Mixture, first_stream: u32, group: u32, order: impl Fn(u32) -> bool) -> (u32, u32) {
    let (group, session) = (GroupId(group), SessionId(0));
    let (mut right, mut opens) = (0, 0);
    for pair in 0..20_u32 {
        let streams = [0, 1].map(|side| StreamId(first_stream + pair * 2 + side));
        for stream in streams {
            mixture.begin(stream, &Origin { parent: None, program: CC, group, session });
        }
        let mut done = [0, 0];
        for turn in 0..22 {
            let side = usize::from(done[0] == 11 || (done[1] < 11 && order(pair * 22 + turn)));
            let file = if done[side] == 0 { 100 + pair * 2 + side as u32 } else { done[side] };
            right += u32::from(expected(mixture, streams[side]) == Some(file));
            opens += 1;
            open_in(mixture, streams[side], [file]);
            done[side] += 1;
        }
        streams.into_iter().for_each(|stream| mixture.end(stream));
    }
    mixture.end_group(group);
    (right, opens)
}

#[test]
fn compilers_side_by_side_are_told_apart() {
    let mut mixture = Mixture::default();
    build(&mut mixture, 100, 1, |turn| turn % 2 == 0);
    // The second time they come in other turns.
    let (right, opens) = build(&mut mixture, 200, 2, |turn| (turn * turn + turn / 3) % 3 == 0);
    assert!(right * 100 >= opens * 90, "{right} of {opens}");
}

#[test]
fn a_process_is_expected_to_begin_behind_its_elder() {
    let mut mixture = Mixture::default();
    let (group, session) = (GROUP, SessionId(0));
    let mut began = |stream: u32, file: u32| {
        let stream = StreamId(stream);
        mixture.begin(stream, &Origin { parent: None, program: CC, group, session });
        let expected = expected(&mixture, stream);
        // Something else of the group in between, different each time.
        open_in(&mut mixture, stream, [file]);
        mixture.end(stream);
        mixture.begin(StreamId(0), &Origin { parent: None, program: ProgramId(1), group, session });
        open_in(&mut mixture, StreamId(0), [1000 + file * stream.0]);
        mixture.end(StreamId(0));
        expected == Some(file)
    };
    let passes: Vec<usize> =
        (0..4).map(|pass| (0..10).filter(|&unit| began(1 + pass * 10 + unit, 50 + unit)).count()).collect();
    assert!(passes[0] == 0 && passes[3] >= 9, "{passes:?}");
}

#[test]
fn when_too_little_speaks_for_anything_nothing_is_expected() {
    let mut mixture = mixture();
    let mut dice = 1_u64;
    let mut guessed = 0;
    for _ in 0..5_000 {
        dice = dice.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        guessed += u32::from(mixture.next(STREAM).is_some());
        open(&mut mixture, [(dice >> 40) as u32 % 2_000]);
    }
    assert!(guessed < 100, "{guessed}");
}

#[test]
fn what_the_history_says_is_learned_again_from_it() {
    let mut mixture = mixture();
    (0..3).for_each(|_| open(&mut mixture, 0..50));
    let habits = mixture.habits.len();
    let (before, key) = (mixture.place(STREAM).unwrap().context, |context: &Context| context.keys().last());
    let habit = mixture.habits.get(key(&before).unwrap().1).unwrap();
    mixture.relearn();
    assert_eq!(mixture.habits.len(), habits);
    assert_eq!(mixture.habits.get(key(&before).unwrap().1), Some(habit));
}

#[test]
fn a_forgotten_program_leaves_no_habits() {
    let mut mixture = mixture();
    (0..3).for_each(|_| open(&mut mixture, 0..50));
    assert!(mixture.habits.len() > 0);
    assert!(mixture.forget_program(ProgramId(0)));
    assert_eq!(mixture.habits.len(), 0);
}

#[test]
fn other_runs_can_be_put_in() {
    let mut mixture = mixture();
    (0..3).for_each(|_| open(&mut mixture, 0..50));
    let mut saved = Vec::new();
    mixture.save(&mut saved);
    let again = with_runs(runs_of(&saved).unwrap());
    let mut other = Mixture::default();
    other.load(&again, 50).unwrap();
    assert_eq!(other.habits.len(), mixture.habits.len());
    begin(&mut other, STREAM, None);
    open(&mut other, 0..5);
    assert_eq!(expected(&other, STREAM), Some(5));
}

#[test]
fn an_expert_counts_by_its_success() {
    let mut panel = Panel::default();
    let mut votes = Votes::default();
    votes.push(Vote::new(Expert::Run, FileId(1), 3));
    votes.push(Vote::new(Expert::Last, FileId(2), 3));
    (0..20).for_each(|_| panel.judge(CC, &votes, FileId(2)));
    let (file, likelihood) = panel.decide(CC, &votes).unwrap();
    assert_eq!(file, FileId(2));
    assert!(likelihood > 0.8, "{likelihood}");
    (0..200).for_each(|_| panel.judge(CC, &votes, FileId(3)));
    assert_eq!(panel.decide(CC, &votes), None, "nobody is right any more");
}

proptest! {
    #[test]
    fn habits_are_those_of_an_obvious_table(steps in prop::collection::vec((0..40_u32, 0..4_u32), 0..400)) {
        let mut habits = Habits::default();
        let mut slow: HashMap<u32, (u32, u32, u32)> = HashMap::new();
        for (context, file) in steps {
            let key = habits::key([context, 0, 0, 0]);
            habits.learn(key, FileId(file));
            let (usual, latest, firm) = slow.entry(key).or_insert((file, file, u32::MAX));
            *latest = file;
            *firm = match *firm {
                u32::MAX => 1,
                firm if *usual == file => (firm + 1).min(3),
                0 => { *usual = file; 0 }
                firm => firm - 1,
            };
        }
        for (key, (usual, latest, firm)) in slow {
            let habit = habits.get(key).unwrap();
            prop_assert_eq!((habit.usual().0, habit.latest().0, u32::from(habit.firmness())), (usual, latest, firm));
        }
    }

    #[test]
    fn the_favourite_is_the_one_with_the_largest_faded_count(opens in prop::collection::vec(0..8_u32, 1..300)) {
        let mut favourite = Favourite::default();
        let mut counts = [0.0_f64; 8];
        for &file in &opens {
            favourite.count(FileId(file));
            counts.iter_mut().for_each(|count| *count /= 1.001);
            counts[file as usize] += 1.0;
        }
        let (best, _) = favourite.best().unwrap();
        let most = counts.iter().copied().fold(0.0, f64::max);
        prop_assert!(counts[best.index()] >= most * 0.9999, "{:?}: {:?}", best, counts);
    }

    #[test]
    fn bounded_habits_stay_bounded(keys in prop::collection::vec(any::<u32>(), 0..3_000)) {
        let mut habits = Habits::default();
        habits.limit(12 * 512);
        for key in keys {
            habits.learn(key | 1, FileId(1));
        }
        prop_assert!(habits.bytes() <= 12 * 512 && habits.len() <= 512);
    }
}
