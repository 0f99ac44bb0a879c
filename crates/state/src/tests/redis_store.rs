//! Tests of the Redis store only: several gateways, killed gateways, an unreachable Redis that returns.

use super::redis_server::RedisServer;
use super::*;
use headgate_core::scalar::Secret;
use headgate_core::state::settings::{RedisSettings, StoreOpener};
use headgate_core::state::{OnStoreFailure, StoreUnavailable};
use std::task::Poll;
use std::time::Instant;

/// Far longer than the configured wait, and far shorter than what counts as hanging.
pub const AT_ONCE: Duration = Duration::from_secs(5);

pub fn site(url: &str) -> RedisSettings {
    RedisSettings {
        url: Secret::new(url).unwrap(),
        user: None,
        password: None,
        ca: None,
        prefix: "test".into(),
        timeout: Duration::from_millis(500),
        id_ttl: 30 * DAY,
        on_store_failure: OnStoreFailure::Deny,
    }
}

pub fn open(site: RedisSettings) -> Arc<dyn StateStore> {
    crate::open::StateStoreOpener.open(&StoreSettings::Redis(Box::new(site)))
}

/// Sends one command, whose words are separated by spaces.
pub fn command(server: &RedisServer, command: &str) {
    let mut redis = crate::redis_store::client(&site(&server.url()))
        .unwrap()
        .get_connection()
        .unwrap();
    let mut words = command.split_whitespace();
    let mut sent = redis::cmd(words.next().unwrap());
    sent.arg(words.collect::<Vec<_>>());
    sent.exec(&mut redis).unwrap();
}

pub async fn is_unreachable(store: &dyn StateStore) -> Result<(), StoreUnavailable> {
    let nobody = Arc::from("nobody");
    store.find_channel(&nobody, "resp_0").get().await.map(drop)
}

async fn wait_until_back(store: &dyn StateStore) {
    eventually("Redis is reachable again", async || {
        is_unreachable(store).await.is_ok() && store.health().up
    })
    .await;
}

#[tokio::test]
async fn redis_store_fulfils_the_contract() {
    let server = RedisServer::start();
    let store = open(site(&server.url()));
    assert!(store.health().up);
    assert_eq!(store.on_store_failure(), OnStoreFailure::Deny);
    super::contract::all(&*store).await;
    super::records::all(&*store).await;
    let health = store.health();
    assert_eq!((health.failed, health.dropped), ([0; 9], [0; 9]));
}

#[tokio::test]
async fn redis_store_fulfils_the_contract_with_tls_and_a_password() {
    let folder = TempFolder::new();
    let certificate = rcgen::generate_simple_self_signed(["127.0.0.1".to_string()]).unwrap();
    let pem = certificate.cert.pem();
    std::fs::write(folder.path().join("redis.pem"), &pem).unwrap();
    let key = certificate.signing_key.serialize_pem();
    std::fs::write(folder.path().join("redis.key"), key).unwrap();
    let server = RedisServer::start_with_tls(folder.path(), "pa:ss@word");
    let url = format!("rediss://127.0.0.1:{}/3", server.port);

    let secure = RedisSettings {
        password: Some(Secret::new("pa:ss@word").unwrap()),
        ca: Some(pem.into_bytes()),
        ..site(&url)
    };
    let store = open(secure.clone());
    assert!(store.health().up);
    super::contract::all(&*store).await;
    super::records::all(&*store).await;

    let by_url = format!("rediss://:pa%3Ass%40word@127.0.0.1:{}/3", server.port);
    let by_url = RedisSettings {
        password: None,
        url: Secret::new(by_url).unwrap(),
        ..secure.clone()
    };
    assert!(open(by_url).health().up);
    let wrong = [
        RedisSettings {
            password: None,
            ..secure.clone()
        },
        RedisSettings {
            password: Some(Secret::new("other").unwrap()),
            ..secure.clone()
        },
        RedisSettings {
            ca: None,
            ..secure.clone()
        },
        RedisSettings {
            url: Secret::new(url.replace("rediss", "redis")).unwrap(),
            ca: None,
            ..secure
        },
    ];
    for wrong in wrong {
        let store = open(wrong);
        assert!(is_unreachable(&*store).await.is_err());
        assert!(!store.health().up);
    }
}

#[tokio::test]
async fn the_documented_redis_permissions_are_sufficient() {
    let server = RedisServer::start();
    command(
        &server,
        "ACL SETUSER gate on >pw ~test:* +get +getex +set +del +zrem +evalsha +script|load +ping +time +select \
         +hgetall +hget +hmget +hset +hdel +hincrby +zadd +zcard +zcount +zrangebylex +zrangebyscore \
         +zremrangebyscore +pexpire +pexpireat +lindex +lpush +ltrim",
    );
    let store = open(RedisSettings {
        user: Some("gate".into()),
        password: Some(Secret::new("pw").unwrap()),
        ..site(&server.url())
    });
    super::contract::all(&*store).await;
    super::records::all(&*store).await;
    let health = store.health();
    assert_eq!((health.failed, health.dropped), ([0; 9], [0; 9]));
}

#[tokio::test]
async fn gateways_share_ids_limits_and_budgets() {
    let server = RedisServer::start();
    let (one, other) = (open(site(&server.url())), open(site(&server.url())));
    let ann = caller();
    one.remember(&ann, "resp_1", &Arc::from("primary"));
    one.flush(AT_ONCE);
    assert_eq!(
        find_channel(&*other, &ann, "resp_1").await.as_deref(),
        Some("primary")
    );
    other.forget(&ann, "resp_1");
    other.flush(AT_ONCE);
    assert_eq!(find_channel(&*one, &ann, "resp_1").await, None);

    for (measure, tokens) in [
        (LimitKind::RequestsPerMinute, 0),
        (LimitKind::TokensPerMinute, 1),
        (LimitKind::Concurrent, 0),
        (LimitKind::TokensPerDay, 1),
        (LimitKind::TokensPerMonth, 1),
    ] {
        let limits = [limit(&caller(), measure, 40)];
        let mut tickets = Vec::new();
        for n in 0..40 {
            let store = if n % 2 == 0 { &one } else { &other };
            tickets.push(granted(&**store, &limits, tokens).await);
        }
        refused(&*one, &limits, tokens).await;
        refused(&*other, &limits, tokens).await;
    }
}

#[tokio::test]
async fn many_at_once_never_get_more_than_the_limit() {
    let server = RedisServer::start();
    let limits = Arc::new([limit(&caller(), LimitKind::RequestsPerMinute, 600)]);
    let mut tasks = tokio::task::JoinSet::new();
    for _ in 0..2 {
        let store = open(RedisSettings {
            timeout: AT_ONCE,
            ..site(&server.url())
        });
        for _ in 0..20 {
            let (store, limits) = (store.clone(), limits.clone());
            tasks.spawn(async move {
                let mut count = 0;
                for _ in 0..40 {
                    let admission = admit(&*store, &*limits, 0).await;
                    count += u32::from(matches!(admission.decision, AdmissionDecision::Granted(_)));
                }
                count
            });
        }
    }
    let counts = tasks.join_all().await;
    assert_eq!(counts.iter().sum::<u32>(), 600);
}

#[tokio::test]
async fn a_killed_redis_is_unreachable_at_once_and_reconnected() {
    let mut server = RedisServer::start();
    let store = open(site(&server.url()));
    let limits = [limit(&caller(), LimitKind::Concurrent, 1)];
    let ann = caller();
    granted(&*store, &limits, 0).await;
    for round in 0..3 {
        server.kill();
        eventually("Redis is away", async || {
            is_unreachable(&*store).await.is_err()
        })
        .await;
        let began = Instant::now();
        for _ in 0..200 {
            assert!(is_unreachable(&*store).await.is_err());
            assert!(
                store
                    .admit(&AdmissionRequest {
                        limits: &limits,
                        tokens: 0,
                        cost: None,
                        run: None,
                    })
                    .get()
                    .await
                    .is_err()
            );
        }
        // None of them waited for the 500 ms that a request may wait.
        assert!(began.elapsed() < AT_ONCE, "{:?}", began.elapsed());
        assert!(!store.health().up);
        // An id that is recorded now is known to this gateway at once, and is written when Redis is reachable again.
        let id = format!("resp_{round}");
        store.remember(&ann, &id, &Arc::from("primary"));
        assert_eq!(
            find_channel(&*store, &ann, &id).await.as_deref(),
            Some("primary")
        );

        server.restart();
        wait_until_back(&*store).await;
        store.flush(AT_ONCE);
        let other = open(site(&server.url()));
        assert_eq!(
            find_channel(&*other, &ann, &id).await.as_deref(),
            Some("primary")
        );
        // The lease that is still in use is renewed in a Redis that has lost its data.
        eventually("the place is renewed", async || {
            let admission = admit(&*other, &limits, 0).await;
            match admission.decision {
                AdmissionDecision::Refused { .. } | AdmissionDecision::RunRefused(_) => true,
                AdmissionDecision::Granted(ticket) => {
                    other.settle(ticket, 0);
                    false
                }
            }
        })
        .await;
    }
    assert!(store.health().failed[1] > 0 && store.health().failed[3] > 0);
}

#[tokio::test]
async fn a_hanging_redis_costs_one_timeout() {
    let server = RedisServer::start();
    let store = open(site(&server.url()));
    server.stop(true);
    let began = Instant::now();
    for _ in 0..200 {
        assert!(is_unreachable(&*store).await.is_err());
    }
    assert!(began.elapsed() < AT_ONCE, "{:?}", began.elapsed());
    server.stop(false);
    wait_until_back(&*store).await;
}

#[tokio::test]
async fn a_redis_that_comes_late_is_used_once_it_is_there() {
    let mut server = RedisServer::start();
    server.kill();
    let store = open(site(&server.url()));
    assert!(!store.health().up);
    assert!(is_unreachable(&*store).await.is_err());
    server.restart();
    wait_until_back(&*store).await;
    super::contract::all(&*store).await;
    super::records::all(&*store).await;
}

#[tokio::test]
async fn scripts_that_redis_forgot_are_given_to_it_again() {
    let server = RedisServer::start();
    let store = open(site(&server.url()));
    let limits = [limit(&caller(), LimitKind::TokensPerMinute, 100)];
    let ticket = granted(&*store, &limits, 100).await;
    command(&server, "SCRIPT FLUSH");
    store.settle(ticket, 1);
    store.flush(AT_ONCE);
    wait_until_back(&*store).await;
    store.flush(AT_ONCE);
    let status = admit(&*store, &limits, 9).await.limit_statuses[0];
    assert_eq!(status.remaining, 90);
}

#[tokio::test]
async fn the_lease_of_an_abandoned_admission_is_released() {
    let server = RedisServer::start();
    // On a busy machine a late response would drop the connection and with it the order of the commands; the lease
    // would then be free only when it expires.
    let store = open(RedisSettings {
        timeout: Duration::from_secs(20),
        ..site(&server.url())
    });
    let limits = [limit(&caller(), LimitKind::Concurrent, 1)];
    for _ in 0..20 {
        let demand = AdmissionRequest {
            limits: &limits,
            tokens: 0,
            cost: None,
            run: None,
        };
        let StoreFuture::Later(mut pending) = store.admit(&demand) else {
            panic!("Redis has to be asked");
        };
        // The request is sent, and dropped before its response.
        let first_poll =
            std::future::poll_fn(|context| Poll::Ready(pending.as_mut().poll(context)));
        // On a busy machine the response may already be there: then nothing was abandoned.
        if let Poll::Ready(Ok(admission)) = first_poll.await
            && let AdmissionDecision::Granted(ticket) = admission.decision
        {
            store.settle(ticket, 0);
        }
    }
    eventually("the place is free", async || {
        let demand = AdmissionRequest {
            limits: &limits,
            tokens: 0,
            cost: None,
            run: None,
        };
        let admission = store.admit(&demand).get().await;
        admission.is_ok_and(|admission| matches!(admission.decision, AdmissionDecision::Granted(_)))
    })
    .await;
}

#[tokio::test]
async fn the_outbox_is_bounded_and_counts_dropped_writes() {
    let mut server = RedisServer::start();
    server.kill();
    let store = open(site(&server.url()));
    let ann = caller();
    // A request that was never sent leaves no lease to release.
    let limits = [limit(&ann, LimitKind::Concurrent, 1)];
    for _ in 0..1_000 {
        let demand = AdmissionRequest {
            limits: &limits,
            tokens: 0,
            cost: None,
            run: None,
        };
        assert!(store.admit(&demand).get().await.is_err());
    }
    for n in 0..60_000 {
        store.remember(&ann, &format!("resp_{n}"), &Arc::from("primary"));
    }
    assert_eq!(store.health().dropped[0], 10_000);
    server.restart();
    wait_until_back(&*store).await;
    store.flush(Duration::from_secs(30));
    assert_eq!(
        find_channel(&*store, &ann, "resp_49999").await.as_deref(),
        Some("primary")
    );
    assert_eq!(find_channel(&*store, &ann, "resp_50000").await, None);
}

#[test]
fn an_invalid_redis_url_is_reported_without_its_password() {
    let cases = [
        ("http://user:s3cret@host", "must begin with"),
        ("redis://user:s3cret@host/x", "not a Redis URL"),
        ("redis://user:s3cret@", "not a Redis URL"),
        ("rediss://user:s3cret@host/#insecure", "fragment"),
    ];
    for (url, expected) in cases {
        let reason = crate::redis_store::client(&site(url))
            .map(drop)
            .unwrap_err();
        assert!(reason.contains(expected), "{url}: {reason}");
        assert!(!reason.contains("s3cret"), "{reason}");
    }
    let secret = RedisSettings {
        password: Some(Secret::new("s3cret").unwrap()),
        ..site("redis://u:s3cret@host")
    };
    assert!(!format!("{secret:?}").contains("s3cret"));
}
