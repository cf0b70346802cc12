//! Golden edges, and the graph against a count over the whole list of opens.

use super::super::Predictor;
use super::super::per_stream::PerStream;
use super::super::practice::{self, files, letters, next, open, pull};
use super::*;
use proptest::prelude::*;

fn begun(window: u32, threshold: f32) -> PerStream<Graph> {
    practice::begun(PerStream::new(Graph::new(GraphParameters { window, threshold })))
}

/// A file's openings, and its edges with their weights.
fn node(graph: &PerStream<Graph>, letter: char) -> String {
    let node = graph.knowledge().table.get(FileId(letter as u32)).cloned().unwrap_or_default();
    let edge = |(target, weight): (&Link, &u16)| {
        target.file().map(|file| format!(" {}:{weight}", char::from(file.0 as u8)))
    };
    let edges = node.targets.iter().zip(&node.weights).filter_map(edge);
    format!("{}{}", node.openings, edges.collect::<String>())
}

#[test]
fn edges_lead_to_what_was_opened_within_the_window() {
    let mut graph = begun(2, 0.5);
    letters(&mut graph, "CACBCAABCA");
    assert_eq!(node(&graph, 'A'), "4 C:2 B:3");
    assert_eq!(node(&graph, 'B'), "2 C:2 A:2");
    assert_eq!(node(&graph, 'C'), "4 A:3 B:1");
}

#[test]
fn the_likely_ones_are_predicted_likeliest_first() {
    let mut graph = begun(3, 0.5);
    letters(&mut graph, "ABCDABCEACBF");
    letters(&mut graph, "A");
    let predicted: Vec<_> =
        pull(&mut graph).iter().map(|p| (p.file.0 as u8, p.likelihood, p.distance)).collect();
    assert_eq!(predicted, [(b'B', 1.0, 1), (b'C', 1.0, 2)]);
    assert_eq!(next(&graph), Some(u32::from(b'B')));
    assert!(files(&mut graph).is_empty());
}

#[test]
fn a_loop_is_known_a_window_ahead_after_one_pass() {
    let mut graph = begun(10, 0.3);
    open(&mut graph, (0..40).chain(0..5));
    assert_eq!(files(&mut graph), (5..15).collect::<Vec<_>>());
}

/// A header, and one source after the other that includes it: the sources push each other out, what comes
/// with the header each time stays.
#[test]
fn what_was_seen_once_goes_first() {
    let mut graph = begun(2, 0.3);
    for source in 100..200 {
        open(&mut graph, [1, 2, source]);
    }
    open(&mut graph, [1]);
    assert_eq!(files(&mut graph), [2]);
    assert!(graph.footprint().nodes <= 3 * 16 + 100 * 2);
}

#[test]
fn a_file_that_is_opened_very_often_keeps_its_proportions() {
    let mut graph = begun(1, 0.3);
    open(&mut graph, (0..70_000).flat_map(|round| [1, 2 + round % 2]));
    open(&mut graph, [1]);
    let likelihoods: Vec<_> = pull(&mut graph).iter().map(|p| (p.likelihood * 1000.0).round()).collect();
    assert_eq!(likelihoods, [500.0, 500.0]);
}

#[test]
fn a_forgotten_file_is_no_target_and_no_past() {
    let mut graph = begun(3, 0.3);
    letters(&mut graph, "ABCABC");
    graph.forget(&|file| file.0 == u32::from(b'B'));
    assert_eq!(node(&graph, 'A'), "2 C:2");
    assert_eq!(node(&graph, 'B'), "0");
    letters(&mut graph, "BA");
    assert_eq!(node(&graph, 'B'), "1 A:1");
    assert_eq!(files(&mut graph), b"CB".map(u32::from));
}

/// Over all openings of `from` but the last one, the share that was followed by `to` within the window and
/// before the next opening of `to` itself was over.
fn share(opens: &[u32], window: usize, from: u32, to: u32) -> f32 {
    let openings: Vec<usize> = (0..opens.len()).filter(|&place| opens[place] == from).collect();
    let followed = |&&place: &&usize| opens[place + 1..].iter().take(window).any(|&file| file == to);
    openings.iter().filter(followed).count() as f32 / (openings.len() - 1).max(1) as f32
}

proptest! {
    /// With fewer files than a node has edges, nothing decays.
    #[test]
    fn likelihoods_are_shares_of_openings(
        opens in prop::collection::vec(0..9u32, 1..150), window in 1..12usize,
    ) {
        let mut graph = begun(window as u32, 0.3);
        for (place, &file) in opens.iter().enumerate() {
            open(&mut graph, [file]);
            let predicted = pull(&mut graph);
            prop_assert_eq!(graph.next(practice::STREAM), predicted.first().copied());
            prop_assert!(predicted.is_sorted_by(|a, b| a.likelihood >= b.likelihood));
            let seen = &opens[..=place];
            let first = !seen[..place].contains(&file);
            for other in (0..9).filter(|&other| other != file) {
                let expected = Some(share(seen, window, file, other)).filter(|&share| share >= 0.3 && !first);
                let found = predicted.iter().find(|p| p.file.0 == other).map(|p| p.likelihood);
                prop_assert_eq!(found, expected, "{} after {:?}", other, seen);
            }
            prop_assert!(predicted.iter().all(|p| p.file.0 != file));
        }
    }

    #[test]
    fn a_node_never_has_more_edges_than_it_may(opens in prop::collection::vec(0..60u32, 0..400)) {
        let mut graph = begun(12, 0.1);
        open(&mut graph, opens);
        for (_, node) in graph.knowledge().table.known() {
            prop_assert!(node.used() <= EDGES_MAX);
            prop_assert!(node.targets[node.used()..].iter().all(|&target| target == Link::NONE));
        }
    }
}
