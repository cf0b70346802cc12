//! Builds: the same again, several units at once, after a patch, on two branches.

use std::time::Duration;

use super::project::{Project, Unit};
use super::{Key, Values, dice, key};
use crate::sim::draft::{Draft, Story};

/// Time to compile a unit, in milliseconds: a C file of some hundred lines.
const COMPILE: Key = Key { name: "compile", default: 40, least: 0 };
const UNITS: Key = key("units", 200);
const HEADERS: Key = key("headers", 120);
const SHARED: Key = Key { name: "shared", default: 20, least: 0 };

pub(super) const KEYS: &[Key] = &[UNITS, HEADERS, SHARED, COMPILE];
pub(super) const PARALLEL_KEYS: &[Key] = &[UNITS, HEADERS, SHARED, COMPILE, key("jobs", 4)];
/// Changed and new units of a patch. SSH 1.2.18 to 1.2.31 touched most of its files.
pub(super) const PATCH_KEYS: &[Key] = &[UNITS, HEADERS, SHARED, COMPILE, key("changed", 60), key("new", 10)];
/// Units that only one branch has.
pub(super) const BRANCH_KEYS: &[Key] = &[UNITS, HEADERS, SHARED, COMPILE, key("differ", 40)];

/// Purposes of dice: the tree, and what happens in a pass.
const TREE: u64 = 1;
const PASS: u64 = 2 << 32;

/// Between two files that a patch or a switch of branches replaces.
const PER_CHANGE: Duration = Duration::from_micros(300);

fn project(draft: &mut Draft, values: &Values, seed: u64) -> Project {
    let counts = (values.get("units"), values.get("headers"), values.get("shared"));
    let compile = Duration::from_millis(values.get("compile"));
    Project::new(draft, &mut dice(seed, TREE), counts, compile)
}

pub(super) fn build(draft: &mut Draft, values: &Values, seed: u64, passes: usize) {
    let project = project(draft, values, seed);
    for _ in 0..passes {
        let mut story = Story::default();
        project.build(&mut story, None, seed, |_| 0);
        draft.pass(story);
    }
}

pub(super) fn parallel(draft: &mut Draft, values: &Values, seed: u64, passes: usize) {
    let project = project(draft, values, seed);
    for pass in 0..passes as u64 {
        let mut story = Story::default();
        project.build_at_once(&mut story, seed, values.get("jobs") as usize, &mut dice(seed, PASS | pass));
        draft.pass(story);
    }
}

pub(super) fn patch(draft: &mut Draft, values: &Values, seed: u64, passes: usize) {
    let mut project = project(draft, values, seed);
    let (sh, program) = (draft.program("sh"), draft.program("patch"));
    let mut changes: Vec<crate::id::FileId> = Vec::new();
    for pass in 0..passes as u64 {
        let mut story = Story::default();
        let shell = story.begin(None, sh, Duration::ZERO);
        if pass > 0 {
            let patch = story.begin(Some(shell), program, PER_CHANGE);
            let mut dice = dice(seed, PASS | pass);
            story.open(patch, draft.file(&format!("patch-{pass}"), 256 << 10), PER_CHANGE);
            for _ in 0..values.get("changed") {
                let unit = project.units[dice.below(project.units.len() as u64) as usize];
                changes.push(unit.source);
                story.open(patch, unit.source, PER_CHANGE);
                story.write(patch, unit.source, PER_CHANGE);
            }
            for new in 0..values.get("new") {
                let kind = format!("p{pass}-");
                let unit = project.unit(draft, &mut dice, new, &kind);
                story.write(patch, unit.source, PER_CHANGE);
                project.units.insert(dice.below(project.units.len() as u64 + 1) as usize, unit);
            }
            story.end(patch);
        }
        let edition = |unit: &Unit| changes.iter().filter(|&&file| file == unit.source).count() as u64;
        project.build(&mut story, Some(shell), seed, edition);
        story.end(shell);
        draft.pass(story);
    }
}

pub(super) fn branches(draft: &mut Draft, values: &Values, seed: u64, passes: usize) {
    let common = project(draft, values, seed);
    let (sh, git) = (draft.program("sh"), draft.program("git"));
    let mut tree = dice(seed, TREE + 1);
    let own: [Vec<Unit>; 2] = ["a", "b"]
        .map(|branch| (0..values.get("differ")).map(|n| common.unit(draft, &mut tree, n, branch)).collect());
    let on: [Project; 2] = [&own[0], &own[1]].map(|own| {
        let mut project = common.clone();
        for &unit in own {
            project.units.insert(tree.below(project.units.len() as u64 + 1) as usize, unit);
        }
        project
    });
    for pass in 0..passes {
        let (here, there) = (pass % 2, (pass + 1) % 2);
        let mut story = Story::default();
        let shell = story.begin(None, sh, Duration::ZERO);
        if pass > 0 {
            let switch = story.begin(Some(shell), git, PER_CHANGE);
            own[there].iter().for_each(|unit| story.remove(switch, unit.source));
            own[here].iter().for_each(|unit| story.write(switch, unit.source, PER_CHANGE));
            story.end(switch);
        }
        on[here].build(&mut story, Some(shell), seed, |_| 0);
        story.end(shell);
        draft.pass(story);
    }
}
