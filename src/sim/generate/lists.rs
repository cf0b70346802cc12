//! Programs that go through lists of files: links, queries, a merge.

use super::{Values, dice, size};
use crate::sim::draft::{Draft, Story};

/// Each link reads four times its fair share of the objects, so that neighbours overlap; the last reads all.
const OVERLAP: u64 = 4;
/// Blocks that a merge reads and writes.
const RUN_BLOCK: u64 = 64 << 10;

/// After Kroeger and Long's "Gnu ld": 180 objects and 51 commands.
pub(super) fn link(draft: &mut Draft, values: &Values, seed: u64, passes: usize) {
    let (objects, links, think) = (values.get("objects"), values.get("links"), values.micros("think"));
    let mut dice = dice(seed, 1);
    let objects: Vec<_> = (0..objects)
        .map(|n| draft.file(&format!("obj/d{:02}/o{n:04}.o", n % 16), size(&mut dice, 4 << 10, 256 << 10)))
        .collect();
    let libraries: Vec<_> = (0..links).map(|n| draft.file(&format!("lib/l{n:03}.a"), 64 << 10)).collect();
    let (makefile, make, ld) = (draft.file("Makefile", 8 << 10), draft.program("make"), draft.program("ld"));
    for _ in 0..passes {
        let mut story = Story::default();
        let parent = story.begin(None, make, think);
        story.open(parent, makefile, think);
        for (number, &library) in libraries.iter().enumerate() {
            let linker = story.begin(Some(parent), ld, think);
            let last = number + 1 == libraries.len();
            let share = objects.len() * OVERLAP as usize / libraries.len();
            let first = number * objects.len() / libraries.len();
            let part = if last { &objects[..] } else { &objects[first..objects.len().min(first + share)] };
            part.iter().for_each(|&object| story.open(linker, object, think));
            story.write(linker, library, think);
            story.end(linker);
        }
        story.end(parent);
        draft.pass(story);
    }
}

/// After glimpse and cscope: every query loops over the whole index, then reads what it points to.
pub(super) fn search(draft: &mut Draft, values: &Values, seed: u64, passes: usize) {
    let think = values.micros("think");
    let mut dice = dice(seed, 1);
    let index: Vec<_> = (0..values.get("index"))
        .map(|n| draft.file(&format!("index/{n:03}"), size(&mut dice, 64 << 10, 1 << 20)))
        .collect();
    let files: Vec<_> = (0..values.get("files"))
        .map(|n| draft.file(&format!("text/{:03}/{n:06}", n / 50), size(&mut dice, 2 << 10, 128 << 10)))
        .collect();
    let postings: Vec<Vec<_>> = (0..values.get("queries"))
        .map(|_| {
            let mut picks: Vec<_> =
                (0..values.get("postings")).map(|_| dice.below(files.len() as u64) as usize).collect();
            picks.sort_unstable();
            picks.dedup();
            picks.into_iter().map(|pick| files[pick]).collect()
        })
        .collect();
    let (sh, program) = (draft.program("sh"), draft.program("glimpse"));
    for _ in 0..passes {
        let mut story = Story::default();
        let shell = story.begin(None, sh, think);
        for postings in &postings {
            let query = story.begin(Some(shell), program, think);
            index.iter().chain(postings).for_each(|&file| story.open(query, file, think));
            story.end(query);
        }
        story.end(shell);
        draft.pass(story);
    }
}

/// Whichever run has the smaller record next is read on; the records are the same in each pass.
pub(super) fn sort(draft: &mut Draft, values: &Values, seed: u64, passes: usize) {
    let (blocks, think) = (values.get("blocks"), values.micros("think"));
    let mut block = |run: &str, n| draft.file(&format!("{run}/{n:05}"), RUN_BLOCK);
    let runs: [Vec<_>; 2] = ["run-a", "run-b"].map(|run| (0..blocks).map(|n| block(run, n)).collect());
    let output: Vec<_> = (0..2 * blocks).map(|n| block("sorted", n)).collect();
    let program = draft.program("sort");
    for _ in 0..passes {
        let mut records = dice(seed, 1);
        let mut story = Story::default();
        let sort = story.begin(None, program, think);
        let mut left = runs.each_ref().map(|run| run.iter());
        for &result in &output {
            let side = records.below(2) as usize;
            let Some(&block) = left[side].next().or_else(|| left[1 - side].next()) else { break };
            story.open(sort, block, think);
            story.write(sort, result, think);
        }
        story.end(sort);
        draft.pass(story);
    }
}
