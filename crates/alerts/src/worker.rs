//! Stores changes of findings as events for the receivers that want them, and delivers what is due.

use crate::event::{FindingChange, event_id};
use crate::queue::AlertQueue;
use crate::receiver::AlertReceivers;
use crate::{records, sender};
use headgate_core::feature::background::BackgroundContext;
use headgate_core::state::StoreUnavailable;
use std::time::Duration;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

/// How often it is looked for events that are due.
const SEARCH_INTERVAL: Duration = Duration::from_secs(5);
/// How long the process waits for deliveries when it ends; other gateways, or the next process, deliver the rest.
const FINISH_WITHIN: Duration = Duration::from_secs(5);

/// Works until the process ends.
pub(crate) async fn run(context: BackgroundContext) {
    let queue = (context.current)().features.get::<AlertQueue>();
    let mut unstored = Vec::new();
    loop {
        let is_ending = tokio::select! {
            () = queue.until_woken() => false,
            () = sleep(SEARCH_INTERVAL) => false,
            () = context.until_ending() => true,
        };
        unstored.extend(queue.take());
        let work = work(&context, &mut unstored);
        let done = match is_ending {
            false => work.await,
            true => timeout(FINISH_WITHIN, work).await.unwrap_or(Ok(())),
        };
        if let Err(error) = done {
            tracing::warn!(%error, "alerts cannot be stored");
        }
        if is_ending {
            return;
        }
    }
}

async fn work(
    context: &BackgroundContext,
    unstored: &mut Vec<FindingChange>,
) -> Result<(), StoreUnavailable> {
    let receivers = (context.current)().features.get::<AlertReceivers>();
    if receivers.0.is_empty() {
        unstored.clear();
        return Ok(());
    }
    while let Some(change) = unstored.first() {
        store(context, &receivers, change).await?;
        unstored.remove(0);
    }
    deliver_due(context, &receivers).await
}

/// Stores a change for each receiver that wants it.
async fn store(
    context: &BackgroundContext,
    receivers: &AlertReceivers,
    change: &FindingChange,
) -> Result<(), StoreUnavailable> {
    let (code, severity) = change.choice();
    let records = context.state.records();
    for (name, _) in receivers
        .0
        .iter()
        .filter(|(_, receiver)| receiver.wants(code, severity))
    {
        let body = change.body(&gateway_name());
        if !records::store(records, &event_id(), name, body).await? {
            tracing::warn!(
                receiver = name,
                code,
                "alert lost: too many wait for their receiver"
            );
        }
    }
    Ok(())
}

async fn deliver_due(
    context: &BackgroundContext,
    receivers: &AlertReceivers,
) -> Result<(), StoreUnavailable> {
    loop {
        let leased = records::lease_due(context.state.records()).await?;
        if leased.is_empty() {
            return Ok(());
        }
        let mut attempts = JoinSet::new();
        for alert in leased {
            let receiver = receivers.0.get(&alert.receiver).cloned();
            let (client, state) = (context.deliveries.clone(), context.state.clone());
            attempts.spawn(sender::deliver(alert, receiver, client, state));
        }
        attempts.join_all().await;
    }
}

/// The name of the machine, which tells the gateways of a fleet apart.
pub(crate) fn gateway_name() -> String {
    std::env::var("HOSTNAME").unwrap_or_default()
}
