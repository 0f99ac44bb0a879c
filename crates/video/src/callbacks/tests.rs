//! Tests of subscriptions, deliveries and dead letters in a store in memory.

use super::counters::DeliveryOutcome;
use super::deliver::{SendOrderDecision, decide_order};
use super::delivery::{Delivery, DeliveryLeaseState};
use super::queue::CallbackWorkerQueue;
use super::queued_work::{do_queued_work, note_ended_tasks};
use super::records::{CallbackRecordStore, RedriveOutcome, StoredRecord};
use super::subscribe::{BindResult, SubscriptionRefusal, UnboundSubscription};
use super::subscription::CallerStatusFormat;
use super::token::CallbackToken;
use crate::costs::TaskCostAccounts;
use crate::polls::{EndedTask, EndedTaskQueue, task_key};
use bytes::Bytes;
use headgate_core::state::StateStore;
use headgate_core::state::calendar::unix_ms;
use headgate_core::state::memory::MemoryStore;
use headgate_core::state::records::{RecordContent, RecordKind};
use headgate_core::task::family::TaskCharge;
use headgate_core::task::id::TaskId;
use headgate_core::task::state::TaskState;
use std::sync::Arc;
use std::task::{Context, Waker};
use std::time::Duration;

fn records() -> (Arc<dyn StateStore>, CallbackRecordStore) {
    let state: Arc<dyn StateStore> = Arc::new(MemoryStore::default());
    (state.clone(), CallbackRecordStore::new(state))
}

async fn subscribed(
    records: &CallbackRecordStore,
    url: Option<&str>,
) -> Result<String, SubscriptionRefusal> {
    let token = CallbackToken::new("ann", "a", u64::MAX).unwrap();
    let new = UnboundSubscription {
        caller: &"ann".into(),
        channel: "a",
        url,
        signed_only: false,
        format: CallerStatusFormat::Generic,
        expects_callbacks: true,
        create_within: Duration::from_secs(60),
        polled_until_ms: u64::MAX,
    };
    records.subscribe(&token, &new).await?;
    Ok(token.nonce)
}

pub(super) fn task() -> TaskId {
    TaskId {
        caller: "ann".into(),
        channel: "a".into(),
        credential: 1,
        model: "demo-video-a".into(),
        created: 1_000,
        ratio: None,
        upstream: "cgt-1".into(),
        family: "family_a".into(),
        requested: Default::default(),
        query_url: None,
    }
}

fn event(subscription: &str, state: TaskState) -> Delivery {
    Delivery {
        subscription: subscription.into(),
        earlier: state
            .is_terminal()
            .then(|| Delivery::id("task_x", TaskState::Running)),
        url: "https://receiver.example/done".into(),
        signed_only: false,
        state,
        body: "{}".into(),
        created_ms: unix_ms(),
        attempts: 0,
        phase: DeliveryLeaseState::Waiting,
        last_error: None,
    }
}

async fn stored(records: &CallbackRecordStore, event: &Delivery) -> StoredRecord<Delivery> {
    let id = Delivery::id("task_x", event.state);
    assert!(
        records
            .store_event(&id, &"ann".into(), event)
            .await
            .unwrap()
    );
    records.delivery(&id).await.unwrap().unwrap()
}

#[tokio::test]
async fn an_event_that_a_task_has_ended_ends_its_subscription_and_overtakes_the_earlier_one() {
    let (_, records) = records();
    let nonce = subscribed(&records, Some("https://receiver.example/done"))
        .await
        .unwrap();
    let mut running = stored(&records, &event(&nonce, TaskState::Running)).await;
    // As a process leaves it that dies after it has stored the event.
    let ended = stored(&records, &event(&nonce, TaskState::Failed)).await;
    running.value.phase = DeliveryLeaseState::Leased { until_ms: u64::MAX };
    let running = records
        .replace(RecordKind::Delivery, &running)
        .await
        .unwrap()
        .unwrap();
    let waits = decide_order(&records, &ended).await.unwrap();
    assert!(matches!(waits, SendOrderDecision::WaitUntil(u64::MAX)));
    let subscription = records.subscription(&nonce).await.unwrap().unwrap();
    assert_eq!(subscription.value.state, TaskState::Failed);
    assert!(matches!(
        decide_order(&records, &running).await.unwrap(),
        SendOrderDecision::Overtaken
    ));
    let mut free = running;
    free.value.phase = DeliveryLeaseState::Waiting;
    records
        .replace(RecordKind::Delivery, &free)
        .await
        .unwrap()
        .unwrap();
    assert!(matches!(
        decide_order(&records, &ended).await.unwrap(),
        SendOrderDecision::Send { .. }
    ));
    assert!(records.delivery(&free.key).await.unwrap().is_none());
}

#[tokio::test]
async fn an_event_whose_subscription_has_expired_is_sent() {
    let (_, records) = records();
    let running = stored(&records, &event("gone", TaskState::Running)).await;
    assert!(matches!(
        decide_order(&records, &running).await.unwrap(),
        SendOrderDecision::Send { .. }
    ));
}

#[tokio::test]
async fn a_dead_letter_is_counted_apart_and_can_be_redriven() {
    let (_, records) = records();
    let dead = stored(&records, &event("x", TaskState::Failed)).await;
    assert!(
        records
            .store_dead_letter(&dead.key, &dead.owner, &dead.value)
            .await
            .unwrap()
    );
    records.remove(RecordKind::Delivery, &dead).await.unwrap();
    let totals = records.totals().await.unwrap();
    assert_eq!((totals.pending, totals.dead, totals.oldest_ms), (0, 1, 0));
    assert_eq!(records.dead_letters("", 10).await.unwrap().len(), 1);
    let redriven = records.redrive("evt_other").await.unwrap();
    assert_eq!(redriven, RedriveOutcome::NotFound);
    let redriven = records.redrive(&dead.key).await.unwrap();
    assert_eq!(redriven, RedriveOutcome::Redriven);
    let totals = records.totals().await.unwrap();
    assert_eq!((totals.pending, totals.dead), (1, 0));
    let without_body = Delivery {
        body: String::new(),
        ..event("x", TaskState::Expired)
    };
    records
        .store_dead_letter("evt_0", &"ann".into(), &without_body)
        .await
        .unwrap();
    let redriven = records.redrive("evt_0").await.unwrap();
    assert_eq!(redriven, RedriveOutcome::NoBody);
}

#[tokio::test]
async fn a_task_that_has_ended_leaves_one_record_about_its_subscription() {
    let (state, records) = records();
    let url = Some("https://receiver.example/done");
    let nonce = subscribed(&records, url).await.unwrap();
    let count = async || {
        let counted = state.records().count(RecordKind::Subscription).get().await;
        counted.unwrap().count
    };
    let bound = records.bind(&nonce, "task_x", &task()).await.unwrap();
    assert_eq!(bound, BindResult::Bound { is_hinted: false });
    assert_eq!(count().await, 2);
    let ended = EndedTaskQueue::default();
    let ended_task = EndedTask {
        key: task_key(&task()),
        charge: TaskCharge {
            state: TaskState::Succeeded,
            credits: None,
            billed_seconds: None,
            may_bill_cancelled: true,
        },
    };
    ended.put_back([ended_task].into_iter());
    let queue = CallbackWorkerQueue::default();
    assert!(note_ended_tasks(&ended, &queue, &records, &TaskCostAccounts::default()).await);
    assert_eq!(count().await, 1);
    let subscription = records.subscription(&nonce).await.unwrap().unwrap();
    assert!(subscription.value.is_hinted());
}

#[tokio::test]
async fn a_task_whose_subscription_is_gone_is_counted_as_lost() {
    let (_, records) = records();
    let nonce = subscribed(&records, None).await.unwrap();
    records.unsubscribe(&nonce).await.unwrap();
    let bound = records.bind(&nonce, "task_x", &task()).await.unwrap();
    assert_eq!(bound, BindResult::NoSubscription);
    let queue = Arc::new(CallbackWorkerQueue::default());
    queue.bind_later(nonce, "task_x".into(), task());
    assert!(do_queued_work(&queue, &records).await);
    assert_eq!(queue.counters().total(DeliveryOutcome::Lost), 1);
}

#[tokio::test]
async fn work_stays_in_the_queue_until_it_is_done() {
    let (_, records) = records();
    let nonce = subscribed(&records, None).await.unwrap();
    let queue = Arc::new(CallbackWorkerQueue::default());
    queue.bind_later(nonce.clone(), "task_x".into(), task());
    let unreachable: Arc<dyn StateStore> = Arc::new(MemoryStore::fallback_for("sqlite"));
    let unreachable = CallbackRecordStore::new(unreachable);
    assert!(!do_queued_work(&queue, &unreachable).await);
    assert_eq!(queue.first(2).len(), 1, "after a failure");
    let mut stopped = Box::pin(do_queued_work(&queue, &records));
    let mut context = Context::from_waker(Waker::noop());
    assert!(stopped.as_mut().poll(&mut context).is_pending());
    drop(stopped);
    assert_eq!(queue.first(2).len(), 1, "after a stop in the middle");
    assert!(do_queued_work(&queue, &records).await);
    assert!(queue.first(2).is_empty());
    let bound = records.subscription(&nonce).await.unwrap().unwrap();
    assert_eq!(bound.value.task.as_deref(), Some("task_x"));
}

#[tokio::test]
async fn records_that_cannot_be_read_do_not_hide_others() {
    let (state, records) = records();
    for n in 0..300 {
        let content = RecordContent {
            value: Bytes::from_static(b"{}"),
            owner: "ann".into(),
            expires_ms: u64::MAX,
            due_ms: Some(1),
        };
        let key = format!("evt_{n}");
        let inserted = state
            .records()
            .insert(RecordKind::Delivery, &key, content, 1_000);
        inserted.get().await.unwrap();
    }
    stored(&records, &event("x", TaskState::Running)).await;
    let mut found = 0;
    for _ in 0..4 {
        found += records
            .due::<Delivery>(RecordKind::Delivery, 128)
            .await
            .unwrap()
            .found
            .len();
    }
    assert!(found >= 1);
}

#[tokio::test]
async fn creates_without_a_url_leave_room_for_those_with_one() {
    let (state, records) = records();
    for n in 0..10_000 {
        let content = RecordContent {
            value: Bytes::new(),
            owner: "ann".into(),
            expires_ms: u64::MAX,
            due_ms: None,
        };
        let key = n.to_string();
        let inserted = state
            .records()
            .insert(RecordKind::Subscription, &key, content, u32::MAX);
        inserted.get().await.unwrap();
    }
    assert!(matches!(
        subscribed(&records, None).await,
        Err(SubscriptionRefusal::TooMany)
    ));
    assert!(
        subscribed(&records, Some("https://receiver.example/done"))
            .await
            .is_ok()
    );
}
