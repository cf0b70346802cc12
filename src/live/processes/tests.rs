//! The table against real processes, short-lived ones above all.

use super::*;
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// A table whose programs are numbered in the order of their paths' first appearance.
fn table() -> (Processes, std::sync::Arc<Mutex<Vec<Vec<u8>>>>) {
    let paths = std::sync::Arc::new(Mutex::new(Vec::<Vec<u8>>::new()));
    let shared = paths.clone();
    let intern = move |path: &[u8]| {
        let mut paths = shared.lock();
        let at = paths.iter().position(|p| p == path).unwrap_or_else(|| {
            paths.push(path.to_vec());
            paths.len() - 1
        });
        ProgramId(at as u32)
    };
    (Processes::new(Box::new(intern)), paths)
}

fn announced(table: &Processes) -> Vec<Announcement> {
    let mut out = Vec::new();
    table.announcements(&mut out);
    out
}

fn sleeper() -> Child {
    Command::new("sleep").arg("60").spawn().unwrap()
}

fn finish(mut child: Child) {
    child.kill().unwrap();
    child.wait().unwrap();
}

#[test]
fn nobody_is_the_outsider_and_our_threads_are_our_own() {
    let (table, _) = table();
    assert_eq!(table.caller(0), Caller { own: false, stream: OUTSIDE });
    assert!(table.caller(std::process::id()).own);
    let id = table.enlist();
    assert!(table.caller(id).own);
    table.dismiss(id);
    assert!(matches!(announced(&table)[..], [Announcement::Begin(OUTSIDE, _)]));
    assert_eq!(table.len(), 0);
}

#[test]
fn a_child_begins_with_its_parent_and_job_and_ends() {
    let (table, paths) = table();
    // The shell stays alive beside its child and says the child's number.
    let mut shell =
        Command::new("sh").args(["-c", "sleep 60 & echo $!; wait"]).stdout(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(shell.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let child: u32 = line.trim().parse().unwrap();

    let stream = table.caller(child).stream;
    let parent = table.caller(shell.id()).stream;
    assert_ne!(stream, parent);
    let child_origin = announced_origin(&table, stream);
    assert_eq!(child_origin.parent, Some(parent));
    assert!(!paths.lock()[child_origin.program.index()].is_empty());

    rustix::process::kill_process(
        rustix::process::Pid::from_raw(child as i32).unwrap(),
        rustix::process::Signal::KILL,
    )
    .unwrap();
    shell.wait().unwrap();
    let deadline = Instant::now() + Duration::from_secs(10);
    let mut ended = Vec::new();
    while !(ended.contains(&Announcement::End(stream)) && ended.contains(&Announcement::End(parent))) {
        assert!(Instant::now() < deadline, "{ended:?}");
        table.sweep();
        table.announcements(&mut ended);
    }
}

/// The origin announced for `stream`; keeps what else was announced out of the way.
fn announced_origin(table: &Processes, stream: StreamId) -> Origin {
    let all = announced(table);
    let begin = all.iter().find_map(|a| match a {
        Announcement::Begin(id, origin) if *id == stream => Some(*origin),
        _ => None,
    });
    begin.unwrap_or_else(|| panic!("{stream:?} not in {all:?}"))
}

#[test]
fn the_same_process_keeps_its_stream_and_a_second_life_gets_another() {
    let (table, _) = table();
    let child = sleeper();
    let id = child.id();
    let first = table.caller(id);
    assert_eq!(table.caller(id), first);
    // As if the number had come round: the life on record started at another time.
    table.lives.lock().by_process.get_mut(&id).unwrap().start += 1;
    table.threads.write().clear();
    let second = table.caller(id);
    assert_ne!(second.stream, first.stream);
    assert!(announced(&table).contains(&Announcement::End(first.stream)));
    finish(child);
}

#[test]
fn a_program_change_is_seen_after_a_hint() {
    let (table, paths) = table();
    let mut child =
        Command::new("sh").args(["-c", "read line; exec sleep 60"]).stdin(Stdio::piped()).spawn().unwrap();
    let stream = table.caller(child.id()).stream;
    let before = announced_origin(&table, stream).program;
    drop(child.stdin.take());
    let deadline = Instant::now() + Duration::from_secs(10);
    let after = loop {
        assert!(Instant::now() < deadline, "the exec was never seen");
        table.expect_exec(child.id());
        assert_eq!(table.caller(child.id()).stream, stream);
        if let Some(Announcement::Exec(_, program)) = announced(&table).first() {
            break *program;
        }
    };
    assert_ne!(before, after);
    let paths = paths.lock();
    assert_ne!(paths[before.index()], paths[after.index()]);
    finish(child);
}

#[test]
fn who_has_gone_gets_a_stream_of_unknown_program() {
    let (table, paths) = table();
    let mut child = Command::new("true").spawn().unwrap();
    child.wait().unwrap();
    let caller = table.caller(child.id());
    assert!(!caller.own);
    assert_eq!(table.caller(child.id()), caller);
    let origin = announced_origin(&table, caller.stream);
    assert_eq!(origin.parent, None);
    assert!(paths.lock()[origin.program.index()].is_empty());
    table.sweep();
    assert_eq!(table.len(), 0);
}

#[test]
fn processes_of_one_job_share_a_group() {
    let outside = Origin { parent: None, program: ProgramId(0), group: GroupId(0), session: SessionId(0) };
    let mut lives = Lives::new(outside);
    let first = lives.group(10, Some(1));
    assert_eq!(lives.group(10, Some(1)), first);
    assert_eq!(lives.group(10, None), first, "its leader has ended");
    assert_ne!(lives.group(10, Some(2)), first, "another leader with that number");
}
