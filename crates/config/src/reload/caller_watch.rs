//! Watches the folder of callers: a change takes effect in a fraction of a second where the file system reports it, else
//! with the next inspection of all files.

use super::SnapshotReloader;
use super::caller_folder::caller_name;
use notify::{RecursiveMode, Watcher};
use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread;
use std::time::{Duration, Instant};

/// The delay after the last change: files are often written in several steps.
const SETTLED: Duration = Duration::from_millis(50);
/// The maximum delay: a folder with constant changes must not keep a revoked key alive.
const SETTLED_AT_LAST: Duration = Duration::from_millis(400);
/// The interval of inspections of all files without an event.
const INSPECTED_AFTER: Duration = Duration::from_secs(1);
/// Inspections of very many files take at most one part in this many of the time.
const IDLE_SHARE: u32 = 20;

/// Events of the folder.
struct FolderEvents {
    watcher: Option<notify::RecommendedWatcher>,
    events: Receiver<notify::Result<notify::Event>>,
    sender: Sender<notify::Result<notify::Event>>,
    folder: Option<PathBuf>,
}

/// Files that have changed.
enum ChangedFiles {
    All,
    Named(HashSet<String>),
}

/// The thread that watches.
#[derive(Debug)]
pub(super) struct CallerWatch(Sender<notify::Result<notify::Event>>);

impl CallerWatch {
    /// Starts the thread, which sleeps while the configuration has no folder of callers.
    pub fn start(reloader: Arc<SnapshotReloader>) -> std::io::Result<Self> {
        let mut events = FolderEvents::new();
        let sender = events.sender.clone();
        let thread = thread::Builder::new().name("callers".into());
        thread.spawn(move || {
            loop {
                events.follow(&reloader);
            }
        })?;
        Ok(Self(sender))
    }

    /// Has it take the folder of another configuration.
    pub fn wake(&self) {
        let _ = self.0.send(Ok(notify::Event::default()));
    }
}

impl FolderEvents {
    fn new() -> Self {
        let (sender, events) = mpsc::channel();
        Self {
            watcher: None,
            events,
            sender,
            folder: None,
        }
    }

    /// Reads the whole folder, and then what changes in it until it is time to read the whole again.
    fn follow(&mut self, reloader: &SnapshotReloader) {
        let folder = reloader.caller_folder_path();
        self.watch(folder.as_deref());
        let begin = Instant::now();
        let (files, directory) = (reloader.caller_folder(), reloader.directory());
        files.refresh(folder.as_deref(), directory);
        if folder.is_none() {
            let _ = self.events.recv();
            return;
        }
        let next = Instant::now() + (begin.elapsed() * IDLE_SHARE).max(INSPECTED_AFTER);
        while Instant::now() < next {
            match self.wait(next) {
                ChangedFiles::All => return,
                ChangedFiles::Named(names) => files.refresh_files(&names, directory),
            }
        }
    }

    /// Watches another folder than before, or one that was made again.
    fn watch(&mut self, folder: Option<&Path>) {
        if self.folder.as_deref() == folder && (self.watcher.is_some() || folder.is_none()) {
            return;
        }
        self.folder = folder.map(Path::to_path_buf);
        self.watcher = folder.and_then(|folder| {
            let sender = self.sender.clone();
            let mut watcher = notify::recommended_watcher(move |event| {
                let _ = sender.send(event);
            })
            .ok()?;
            watcher.watch(folder, RecursiveMode::NonRecursive).ok()?;
            Some(watcher)
        });
    }

    /// Waits for changes until `end`. All files may have changed then, and whenever it is not known which.
    fn wait(&mut self, end: Instant) -> ChangedFiles {
        let mut names = HashSet::new();
        let mut until = end;
        let mut at_last = end;
        loop {
            let left = until.min(at_last).saturating_duration_since(Instant::now());
            match self.events.recv_timeout(left) {
                Ok(event) => {
                    if !self.add_names(event, &mut names) {
                        return ChangedFiles::All;
                    }
                    if !names.is_empty() && until == end {
                        at_last = Instant::now() + SETTLED_AT_LAST;
                    }
                    if !names.is_empty() {
                        until = Instant::now() + SETTLED;
                    }
                }
                Err(RecvTimeoutError::Timeout) if names.is_empty() => return ChangedFiles::All,
                Err(RecvTimeoutError::Timeout) => return ChangedFiles::Named(names),
                Err(RecvTimeoutError::Disconnected) => return ChangedFiles::All,
            }
        }
    }

    /// Adds the callers whose files an event is about; returns `false` if it may be about all.
    fn add_names(
        &mut self,
        event: notify::Result<notify::Event>,
        names: &mut HashSet<String>,
    ) -> bool {
        let Ok(event) = event else {
            return false;
        };
        if event.kind.is_access() {
            return true;
        }
        let is_folder = |path: &PathBuf| Some(path.as_path()) == self.folder.as_deref();
        if event.need_rescan() || event.paths.is_empty() || event.paths.iter().any(is_folder) {
            // The folder itself may be another one now.
            self.watcher = None;
            return false;
        }
        let is_link = |path: &PathBuf| path.file_name().is_some_and(|name| name == "..data");
        if event.paths.iter().any(is_link) {
            return false;
        }
        let changed = event.paths.iter().filter_map(|path| caller_name(path));
        names.extend(changed.map(str::to_owned));
        true
    }
}
