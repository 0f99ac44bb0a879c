//! Configuration reload: builds a new snapshot and swaps it in; an invalid file changes nothing.

mod build_thread;
pub mod caller_folder;
mod caller_watch;
mod file_digests;
pub mod running;
pub mod watch;

use crate::problem::InvalidConfig;
use crate::snapshot::directory::CallerDirectory;
use crate::snapshot::{
    self, BuiltSnapshot, ConfigWarnings, CrossSnapshotState, Snapshot, certificate_expiry,
};
use crate::{CONFIG_BYTES_MAX, compute_revision};
use arc_swap::{ArcSwap, ArcSwapOption};
use build_thread::SnapshotBuildThread;
use caller_folder::CallerFolder;
use caller_watch::CallerWatch;
use file_digests::FileDigests;
use headgate_core::callout::ProcessServiceStates;
use headgate_core::credentials::credential_registry::CredentialRegistry;
use headgate_core::feature::FeatureTypeMap;
use headgate_core::outgoing::OutgoingClients;
use headgate_core::regular_file;
use headgate_core::state::StateStore;
use headgate_core::state::settings::StoreSettings;
use headgate_observe::metrics::Metrics;
use headgate_tracing::TraceQueue;
use running::{ListenerAddresses, StartupSettings};
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::SystemTime;

/// Owns the snapshot in use and builds new ones. Whoever reads its state never waits for a build.
pub struct SnapshotReloader {
    path: PathBuf,
    shared: CrossSnapshotState,
    metrics: Arc<Metrics>,
    current: ArcSwap<Snapshot>,
    running: StartupSettings,
    caller_folder: CallerFolder,
    /// What watches the folder of callers.
    caller_watch: OnceLock<CallerWatch>,
    builds: SnapshotBuildThread,
    /// Allows one load at a time, which may take seconds. Guards the digests of the files that the snapshot in use was
    /// built from, besides `routes.yaml`.
    loading: Mutex<FileDigests>,
    /// The error of the last load, if it was refused.
    refused: ArcSwapOption<RefusedReload>,
    /// Replaced snapshots, as long as exchanges use them.
    replaced: Mutex<Vec<std::sync::Weak<Snapshot>>>,
}

/// A configuration that was refused.
#[derive(Clone, Debug)]
pub struct RefusedReload {
    pub at: SystemTime,
    /// Every problem with file, line and column; contains no secrets.
    pub report: String,
    /// Files other than the configuration that it depends on.
    pub files: Vec<PathBuf>,
}

/// The outcome of a load.
#[derive(Clone, Debug)]
pub enum ReloadOutcome {
    /// `routes.yaml` and the files that it names have the same content as those of the configuration in use.
    Unchanged {
        /// As in [`ReloadOutcome::Swapped`].
        needing_restart: Vec<&'static str>,
    },
    Swapped {
        revision: Arc<str>,
        /// Settings that differ from the running process and need a restart.
        needing_restart: Vec<&'static str>,
    },
    Refused(RefusedReload),
}

impl SnapshotReloader {
    /// Loads the configuration for the first time, and opens its state store.
    ///
    /// # Errors
    /// Every problem of the file.
    pub fn start(
        path: &Path,
        mut shared: CrossSnapshotState,
        metrics: Arc<Metrics>,
    ) -> Result<Self, InvalidConfig> {
        let mut built = snapshot::build(path, &shared)?;
        // A refused configuration must not open a store. The filters receive the store only in this second build.
        if built.snapshot.state != StoreSettings::Memory {
            shared.state = shared.list.stores().open(&built.snapshot.state);
            built = snapshot::build(path, &shared)?;
        }
        let BuiltSnapshot { snapshot, warnings } = built;
        log_warnings(&warnings);
        metrics.reloaded(&snapshot.revision);
        let folder = path.parent().unwrap_or(Path::new(""));
        for (setting, files) in [
            (certificate_expiry::LISTENER, &snapshot.server.tls),
            (
                certificate_expiry::ADMIN_LISTENER,
                &snapshot.server.admin_tls,
            ),
        ] {
            let expiry = files
                .as_ref()
                .and_then(|tls| certificate_expiry::listener_expiry(tls, folder));
            if let Some(expiry) = expiry {
                metrics.certificates.set_listener(setting, expiry);
            }
        }
        let of_channels = certificate_expiry::channel_expiries(&snapshot.catalog);
        metrics.certificates.set_channels(of_channels);
        let caller_folder = CallerFolder::default();
        let folder = snapshot.caller_sources.as_ref();
        let folder = folder.and_then(|sources| sources.folder.as_deref());
        caller_folder.refresh(folder, &shared.directory);
        let running = StartupSettings {
            server: snapshot.server.clone(),
            spooling: snapshot.spooling.clone(),
            state: snapshot.state.clone(),
            listeners: OnceLock::new(),
        };
        Ok(Self {
            path: path.to_path_buf(),
            shared,
            metrics,
            running,
            caller_folder,
            caller_watch: OnceLock::new(),
            builds: SnapshotBuildThread::default(),
            loading: Mutex::new(FileDigests::read(&snapshot.files)),
            current: ArcSwap::from_pointee(snapshot),
            refused: ArcSwapOption::empty(),
            replaced: Mutex::default(),
        })
    }

    /// The snapshot in use, for a short look that changes no reference count which threads share.
    pub fn peek(&self) -> impl Deref<Target = Arc<Snapshot>> {
        self.current.load()
    }

    /// The snapshot in use. An exchange loads it once and uses it to the end.
    pub fn current(&self) -> Arc<Snapshot> {
        self.current.load_full()
    }

    /// Records the addresses that the process listens on; they are known once.
    pub fn set_listeners(&self, listeners: ListenerAddresses) {
        let _ = self.running.listeners.set(listeners);
    }

    /// The settings of the process that no reload can change.
    pub fn running(&self) -> &StartupSettings {
        &self.running
    }

    /// The revision of the file on disk; `None` if the file cannot be read.
    pub fn revision_on_disk(&self) -> Option<String> {
        let bytes = regular_file::read(&self.path, CONFIG_BYTES_MAX).ok()?;
        Some(compute_revision(&bytes))
    }

    /// Waits until features have stored what is left of finished exchanges, or have given up.
    pub async fn until_stored(&self) {
        let shared = &self.shared;
        for feature in shared.list.iter() {
            if let Some(stored) = feature.until_stored(&shared.features, &*shared.state) {
                stored.await;
            }
        }
    }

    /// The state store of this process.
    pub fn state(&self) -> &Arc<dyn StateStore> {
        &self.shared.state
    }

    /// Credentials that servers issue for the channels of all configurations.
    pub fn credentials(&self) -> &Arc<CredentialRegistry> {
        &self.shared.credentials
    }

    /// The callers that `routes.yaml` does not name.
    pub fn directory(&self) -> &Arc<CallerDirectory> {
        &self.shared.directory
    }

    /// The files of callers.
    pub fn caller_folder(&self) -> &CallerFolder {
        &self.caller_folder
    }

    fn caller_folder_path(&self) -> Option<PathBuf> {
        let snapshot = self.current.load();
        snapshot.caller_sources.as_ref()?.folder.clone()
    }

    /// Gives features the clients of the process.
    pub fn connect_features(&self, clients: &OutgoingClients) {
        for feature in self.shared.list.iter() {
            feature.connect(&self.shared.features, clients);
        }
    }

    /// Exchanges whose traces wait for the export.
    pub fn traces(&self) -> &Arc<TraceQueue> {
        &self.shared.traces
    }

    /// What features share between snapshots.
    pub fn features(&self) -> &FeatureTypeMap {
        &self.shared.features
    }

    /// What the services of all configurations share.
    pub fn services(&self) -> &Arc<ProcessServiceStates> {
        &self.shared.services
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The last load, if it was refused.
    pub fn refusal(&self) -> Option<Arc<RefusedReload>> {
        self.refused.load_full()
    }

    /// Replaced revisions that exchanges still use, with the number of snapshots of each.
    pub fn draining(&self) -> Vec<(Arc<str>, usize)> {
        let mut replaced = self.replaced.lock().unwrap_or_else(PoisonError::into_inner);
        replaced.retain(|snapshot| snapshot.strong_count() > 0);
        replaced
            .iter()
            .filter_map(|snapshot| {
                Some((
                    snapshot.upgrade()?.revision.clone(),
                    snapshot.strong_count(),
                ))
            })
            .collect()
    }

    /// Reads and builds the configuration again, and swaps it in if it is valid.
    ///
    /// Blocks on the file system: do not call it on an async thread.
    pub fn reload(&self) -> ReloadOutcome {
        let mut files = self.loading.lock().unwrap_or_else(PoisonError::into_inner);
        match self.builds.build(&self.path, &self.shared) {
            Ok(built) => {
                self.refused.store(None);
                self.swap(built, &mut files)
            }
            Err(invalid) => {
                let refusal = RefusedReload {
                    at: SystemTime::now(),
                    report: invalid.to_string(),
                    files: invalid.files,
                };
                let file = self.path.display();
                let last = self.refusal();
                match last.is_some_and(|last| last.report == refusal.report) {
                    true => {
                        tracing::warn!(%file, "configuration rejected again, for the same reasons")
                    }
                    false => {
                        tracing::error!(%file, "configuration rejected; the previous one stays in use\n{}", refusal.report)
                    }
                }
                self.metrics.reload_refused();
                self.refused.store(Some(Arc::new(refusal.clone())));
                ReloadOutcome::Refused(refusal)
            }
        }
    }

    /// `loaded` are the digests of the files of the snapshot in use.
    fn swap(&self, built: BuiltSnapshot, loaded: &mut FileDigests) -> ReloadOutcome {
        let BuiltSnapshot { snapshot, warnings } = built;
        log_warnings(&warnings);
        let old = self.current();
        let needing_restart = self.running.needing_restart(&snapshot);
        let revision = snapshot.revision.clone();
        let files = FileDigests::read(&snapshot.files);
        let unchanged = revision == old.revision && *loaded == files;
        *loaded = files;
        for setting in needing_restart.iter().filter(|_| !unchanged) {
            tracing::warn!(setting, "this setting has changed; restart to apply it");
        }
        let of_channels = certificate_expiry::channel_expiries(&snapshot.catalog);
        self.metrics.certificates.set_channels(of_channels);
        self.current.store(Arc::new(snapshot));
        if self.caller_folder_path().is_none() {
            self.caller_folder.refresh(None, &self.shared.directory);
        }
        if let Some(watch) = self.caller_watch.get() {
            watch.wake();
        }
        self.replaced
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(Arc::downgrade(&old));
        self.metrics.reloaded(&revision);
        tracing::info!(%revision, "configuration loaded");
        match unchanged {
            true => ReloadOutcome::Unchanged { needing_restart },
            false => ReloadOutcome::Swapped {
                revision,
                needing_restart,
            },
        }
    }
}

fn log_warnings(warnings: &ConfigWarnings) {
    for warning in &warnings.shown {
        tracing::warn!(line = warning.line, path = %warning.path, "{}", warning.reason);
    }
    if warnings.more > 0 {
        tracing::warn!(
            count = warnings.more,
            "more configuration warnings not logged; run `headgate check`"
        );
    }
}
