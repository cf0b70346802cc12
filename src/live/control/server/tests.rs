use super::super::{ControlError, ask_at};
use super::*;
use crate::stats::Report;
use proptest::prelude::*;
use std::io::{Read, Write};
use std::time::Instant;

fn handler(_: Request) -> Response {
    counting(7)
}

fn counting(total: u64) -> Response {
    let mut report = Report::default();
    report.opens.total = total;
    Response::Stats { report: Box::new(report) }
}

/// The daemon that listens at `socket` is the one that counts seven.
fn answers(socket: &Path) -> bool {
    ask_at(socket, Request::Stats).is_ok_and(|said| said == counting(7))
}

struct Place {
    _dir: tempfile::TempDir,
    socket: PathBuf,
}

fn place() -> Place {
    let dir = tempfile::tempdir().unwrap();
    Place { socket: dir.path().join("s"), _dir: dir }
}

fn say(socket: &Path, bytes: &[u8]) -> String {
    let mut stream = UnixStream::connect(socket).unwrap();
    stream.write_all(bytes).unwrap();
    let mut said = String::new();
    stream.read_to_string(&mut said).unwrap();
    said
}

#[test]
fn questions_are_answered() {
    let place = place();
    let _guard = serve(&place.socket, handler).unwrap();
    assert!(answers(&place.socket));
    let said = say(&place.socket, b"{\"command\":\"stats\"}\n");
    assert!(said.starts_with("{\"reply\":\"stats\",\"report\":{"), "{said}");
}

#[test]
fn a_panic_in_the_handler_is_an_error_line_and_the_next_question_works() {
    let place = place();
    let first = std::sync::atomic::AtomicBool::new(true);
    let fail_once = move |request| {
        assert!(!first.swap(false, std::sync::atomic::Ordering::Relaxed), "a handler may fail");
        handler(request)
    };
    let _guard = serve(&place.socket, fail_once).unwrap();
    assert!(matches!(ask_at(&place.socket, Request::Stats), Err(ControlError::Refused(_))));
    assert!(answers(&place.socket));
}

#[test]
fn garbage_is_answered_with_an_error_line() {
    let place = place();
    let _guard = serve(&place.socket, handler).unwrap();
    for bytes in [&b"\n"[..], b"{}\n", b"{\"command\":\"fly\"}\n", b"\xff\xfe\n", b"[1,2\n"] {
        let said = say(&place.socket, bytes);
        assert!(said.starts_with("{\"reply\":\"error\"") && said.ends_with("}\n"), "{said}");
    }
    assert!(answers(&place.socket));
}

#[test]
fn an_endless_line_is_cut() {
    let place = place();
    let _guard = serve(&place.socket, handler).unwrap();
    let mut stream = UnixStream::connect(&place.socket).unwrap();
    // The daemon may hang up on us before it has heard all of it.
    let _ = stream.write_all(&vec![b'x'; LONGEST_REQUEST * 4]);
    assert!(answers(&place.socket));
}

#[test]
fn a_slow_client_holds_up_the_next_only_so_long() {
    let place = place();
    let _guard = serve(&place.socket, handler).unwrap();
    let mut slow = UnixStream::connect(&place.socket).unwrap();
    slow.write_all(b"{").unwrap();
    let start = Instant::now();
    assert!(answers(&place.socket));
    assert!(start.elapsed() < PATIENCE + Duration::from_secs(2));
}

#[test]
fn a_silent_client_does_not_hold_up_the_end() {
    let place = place();
    let guard = serve(&place.socket, handler).unwrap();
    let _silent = UnixStream::connect(&place.socket).unwrap();
    let start = Instant::now();
    drop(guard);
    assert!(start.elapsed() < Duration::from_secs(1), "{:?}", start.elapsed());
    assert!(!place.socket.exists());
}

#[test]
fn a_dead_socket_is_replaced() {
    let place = place();
    drop(UnixListener::bind(&place.socket).unwrap());
    let guard = serve(&place.socket, handler).unwrap();
    assert!(answers(&place.socket));
    drop(guard);
    assert!(matches!(ask_at(&place.socket, Request::Stats), Err(ControlError::Silent { .. })));
}

/// The mount has gone, its daemon still saves, and the next mount gets the same device number.
#[test]
fn an_ending_daemon_leaves_its_successor_alone() {
    let place = place();
    let ending = serve(&place.socket, handler).unwrap();
    let successor = serve(&place.socket, |_| counting(8)).unwrap();
    assert_eq!(ask_at(&place.socket, Request::Stats).unwrap(), counting(8));
    drop(ending);
    assert_eq!(ask_at(&place.socket, Request::Stats).unwrap(), counting(8));
    drop(successor);
    assert_eq!(fs::read_dir(place.socket.parent().unwrap()).unwrap().count(), 0);
}

#[test]
fn only_the_owner_may_connect() {
    let place = place();
    let _guard = serve(&place.socket, handler).unwrap();
    assert_eq!(fs::metadata(&place.socket).unwrap().permissions().mode() & 0o777, 0o600);
}

proptest! {
    #[test]
    fn any_request_has_an_answer(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        let Answer::Line(said) = answer(&bytes, &|request| handler(request).into()) else { panic!() };
        let answered = matches!(said, Response::Error { .. }) || said == counting(7);
        prop_assert!(answered);
    }
}

/// In a process of its own, for the limit holds for all of it: this test runs itself.
#[test]
fn who_asks_when_no_descriptor_is_left_is_answered() {
    const MARK: &str = "AUGURFS_TEST_WITHOUT_DESCRIPTORS";
    const NAME: &str = "live::control::server::tests::who_asks_when_no_descriptor_is_left_is_answered";
    if std::env::var_os(MARK).is_none() {
        let mut own = std::process::Command::new(std::env::current_exe().unwrap());
        let output = own.args(["--exact", NAME]).env(MARK, "1").output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
        return;
    }
    use rustix::process::{Resource, Rlimit, setrlimit};
    setrlimit(Resource::Nofile, Rlimit { current: Some(64), maximum: Some(64) }).unwrap();
    let place = place();
    let _guard = serve(&place.socket, handler).unwrap();
    let fill = || std::iter::from_fn(|| fs::File::open("/dev/null").ok());
    let mut files: Vec<_> = fill().collect();
    for _ in 0..3 {
        // Just one, for this end of the connection.
        drop(files.pop());
        let mut stream = UnixStream::connect(&place.socket).unwrap();
        stream.write_all(b"{\"command\":\"stats\"}\n").unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
        let mut said = String::new();
        stream.read_to_string(&mut said).unwrap();
        assert!(said.starts_with("{\"reply\":\"stats\""), "{said}");
        drop(stream);
        files.extend(fill());
    }
}
