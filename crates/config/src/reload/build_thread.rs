//! The thread that builds all snapshots but the first.

use crate::problem::InvalidConfig;
use crate::snapshot::{self, BuiltSnapshot, CrossSnapshotState};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::sync::mpsc::{self, Receiver, Sender, SyncSender};
use std::thread;

/// Builds snapshots on one thread, whichever thread asks for one. The allocator keeps what a thread has freed for that
/// thread: a build takes the memory that the builds before it have left, in place of as much again.
#[derive(Debug, Default)]
pub struct SnapshotBuildThread {
    /// Set by the first request; `None` if no thread could be started.
    requests: OnceLock<Option<Sender<BuildRequest>>>,
}

struct BuildRequest {
    path: PathBuf,
    shared: CrossSnapshotState,
    built: SyncSender<Result<BuiltSnapshot, InvalidConfig>>,
}

impl SnapshotBuildThread {
    /// As [`snapshot::build`]. Blocks until the snapshot is built.
    ///
    /// # Errors
    /// Every problem of the file.
    pub fn build(
        &self,
        path: &Path,
        shared: &CrossSnapshotState,
    ) -> Result<BuiltSnapshot, InvalidConfig> {
        let (built, outcome) = mpsc::sync_channel(1);
        let request = BuildRequest {
            path: path.to_path_buf(),
            shared: shared.clone(),
            built,
        };
        let requests = self.requests.get_or_init(start).as_ref();
        let is_sent = requests.is_some_and(|requests| requests.send(request).is_ok());
        match is_sent.then(|| outcome.recv()) {
            Some(Ok(outcome)) => outcome,
            // There is no thread, or a build, perhaps this one, has ended it with a panic, which the caller then sees.
            _ => snapshot::build(path, shared),
        }
    }
}

/// The thread ends when the sender is dropped.
fn start() -> Option<Sender<BuildRequest>> {
    let (requests, arriving) = mpsc::channel();
    let thread = thread::Builder::new().name("build".into());
    let started = thread.spawn(move || serve(&arriving));
    started.is_ok().then_some(requests)
}

fn serve(requests: &Receiver<BuildRequest>) {
    while let Ok(request) = requests.recv() {
        let built = snapshot::build(&request.path, &request.shared);
        // Whoever asked waits.
        let _ = request.built.send(built);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use headgate_core::feature::FeatureList;
    use std::collections::HashSet;
    use std::sync::{Arc, Mutex};
    use std::thread::ThreadId;

    #[test]
    fn one_thread_builds_what_several_threads_ask_for() {
        let folder = std::env::temp_dir().join(format!("headgate-builds-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let path = folder.join("routes.yaml");
        std::fs::write(&path, "server: {listen: \"${LISTEN}\"}\n").unwrap();
        let seen: Arc<Mutex<HashSet<ThreadId>>> = Arc::default();
        let building = Arc::clone(&seen);
        let shared = CrossSnapshotState {
            variables: Arc::new(move |_| {
                building.lock().unwrap().insert(thread::current().id());
                None
            }),
            ..CrossSnapshotState::new(FeatureList::new(&[]))
        };
        let builds = SnapshotBuildThread::default();
        thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| assert!(builds.build(&path, &shared).is_err()));
            }
        });
        std::fs::remove_dir_all(&folder).unwrap();
        assert_eq!(seen.lock().unwrap().len(), 1);
    }
}
