//! The host of requests about a task, where the provider named one for it.

use headgate_core::task::family::VideoFamily;
use headgate_core::task::id::TaskId;

/// What stands before the paths of requests about a task: nothing, or the host that the provider named for it.
#[derive(Default)]
pub struct TaskHostPrefix {
    /// Before a whole path.
    pub origin: String,
    /// Before a path below the base URL.
    pub below: String,
}

impl TaskHostPrefix {
    pub fn new(family: &VideoFamily, task: &TaskId, base_url: &str) -> Self {
        let Ok(Some(url)) = family.other_host(task) else {
            return Self::default();
        };
        let scheme = if url.is_https { "https" } else { "http" };
        let origin = format!("{scheme}://{}", url.authority);
        let base_path = base_url.splitn(4, '/').nth(3);
        let below = base_path.map_or(origin.clone(), |path| format!("{origin}/{path}"));
        Self { origin, below }
    }
}
