//! Budgets in money, which every store must keep to the last billionth.

use super::redis_server::RedisServer;
use super::{TempFolder, caller, limit, redis_store};
use headgate_core::state::StateStore;
use headgate_core::state::admission::{
    AdmissionDecision, AdmissionLimit, AdmissionRequest, AdmissionTicket, LimitKind,
};
use headgate_core::state::money::MoneyReservation;
use std::time::Duration;

type Admitted = (AdmissionTicket, Option<MoneyReservation>);

/// What the limits have left, and the ticket with what is reserved, or the index of the limit that refuses.
async fn spend(
    store: &dyn StateStore,
    limits: &[AdmissionLimit],
    cost: u64,
) -> (Vec<u64>, Result<Admitted, usize>) {
    let demand = AdmissionRequest {
        limits,
        tokens: 0,
        cost: Some(cost),
        run: None,
    };
    let admitted = store.admit(&demand).get().await.unwrap();
    let statuses = admitted.limit_statuses.iter();
    let left = statuses.map(|status| status.remaining).collect();
    match admitted.decision {
        AdmissionDecision::Granted(ticket) => (left, Ok((ticket, admitted.money.map(|it| *it)))),
        AdmissionDecision::Refused { limit, .. } => (left, Err(limit)),
        AdmissionDecision::RunRefused(refusal) => panic!("{refusal:?}"),
    }
}

fn reserved((_, money): Admitted) -> MoneyReservation {
    money.expect("something was reserved")
}

/// What a budget has left, without a reservation.
async fn left(store: &dyn StateStore, limit: &AdmissionLimit) -> u64 {
    store.flush(Duration::from_secs(10));
    let (left, refused) = spend(store, std::slice::from_ref(limit), u64::MAX >> 1).await;
    assert_eq!(refused.err(), Some(0));
    left[0]
}

const BUDGETS: [LimitKind; 3] = [
    LimitKind::CostPerDay,
    LimitKind::CostPerMonth,
    LimitKind::CostTotal,
];

pub async fn money_is_reserved_up_to_the_budget(store: &dyn StateStore) {
    for kind in BUDGETS {
        let limits = [limit(&caller(), kind, 100)];
        let (after, first) = spend(store, &limits, 60).await;
        assert_eq!(after, [40], "{kind:?}");
        assert_eq!(spend(store, &limits, 41).await.1.err(), Some(0));
        let second = spend(store, &limits, 40).await.1.unwrap();
        assert_eq!(left(store, &limits[0]).await, 0);
        store.settle_money(reserved(first.unwrap()), 10);
        assert_eq!(left(store, &limits[0]).await, 50);
        store.settle_money(reserved(second), 45);
        assert_eq!(left(store, &limits[0]).await, 45, "more than was reserved");
    }
}

pub async fn a_reservation_is_settled_once(store: &dyn StateStore) {
    // Beyond what a double counts exactly after three additions in Redis.
    const BUDGET: u64 = 9_000_000_000_000_001;
    let limits = [limit(&caller(), LimitKind::CostTotal, BUDGET)];
    let reservation = reserved(
        spend(store, &limits, 8_000_000_000_000_003)
            .await
            .1
            .unwrap(),
    );
    for _ in 0..3 {
        store.settle_money(reservation.clone(), 3_000_000_000_000_007);
        assert_eq!(
            left(store, &limits[0]).await,
            BUDGET - 3_000_000_000_000_007
        );
    }
    let kept = reserved(spend(store, &limits, 5).await.1.unwrap());
    store.settle_money(reservation, 0);
    assert_eq!(
        left(store, &limits[0]).await,
        BUDGET - 3_000_000_000_000_012
    );
    store.settle_money(kept, 0);
    assert_eq!(
        left(store, &limits[0]).await,
        BUDGET - 3_000_000_000_000_007
    );
}

pub async fn all_budgets_are_reserved_or_none(store: &dyn StateStore) {
    let name = caller();
    let requests = limit(&name, LimitKind::RequestsPerMinute, 2);
    let day = limit(&name, LimitKind::CostPerDay, 100);
    let total = limit(&name, LimitKind::CostTotal, 50);
    let concurrent = limit(&name, LimitKind::Concurrent, 1);
    let all = [day.clone(), requests.clone(), total.clone(), concurrent];
    assert_eq!(spend(store, &all, 60).await.1.err(), Some(2));
    let (after, first) = spend(store, &all, 30).await;
    assert_eq!(after, [70, 1, 20, 0]);
    let mut first = first.unwrap();
    assert_eq!(spend(store, &all, 10).await.1.err(), Some(3), "concurrent");
    assert_eq!(
        [left(store, &day).await, left(store, &total).await],
        [70, 20]
    );
    let lease = first.0.split_off_concurrent().unwrap();
    store.settle(lease, 0);
    store.settle_money(reserved(first), 30);
    store.flush(Duration::from_secs(10));
    let (after, second) = spend(store, &all, 20).await;
    assert_eq!(after, [50, 0, 0, 0]);
    store.settle(second.unwrap().0, 0);
    store.flush(Duration::from_secs(10));
    // The limit with the longest wait refuses; which period is longer depends on the day.
    assert!(spend(store, &[requests, day.clone()], 1).await.1.is_err());
    assert_eq!(left(store, &day).await, 50);
}

pub async fn what_costs_nothing_needs_no_budget(store: &dyn StateStore) {
    let limits = [limit(&caller(), LimitKind::CostPerDay, 10)];
    let spent = spend(store, &limits, 10).await.1.unwrap();
    assert_eq!(spend(store, &limits, 1).await.1.err(), Some(0));
    let free = spend(store, &limits, 0).await.1.unwrap();
    assert_eq!(free.1, None);
    store.settle_money(reserved(spent), 12);
    store.flush(Duration::from_secs(10));
    assert!(spend(store, &limits, 0).await.1.is_ok(), "overspent");
    assert_eq!(left(store, &limits[0]).await, 0);
}

#[tokio::test]
async fn a_reservation_is_in_the_file_before_the_request_is_granted() {
    let folder = TempFolder::new();
    let limits = [limit(&caller(), LimitKind::CostPerMonth, 100)];
    let open = spend(&*folder.store(), &limits, 30).await.1.unwrap();
    // Another process, such as the next one after a crash, counts it and settles it.
    let next = folder.store();
    assert_eq!(left(&*next, &limits[0]).await, 70);
    assert_eq!(spend(&*next, &limits, 71).await.1.err(), Some(0));
    next.settle_money(reserved(open), 20);
    assert_eq!(left(&*next, &limits[0]).await, 80);
}

#[tokio::test]
async fn two_processes_share_a_budget_of_the_file() {
    let folder = TempFolder::new();
    let stores = [folder.store(), folder.store()];
    let limits = [limit(&caller(), LimitKind::CostPerDay, 100)];
    let mut granted = Vec::new();
    for number in 0..40 {
        let (_, ticket) = spend(&*stores[number % 2], &limits, 7).await;
        granted.extend(ticket.ok());
    }
    assert_eq!(granted.len(), 14);
    for (number, ticket) in granted.into_iter().enumerate() {
        stores[(number + 1) % 2].settle_money(reserved(ticket), 1);
    }
    for store in &stores {
        store.flush(Duration::from_secs(10));
    }
    assert_eq!(left(&*stores[0], &limits[0]).await, 86);
    assert_eq!(left(&*stores[1], &limits[0]).await, 86);
}

#[tokio::test]
async fn an_admission_that_nobody_awaits_reserves_nothing() {
    let folder = TempFolder::new();
    let store = folder.store();
    let limits = [limit(&caller(), LimitKind::CostPerDay, 1_000)];
    for _ in 0..20 {
        let demand = AdmissionRequest {
            limits: &limits,
            tokens: 0,
            cost: Some(10),
            run: None,
        };
        // Polled once, and dropped while the file is written.
        let pending = store.admit(&demand).get();
        let polled = tokio::time::timeout(Duration::ZERO, pending).await;
        if let Ok(admitted) = polled {
            let money = admitted.unwrap().money.expect("there is room");
            store.settle_money(*money, 0);
        }
    }
    super::eventually("all of it is free", async || {
        left(&*store, &limits[0]).await == 1_000
    })
    .await;
}

#[tokio::test]
async fn a_restart_of_redis_loses_no_reservation() {
    let folder = TempFolder::new();
    let mut server = RedisServer::start_durable(folder.path());
    let store = redis_store::open(redis_store::site(&server.url()));
    let limits = [limit(&caller(), LimitKind::CostTotal, 100)];
    let open = spend(&*store, &limits, 30).await.1.unwrap();
    server.restart();
    let reservation = reserved(open);
    store.settle_money(reservation.clone(), 20);
    store.settle_money(reservation, 20);
    super::eventually("Redis is back", async || {
        let demand = AdmissionRequest {
            limits: &limits,
            tokens: 0,
            cost: Some(1_000),
            run: None,
        };
        let admitted = store.admit(&demand).get().await;
        admitted.is_ok_and(|admitted| admitted.limit_statuses[0].remaining == 80)
    })
    .await;
}
