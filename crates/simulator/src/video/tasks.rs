//! All video tasks of all accounts, each known to its own account only.

use super::paths::Family;
use super::task::Task;
use crate::json::Json;
use crate::refusal::Refusal;
use std::collections::{HashMap, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The oldest go first.
const MAX_TASKS: usize = 10_000;

/// The tasks kept.
#[derive(Default)]
pub struct Tasks(Mutex<Shelf>);

/// What becomes of a task after it was changed.
pub enum After {
    Keep,
    Remove,
}

#[derive(Default)]
struct Shelf {
    tasks: HashMap<String, Task>,
    /// Ids in the order made, deleted ones among them.
    order: VecDeque<String>,
}

impl Tasks {
    pub fn put(&self, task: Task) {
        let mut shelf = self.shelf();
        shelf.order.push_back(task.id.clone());
        shelf.tasks.insert(task.id.clone(), task);
        while shelf.order.len() > MAX_TASKS {
            if let Some(oldest) = shelf.order.pop_front() {
                shelf.tasks.remove(&oldest);
            }
        }
    }

    /// What `read` makes of a task, if this account has it in this family.
    pub fn read<T>(
        &self,
        account: &str,
        family: Family,
        id: &str,
        read: impl FnOnce(&mut Task) -> T,
    ) -> Option<T> {
        let mut shelf = self.shelf();
        shelf.own(account, family, id).map(read)
    }

    /// Changes a task; `None` where this account does not have it in this family.
    ///
    /// # Errors
    /// That of `change`.
    pub fn change(
        &self,
        account: &str,
        family: Family,
        id: &str,
        change: impl FnOnce(&mut Task) -> Result<After, Refusal>,
    ) -> Option<Result<(), Refusal>> {
        let mut shelf = self.shelf();
        let after = change(shelf.own(account, family, id)?);
        if matches!(after, Ok(After::Remove)) {
            shelf.tasks.remove(id);
        }
        Some(after.map(|_| ()))
    }

    /// What `read` makes of the account's tasks in this family, the latest first.
    pub fn list<T>(
        &self,
        account: &str,
        family: Family,
        read: impl FnMut(&Task) -> Option<T>,
    ) -> Vec<T> {
        let shelf = self.shelf();
        let latest_first = shelf.order.iter().rev();
        let tasks = latest_first.filter_map(|id| shelf.tasks.get(id));
        let own = tasks.filter(|task| task.account == account && task.family == family);
        own.filter_map(read).collect()
    }

    /// The records of all tasks of all accounts, the oldest first.
    pub fn records(&self) -> Json {
        let shelf = self.shelf();
        let tasks = shelf.order.iter().filter_map(|id| shelf.tasks.get(id));
        Json::of(&tasks.map(Task::json).collect::<Vec<_>>())
    }

    fn shelf(&self) -> MutexGuard<'_, Shelf> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Shelf {
    fn own(&mut self, account: &str, family: Family, id: &str) -> Option<&mut Task> {
        let task = self.tasks.get_mut(id)?;
        (task.account == account && task.family == family).then_some(task)
    }
}
