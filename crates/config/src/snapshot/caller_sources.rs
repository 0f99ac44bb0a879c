//! Where callers come from that `routes.yaml` does not name.

use super::ProblemCollector;
use super::admin::{AdminAccessRules, AdminRole};
use crate::caller_sources::CallerSourcesConfig;
use headgate_core::scalar::Secret;
use headgate_core::state::settings::StoreSettings;
use headgate_core::task::NO_KEYS_HINT;
use std::path::{Path, PathBuf};

const NO_ISSUER_HINT: &str =
    "add one with `role: issue`; `headgate key new` prints a key and its digest";

/// Sources of callers besides `routes.yaml`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallerSources {
    /// The folder of files of callers.
    pub folder: Option<PathBuf>,
    /// The maximum number of callers in the state store, if it keeps any.
    pub stored_max: Option<u32>,
    /// The number of callers that metrics name.
    pub metric_names: usize,
}

impl CallerSources {
    /// `folder` is that of `routes.yaml`.
    pub(super) fn new(config: CallerSourcesConfig, folder: &Path) -> Self {
        Self {
            folder: config.folder.map(|path| folder.join(path)),
            stored_max: config.store.map(|store| store.most),
            metric_names: config.metric_names.into(),
        }
    }
}

/// Reports what callers in the state store need besides.
pub(super) fn check_store(
    config: Option<&CallerSourcesConfig>,
    task_keys: &[Secret],
    state: &StoreSettings,
    admin: &AdminAccessRules,
    problems: &mut ProblemCollector<'_>,
) {
    if config.is_none_or(|config| config.store.is_none()) {
        return;
    }
    if task_keys.is_empty() {
        let reason = "records of callers are sealed with `task_keys`, and there are none";
        problems.error("/caller_sources/store", reason, Some(NO_KEYS_HINT));
    }
    if *state == StoreSettings::Memory {
        let reason = "callers in the state store are lost when the process ends";
        let hint = "keep the state in a file or in Redis, such as `state: sqlite:state.db`";
        problems.warning("/caller_sources/store", reason, Some(hint));
    }
    if !admin.has_role(AdminRole::Issue) {
        let reason = "nobody can make a caller: no key of `server.admin_keys` has the role `issue`";
        problems.warning("/caller_sources/store", reason, Some(NO_ISSUER_HINT));
    }
}
