//! All video tasks of all accounts, each visible only to its own account.

use super::task::VideoTask;
use crate::api_error::ApiError;
use crate::json::JsonText;
use std::collections::{HashMap, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The maximum number of tasks; the oldest are removed first.
const MAX_TASKS: usize = 10_000;

/// The stored tasks.
#[derive(Default)]
pub struct VideoTaskStore(Mutex<VideoTaskTable>);

/// Whether a task is kept after a change.
pub enum KeepOrRemove {
    Keep,
    Remove,
}

#[derive(Default)]
struct VideoTaskTable {
    tasks: HashMap<String, VideoTask>,
    /// Ids in the order of creation, with those that were deleted.
    order: VecDeque<String>,
}

impl VideoTaskStore {
    pub fn put(&self, task: VideoTask) {
        let mut table = self.lock();
        table.order.push_back(task.id.clone());
        table.tasks.insert(task.id.clone(), task);
        while table.order.len() > MAX_TASKS {
            if let Some(oldest) = table.order.pop_front() {
                table.tasks.remove(&oldest);
            }
        }
    }

    /// The result of `read` on a task, if this account has it in this family.
    pub fn read<T>(
        &self,
        account: &str,
        family: &str,
        id: &str,
        read: impl FnOnce(&mut VideoTask) -> T,
    ) -> Option<T> {
        let mut table = self.lock();
        table.own(account, family, id).map(read)
    }

    /// Changes a task; `None` if this account does not have it in this family.
    ///
    /// # Errors
    /// The error of `change`.
    pub fn change(
        &self,
        account: &str,
        family: &str,
        id: &str,
        change: impl FnOnce(&mut VideoTask) -> Result<KeepOrRemove, ApiError>,
    ) -> Option<Result<(), ApiError>> {
        let mut table = self.lock();
        let after = change(table.own(account, family, id)?);
        if matches!(after, Ok(KeepOrRemove::Remove)) {
            table.tasks.remove(id);
        }
        Some(after.map(|_| ()))
    }

    /// The results of `read` on the account's tasks in this family, the latest first.
    pub fn list<T>(
        &self,
        account: &str,
        family: &str,
        read: impl FnMut(&VideoTask) -> Option<T>,
    ) -> Vec<T> {
        let table = self.lock();
        let latest_first = table.order.iter().rev();
        let tasks = latest_first.filter_map(|id| table.tasks.get(id));
        let own = tasks.filter(|task| task.account == account && task.family == family);
        own.filter_map(read).collect()
    }

    /// The records of all tasks of all accounts, the oldest first.
    pub fn records(&self) -> JsonText {
        let table = self.lock();
        let tasks = table.order.iter().filter_map(|id| table.tasks.get(id));
        JsonText::serialize(&tasks.map(VideoTask::json).collect::<Vec<_>>())
    }

    fn lock(&self) -> MutexGuard<'_, VideoTaskTable> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl VideoTaskTable {
    fn own(&mut self, account: &str, family: &str, id: &str) -> Option<&mut VideoTask> {
        let task = self.tasks.get_mut(id)?;
        (task.account == account && task.family == family).then_some(task)
    }
}
