//! A walk over a tree.

use super::{Values, dice, size};
use crate::sim::draft::{Draft, Story};

/// A program lists each directory and reads what is in it. Directories give their entries in an order of
/// their own, as ext4 does (by a hash of the names); it stays the same.
pub(super) fn traversal(draft: &mut Draft, values: &Values, seed: u64, passes: usize) {
    let (files, per_directory) = (values.get("files"), values.get("per_directory"));
    let mut dice = dice(seed, 1);
    let mut directories = Vec::new();
    for part in 0..files.div_ceil(per_directory) {
        let path = format!("doc/part-{part:04}");
        let directory = draft.directory(&path);
        let numbers = part * per_directory..files.min((part + 1) * per_directory);
        let mut inside: Vec<_> = numbers
            .map(|number| draft.file(&format!("{path}/text-{number:06}"), size(&mut dice, 1 << 10, 64 << 10)))
            .collect();
        dice.shuffle(&mut inside);
        directories.push((directory, inside));
    }
    dice.shuffle(&mut directories);
    let (top, program, think) = (draft.directory("doc"), draft.program("grep"), values.micros("think"));
    for _ in 0..passes {
        let mut story = Story::default();
        let grep = story.begin(None, program, think);
        story.list(grep, top, think);
        for (directory, inside) in &directories {
            story.list(grep, *directory, think);
            inside.iter().for_each(|&file| story.open(grep, file, think));
        }
        story.end(grep);
        draft.pass(story);
    }
}
