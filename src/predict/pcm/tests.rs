//! Golden counts, and the trie against a slow model that keeps whole paths in a map.

use super::*;
use crate::id::SessionId;
use proptest::prelude::*;
use std::collections::BTreeMap;

const STREAM: StreamId = StreamId(1);
const GROUP: GroupId = GroupId(1);

fn begun(partition: u32, order: u32, threshold: f32) -> Pcm {
    let mut pcm = Pcm::new(PcmParameters { partition, order, threshold });
    pcm.begin(STREAM, &Origin { parent: None, program: ProgramId(0), group: GROUP, session: SessionId(0) });
    pcm
}

fn open(pcm: &mut Pcm, file: u32) {
    pcm.observe(Access { stream: STREAM, file: FileId(file), kind: Kind::Open });
}

fn letters(pcm: &mut Pcm, text: &str) {
    text.bytes().for_each(|letter| open(pcm, u32::from(letter)));
}

/// The partition of a letter as text: path and count.
fn partition(pcm: &Pcm, letter: char) -> String {
    let text = |path: &Vec<u32>| path.iter().map(|&file| char::from(file as u8)).collect::<String>();
    let nodes = pcm.trie.dump(FileId(letter as u32));
    nodes.iter().map(|(path, count)| format!("{}:{count}", text(path))).collect::<Vec<_>>().join(" ")
}

#[test]
fn the_published_example_gives_the_published_trie() {
    let mut pcm = begun(1000, 2, 0.5);
    letters(&mut pcm, "CACBCAABCA");
    assert_eq!(partition(&pcm, 'A'), "A:4 AA:1 AAB:1 AB:1 ABC:1 AC:1 ACB:1");
    assert_eq!(partition(&pcm, 'B'), "B:2 BC:2 BCA:2");
    assert_eq!(partition(&pcm, 'C'), "C:4 CA:3 CAA:1 CAC:1 CB:1 CBC:1");
    let mut predicted = Vec::new();
    pcm.predict(GROUP, 10, &mut predicted);
    predicted.sort_by_key(|prediction| prediction.file);
    let short: Vec<_> = predicted.iter().map(|p| (p.file.0 as u8, p.likelihood, p.distance)).collect();
    assert_eq!(short, [(b'A', 0.5, 1), (b'C', 0.5, 1)]);
    predicted.clear();
    pcm.predict(GROUP, 10, &mut predicted);
    assert!(predicted.is_empty(), "nothing new since");
}

/// Numbers of the executable reference for a partition of four nodes.
#[test]
fn a_full_partition_is_halved_and_keeps_its_root() {
    let mut pcm = begun(4, 2, 0.5);
    letters(&mut pcm, "ABACADAE");
    let nodes = pcm.trie.dump(FileId(u32::from(b'A')));
    assert!(nodes.len() <= 4);
    assert_eq!(partition(&pcm, 'A'), "A:2 AD:1 ADA:1 AE:1");
}

/// Found by the comparison with the slow model: a child counted after a halving, its parent before.
#[test]
fn a_child_that_counts_more_than_its_parent_goes_with_it_and_is_saved() {
    let mut pcm = begun(3, 2, 0.5);
    letters(&mut pcm, "ACBACAC");
    assert_eq!(partition(&pcm, 'A'), "A:1 AC:2 ACA:1");
    let mut bytes = Vec::new();
    pcm.save(&mut bytes);
    assert!(begun(3, 2, 0.5).load(&bytes, 256).is_ok());
}

#[test]
fn a_child_starts_where_its_parent_stands() {
    let mut pcm = begun(100, 2, 0.5);
    letters(&mut pcm, "ABCABCAB");
    let child = StreamId(2);
    pcm.begin(
        child,
        &Origin { parent: Some(STREAM), program: ProgramId(0), group: GROUP, session: SessionId(0) },
    );
    assert_eq!(pcm.expected(child), pcm.expected(STREAM));
    assert_eq!(pcm.expected(child)[0].file, FileId(u32::from(b'C')));
    pcm.end(STREAM);
    pcm.end(child);
    assert!(pcm.streams.is_empty() && pcm.latest.is_empty());
}

#[test]
fn a_forgotten_file_is_nowhere() {
    let mut pcm = begun(100, 2, 0.1);
    letters(&mut pcm, "ABCABCABC");
    let before = pcm.footprint().nodes;
    pcm.forget(&|file| file == FileId(u32::from(b'B')));
    assert_eq!(partition(&pcm, 'A'), "A:3");
    assert_eq!(partition(&pcm, 'B'), "");
    assert!(pcm.footprint().nodes < before);
    letters(&mut pcm, "ABC");
    assert_eq!(partition(&pcm, 'B'), "B:1 BC:1");
}

/// The published rules on whole paths: slow and obvious.
#[derive(Default)]
struct Slow {
    /// Path -> (count, which birth of that path).
    nodes: BTreeMap<Vec<u32>, (u32, u32)>,
    births: u32,
    contexts: Vec<Option<(Vec<u32>, u32)>>,
}

impl Slow {
    fn room(&mut self, root: u32, max: usize) -> bool {
        let used =
            |nodes: &BTreeMap<Vec<u32>, (u32, u32)>| nodes.keys().filter(|path| path[0] == root).count();
        if used(&self.nodes) < max {
            return true;
        }
        for (_, node) in self.nodes.iter_mut().filter(|(path, _)| path[0] == root) {
            node.0 /= 2;
        }
        if let Some(top) = self.nodes.get_mut(&vec![root]) {
            top.0 = top.0.max(1);
        }
        // A node may count more than its parent: its last count came after a halving, its parent's
        // before. It goes with its parent all the same.
        let zeros: Vec<Vec<u32>> =
            self.nodes.iter().filter(|node| node.1.0 == 0).map(|node| node.0.clone()).collect();
        self.nodes.retain(|path, _| !zeros.iter().any(|zero| path.starts_with(zero)));
        used(&self.nodes) < max
    }

    fn observe(&mut self, file: u32, max: usize, order: usize) {
        self.births += 1;
        let births = self.births;
        let top = self.nodes.entry(vec![file]).or_insert((0, births));
        top.0 += 1;
        let mut next = vec![Some((vec![file], top.1))];
        for context in std::mem::take(&mut self.contexts) {
            next.push(context.and_then(|(path, birth)| self.follow(path, birth, file, max)));
        }
        next.truncate(order);
        self.contexts = next;
    }

    fn follow(&mut self, path: Vec<u32>, birth: u32, file: u32, max: usize) -> Option<(Vec<u32>, u32)> {
        if self.nodes.get(&path).is_none_or(|node| node.1 != birth) {
            return None;
        }
        let mut longer = path.clone();
        longer.push(file);
        if let Some(node) = self.nodes.get_mut(&longer) {
            node.0 += 1;
            return Some((longer, node.1));
        }
        if !self.room(path[0], max) || self.nodes.get(&path).is_none_or(|node| node.1 != birth) {
            return None;
        }
        self.births += 1;
        self.nodes.insert(longer.clone(), (1, self.births));
        Some((longer, self.births))
    }

    fn predict(&self, threshold: f32) -> BTreeMap<u32, f32> {
        let mut out = BTreeMap::new();
        for (path, birth) in self.contexts.iter().flatten() {
            let Some(&(count, _)) = self.nodes.get(path).filter(|node| node.1 == *birth && node.0 > 1) else {
                continue;
            };
            for (child, node) in &self.nodes {
                if child.len() == path.len() + 1 && child.starts_with(path) {
                    let likelihood = (node.0 as f32 / (count - 1) as f32).min(1.0);
                    if likelihood >= threshold {
                        let best = out.entry(child[path.len()]).or_insert(0f32);
                        *best = best.max(likelihood);
                    }
                }
            }
        }
        out
    }
}

proptest! {
    #[test]
    fn the_trie_is_the_slow_model(
        files in prop::collection::vec(0..6u32, 0..200), partition in 2..12u32, order in 1..5u32,
    ) {
        let mut pcm = begun(partition, order, 0.3);
        let mut slow = Slow::default();
        for file in files {
            open(&mut pcm, file);
            slow.observe(file, partition as usize, order as usize);
            let mut predicted = Vec::new();
            pcm.predict(GROUP, 100, &mut predicted);
            let predicted: BTreeMap<u32, f32> = predicted.iter().map(|p| (p.file.0, p.likelihood)).collect();
            prop_assert_eq!(predicted, slow.predict(0.3));
            let all: BTreeMap<Vec<u32>, u32> = (0..6).flat_map(|file| pcm.trie.dump(FileId(file))).collect();
            let expected: BTreeMap<Vec<u32>, u32> =
                slow.nodes.iter().map(|(path, node)| (path.clone(), node.0)).collect();
            prop_assert_eq!(all.len() as u64, pcm.footprint().nodes);
            prop_assert_eq!(all, expected);
        }
    }

    #[test]
    fn saved_is_loaded(files in prop::collection::vec(0..9u32, 0..200), more in prop::collection::vec(0..9u32, 0..9)) {
        let mut pcm = begun(8, 3, 0.2);
        files.iter().for_each(|&file| open(&mut pcm, file));
        let mut bytes = Vec::new();
        pcm.save(&mut bytes);
        let mut loaded = begun(8, 3, 0.2);
        loaded.load(&bytes, 9).unwrap();
        pcm.begin(STREAM, &Origin { parent: None, program: ProgramId(0), group: GROUP, session: SessionId(0) });
        for file in more {
            open(&mut pcm, file);
            open(&mut loaded, file);
            prop_assert_eq!(pcm.expected(STREAM), loaded.expected(STREAM));
        }
    }

    #[test]
    fn garbage_is_refused_or_loaded(bytes: Vec<u8>) {
        let mut pcm = begun(8, 3, 0.2);
        if pcm.load(&bytes, 50).is_ok() {
            (0..9).for_each(|file| open(&mut pcm, file));
        }
    }
}
