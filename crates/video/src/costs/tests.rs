//! Tests of reservations and their settlement, by several gateways that share their state.

use super::{TaskCostAccounts, TaskCostReservation, reserve, settle};
use crate::polls::EndedTask;
use headgate_core::catalog::price::{NANOS, VideoTaskPrice};
use headgate_core::state::StateStore;
use headgate_core::state::memory::MemoryStore;
use headgate_core::state::money::MoneyReservation;
use headgate_core::state::records::{RecordContent, RecordKind};
use headgate_core::state::test_stores::{InterceptedStore, RecordStoreOperation};
use headgate_core::task::family::TaskCharge;
use headgate_core::task::state::TaskState;
use std::sync::Arc;
use tokio::sync::Notify;

const KEY: &str = "task-1";

fn reservation() -> TaskCostReservation {
    TaskCostReservation {
        task_id: "task_x".into(),
        channel: "a".into(),
        model: "demo-video".into(),
        currency: "USD".into(),
        price: VideoTaskPrice {
            reserved: 500,
            credit: Some(10),
            second: None,
        },
        money: None,
        channel_money: None,
        caller_label: None,
    }
}

fn ended(credits: u64) -> EndedTask {
    EndedTask {
        key: KEY.into(),
        charge: TaskCharge {
            state: TaskState::Succeeded,
            credits: Some(credits * NANOS),
            billed_seconds: None,
            may_bill_cancelled: true,
        },
    }
}

#[tokio::test]
async fn of_many_gateways_that_see_the_end_of_a_task_one_counts_the_difference() {
    let state: Arc<dyn StateStore> = Arc::new(MemoryStore::default());
    for (credits, added, refunded) in [(80, 300, 0), (20, 0, 300), (50, 0, 0)] {
        reserve(&*state, KEY, &"ann".into(), &reservation()).await;
        let gateways: Vec<TaskCostAccounts> = (0..4).map(|_| TaskCostAccounts::default()).collect();
        for _ in 0..3 {
            for accounts in &gateways {
                let settled = settle(&state, accounts, &ended(credits)).await;
                assert!(settled.is_ok());
            }
        }
        let changes: Vec<_> = gateways.iter().flat_map(|it| it.changes.take()).collect();
        let sum = |nanos: fn(&_) -> u64| changes.iter().map(nanos).sum::<u64>();
        let sums = (sum(|change| change.added), sum(|change| change.refunded));
        assert_eq!(sums, (added, refunded), "{credits}");
        assert!(changes.len() <= 1, "{changes:?}");
    }
}

#[tokio::test]
async fn a_settlement_that_nobody_waits_for_any_longer_is_counted() {
    let (removed, proceed) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let (has_removed, may_proceed) = (removed.clone(), proceed.clone());
    let store = InterceptedStore::new(move |operation| {
        let (removed, proceed) = (has_removed.clone(), may_proceed.clone());
        Box::pin(async move {
            if operation == RecordStoreOperation::Remove {
                removed.notify_one();
                proceed.notified().await;
            }
            Ok(())
        })
    });
    let state: Arc<dyn StateStore> = Arc::new(store);
    reserve(&*state, KEY, &"ann".into(), &reservation()).await;
    let accounts = TaskCostAccounts::default();
    // Like a worker that is stopped between the removal of the record and its result.
    let ended = ended(20);
    tokio::select! {
        _ = settle(&state, &accounts, &ended) => panic!("settled too early"),
        () = removed.notified() => {}
    }
    assert!(settle(&state, &accounts, &ended).await.is_ok());
    assert_eq!(accounts.changes.take(), []);
    proceed.notify_one();
    accounts.changes.until_settled().await;
    let changes = accounts.changes.take();
    assert_eq!(changes.len(), 1);
    assert_eq!((changes[0].added, changes[0].refunded), (0, 300));
}

#[tokio::test]
async fn a_change_has_the_label_of_its_caller_and_the_name() {
    let state: Arc<dyn StateStore> = Arc::new(MemoryStore::default());
    let accounts = TaskCostAccounts::default();
    for (caller, label) in [
        ("idp:ann", Some("other")),
        ("idp:bob", Some("other")),
        ("web", None),
    ] {
        let reservation = TaskCostReservation {
            caller_label: label.map(str::to_owned),
            ..reservation()
        };
        reserve(&*state, KEY, &caller.into(), &reservation).await;
        assert!(settle(&state, &accounts, &ended(80)).await.is_ok());
    }
    let taken = accounts.changes.take().into_iter();
    let mut taken: Vec<_> = taken
        .map(|change| {
            (
                change.labels.caller.to_string(),
                change.caller_name.to_string(),
            )
        })
        .collect();
    taken.sort();
    let expected = [("other", "idp:ann"), ("other", "idp:bob"), ("web", "web")];
    assert_eq!(
        taken,
        expected.map(|(label, name)| (label.to_owned(), name.to_owned()))
    );
}

#[tokio::test]
async fn a_change_of_a_charge_is_that_of_the_budget_and_belongs_to_the_day_of_the_create() {
    let state: Arc<dyn StateStore> = Arc::new(MemoryStore::default());
    let accounts = TaskCostAccounts::default();
    for (money, credits, expected) in [
        (Some(500), 80, vec![(300, 0)]),
        (Some(900), 80, vec![(0, 100)]),
        (Some(800), 80, vec![]),
        (None, 80, vec![]),
    ] {
        let reservation = TaskCostReservation {
            money: money.map(|amount| MoneyReservation {
                id: "7-1".into(),
                counters: Vec::new(),
                amount,
                taken_ms: 1_700_000_000_000,
                run: None,
            }),
            ..reservation()
        };
        reserve(&*state, KEY, &"ann".into(), &reservation).await;
        for _ in 0..2 {
            assert!(settle(&state, &accounts, &ended(credits)).await.is_ok());
        }
        let changes = accounts.changes.take_charges();
        let amounts: Vec<_> = changes.iter().map(|it| (it.added, it.refunded)).collect();
        assert_eq!(amounts, expected, "{money:?}");
        for change in changes {
            assert_eq!(
                (&*change.caller, change.admitted_ms),
                ("ann", 1_700_000_000_000)
            );
        }
    }
}

#[tokio::test]
async fn a_task_that_nobody_reserved_changes_no_cost() {
    let state: Arc<dyn StateStore> = Arc::new(MemoryStore::default());
    let accounts = TaskCostAccounts::default();
    assert!(settle(&state, &accounts, &ended(80)).await.is_ok());
    assert_eq!(accounts.changes.take(), []);
}

#[tokio::test]
async fn a_reservation_of_a_later_version_stays_for_it() {
    let state: Arc<dyn StateStore> = Arc::new(MemoryStore::default());
    let content = RecordContent {
        value: r#"{"version": 9}"#.into(),
        owner: "ann".into(),
        expires_ms: u64::MAX,
        due_ms: None,
    };
    let inserted = state
        .records()
        .insert(RecordKind::TaskCost, KEY, content, 9);
    assert!(inserted.get().await.is_ok());
    let accounts = TaskCostAccounts::default();
    assert!(settle(&state, &accounts, &ended(80)).await.is_ok());
    let kept = state.records().get(RecordKind::TaskCost, KEY).get().await;
    assert!(kept.unwrap().is_some());
    assert_eq!(accounts.changes.take(), []);
}

#[tokio::test]
async fn a_task_stays_to_be_settled_while_the_store_is_unreachable() {
    let unreachable: Arc<dyn StateStore> = Arc::new(MemoryStore::fallback_for("sqlite"));
    // The create does not fail.
    reserve(&*unreachable, KEY, &"ann".into(), &reservation()).await;
    let accounts = TaskCostAccounts::default();
    let settled = settle(&unreachable, &accounts, &ended(80)).await;
    assert!(settled.is_err());
}
