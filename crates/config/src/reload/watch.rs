//! Watches the folders of the configuration and its files, and reloads on a change. Symlink swaps are detected, too.

use super::SnapshotReloader;
use super::caller_watch::CallerWatch;
use super::file_digests::FileDigests;
use notify::{RecursiveMode, Watcher};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

/// The delay after the last change: editors and ConfigMaps change several files in a row.
const SETTLED: Duration = Duration::from_millis(100);

/// The maximum delay: a folder with constant changes must not prevent a reload.
const SETTLED_AT_LAST: Duration = Duration::from_secs(1);

/// The interval of checks without an event: not every file system reports changes, and neither does the target of a
/// link in another folder.
const LOOKED_AT_ANYWAY: Duration = Duration::from_secs(5);

/// Starts a thread that reloads on every change of the configuration's files until the process ends.
///
/// # Errors
/// The folder cannot be watched. SIGHUP and the admin page still reload.
pub fn start(reloader: Arc<SnapshotReloader>) -> notify::Result<()> {
    let callers = CallerWatch::start(reloader.clone());
    let callers = callers.map_err(notify::Error::io)?;
    let _ = reloader.caller_watch.set(callers);
    let (changed, changes) = mpsc::channel();
    let state = reloader.current().state.file().map(Path::to_path_buf);
    let mut watcher = notify::recommended_watcher(move |event: notify::Result<notify::Event>| {
        if event.is_ok_and(|event| !event.kind.is_access() && !is_state(&event, state.as_deref())) {
            let _ = changed.send(());
        }
    })?;
    let mut watched = BTreeSet::new();
    watch_folders(&mut watcher, &reloader, &mut watched)?;
    // The first check finds changes between the first load and the start of the watch.
    let mut seen = FileDigests::read(&files(&reloader));
    if reloader.revision_on_disk().as_deref() != Some(&*reloader.current().revision) {
        reloader.reload();
    }
    let spawned = thread::Builder::new().name("reload".into()).spawn(move || {
        while changes.recv_timeout(LOOKED_AT_ANYWAY) != Err(RecvTimeoutError::Disconnected) {
            let until = Instant::now() + SETTLED_AT_LAST;
            while Instant::now() < until && changes.recv_timeout(SETTLED).is_ok() {}
            loop {
                // Read before the load, so that a change during the load is detected afterwards.
                let found = seen.renewed(&files(&reloader));
                if found == seen {
                    break;
                }
                seen = found;
                reloader.reload();
                // A new configuration may name files in other folders.
                if let Err(error) = watch_folders(&mut watcher, &reloader, &mut watched) {
                    tracing::warn!(%error, "cannot watch a directory; its files are checked every few seconds");
                }
            }
        }
    });
    spawned.map(|_| ()).map_err(notify::Error::io)
}

/// Whether an event is about the state file, which is written all the time.
fn is_state(event: &notify::Event, state: Option<&Path>) -> bool {
    let Some(state) = state.and_then(Path::file_name) else {
        return false;
    };
    let is_beside = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default();
        name.as_encoded_bytes()
            .starts_with(state.as_encoded_bytes())
    };
    !event.paths.is_empty() && event.paths.iter().all(is_beside)
}

fn watch_folders(
    watcher: &mut impl Watcher,
    reloader: &SnapshotReloader,
    watched: &mut BTreeSet<PathBuf>,
) -> notify::Result<()> {
    for file in files(reloader) {
        let folder = match file.parent() {
            Some(folder) if !folder.as_os_str().is_empty() => folder.to_path_buf(),
            _ => PathBuf::from("."),
        };
        // A built-in schema has a path without a folder on disk.
        if folder.is_dir() && watched.insert(folder.clone()) {
            watcher.watch(&folder, RecursiveMode::NonRecursive)?;
        }
    }
    Ok(())
}

fn files(reloader: &SnapshotReloader) -> Vec<PathBuf> {
    let mut files = vec![reloader.path().to_path_buf()];
    files.extend(reloader.current().files.iter().cloned());
    // The last configuration may have been refused because one of these files is missing or invalid.
    files.extend(
        reloader
            .refusal()
            .into_iter()
            .flat_map(|refusal| refusal.files.clone()),
    );
    files
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn writes_to_the_state_file_are_no_change_of_the_configuration() {
        let state = Some(Path::new("gate/state.sqlite"));
        let is_state = |paths: &[&str], state| {
            let event = notify::Event {
                paths: paths.iter().map(PathBuf::from).collect(),
                ..notify::Event::default()
            };
            is_state(&event, state)
        };
        assert!(is_state(&["gate/state.sqlite"], state));
        assert!(is_state(
            &["gate/state.sqlite-wal", "gate/state.sqlite-shm"],
            state
        ));
        assert!(!is_state(
            &["gate/state.sqlite-wal", "gate/routes.yaml"],
            state
        ));
        assert!(!is_state(&["gate/routes.yaml"], state));
        assert!(!is_state(&[], state));
        assert!(!is_state(&["gate/state.sqlite"], None));
    }
}
