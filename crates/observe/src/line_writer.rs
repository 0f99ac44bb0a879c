//! Writes log lines in batches on a separate thread, so that a slow or closed reader never blocks or fails a request.

use std::io::{self, Write};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, TryLockError};
use std::thread;
use std::time::{Duration, Instant};

/// Maximum time until a line is written.
const FLUSH_EVERY: Duration = Duration::from_millis(50);
/// Maximum size of the buffered lines in bytes. Further lines are dropped and counted, so that a stuck pipe does not
/// fill memory.
const WAITING_BYTES_MAX: usize = 16 << 20;
/// Maximum size of an empty buffer that is kept for the next batch, in bytes.
const BATCH_BYTES_KEPT: usize = 1 << 20;
/// Minimum capacity of both buffers, so that the first batches do not grow them line by line.
const BATCH_BYTES_MIN: usize = 64 << 10;
/// How long the end of the process waits for the reader.
const LAST_FLUSH: Duration = Duration::from_millis(500);

/// Destination of log lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogSink {
    Stdout,
    Stderr,
}

/// Buffers lines for the writing thread; clones share the thread.
#[derive(Clone)]
pub struct BackgroundLineWriter {
    shared: Arc<BackgroundLineWriterInner>,
}

struct BackgroundLineWriterInner {
    sink: LogSink,
    waiting: Mutex<PendingLines>,
    /// Locked while a batch is written.
    writing: Mutex<()>,
    dropped: AtomicU64,
}

struct PendingLines {
    bytes: Vec<u8>,
    lines: u64,
}

impl BackgroundLineWriter {
    /// Starts the writing thread.
    pub fn start(sink: LogSink) -> Self {
        let shared = Arc::new(BackgroundLineWriterInner {
            sink,
            waiting: Mutex::new(PendingLines {
                bytes: Vec::with_capacity(BATCH_BYTES_MIN),
                lines: 0,
            }),
            writing: Mutex::default(),
            dropped: AtomicU64::new(0),
        });
        let writer = shared.clone();
        thread::Builder::new()
            .name("lines".into())
            .spawn(move || {
                let mut batch = Vec::with_capacity(BATCH_BYTES_MIN);
                loop {
                    thread::sleep(FLUSH_EVERY);
                    let writing = writer
                        .writing
                        .lock()
                        .unwrap_or_else(PoisonError::into_inner);
                    writer.write_waiting(&mut batch);
                    drop(writing);
                }
            })
            .expect("a thread can be started when the process begins");
        Self { shared }
    }

    /// Appends one line; the closure `line` writes it, with its line break, to the buffer.
    pub fn append(&self, line: impl FnOnce(&mut Vec<u8>)) {
        let mut waiting = self.shared.waiting();
        if waiting.bytes.len() > WAITING_BYTES_MAX {
            self.shared.dropped.fetch_add(1, Ordering::Relaxed);
            return;
        }
        line(&mut waiting.bytes);
        waiting.lines += 1;
    }

    /// Writes all buffered lines, unless the reader is stuck; called when the process ends.
    pub fn flush(&self) {
        let until = Instant::now() + LAST_FLUSH;
        loop {
            match self.shared.writing.try_lock() {
                Ok(_) | Err(TryLockError::Poisoned(_)) => break,
                Err(TryLockError::WouldBlock) if Instant::now() > until => return,
                Err(TryLockError::WouldBlock) => thread::sleep(Duration::from_millis(5)),
            }
        }
        // The reader may be stuck on this batch too, so another thread writes it.
        let shared = self.shared.clone();
        let last = thread::spawn(move || shared.write_waiting(&mut Vec::new()));
        while !last.is_finished() && Instant::now() < until {
            thread::sleep(Duration::from_millis(5));
        }
    }

    /// Number of lines that were dropped because the reader was too slow.
    pub fn dropped(&self) -> u64 {
        self.shared.dropped.load(Ordering::Relaxed)
    }
}

impl Write for BackgroundLineWriter {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        self.append(|waiting| waiting.extend_from_slice(line));
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl BackgroundLineWriterInner {
    fn waiting(&self) -> std::sync::MutexGuard<'_, PendingLines> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Writes the buffered lines. `batch` is an empty buffer, which takes the place of the one that is written; it is
    /// used again for the next batch, so that not every batch grows a new one.
    fn write_waiting(&self, batch: &mut Vec<u8>) {
        let lines = {
            let mut waiting = self.waiting();
            std::mem::swap(&mut waiting.bytes, batch);
            std::mem::take(&mut waiting.lines)
        };
        if batch.is_empty() {
            batch.shrink_to(BATCH_BYTES_MIN);
            return;
        }
        let written = match self.sink {
            LogSink::Stdout => {
                let mut stdout = io::stdout().lock();
                stdout.write_all(batch).and_then(|()| stdout.flush())
            }
            LogSink::Stderr => io::stderr().lock().write_all(batch),
        };
        batch.clear();
        batch.shrink_to(BATCH_BYTES_KEPT);
        // A closed pipe or a full disk must not stop the gateway.
        if written.is_err() {
            self.dropped.fetch_add(lines, Ordering::Relaxed);
        }
    }
}
