//! A process of the tested binary: its output is recorded, and it ends with the test.

use super::eventually;
use serde_json::Value;
use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

/// The tested program: that of the build, or the one that `tests/run.sh` has built for all that it runs.
pub const BINARY: &str = match option_env!("HEADGATE_PROGRAM") {
    Some(program) => program,
    None => env!("CARGO_BIN_EXE_headgate"),
};

pub struct Process {
    child: Child,
    pub stdout: Lines,
    pub stderr: Lines,
}

/// How long the reader of a process's standard error reads.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Reader {
    Stays,
    /// Closes the pipe after the line that contains this text.
    LeavesAfter(&'static str),
    /// Stops reading after the line that contains this text, but leaves the pipe open.
    StallsAfter(&'static str),
}

/// The lines that a process has written so far, and whether these are all that its reader reads.
#[derive(Clone, Default)]
pub struct Lines(Arc<Mutex<Vec<String>>>, Arc<AtomicBool>);

impl Process {
    pub fn spawn(args: &[&str]) -> Self {
        Self::spawn_read_by(args, Reader::Stays)
    }

    /// Starts a process with a reader of standard error that may stop reading.
    pub fn spawn_read_by(args: &[&str], reader: Reader) -> Self {
        Self::spawn_logging(args, None, reader)
    }

    /// Starts a process with these directives as `RUST_LOG`.
    pub fn spawn_logging(args: &[&str], directives: Option<&str>, reader: Reader) -> Self {
        let mut command = Command::new(BINARY);
        match directives {
            Some(directives) => command.env("RUST_LOG", directives),
            None => command.env_remove("RUST_LOG"),
        };
        Self::start(command.args(args), reader)
    }

    /// Starts a process by another program, which ends in running it.
    pub fn spawn_under(program: &str, before: &[&str], args: &[&str]) -> Self {
        let mut command = Command::new(program);
        command.env_remove("RUST_LOG").args(before);
        Self::start(command.arg(BINARY).args(args), Reader::Stays)
    }

    fn start(command: &mut Command, reader: Reader) -> Self {
        let mut child = command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let stdout = Lines::of(child.stdout.take().unwrap(), Reader::Stays);
        let stderr = Lines::of(child.stderr.take().unwrap(), reader);
        Self {
            child,
            stdout,
            stderr,
        }
    }

    /// The resident memory of the process, in bytes.
    pub fn resident_bytes(&self) -> u64 {
        self.status_bytes("VmRSS:")
    }

    /// The resident memory that is not backed by a file, which the system cannot reclaim, in bytes.
    pub fn anonymous_bytes(&self) -> u64 {
        self.status_bytes("RssAnon:")
    }

    /// Whether a file is mapped whose path contains `text`.
    pub fn maps(&self, text: &str) -> bool {
        let maps = std::fs::read_to_string(format!("/proc/{}/maps", self.id())).unwrap();
        maps.contains(text)
    }

    /// The processor time of each thread whose name begins with `prefix`, in ticks of the system's clock.
    pub fn thread_ticks(&self, prefix: &str) -> Vec<u64> {
        let threads = std::fs::read_dir(format!("/proc/{}/task", self.id())).unwrap();
        let stats = threads.map(|thread| thread.unwrap().path().join("stat"));
        // A thread may end meanwhile.
        let stats = stats.filter_map(|file| std::fs::read_to_string(file).ok());
        let ticks = stats.filter_map(|stat| {
            let (name, fields) = stat.split_once('(')?.1.rsplit_once(')')?;
            let times = fields.split_whitespace().skip(11).take(2);
            let times = times.map(|ticks| ticks.parse::<u64>().unwrap());
            name.starts_with(prefix).then(|| times.sum())
        });
        ticks.collect()
    }

    fn status_bytes(&self, key: &str) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.id())).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix(key));
        let kibibytes = line.unwrap().split_whitespace().next().unwrap();
        kibibytes.parse::<u64>().unwrap() << 10
    }

    /// The log line with this message, as JSON.
    ///
    /// # Panics
    /// If the process ends without it.
    pub async fn wait_for_line(&mut self, message: &str) -> Value {
        eventually(message, async || {
            if let Some(status) = self.child.try_wait().unwrap() {
                let printed = self.stderr.all().join("\n");
                panic!("the process ended with {status} instead of saying `{message}`:\n{printed}");
            }
            self.stderr.find_json("message", message)
        })
        .await
    }

    pub fn id(&self) -> u32 {
        self.child.id()
    }

    pub fn signal(&self, signal: i32) {
        let id = libc::pid_t::try_from(self.child.id()).unwrap();
        // SAFETY: sends a signal to a child that was not waited for yet.
        assert_eq!(unsafe { libc::kill(id, signal) }, 0);
    }

    /// The exit status of the process, once it has ended and its last lines were read; these are not waited for for long,
    /// since a successor may have the same pipes.
    pub fn ended(&mut self) -> Option<ExitStatus> {
        let status = self.child.try_wait().unwrap()?;
        for _ in 0..50 {
            if self.stdout.are_complete() && self.stderr.are_complete() {
                break;
            }
            thread::sleep(Duration::from_millis(10));
        }
        Some(status)
    }

    /// The maximum of the resident memory so far, in bytes.
    pub fn memory_peak(&self) -> u64 {
        self.status_bytes("VmHWM:")
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Lines {
    fn of(output: impl Read + Send + 'static, reader: Reader) -> Self {
        let lines = Self::default();
        let shared = lines.clone();
        thread::spawn(move || {
            let mut output = BufReader::new(output).lines();
            for line in output.by_ref().map_while(Result::ok) {
                let is_last = match reader {
                    Reader::Stays => false,
                    Reader::LeavesAfter(text) | Reader::StallsAfter(text) => line.contains(text),
                };
                shared.0.lock().unwrap().push(line);
                if is_last {
                    break;
                }
            }
            shared.1.store(true, Ordering::Release);
            if matches!(reader, Reader::StallsAfter(_)) {
                // Keeps the pipe open.
                std::mem::forget(output);
            }
        });
        lines
    }

    fn are_complete(&self) -> bool {
        self.1.load(Ordering::Acquire)
    }

    pub fn all(&self) -> Vec<String> {
        self.0.lock().unwrap().clone()
    }

    /// The lines that are JSON.
    pub fn json(&self) -> Vec<Value> {
        let lines = self.0.lock().unwrap();
        lines
            .iter()
            .filter_map(|line| serde_json::from_str(line).ok())
            .collect()
    }

    /// The first line that is JSON and has `key` with this value.
    pub fn find_json(&self, key: &str, value: &str) -> Option<Value> {
        self.json().into_iter().find(|line| line[key] == value)
    }
}
