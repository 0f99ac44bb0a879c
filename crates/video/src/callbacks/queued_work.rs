//! Does the work that requests could not wait for, and notes the tasks that they found to have ended.
//!
//! Work stays in its queue until it is done, so that nothing is lost when the worker is stopped in the middle.

use super::queue::{CallbackWorkerQueue, QueuedSubscriptionChange};
use super::records::CallbackRecordStore;
use super::subscribe::BindResult;
use crate::costs::{TaskCostAccounts, settle};
use crate::polls::{EndedTask, EndedTaskQueue};
use headgate_core::state::StoreUnavailable;
use std::collections::HashMap;
use std::sync::Arc;
use tokio::task::JoinSet;

/// The number of pieces of work that are done at once: the store writes them together.
const AT_ONCE: usize = 128;

/// Tasks that have ended, by their keys; those that are left go back when it is dropped.
struct TakenEndedTasksGuard<'a> {
    ended: &'a EndedTaskQueue,
    left: HashMap<Arc<str>, EndedTask>,
}

impl Drop for TakenEndedTasksGuard<'_> {
    fn drop(&mut self) {
        self.ended.put_back(self.left.drain().map(|(_, task)| task));
    }
}

/// Does the work in the queue. Returns whether all of it is done; what failed stays in the queue.
pub(super) async fn do_queued_work(
    queue: &Arc<CallbackWorkerQueue>,
    records: &CallbackRecordStore,
) -> bool {
    loop {
        let works = queue.first(AT_ONCE);
        if works.is_empty() {
            return true;
        }
        let count = works.len();
        let mut running = JoinSet::new();
        for work in works {
            let (queue, records) = (queue.clone(), records.clone());
            running.spawn(async move { do_queued(&queue, &records, &work).await.is_ok() });
        }
        let mut done = 0;
        while let Some(ended) = running.join_next().await {
            done += usize::from(ended.unwrap_or(false));
        }
        if done < count {
            return false;
        }
    }
}

async fn do_queued(
    queue: &CallbackWorkerQueue,
    records: &CallbackRecordStore,
    work: &QueuedSubscriptionChange,
) -> Result<(), StoreUnavailable> {
    match work {
        QueuedSubscriptionChange::Remove { nonce } => records.unsubscribe(nonce).await?,
        QueuedSubscriptionChange::Bind { nonce, id, task } => {
            match records.bind(nonce, id, task).await? {
                BindResult::Bound { is_hinted: true } => queue.wake(),
                BindResult::Bound { is_hinted: false } => {}
                BindResult::NoSubscription => queue.count_bound_too_late(id),
            }
        }
    }
    queue.done(work);
    Ok(())
}

/// Makes the subscriptions due whose tasks are known to have ended, and settles the costs of these tasks. Returns whether
/// all is done; tasks of which something failed stay.
pub(super) async fn note_ended_tasks(
    ended: &EndedTaskQueue,
    queue: &CallbackWorkerQueue,
    records: &CallbackRecordStore,
    costs: &TaskCostAccounts,
) -> bool {
    let tasks = ended.take().into_iter();
    let mut taken = TakenEndedTasksGuard {
        left: tasks.map(|task| (task.key.clone(), task)).collect(),
        ended,
    };
    while !taken.left.is_empty() {
        let mut running = JoinSet::new();
        for task in taken.left.values().take(AT_ONCE).cloned() {
            let (records, costs) = (records.clone(), costs.clone());
            running.spawn(async move {
                let noted = records.note_task_end(&task.key).await?;
                settle(records.state(), &costs, &task).await?;
                Ok::<_, StoreUnavailable>((task.key, noted))
            });
        }
        let mut is_failed = false;
        let mut is_noted = false;
        while let Some(outcome) = running.join_next().await {
            match outcome {
                Ok(Ok((key, noted))) => {
                    taken.left.remove(&key);
                    is_noted |= noted;
                }
                Ok(Err(_)) | Err(_) => is_failed = true,
            }
        }
        if is_noted {
            queue.wake();
        }
        if is_failed {
            return false;
        }
    }
    true
}
