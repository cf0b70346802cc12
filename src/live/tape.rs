//! Recording: what the engine is told and asks for, handed as a trace to a thread that may wait for the disk.
//!
//! What must stay true: the engine thread never waits here; a trace has no holes: what does not fit any more ends the recording, and
//! the trace says so; there is one recording at a time.

use std::fs::File;
use std::io::{self, Write};
use std::sync::Arc;

use crossbeam_channel::{Receiver, Sender, bounded};
use parking_lot::Mutex;
use thiserror::Error;

use super::Live;
use crate::engine::{Effect, Engine, Step};
use crate::event::Origin;
use crate::id::{FileId, StreamId};
use crate::names::{Names, Programs};
use crate::trace::{Disguise, Recorder, Setting, Start};

/// Pieces that wait to be written, at most: with pieces of `PIECE` bytes several seconds of the busiest requests.
const ROOM: usize = 256;
/// A piece is handed over when it is so large, or when nothing else is to be done.
const PIECE: usize = 16 << 10;

/// Why nothing is recorded.
#[derive(Debug, Error)]
pub enum RecordError {
    /// One at a time.
    #[error("a recording is under way already")]
    UnderWay,
    /// Nobody is told anything.
    #[error("prefetching is off: there is nothing to record")]
    Off,
    /// The thread that writes could not be started.
    #[error("the recording cannot be written: {0}")]
    Thread(io::Error),
}

/// A recording that began.
#[derive(Clone, Debug)]
pub struct Recording {
    number: u64,
    /// Nothing is ever sent; it closes when all is written.
    pub(super) written: Receiver<()>,
}

/// See the module's head.
pub(crate) struct Tape {
    names: Arc<Mutex<Names>>,
    programs: Arc<Mutex<Programs>>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    running: Option<Running>,
    /// Recordings so far.
    count: u64,
}

struct Running {
    recorder: Recorder,
    to: Sender<Vec<u8>>,
    recording: Recording,
}

/// A file whose content is on the disk when it was flushed.
pub(crate) struct Synced(pub(crate) File);

impl Write for Synced {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.sync_all()
    }
}

impl Tape {
    pub(crate) fn new(names: Arc<Mutex<Names>>, programs: Arc<Mutex<Programs>>) -> Self {
        Tape { names, programs, state: Mutex::default() }
    }

    /// Is something recorded?
    pub(crate) fn is_running(&self) -> bool {
        self.state.lock().running.is_some()
    }

    /// Starts recording. To be called by the engine thread between two steps, or before there is one, with the streams the
    /// engine knows.
    pub(crate) fn start(
        &self,
        start: Start,
        engine: &Engine,
        streams: &[(StreamId, Origin)],
        disguise: Option<Disguise>,
        out: Box<dyn Write + Send>,
    ) -> Result<Recording, RecordError> {
        let mut state = self.state.lock();
        if state.running.is_some() {
            return Err(RecordError::UnderWay);
        }
        let mut recorder = Recorder::new(&Setting::new(engine.settings(), start), disguise);
        // Requests need the names: they are locked while they are copied, no longer.
        let (names, programs) = (self.names.lock().clone(), self.programs.lock().clone());
        recorder.learned(&engine.learned(), &names, &programs);
        for &(stream, origin) in streams {
            recorder.step(&Step::Begin(stream, origin), &[], &names, &programs);
        }
        // One place is kept for the end.
        let (to, from) = bounded(ROOM + 1);
        let (writing, written) = bounded(0);
        let write = move || {
            if let Err(error) = write(&from, out) {
                log::warn!("the recording has ended: it cannot be written: {error}");
            }
            drop::<Sender<()>>(writing);
        };
        std::thread::Builder::new().name("record".into()).spawn(write).map_err(RecordError::Thread)?;
        state.count += 1;
        let recording = Recording { number: state.count, written };
        let mut running = Running { recorder, to, recording: recording.clone() };
        if running.hand_over() {
            state.running = Some(running);
        }
        Ok(recording)
    }

    /// The directory of a file, as the engine is to be told.
    pub(crate) fn parent(&self, file: FileId) -> Option<FileId> {
        let mut state = self.state.lock();
        let names = self.names.lock();
        match &mut state.running {
            Some(running) => running.recorder.parent(file, &names),
            None => names.parent(file),
        }
    }

    /// The engine took a step and asked for `effects`.
    pub(crate) fn step(&self, step: &Step, effects: &[Effect]) {
        let mut state = self.state.lock();
        let Some(running) = &mut state.running else { return };
        running.recorder.step(step, effects, &self.names.lock(), &self.programs.lock());
        if running.recorder.waiting() >= PIECE {
            state.hand_over();
        }
    }

    /// Hands over what waits.
    pub(crate) fn flush(&self) {
        self.state.lock().hand_over();
    }

    /// Ends this recording, or whatever is recorded. What comes back closes when all is written; `None` when nothing was recorded.
    pub(crate) fn end(&self, recording: Option<&Recording>) -> Option<Receiver<()>> {
        let mut state = self.state.lock();
        let meant = |running: &Running| {
            recording.is_none_or(|recording| recording.number == running.recording.number)
        };
        let running = state.running.take_if(|running| meant(running))?;
        // There is a place for it, unless nobody writes any more.
        let _ = running.to.try_send(running.recorder.finish());
        Some(running.recording.written)
    }
}

impl Live {
    /// Is something recorded?
    pub fn is_recording(&self) -> bool {
        self.tape.is_running()
    }

    /// Records what the engine is told from now on as a trace into `out`, with hashes for names if asked for, until
    /// [`Live::stop_recording`], the end of the driver, or until `out` falls behind or refuses.
    ///
    /// # Errors
    /// Something is recorded already, or there is no engine.
    pub fn record(&self, out: Box<dyn Write + Send>, hash_names: bool) -> Result<Recording, RecordError> {
        let (tape, desk) = (self.tape.clone(), self.desk.clone());
        let start = move |engine: &mut Engine| {
            let mut streams = desk.processes.origins();
            streams.retain(|&(stream, _)| engine.knows(stream));
            tape.start(Start::Midlife, engine, &streams, hash_names.then(Disguise::new), out)
        };
        self.ask(start).unwrap_or(Err(RecordError::Off))
    }

    /// Ends that recording, if it has not ended.
    pub fn stop_recording(&self, recording: &Recording) {
        self.tape.end(Some(recording));
    }
}

impl State {
    fn hand_over(&mut self) {
        let Some(running) = &mut self.running else { return };
        if running.hand_over() {
            return;
        }
        if let Some(running) = self.running.take().filter(|running| running.to.len() >= ROOM) {
            log::warn!("the recording has ended: it could not be written as fast as things happened");
            let _ = running.to.try_send(running.recorder.fall_behind());
        }
    }
}

impl Running {
    /// False when there is no room, or nobody writes any more.
    fn hand_over(&mut self) -> bool {
        self.recorder.waiting() == 0
            || (self.to.len() < ROOM && self.to.try_send(self.recorder.take()).is_ok())
    }
}

fn write(from: &Receiver<Vec<u8>>, mut out: Box<dyn Write + Send>) -> io::Result<()> {
    for piece in from {
        match out.write_all(&piece) {
            // Whoever listened has left: that is how most recordings end.
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => return Ok(()),
            other => other?,
        }
    }
    out.flush()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::Micros;
    use crate::engine::Settings;
    use crate::predict::PredictorChoice;
    use crate::trace::{Ending, Reader, Record, Tail};

    /// What was written, behind a gate.
    #[derive(Clone)]
    struct Gate(Arc<Mutex<Vec<u8>>>, Receiver<()>);

    impl Write for Gate {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            // Closed for good is open.
            let _ = self.1.recv();
            self.0.lock().extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    fn engine() -> Engine {
        Engine::new(Settings {
            predictor: PredictorChoice::Match,
            scope: crate::config::Scope::Job,
            budget: 1 << 20,
        })
    }

    fn tape() -> Tape {
        Tape::new(Arc::default(), Arc::default())
    }

    #[test]
    fn what_does_not_fit_ends_the_recording_and_is_told() {
        let (tape, (open, closed)) = (tape(), bounded(0));
        let gate = Gate(Arc::default(), closed);
        let start = tape.start(Start::Birth, &engine(), &[], None, Box::new(gate.clone()));
        let recording = start.unwrap();
        let mut told = 0;
        while tape.is_running() {
            told += 1;
            tape.step(&Step::Tick(Micros(told)), &[]);
            tape.flush();
        }
        assert!(told as usize >= ROOM - 1);
        drop(open);
        assert!(recording.written.recv().is_err());
        let bytes = gate.0.lock().clone();
        let mut reader = Reader::new(&bytes[..], "t").unwrap();
        let ticks: Vec<Record> = reader.by_ref().map(Result::unwrap).collect();
        let ticks = ticks.iter().filter(|record| matches!(record, Record::Step(_))).count() as u64;
        assert_eq!(reader.tail(), Some(Tail::Ended(Ending::Behind)));
        assert!(ticks < told && ticks >= told - 2, "all but what did not fit: {ticks} of {told}");
    }

    #[test]
    fn one_at_a_time_and_who_writes_no_more_ends_it() {
        let tape = tape();
        let start = |out: Box<dyn Write + Send>| tape.start(Start::Midlife, &engine(), &[], None, out);
        let (reader, writer) = io::pipe().unwrap();
        let first = start(Box::new(writer)).unwrap();
        assert!(matches!(start(Box::new(io::sink())), Err(RecordError::UnderWay)));
        drop(reader);
        while tape.is_running() {
            tape.step(&Step::Tick(Micros(1)), &[]);
            tape.flush();
        }
        let second = start(Box::new(io::sink())).unwrap();
        assert!(tape.end(Some(&first)).is_none() && tape.is_running(), "another one's end");
        assert!(tape.end(Some(&second)).unwrap().recv().is_err());
        assert!(!tape.is_running() && tape.end(None).is_none());
    }
}
