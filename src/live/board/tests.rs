use super::state::LOOKERS;
use super::*;
use crate::engine::Target;
use crate::id::{FileId, JobId};
use std::sync::Arc;
use std::thread;

const LONG: Duration = Duration::from_secs(30);

fn job(id: u64, target: Target) -> Job {
    Job { id: JobId(id), file: FileId(id as u32), target, bytes: u64::MAX }
}

fn data(id: u64) -> Job {
    job(id, Target::Data)
}

/// A board with a worker's place for every job, and those jobs on it.
fn board(width: usize, jobs: &[Job]) -> Board {
    let board = Board::new(width);
    board.post(jobs);
    board
}

fn take(board: &Board) -> u64 {
    board.take().unwrap().job.id.0
}

/// Runs a join in another thread and returns once it waits.
fn joiner(board: &Arc<Board>, file: u32, hasten: bool, patience: Duration) -> thread::JoinHandle<Joined> {
    let waiting = || board.state.lock().awaited.get(&JobId(u64::from(file))).copied().unwrap_or(0);
    let (there, before) = (board.clone(), waiting());
    let handle = thread::spawn(move || there.join(FileId(file), Want::Data, hasten, patience));
    while waiting() == before {
        thread::yield_now();
    }
    handle
}

#[test]
fn jobs_begin_in_order_and_no_more_than_the_width() {
    let board = board(2, &[data(1), data(2), data(3)]);
    assert_eq!(board.workers(), 2);
    assert_eq!((take(&board), take(&board)), (1, 2));
    assert!(!board.state.lock().may_begin());
    board.finish(&data(1));
    assert_eq!(take(&board), 3);
    assert_eq!(board.load(), (0, 2));
}

#[test]
fn a_withdrawn_job_never_begins_and_a_begun_one_is_not_withdrawn() {
    let board = board(8, &[data(1), data(2), data(3)]);
    assert!(board.withdraw(JobId(2)));
    assert!(!board.withdraw(JobId(2)));
    assert!(!board.is_planned(FileId(2), Want::Data));
    assert_eq!((take(&board), take(&board)), (1, 3));
    assert!(!board.withdraw(JobId(1)));
}

#[test]
fn looking_at_used_files_gives_way_but_gets_its_turn() {
    let facts = |id| job(id, Target::Facts);
    let board = board(64, &[facts(100), facts(101), facts(102)]);
    assert_eq!(board.workers(), LOOKERS);
    board.post(&(1..=20).map(data).collect::<Vec<_>>());
    // The very first turn is theirs, then each sixteenth.
    let order: Vec<u64> = (0..18).map(|_| take(&board)).collect();
    assert_eq!(order[0], 100);
    assert_eq!(order[16], 101);
    assert_eq!(order.iter().filter(|&&id| id >= 100).count(), 2);
    assert!(!board.is_planned(FileId(100), Want::Data));
}

#[test]
fn a_request_waits_for_the_end_of_the_job() {
    let board = Arc::new(board(1, &[data(1)]));
    assert_eq!(board.join(FileId(2), Want::Data, true, LONG), Joined::NotPlanned);
    assert!(board.is_planned(FileId(1), Want::Attributes), "who brings bytes brings the name");
    let waiter = joiner(&board, 1, false, LONG);
    assert!(!board.withdraw(JobId(1)), "somebody waits for it");
    let begun = board.take().unwrap();
    board.finish(&begun.job);
    assert_eq!(waiter.join().unwrap(), Joined::Arrived);
    assert_eq!(board.join(FileId(1), Want::Data, false, LONG), Joined::NotPlanned);
}

#[test]
fn a_request_can_hasten_its_job_once() {
    let board = Arc::new(board(8, &[data(1), data(2), data(3)]));
    let waiters = [joiner(&board, 3, true, LONG), joiner(&board, 3, true, LONG)];
    assert_eq!([take(&board), take(&board), take(&board)], [3, 1, 2]);
    board.finish(&data(3));
    for waiter in waiters {
        assert_eq!(waiter.join().unwrap(), Joined::Arrived);
    }
    let next = board.state.lock().next();
    assert_eq!(next, None);
}

#[test]
fn nobody_waits_past_the_deadline_or_the_close() {
    let board = Arc::new(board(1, &[data(1), data(2)]));
    assert_eq!(board.join(FileId(1), Want::Data, false, Duration::ZERO), Joined::TimedOut);
    let waiter = joiner(&board, 2, false, LONG);
    board.close();
    assert_eq!(waiter.join().unwrap(), Joined::NotPlanned);
    assert!(board.take().is_none());
    assert!(board.wait_for_workers(Instant::now() + LONG));
    assert_eq!(board.post(&[data(9)]), 0);
    assert_eq!(board.join(FileId(9), Want::Data, false, LONG), Joined::NotPlanned);
}

#[test]
fn a_wider_board_wants_more_workers() {
    let board = board(1, &[data(1), data(2), data(3)]);
    assert_eq!(board.set_width(2), 1);
    assert_eq!(board.set_width(64), 1);
    assert_eq!(board.set_width(64), 0);
    assert_eq!(board.workers(), 3);
}

#[test]
fn a_worker_that_waits_is_woken_by_work() {
    let board = Arc::new(board(4, &[data(1)]));
    assert_eq!(take(&board), 1);
    let there = board.clone();
    let worker = thread::spawn(move || there.take().map(|begun| begun.job.id));
    while board.state.lock().idle == 0 {
        thread::yield_now();
    }
    board.post(&[data(2)]);
    assert_eq!(worker.join().unwrap(), Some(JobId(2)));
}

#[test]
fn who_waits_goes_on_when_what_is_wanted_has_come_though_the_job_goes_on() {
    let board = Arc::new(board(1, &[data(1)]));
    take(&board);
    let name = |patience| board.join(FileId(1), Want::Attributes, false, patience);
    let waits = joiner(&board, 1, false, LONG);
    assert_eq!(name(Duration::ZERO), Joined::TimedOut);
    board.land(&data(1), Want::Attributes);
    assert_eq!(name(LONG), Joined::Arrived, "the name is there");
    assert_eq!(
        board.join(FileId(1), Want::Data, false, Duration::ZERO),
        Joined::TimedOut,
        "the bytes are not"
    );
    board.land(&data(1), Want::Data);
    assert_eq!(waits.join().unwrap(), Joined::Arrived);
    assert_eq!(board.load(), (0, 1), "the job goes on");
    board.finish(&data(1));
    assert_eq!(board.load(), (0, 0));
    assert!(board.state.lock().landed.is_empty());
}
