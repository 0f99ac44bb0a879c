//! Tests of the worker: with receivers that fail or hang, and with stores that are unreachable.

use super::*;
use crate::event::FindingChange;
use headgate_core::catalog::egress::EgressPolicy;
use headgate_core::finding::{FindingSeverity, LiveFinding};
use headgate_core::outgoing::delivery_client::{
    DeliveryClient, EventPost, EventResponse, SendEventError, SendEventFuture,
};
use headgate_core::state::OnStoreFailure;
use headgate_core::state::lock::lock;
use headgate_core::state::memory::MemoryStore;
use headgate_core::state::test_stores::UnreachableStore;
use std::sync::Mutex;

/// Responds as the URL of a receiver says, and notes who was called with which event.
#[derive(Default)]
struct ScriptedReceivers(Mutex<Vec<(String, String)>>);

impl DeliveryClient for ScriptedReceivers {
    fn post<'a>(&'a self, event: EventPost<'a>, _: &'a EgressPolicy) -> SendEventFuture<'a> {
        let id = event.headers["webhook-id"].to_str().unwrap().to_owned();
        lock(&self.0).push((event.url.to_owned(), id));
        Box::pin(async move {
            match event.url {
                "hangs" => std::future::pending().await,
                "fails" => Err(SendEventError("it fails".into())),
                _ => Ok(EventResponse {
                    status: http::StatusCode::OK,
                    retry_after: None,
                }),
            }
        })
    }

    fn receiver_authority(&self, _: &str) -> Option<String> {
        None
    }
}

impl ScriptedReceivers {
    /// The ids of the events that a receiver got.
    fn ids(&self, url: &str) -> Vec<String> {
        let calls = lock(&self.0);
        let calls = calls.iter().filter(|(called, _)| called == url);
        calls.map(|(_, id)| id.clone()).collect()
    }

    /// Waits until a receiver got so many events.
    async fn until_called(&self, url: &str, count: usize) {
        let called = async {
            while self.ids(url).len() < count {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        let within = Duration::from_secs(10);
        timeout(within, called).await.expect("it is called");
    }
}

fn receivers(names: &[&str]) -> AlertReceivers {
    let wanted: Vec<_> = names
        .iter()
        .map(|name| (*name, FindingSeverity::Warning))
        .collect();
    AlertReceivers::for_tests(&wanted)
}

fn worker(
    client: &Arc<ScriptedReceivers>,
    state: &Arc<dyn StateStore>,
    receivers: &AlertReceivers,
) -> AlertWorker {
    let deliveries = AlertDeliveries::new(client.clone(), state.clone());
    AlertWorker::new(state.clone(), deliveries, receivers)
}

fn began(subjects: impl IntoIterator<Item = String>) -> QueuedChanges {
    let changes = subjects.into_iter().map(|subject| {
        FindingChange::Began(LiveFinding {
            severity: FindingSeverity::Warning,
            code: "unhealthy",
            subject,
            cause: String::new(),
            advice: String::new(),
        })
    });
    QueuedChanges {
        changes: changes.collect(),
        lost: 0,
    }
}

#[tokio::test]
async fn events_are_sent_from_memory_while_the_store_is_unreachable_and_keep_their_ids() {
    let (client, receivers) = (Arc::default(), receivers(&["fails", "works"]));
    let unreachable: Arc<dyn StateStore> = Arc::new(UnreachableStore(OnStoreFailure::Allow));
    let mut worker = worker(&client, &unreachable, &receivers);
    worker.work(began(["main".into()]), &receivers).await;
    let undelivered = worker.deliveries.finish().await;
    assert_eq!((client.ids("works").len(), undelivered.len()), (1, 1));
    assert_eq!(undelivered[0].attempts, 1);
    worker.unstored.extend(undelivered);
    // It is not due yet.
    worker.work(began([]), &receivers).await;
    assert!(worker.deliveries.finish().await.is_empty());
    let ids = client.ids("fails");
    assert_eq!((ids.len(), worker.unstored.len()), (1, 1));

    let store = Arc::new(MemoryStore::default());
    worker.state = store.clone();
    worker.work(began([]), &receivers).await;
    assert_eq!(worker.unstored.len(), 0);
    let kind = headgate_core::state::records::RecordKind::Alert;
    let stored = store.records().list(kind, "", 9).get().await.unwrap();
    assert_eq!(stored.len(), 1, "only what was not delivered");
    assert_eq!(*stored[0].key, *ids[0]);
    let value: serde_json::Value = serde_json::from_slice(&stored[0].content.value).unwrap();
    assert_eq!(value["attempts"], 1);
    assert!(stored[0].content.due_ms.unwrap() > unix_ms());
}

#[tokio::test]
async fn a_receiver_that_hangs_delays_neither_others_nor_what_comes_next() {
    let (client, receivers) = (Arc::default(), receivers(&["hangs", "works"]));
    let stores: [Arc<dyn StateStore>; 2] = [
        Arc::new(MemoryStore::default()),
        Arc::new(UnreachableStore(OnStoreFailure::Allow)),
    ];
    for (number, state) in stores.into_iter().enumerate() {
        let mut worker = worker(&client, &state, &receivers);
        let subjects = (0..10).map(|subject| format!("{number} {subject}"));
        worker.work(began(subjects), &receivers).await;
        client.until_called("works", 10 + 11 * number).await;
        worker
            .work(began([format!("{number} last")]), &receivers)
            .await;
        client.until_called("works", 11 + 11 * number).await;
        assert_eq!(client.ids("hangs").len(), 4 + 4 * number, "at once");
    }
}

#[tokio::test]
async fn the_next_process_sends_no_finding_again_that_stands() {
    let (client, receivers) = (Arc::default(), receivers(&["works"]));
    let state: Arc<dyn StateStore> = Arc::new(MemoryStore::default());
    for subjects in [&["main"][..], &["main", "second"]] {
        let worker = worker(&client, &state, &receivers);
        let subjects = subjects.iter().map(ToString::to_string);
        worker.finish(began(subjects), &receivers).await;
    }
    assert_eq!(client.ids("works").len(), 2);
}

#[tokio::test]
async fn without_receivers_nothing_is_held() {
    let client = Arc::default();
    let state: Arc<dyn StateStore> = Arc::new(UnreachableStore(OnStoreFailure::Allow));
    let mut worker = worker(&client, &state, &receivers(&["works"]));
    worker.work(began(["main".into()]), &receivers(&[])).await;
    assert!(worker.announced.is_empty());
    assert_eq!(worker.unstored.len(), 0);
}
