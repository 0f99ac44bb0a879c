//! Tests of subscriptions, deliveries and dead letters in a store in memory.

use super::deliver::{OrderDecision, order_of};
use super::delivery::{Delivery, DeliveryPhase};
use super::records::{CallbackRecords, StoredRecord};
use super::subscribe::{NewSubscription, SubscriptionRefusal};
use super::subscription::StatusFormat;
use super::token::CallbackToken;
use crate::state::StateStore;
use crate::state::calendar::unix_ms;
use crate::state::memory::MemoryStore;
use crate::state::records::{RecordContent, RecordKind};
use crate::task::state::TaskState;
use bytes::Bytes;
use std::sync::Arc;
use std::time::Duration;

fn records() -> (Arc<dyn StateStore>, CallbackRecords) {
    let state: Arc<dyn StateStore> = Arc::new(MemoryStore::default());
    (state.clone(), CallbackRecords::new(state))
}

async fn subscribed(
    records: &CallbackRecords,
    url: Option<&str>,
) -> Result<String, SubscriptionRefusal> {
    let token = CallbackToken::new("ann", "a", u64::MAX).unwrap();
    let new = NewSubscription {
        caller: &"ann".into(),
        channel: "a",
        url,
        signed_only: false,
        format: StatusFormat::Generic,
        called_back: true,
        create_within: Duration::from_secs(60),
        polled_until_ms: u64::MAX,
    };
    records.subscribe(&token, &new).await?;
    Ok(token.nonce)
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
        phase: DeliveryPhase::Waiting,
        last_error: None,
    }
}

async fn stored(records: &CallbackRecords, event: &Delivery) -> StoredRecord<Delivery> {
    let id = Delivery::id("task_x", event.state);
    assert!(records.deliver(&id, &"ann".into(), event).await.unwrap());
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
    running.value.phase = DeliveryPhase::Leased { until_ms: u64::MAX };
    let running = records
        .replace(RecordKind::Delivery, &running)
        .await
        .unwrap()
        .unwrap();
    let waits = order_of(&records, &ended).await.unwrap();
    assert!(matches!(waits, OrderDecision::WaitUntil(u64::MAX)));
    let subscription = records.subscription(&nonce).await.unwrap().unwrap();
    assert_eq!(subscription.value.state, TaskState::Failed);
    assert!(matches!(
        order_of(&records, &running).await.unwrap(),
        OrderDecision::Overtaken
    ));
    let mut free = running;
    free.value.phase = DeliveryPhase::Waiting;
    records
        .replace(RecordKind::Delivery, &free)
        .await
        .unwrap()
        .unwrap();
    assert!(matches!(
        order_of(&records, &ended).await.unwrap(),
        OrderDecision::Send
    ));
    assert!(records.delivery(&free.key).await.unwrap().is_none());
}

#[tokio::test]
async fn an_event_whose_subscription_has_expired_is_sent() {
    let (_, records) = records();
    let running = stored(&records, &event("gone", TaskState::Running)).await;
    assert!(matches!(
        order_of(&records, &running).await.unwrap(),
        OrderDecision::Send
    ));
}

#[tokio::test]
async fn a_dead_letter_is_counted_apart_and_can_be_redriven() {
    let (_, records) = records();
    let dead = stored(&records, &event("x", TaskState::Failed)).await;
    assert!(
        records
            .bury(&dead.key, &dead.owner, &dead.value)
            .await
            .unwrap()
    );
    records.remove(RecordKind::Delivery, &dead).await.unwrap();
    let totals = records.totals().await.unwrap();
    assert_eq!((totals.pending, totals.dead, totals.oldest_ms), (0, 1, 0));
    assert_eq!(records.dead_letters("", 10).await.unwrap().len(), 1);
    assert!(!records.redrive("evt_other").await.unwrap());
    assert!(records.redrive(&dead.key).await.unwrap());
    let totals = records.totals().await.unwrap();
    assert_eq!((totals.pending, totals.dead), (1, 0));
    let without_body = Delivery {
        body: String::new(),
        ..event("x", TaskState::Expired)
    };
    records
        .bury("evt_0", &"ann".into(), &without_body)
        .await
        .unwrap();
    assert!(!records.redrive("evt_0").await.unwrap());
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
