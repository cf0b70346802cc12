//! Programs that a test runs, none of which may run for ever.

use std::io::{Read, Write};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use super::{GLANCE, PATIENCE};

/// A user who is not root and owns nothing. Any number would do; this one is nobody's on usual systems.
pub const ALICE: u32 = 54_321;
/// Another one.
pub const BOB: u32 = 54_322;

/// Runs a program and gives its output.
///
/// # Panics
/// When it takes longer than `limit` (it is ended then), or cannot be started.
pub fn output_within(command: &mut Command, limit: Duration) -> Output {
    try_output(command, limit).unwrap_or_else(|| panic!("{command:?} has not ended within {limit:?}"))
}

/// Runs a program and gives its output; `None` when it had to be ended.
pub fn try_output(command: &mut Command, limit: Duration) -> Option<Output> {
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut running = Running::start(command);
    let (out, err) = (running.0.stdout.take(), running.0.stderr.take());
    // Full pipes would hold it up.
    let out = std::thread::spawn(move || out.map(read_all));
    let err = std::thread::spawn(move || err.map(read_all));
    let start = Instant::now();
    let status = loop {
        if let Some(status) = running.0.try_wait().expect("our own child") {
            break status;
        }
        if start.elapsed() > limit {
            return None;
        }
        std::thread::sleep(Duration::from_millis(2));
    };
    let read = |reader: std::thread::JoinHandle<Option<Vec<u8>>>| reader.join().ok().flatten();
    Some(Output { status, stdout: read(out)?, stderr: read(err)? })
}

fn read_all(mut from: impl Read) -> Vec<u8> {
    let mut all = Vec::new();
    let _ = from.read_to_end(&mut all);
    all
}

/// Runs a shell script in `directory`; its standard output comes back, without the last line break.
///
/// # Panics
/// When it fails.
pub fn sh(directory: &Path, script: &str) -> String {
    let output = output_within(Command::new("sh").args(["-ec", script]).current_dir(directory), PATIENCE);
    told(script, &output)
}

/// As `sh`, as a user who has that number as group too, and no other groups. Failing is no panic: exit code and all that was said come back.
pub fn sh_as(user: u32, directory: &Path, script: &str) -> (i32, String) {
    let mut command = Command::new("sh");
    command.args(["-ec", script]).current_dir(directory).uid(user).gid(user);
    let output = output_within(&mut command, PATIENCE);
    let said = [output.stdout, output.stderr].concat();
    (output.status.code().unwrap_or(-1), String::from_utf8_lossy(&said).trim_end().to_owned())
}

fn told(script: &str, output: &Output) -> String {
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{script}: {:?}: {said}", output.status);
    String::from_utf8_lossy(&output.stdout).trim_end().to_owned()
}

/// A child that is ended when this goes.
#[derive(Debug)]
pub struct Running(pub Child);

impl Running {
    /// Starts it.
    pub fn start(command: &mut Command) -> Self {
        Running(command.spawn().unwrap_or_else(|error| panic!("{command:?}: {error}")))
    }

    /// A shell script that has told "ready" on its standard output.
    pub fn script(directory: &Path, script: &str) -> Self {
        let mut command = Command::new("sh");
        command.args(["-ec", script]).current_dir(directory).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut running = Running::start(&mut command);
        let mut word = [0; 5];
        running.0.stdout.as_mut().expect("piped").read_exact(&mut word).expect("the script is ready");
        assert_eq!(&word, b"ready");
        running
    }

    /// Ends its standard input, which most scripts wait for, and waits for it; its exit code comes back.
    pub fn finish(mut self) -> Option<i32> {
        if let Some(mut input) = self.0.stdin.take() {
            let _ = input.write_all(b"go\n");
        }
        let start = Instant::now();
        loop {
            if let Some(status) = self.0.try_wait().expect("our own child") {
                return status.code();
            }
            assert!(start.elapsed() < PATIENCE, "a script hangs");
            std::thread::sleep(GLANCE);
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
