//! What the daemon says on its control socket.
//!
//! What must stay true: an answer keeps the control thread no longer than a report takes; what takes longer goes on in a thread of its own, and
//! ends when the client has gone.

use std::ffi::OsString;
use std::io::Write;
use std::os::unix::ffi::OsStringExt;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;

use super::farewell::Farewell;
use super::recording;
use super::report::Reporter;
use super::takeover::Orders;
use super::tuning::Tuning;
use crate::codec::text::from_text;
use crate::live::control::{self, Answer, ControlGuard, Progress, Request, Response};
use crate::live::{Brought, Errand, Live};

/// A client that takes nothing for so long has stopped.
const PATIENCE: Duration = Duration::from_secs(5);

/// Answers on the control socket from now on.
pub(super) fn listen(
    device: (u32, u32),
    reporter: Arc<Reporter>,
    tuning: Arc<Tuning>,
    live: Arc<Live>,
    orders: Orders,
    farewell: Arc<Farewell>,
) -> Option<ControlGuard> {
    let answer = move |request| match request {
        Request::Stats => Answer::from(Response::Stats { report: Box::new(reporter.report()) }),
        Request::Glance => Answer::from(Response::Stats { report: Box::new(reporter.glance()) }),
        Request::Farewell => {
            let farewell = farewell.clone();
            Answer::Feed(
                Response::Stats { report: Box::new(reporter.glance()) },
                Box::new(move |stream| farewell.await_end(stream)),
            )
        }
        Request::History => Answer::from(Response::History { points: reporter.history() }),
        Request::Set { options } => match tuning.set(&options) {
            Ok(message) => Answer::from(Response::Done { message }),
            Err(error) => refusal(&error),
        },
        Request::Warm { below, program, dry_run } => warm(&live, &below, program.as_deref(), dry_run),
        Request::Record { hash_names } => recording::answer(&live, hash_names),
        Request::Upgrade { program } => upgrade(&program, &orders),
        Request::Explain { path } => Answer::from(reporter.explain(&path)),
    };
    control::own_socket(device)
        .and_then(|path| control::serve(&path, answer))
        .inspect_err(|error| log::warn!("nobody can ask for statistics: {error}"))
        .ok()
}

fn refusal(why: &dyn std::fmt::Display) -> Answer {
    Response::Error { message: why.to_string() }.into()
}

fn upgrade(program: &str, orders: &Orders) -> Answer {
    match from_text(program).map(|path| PathBuf::from(OsString::from_vec(path))) {
        Some(program) if program.is_absolute() => orders.attend(program),
        _ => refusal(&"the program is to be named by its absolute path"),
    }
}

fn warm(live: &Arc<Live>, below: &str, program: Option<&str>, dry_run: bool) -> Answer {
    let Some(below) = from_text(below) else { return refusal(&"the path cannot be read") };
    let errand = match live.errand(&below, program) {
        Ok(errand) => errand,
        Err(error) => return refusal(&error),
    };
    let response = Response::Warming { files: errand.len() as u64, bytes: errand.bytes };
    if dry_run {
        return response.into();
    }
    let live = live.clone();
    Answer::Feed(
        response,
        Box::new(move |stream| {
            let work = move || run(&live, &errand, stream);
            if let Err(error) = std::thread::Builder::new().name("errand".into()).spawn(work) {
                log::warn!("nothing is warmed: {error}");
            }
        }),
    )
}

/// Warms, and tells the client now and then and at the end.
fn run(live: &Arc<Live>, errand: &Errand, stream: UnixStream) {
    if stream.set_write_timeout(Some(PATIENCE)).is_err() {
        return;
    }
    let telling = Mutex::new(Telling { stream, progress: Progress::default() });
    live.run_errand(errand, |brought| telling.lock().take(brought), || telling.lock().tell());
    telling.lock().tell();
}

struct Telling {
    stream: UnixStream,
    progress: Progress,
}

impl Telling {
    /// Counts a file.
    fn take(&mut self, brought: Brought) {
        self.progress.files += 1;
        match brought {
            Brought::Bytes(bytes) => self.progress.bytes += bytes,
            Brought::Resident => self.progress.resident += 1,
            Brought::Failed => self.progress.failed += 1,
        }
    }

    /// Tells how it goes. False when nobody listens any more.
    fn tell(&mut self) -> bool {
        let mut line = serde_json::to_vec(&self.progress).unwrap_or_default();
        line.push(b'\n');
        self.stream.write_all(&line).is_ok()
    }
}
