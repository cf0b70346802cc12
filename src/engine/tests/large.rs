//! Large files: not all of them is brought, but what was used.

use super::*;
use crate::event::Span;

const LARGE: FileId = FileId(14);
const SIZE: u64 = 1 << 30;

fn facts(file: FileId) -> Facts {
    let size = if file == LARGE { SIZE } else { 4096 };
    Facts { inode: u64::from(file.0), size, extent: 0, directory: false }
}

/// One run of a job that opens files 10 to 15, and reads `used` of the large one. What was asked for of that.
fn run(engine: &mut Engine, run: u32, used: &[Span]) -> Vec<Job> {
    let stream = StreamId(run);
    let origin = Origin { parent: None, program: ProgramId(1), group: GroupId(run), session: SessionId(0) };
    engine.begin(stream, origin);
    let (mut asked, mut effects) = (Vec::new(), Vec::new());
    let at = Micros(u64::from(run) * 10_000_000);
    for file in (10..16).map(FileId) {
        let open = AccessEvent { at, stream, file, op: Op::Open, residency: Residency::Miss };
        engine.observe(&open, &mut effects);
        for &span in used.iter().filter(|_| file == LARGE) {
            engine.observe(&AccessEvent { op: Op::Read(span), ..open }, &mut effects);
        }
        while let Some(effect) = effects.pop() {
            let Effect::Prefetch(job) = effect else { continue };
            asked.push(job);
            engine.settle(at, job.id, Outcome::Resident { facts: facts(job.file) }, &mut effects);
        }
    }
    engine.end(stream);
    engine.tick(at + Duration::from_secs(5), &mut effects);
    asked.retain(|job| job.file == LARGE && job.target == Target::Data);
    asked
}

#[test]
fn what_was_used_of_it_comes_again_and_else_its_head() {
    let settings = Settings { budget: 64 << 20, ..MATCH };
    let mut engine = Engine::new(settings);
    assert_eq!(run(&mut engine, 1, &[]), []);
    let head = run(&mut engine, 2, &[Span { offset: 0, len: 4096 }, Span { offset: 600 << 20, len: 4096 }]);
    assert_eq!(
        head.iter().map(|job| job.spans(SIZE)).collect::<Vec<_>>(),
        [[Span { offset: 0, len: 1 << 20 }]]
    );

    let learned = engine.learned();
    let mut engine = Engine::new(settings);
    assert_eq!(engine.restore(&learned, 100), Ok(true));
    let parts = run(&mut engine, 3, &[]);
    assert_eq!(parts.len(), 1);
    let spans = parts[0].spans(SIZE);
    let part = 16 << 20;
    assert_eq!(spans, [Span { offset: 0, len: part }, Span { offset: 592 << 20, len: part }]);
}
