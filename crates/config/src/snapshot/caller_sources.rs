//! Where callers come from that `routes.yaml` does not name.

use crate::caller_sources::CallerSourcesConfig;
use std::path::{Path, PathBuf};

/// Sources of callers besides `routes.yaml`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallerSources {
    /// The folder of files of callers.
    pub folder: Option<PathBuf>,
    /// The number of callers that metrics name.
    pub metric_names: usize,
}

impl CallerSources {
    /// `folder` is that of `routes.yaml`.
    pub(super) fn new(config: CallerSourcesConfig, folder: &Path) -> Self {
        Self {
            folder: config.folder.map(|path| folder.join(path)),
            metric_names: config.metric_names.into(),
        }
    }
}
