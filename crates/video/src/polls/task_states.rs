//! The states of tasks as this process saw them last, for operators.

use super::{TaskStatusFetcher, task_key};
use headgate_core::state::lock::lock;
use headgate_core::task::id::TaskId;
use headgate_core::task::state::TaskState;
use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// Number of tasks that are counted; further ones are not.
const TASKS_MAX: usize = 20_000;
/// How long a task is counted after its state was seen last.
const RUNNING_SHOWN: Duration = Duration::from_secs(24 * 3600);
const ENDED_SHOWN: Duration = Duration::from_secs(3600);

/// The last known states of tasks.
#[derive(Default)]
pub struct LastSeenTaskStates {
    tasks: Mutex<HashMap<Arc<str>, SeenTaskState>>,
}

#[derive(Clone, Copy)]
struct SeenTaskState {
    state: TaskState,
    at: Instant,
}

impl TaskStatusFetcher {
    /// Records that a provider has accepted a task.
    pub fn record_created(&self, task: &TaskId) {
        let key = task_key(task);
        self.states.record(&key, TaskState::Queued, Instant::now());
    }

    /// The states of tasks as this process saw them last.
    pub fn states(&self) -> &LastSeenTaskStates {
        &self.states
    }
}

impl LastSeenTaskStates {
    /// Records that a task has this state now.
    pub(super) fn record(&self, key: &Arc<str>, state: TaskState, now: Instant) {
        let mut tasks = lock(&self.tasks);
        if let Some(task) = tasks.get_mut(key) {
            let state = state.after(task.state);
            // An ended task is not counted for longer because somebody still asks for it.
            if !task.state.is_terminal() {
                *task = SeenTaskState { state, at: now };
            }
            return;
        }
        if tasks.len() >= TASKS_MAX {
            tasks.retain(|_, task| task.is_shown(now));
        }
        if tasks.len() < TASKS_MAX {
            tasks.insert(key.clone(), SeenTaskState { state, at: now });
        }
    }

    /// Number of tasks in each state, in the order of [`TaskState::ALL`].
    pub fn counts(&self, now: Instant) -> [u64; TaskState::ALL.len()] {
        let mut tasks = lock(&self.tasks);
        tasks.retain(|_, task| task.is_shown(now));
        let mut counts = [0; TaskState::ALL.len()];
        for task in tasks.values() {
            counts[task.state as usize] += 1;
        }
        counts
    }
}

impl SeenTaskState {
    fn is_shown(&self, now: Instant) -> bool {
        let shown = match self.state.is_terminal() {
            true => ENDED_SHOWN,
            false => RUNNING_SHOWN,
        };
        now.saturating_duration_since(self.at) < shown
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_task_counts_in_its_last_state_until_nobody_saw_it_for_long() {
        let (states, start) = (LastSeenTaskStates::default(), Instant::now());
        let key = |name: &str| Arc::<str>::from(name);
        let hours = |hours: u64| start + Duration::from_secs(hours * 3600);
        states.record(&key("a"), TaskState::Queued, start);
        states.record(&key("b"), TaskState::Queued, start);
        assert_eq!(states.counts(start), [2, 0, 0, 0, 0, 0]);
        states.record(&key("a"), TaskState::Running, start);
        states.record(&key("a"), TaskState::Succeeded, start);
        states.record(&key("a"), TaskState::Running, start);
        assert_eq!(states.counts(start), [1, 0, 1, 0, 0, 0]);
        assert_eq!(states.counts(hours(1)), [1, 0, 0, 0, 0, 0]);
        assert_eq!(states.counts(hours(24)), [0; 6]);
    }

    #[test]
    fn a_flood_of_tasks_takes_bounded_memory() {
        let (states, now) = (LastSeenTaskStates::default(), Instant::now());
        for number in 0..2 * TASKS_MAX {
            states.record(&number.to_string().into(), TaskState::Queued, now);
        }
        assert_eq!(states.counts(now)[0], TASKS_MAX as u64);
    }
}
