//! Tests of a state store that fails around a create: nothing is sent without a record, and no key stays in use.

use crate::harness::folder::Folder;
use crate::harness::gateway::folder_with_schemas;
use crate::harness::paid::{
    CreateShape, ask_and_leave_when_sent, error_code, is_replayed, lock_state_file,
    send_with_duplicates,
};
use crate::harness::video::{GENERIC, create_body};
use crate::harness::{Gateway, RedisServer, Request, Simulator, eventually};
use serde_json::json;
use std::time::{Duration, Instant};

const SHAPE: CreateShape = CreateShape::GenericForA;

/// Lets no file of the process grow, as on a full disk.
#[cfg(target_os = "linux")]
fn set_disk_full(gateway: &Gateway, is_full: bool) {
    let size = match is_full {
        true => 0,
        false => libc::RLIM_INFINITY,
    };
    let limit = libc::rlimit {
        rlim_cur: size,
        rlim_max: libc::RLIM_INFINITY,
    };
    let id = libc::pid_t::try_from(gateway.process.id()).unwrap();
    // SAFETY: sets a limit of a child; `limit` is valid for the whole call.
    let set = unsafe {
        libc::prlimit(
            id,
            libc::RLIMIT_FSIZE,
            &raw const limit,
            std::ptr::null_mut(),
        )
    };
    assert_eq!(set, 0);
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn on_a_full_disk_nothing_is_sent_and_replays_continue() {
    let simulator = Simulator::start().await;
    let state = Folder::new();
    let gateway = SHAPE.gateway_on_file(&simulator, &state).await;
    let before = gateway.ask(&SHAPE.keyed("before")).await;
    assert_eq!(before.status, 200, "{}", before.text());
    set_disk_full(&gateway, true);
    let mut refused = 0;
    for request in [
        SHAPE.keyed("full"),
        SHAPE.keyed("full"),
        SHAPE.request("full"),
    ] {
        let response = gateway.ask(&request).await;
        assert_eq!(response.status, 503, "{}", response.text());
        assert_eq!(error_code(&response), "overloaded", "{}", response.text());
        refused += 1;
    }
    // Other creates, which fail, do not fail the replays that are read beside them.
    let others = (0..20).map(|nth| {
        let address = gateway.address;
        tokio::spawn(async move {
            loop {
                let mut connection = crate::harness::Connection::to(address).await;
                connection.ask(&SHAPE.keyed(&format!("other-{nth}"))).await;
            }
        })
    });
    let others: Vec<_> = others.collect();
    for nth in 0..50 {
        let replayed = gateway.ask(&SHAPE.keyed("before")).await;
        assert!(is_replayed(&replayed), "{nth}: {}", replayed.text());
    }
    for other in others {
        assert!(!other.is_finished(), "the other creates were sent");
        other.abort();
    }
    let received = SHAPE.received(&simulator).await;
    println!("full disk: {refused} creates refused, {received} received by the provider");
    assert_eq!(received, 1);
    set_disk_full(&gateway, false);
    for request in [SHAPE.keyed("full"), SHAPE.request("full")] {
        let served = async || (gateway.ask(&request).await.status == 200).then_some(());
        eventually("a create", served).await;
    }
}

#[tokio::test]
async fn a_gateway_that_stops_stores_the_ends_of_its_creates_first() {
    let simulator = Simulator::start().await;
    let state = Folder::new();
    let folder = folder_with_schemas();
    let config = SHAPE.config_on_file(&simulator, &state);
    let config = folder.write("routes.yaml", format!("{config:#}"));
    let mut gateway = Gateway::start_at(&config).await;
    // The file is locked while the provider refuses one create and accepts another one.
    let refused = SHAPE.keyed("refused").simulate("status=400;delay=1500ms");
    let left = SHAPE.keyed("left").simulate("delay=1500ms");
    let asks: Vec<_> = [refused.clone(), left.clone()]
        .map(|request| {
            let address = gateway.address;
            tokio::spawn(async move {
                let mut connection = crate::harness::Connection::to(address).await;
                connection.ask(&request).await.status
            })
        })
        .into();
    let sent = async || (SHAPE.received(&simulator).await == 2).then_some(());
    eventually("both creates", sent).await;
    let lock = lock_state_file(&state).await;
    tokio::time::sleep(Duration::from_millis(1700)).await;
    gateway.process.signal(libc::SIGTERM);
    tokio::time::sleep(Duration::from_millis(1800)).await;
    assert!(gateway.process.ended().is_none());
    drop(lock);
    let ended = async || gateway.process.ended();
    eventually("the end of the process", ended).await;
    for ask in asks {
        let status = ask.await.unwrap();
        assert!([200, 400].contains(&status), "{status}");
    }
    let gateway = Gateway::start_at(&config).await;
    let retry = gateway.ask(&SHAPE.keyed("refused")).await;
    assert_eq!(
        (retry.status, is_replayed(&retry)),
        (200, false),
        "{}",
        retry.text()
    );
    let retry = gateway.ask(&SHAPE.keyed("left")).await;
    assert!(is_replayed(&retry), "{}", retry.text());
    assert_eq!(SHAPE.received(&simulator).await, 3);
}

#[tokio::test]
async fn duplicates_of_a_create_whose_state_file_hangs_are_refused_together() {
    let simulator = Simulator::start().await;
    let state = Folder::new();
    let gateway = SHAPE.gateway_on_file(&simulator, &state).await;
    let request = SHAPE.keyed("hanging").simulate("delay=2s");
    let sent = send_with_duplicates(&gateway, &simulator, SHAPE, &request, 20).await;
    let lock = lock_state_file(&state).await;
    let began = Instant::now();
    let mut statuses = Vec::new();
    for response in sent {
        statuses.push(response.await.unwrap().expect("a response").status);
    }
    let elapsed = began.elapsed();
    println!("while the file is locked: {statuses:?} after {elapsed:?}");
    // What was paid for is delivered.
    assert_eq!(statuses[0], 200);
    assert!(statuses[1..].iter().all(|status| *status == 503));
    // One after the other, each would wait for a timeout of 4 s.
    assert!(elapsed < Duration::from_secs(40), "{elapsed:?}");
    drop(lock);
    let replayed = async || is_replayed(&gateway.ask(&request).await).then_some(());
    eventually("a replay", replayed).await;
    assert_eq!(SHAPE.received(&simulator).await, 1);
}

#[tokio::test]
async fn a_key_whose_create_was_refused_while_the_store_was_unreachable_is_free_again() {
    let redis = RedisServer::start();
    let simulator = Simulator::start().await;
    let gateway = SHAPE.gateway_on_redis(&simulator, &redis).await;
    let refused = SHAPE.keyed("refused").simulate("status=400;delay=1s");
    let (address, request) = (gateway.address, refused);
    let ask = tokio::spawn(async move {
        let mut connection = crate::harness::Connection::to(address).await;
        connection.ask(&request).await.status
    });
    let sent = async || (SHAPE.received(&simulator).await == 2).then_some(());
    eventually("the create", sent).await;
    redis.stop(true);
    assert_eq!(ask.await.unwrap(), 400);
    // Longer than a lease.
    tokio::time::sleep(Duration::from_secs(17)).await;
    redis.stop(false);
    let began = Instant::now();
    let retry = async || {
        let response = gateway.ask(&SHAPE.keyed("refused")).await;
        assert_ne!(response.status, 504, "{}", response.text());
        (response.status == 200).then_some(response)
    };
    let response = eventually("the retry", retry).await;
    println!(
        "the key was free {:?} after the store was back",
        began.elapsed()
    );
    assert!(!is_replayed(&response));
    assert_eq!(SHAPE.received(&simulator).await, 3);
}

#[tokio::test]
async fn a_slow_redis_delays_creates_and_fails_none() {
    let redis = RedisServer::start();
    let simulator = Simulator::start().await;
    let gateway = SHAPE.gateway_on_redis(&simulator, &redis).await;
    for nth in 0..3 {
        redis.stop(true);
        let request = SHAPE.keyed(&format!("slow-{nth}"));
        let response = tokio::join!(gateway.ask(&request), async {
            tokio::time::sleep(Duration::from_millis(600)).await;
            redis.stop(false);
        });
        assert_eq!(response.0.status, 200, "{}", response.0.text());
    }
    assert_eq!(SHAPE.received(&simulator).await, 4);
}

#[tokio::test]
async fn a_corrected_request_under_the_key_of_a_refused_one_is_sent() {
    let simulator = Simulator::start().await;
    let state = Folder::new();
    let gateway = SHAPE.gateway_on_file(&simulator, &state).await;
    let mut connection = gateway.connect().await;
    const ROUNDS: usize = 100;
    for nth in 0..ROUNDS {
        let key = format!("round-{nth}");
        let refused = SHAPE.keyed(&key).simulate("status=400");
        assert_eq!(connection.ask(&refused).await.status, 400);
        let corrected = SHAPE.request("a lock").header("Idempotency-Key", &key);
        let response = connection.ask(&corrected).await;
        assert_eq!(response.status, 200, "{nth}: {}", response.text());
    }
    assert_eq!(SHAPE.received(&simulator).await, 2 * ROUNDS);
}

/// A local reply of a filter after `idempotency`: its status, and the request.
fn local_replies() -> Vec<(u16, Request)> {
    let keyed = |status: u16| SHAPE.keyed(&format!("local-{status}"));
    let with = |field: &str, value: &str| {
        let mut body = create_body(GENERIC, "demo-video-a");
        body[field] = json!(value);
        body.to_string().into_bytes()
    };
    vec![
        // `callbacks` refuses it.
        (
            400,
            keyed(400).with_body(with("callback_url", "http://127.0.0.1:1/done")),
        ),
        // `store_media` refuses it.
        (
            413,
            keyed(413).with_body(with("prompt", &"a".repeat(200_000))),
        ),
        (429, keyed(429)),
        (503, keyed(503)),
    ]
}

#[tokio::test]
async fn every_local_reply_before_sending_frees_the_key() {
    for (status, request) in local_replies() {
        let simulator = Simulator::start().await;
        let mut config = SHAPE.config(&simulator, &json!({}));
        let routes = config["routes"].as_array_mut().unwrap();
        let route = routes.iter_mut().find(|route| route["name"] == "video");
        let chain = route.unwrap()["request"].as_array_mut().unwrap();
        let at = chain.len() - 1;
        for filter in [
            json!("store_media"),
            json!({"callbacks": {"mode": "refuse"}}),
            json!("rate_limit"),
        ] {
            chain.insert(at, filter);
        }
        config["families"] = json!({"family-a": {"media": {"max_request": "100KiB"}}});
        // Another create uses up what the limits allow.
        let occupied = match status {
            429 => {
                config["callers"][0]["limits"] = json!({"concurrent": 1});
                true
            }
            503 => {
                config["channels"]["a"]["limits"] = json!({"concurrent": 1});
                true
            }
            _ => false,
        };
        let gateway = Gateway::start(&config).await;
        let address = gateway.address;
        let other = tokio::spawn(async move {
            if occupied {
                let request = SHAPE.keyed("other").simulate("delay=1s");
                crate::harness::Connection::to(address)
                    .await
                    .ask(&request)
                    .await;
            }
        });
        if occupied {
            let sent = async || (SHAPE.received(&simulator).await == 1).then_some(());
            eventually("the other create", sent).await;
        }
        let response = gateway.ask(&request).await;
        assert_eq!(response.status, status, "{}", response.text());
        other.await.unwrap();
        // Another body: a key in use would give 422.
        let key = format!("local-{status}");
        let next = SHAPE.request("a lock").header("Idempotency-Key", &key);
        let response = gateway.ask(&next).await;
        println!(
            "{status}: the key is free, the next request gets {}",
            response.status
        );
        assert_eq!(response.status, 200, "{status}: {}", response.text());
        assert!(!is_replayed(&response));
    }
}

#[tokio::test]
async fn unknown_outcomes_do_not_use_up_a_callers_keys() {
    let simulator = Simulator::start().await;
    let gateway = SHAPE.gateway(&simulator, json!({"keys_max": 3})).await;
    for nth in 0..5 {
        let failed = SHAPE.keyed(&format!("failed-{nth}")).simulate("status=500");
        assert_eq!(gateway.ask(&failed).await.status, 502);
        let left = SHAPE.request("left").simulate("delay=1s");
        ask_and_leave_when_sent(&gateway, &simulator, SHAPE, &left).await;
    }
    for nth in 0..3 {
        let response = gateway.ask(&SHAPE.keyed(&format!("good-{nth}"))).await;
        assert_eq!(response.status, 200, "{nth}: {}", response.text());
    }
    let response = gateway.ask(&SHAPE.keyed("one-more")).await;
    assert_eq!(response.status, 503, "{}", response.text());
    assert_eq!(response.headers.get("retry-after"), Some("60"));
    assert_eq!(gateway.log_of(&response).await["idempotency"], "keys_full");
    assert_eq!(gateway.ask(&SHAPE.request("no key")).await.status, 200);
    let response = gateway.ask(&SHAPE.keyed("failed-0")).await;
    assert_eq!(
        error_code(&response),
        "outcome_unknown",
        "{}",
        response.text()
    );
}
