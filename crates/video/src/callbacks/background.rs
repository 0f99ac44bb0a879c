//! Runs the worker of callbacks and the poller of costs in the background, with the configuration in use.

use super::{CallbackWorker, CallbackWorkerContext};
use crate::costs::{TaskCostAccounts, TaskCostPoller};
use headgate_core::catalog::channel::TimeoutOverrides;
use headgate_core::feature::background::{BackgroundContext, BackgroundSnapshot};
use headgate_core::random::random_fraction;
use headgate_core::subrequest::SubrequestClient;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

/// Queries of the worker end before their lease.
const QUERY_TIMEOUTS: TimeoutOverrides = TimeoutOverrides {
    connect: Some(Duration::from_secs(5)),
    first_byte: Some(Duration::from_secs(15)),
    idle: Some(Duration::from_secs(10)),
    total: Some(Duration::from_secs(25)),
};
/// How long the process waits for queries and deliveries in flight before it ends.
const FINISH_WITHIN: Duration = Duration::from_secs(5);

/// Runs until the process has drained, since tasks are still created until then.
pub(crate) async fn run(context: BackgroundContext) {
    let current = || {
        let BackgroundSnapshot {
            callers,
            catalog,
            tasks,
            egress,
            features,
        } = (context.current)();
        CallbackWorkerContext {
            callers,
            catalog,
            tasks,
            egress,
            state: context.state.clone(),
            polls: features.get(),
            costs: TaskCostAccounts::shared(&features),
        }
    };
    let subrequests = SubrequestClient::new(context.subrequests.clone(), QUERY_TIMEOUTS);
    let poller = Arc::new(TaskCostPoller::new(subrequests.clone()));
    let worker = Arc::new(CallbackWorker::new(
        subrequests,
        context.deliveries.clone(),
        (context.current)().features.get(),
        random_fraction,
    ));
    let ending = pin!(context.until_ending());
    tokio::select! {
        () = worker.clone().run(current) => {}
        () = poller.run(&context) => {}
        () = ending => worker.finish(&current(), FINISH_WITHIN).await,
    }
}
