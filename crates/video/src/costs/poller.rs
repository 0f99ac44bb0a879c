//! Polls tasks whose cost is reserved until they have ended, also if nobody else asks for them: a caller that leaves its
//! tasks alone would keep their reservations, and costs would stay what creates have reserved.

use super::poll_times::next_poll_ms;
use super::{TaskCostAccounts, TaskCostReservation, settle};
use crate::polls::{CallerStatusPoll, EndedTask, TaskStatusFetcher};
use crate::status_request::status_request;
use crate::unattended_task::UnattendedTask;
use crate::work::{
    ChannelPollTurns, InFlightWorkLimits, LoggedBlockedChannels, WorkLimiter, WorkPermit,
};
use headgate_core::feature::background::{BackgroundContext, BackgroundSnapshot};
use headgate_core::request_id::RequestId;
use headgate_core::state::calendar::unix_ms;
use headgate_core::state::records::{Record, RecordContent, RecordKind};
use headgate_core::state::{StateStore, StoreUnavailable};
use headgate_core::subrequest::SubrequestClient;
use std::sync::Arc;
use std::time::Duration;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

/// How often the store is searched for tasks that are due.
const SEARCH_INTERVAL: Duration = Duration::from_secs(5);
/// The maximum number of due tasks that are read at once.
const DUE_MAX: usize = 64;
/// How long a query may take, all in all.
const QUERY_WITHIN: Duration = Duration::from_secs(26);
/// Limits of polls in flight: keys are channels, owners are callers. What gets no permit is polled at its next time.
const POLLS: InFlightWorkLimits = InFlightWorkLimits {
    total: 64,
    reserved: 64,
    of_key: 12,
    of_owner: 48,
    of_owner_on_key: 8,
};

/// Polls tasks of this and other gateways.
pub(crate) struct TaskCostPoller {
    subrequests: SubrequestClient,
    limiter: Arc<WorkLimiter>,
    turns: ChannelPollTurns,
    blocked: LoggedBlockedChannels,
}

impl TaskCostPoller {
    pub fn new(subrequests: SubrequestClient) -> Self {
        Self {
            subrequests,
            limiter: Arc::new(WorkLimiter::new(POLLS)),
            turns: ChannelPollTurns::default(),
            blocked: LoggedBlockedChannels::default(),
        }
    }

    /// Polls until the future is dropped.
    pub async fn run(self: Arc<Self>, context: &BackgroundContext) {
        let mut polls = JoinSet::new();
        let mut was_reachable = true;
        loop {
            sleep(SEARCH_INTERVAL).await;
            while polls.try_join_next().is_some() {}
            let started = self.start_due(context, &mut polls).await;
            if let Err(unavailable) = &started
                && was_reachable
            {
                tracing::warn!(%unavailable, "cannot search for tasks whose costs are to be settled");
            }
            was_reachable = started.is_ok();
        }
    }

    async fn start_due(
        self: &Arc<Self>,
        context: &BackgroundContext,
        polls: &mut JoinSet<()>,
    ) -> Result<(), StoreUnavailable> {
        let (kind, records) = (RecordKind::TaskCost, context.state.records());
        let now_ms = unix_ms();
        for record in records.due(kind, now_ms, DUE_MAX).get().await? {
            let content = RecordContent {
                due_ms: Some(next_poll_ms(record.content.expires_ms, now_ms)),
                ..record.content.clone()
            };
            let leased = records.replace(kind, &record.key, record.version, content);
            if leased.get().await?.is_none() {
                // Another gateway polls the task, or has settled it.
                continue;
            }
            let Ok(reserved) = serde_json::from_slice::<TaskCostReservation>(&record.content.value)
            else {
                // A later version of the program may read it.
                continue;
            };
            let owner = &record.content.owner;
            let Some(permit) = self.limiter.begin(&reserved.channel, owner) else {
                continue;
            };
            let (poller, state) = (self.clone(), context.state.clone());
            let current = (context.current)();
            polls.spawn(async move { poller.poll(current, state, record, reserved, permit).await });
        }
        Ok(())
    }

    async fn poll(
        &self,
        current: BackgroundSnapshot,
        state: Arc<dyn StateStore>,
        record: Record,
        reserved: TaskCostReservation,
        _permit: WorkPermit,
    ) {
        let TaskCostReservation {
            channel, task_id, ..
        } = &reserved;
        let (tasks, catalog) = (&current.tasks, &current.catalog);
        let task = match UnattendedTask::open(task_id, tasks, catalog, &current.egress) {
            Ok(task) => task,
            Err(reason) => {
                if self.blocked.note(channel) {
                    tracing::warn!(task_id, channel, %reason, "costs of tasks wait for their settlement");
                }
                return;
            }
        };
        self.blocked.forget(channel);
        let limit = task.family.query.max_per_second;
        if !self.turns.take(&*state, channel, limit).await {
            return;
        }
        let Some(ended) = self.ended(&current, &state, &record.key, &task).await else {
            return;
        };
        let accounts = TaskCostAccounts::shared(&current.features);
        if let Err(unavailable) = settle(&state, &accounts, &ended).await {
            tracing::warn!(task_id, channel, %unavailable, "the cost of a task is not settled yet");
        }
    }

    /// The end of a task, if its provider reports that.
    async fn ended(
        &self,
        current: &BackgroundSnapshot,
        state: &Arc<dyn StateStore>,
        key: &Arc<str>,
        task: &UnattendedTask,
    ) -> Option<EndedTask> {
        let subrequest = status_request(
            &self.subrequests,
            task.subrequest(RequestId::from(&**key)),
            &task.family,
            &task.task,
        );
        let poll = CallerStatusPoll {
            family: task.family.clone(),
            task: task.task.clone(),
            state: state.clone(),
        };
        let polls = current.features.get::<TaskStatusFetcher>();
        let polled = timeout(QUERY_WITHIN, polls.status(poll, subrequest)).await;
        let report = polled.ok()?.ok()?.report;
        report.state.is_terminal().then(|| EndedTask {
            key: key.clone(),
            charge: task.family.charge(&report.response, report.state),
        })
    }
}
