//! Tests of connections to Redis that break while something is on its way: it counts once, or not at all.

use super::redis_proxy::{Direction, RedisProxy};
use super::redis_server::RedisServer;
use super::redis_store::{is_unreachable, open, site};
use super::*;
use headgate_core::state::settings::RedisSettings;

const TOKEN_LIMITS: [LimitKind; 3] = [
    LimitKind::TokensPerMinute,
    LimitKind::TokensPerDay,
    LimitKind::TokensPerMonth,
];
const MOST: u64 = 1 << 20;

/// What each limit has used; `None` while Redis is unreachable.
async fn used(store: &dyn StateStore, limits: &[AdmissionLimit]) -> Option<Vec<u64>> {
    let demand = AdmissionRequest {
        limits,
        tokens: 0,
        cost: None,
        run: None,
    };
    let admission = store.admit(&demand).get().await.ok()?;
    let statuses = admission.limit_statuses.iter();
    Some(statuses.map(|status| MOST - status.remaining).collect())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_settlement_whose_connection_breaks_counts_once() {
    let server = RedisServer::start();
    for direction in [Direction::Requests, Direction::Responses] {
        let proxy = RedisProxy::start(server.port).await;
        let store = open(site(&proxy.url()));
        let ann = caller();
        let limits = TOKEN_LIMITS.map(|measure| limit(&ann, measure, MOST));
        let ticket = granted(&*store, &limits, 100).await;
        proxy.hold(direction);
        store.settle(ticket, 150);
        // The settlement is not executed, or its response does not come: it is sent again on the next connection.
        store.flush(Duration::from_secs(60));
        assert!(proxy.is_holding(), "{direction:?}");
        eventually("Redis is reachable", async || {
            used(&*store, &limits).await.is_some()
        })
        .await;
        assert_eq!(
            used(&*store, &limits).await.unwrap(),
            [150; 3],
            "{direction:?}"
        );
        // The settlement of the connection that broke comes late.
        proxy.release().await;
        for _ in 0..3 {
            assert_eq!(
                used(&*store, &limits).await.unwrap(),
                [150; 3],
                "{direction:?}"
            );
        }
        assert_eq!(store.health().failed[StoreOperation::Settle as usize], 0);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_admission_that_comes_after_its_cancellation_charges_nothing() {
    let server = RedisServer::start();
    let proxy = RedisProxy::start(server.port).await;
    let store = open(site(&proxy.url()));
    let ann = caller();
    let tokens = TOKEN_LIMITS.map(|measure| limit(&ann, measure, MOST));
    let lease = [limit(&caller(), LimitKind::Concurrent, 1)];
    proxy.hold(Direction::Requests);
    let demands = [(&tokens[..], 100), (&lease[..], 0)].map(|(limits, tokens)| AdmissionRequest {
        limits,
        tokens,
        cost: None,
        run: None,
    });
    let [first, second] = demands.each_ref().map(|demand| store.admit(demand).get());
    let (first, second) = tokio::join!(first, second);
    assert!(first.is_err() && second.is_err());
    // The cancellations go over the next connection.
    store.flush(Duration::from_secs(60));
    assert!(proxy.is_holding());
    proxy.release().await;
    eventually("Redis is reachable", async || {
        used(&*store, &tokens).await.is_some()
    })
    .await;
    for _ in 0..3 {
        assert_eq!(used(&*store, &tokens).await.unwrap(), [0; 3]);
        let ticket = granted(&*store, &lease, 0).await;
        store.settle(ticket, 0);
        store.flush(Duration::from_secs(60));
    }
}

#[tokio::test]
async fn a_stall_that_is_over_when_redis_is_pinged_costs_no_connection() {
    let server = RedisServer::start();
    let store = open(RedisSettings {
        timeout: Duration::from_secs(2),
        ..site(&server.url())
    });
    server.stop(true);
    assert!(is_unreachable(&*store).await.is_err());
    server.stop(false);
    is_unreachable(&*store).await.unwrap();
    assert!(store.health().up);
}
