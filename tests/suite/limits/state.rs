//! Tests of persistent and shared state: killed processes, several gateways, an unreachable Redis.

use crate::harness::certificates::Authority;
use crate::harness::error_shape::assert_error_body;
use crate::harness::folder::Folder;
use crate::harness::gateway::folder_with_schemas;
use crate::harness::patient_redis::patient_redis;
use crate::harness::process::Process;
use crate::harness::{Gateway, RedisServer, Request, Simulator, WholeResponse, config, eventually};
use headgate_protocol::Protocol;
use serde_json::{Value, json};
use std::time::{Duration, Instant};

/// Far longer than the 100 ms that a request waits for Redis, and far from hanging.
const BOUNDED: Duration = Duration::from_secs(5);

/// Two accounts with equal weight: without state, every second follow-up request goes to the wrong one.
struct Accounts {
    providers: [Simulator; 2],
}

impl Accounts {
    async fn start() -> Self {
        let providers = [Simulator::start().await, Simulator::start().await];
        Self { providers }
    }

    fn config(&self, state: &Value) -> Value {
        let mut config = config::standard(&self.providers[0].url());
        let mut second = config["channels"]["openai"].clone();
        second["base_url"] = self.providers[1].url().into();
        config["channels"]["second"] = second;
        config["state"] = state.clone();
        config
    }

    async fn gateway(&self, state: &Value) -> Gateway {
        Gateway::start(&self.config(state)).await
    }
}

async fn ask(gateway: &Gateway, previous: Option<&str>, streamed: bool) -> WholeResponse {
    let mut body = json!({"model": "demo-large", "input": "Hello", "stream": streamed});
    if let Some(previous) = previous {
        body["previous_response_id"] = previous.into();
    }
    gateway
        .ask(&Request::to(Protocol::Responses, body.to_string()))
        .await
}

/// Creates a response and returns its id.
async fn create(gateway: &Gateway, previous: Option<&str>, streamed: bool) -> String {
    let answer = ask(gateway, previous, streamed).await;
    let text = answer.text();
    assert_eq!((answer.status, answer.whole), (200, true), "{text}");
    let line = gateway.log_of(&answer).await;
    line["response_id"].as_str().expect("an id").to_string()
}

async fn up(gateway: &Gateway) -> f64 {
    gateway.metrics().await.sum("headgate_state_up", &[])
}

/// Waits until the state file in a folder has this id.
async fn written(folder: &Folder, id: &str) {
    let file = rusqlite::Connection::open(folder.path().join("headgate-state.sqlite")).unwrap();
    eventually("the id is in the file", async || {
        let found = file.query_row("SELECT channel FROM made WHERE id = ?1", [id], |row| {
            row.get::<_, String>(0)
        });
        found.ok()
    })
    .await;
}

#[tokio::test]
async fn a_conversation_goes_on_where_it_began_behind_kill_minus_9() {
    let accounts = Accounts::start().await;
    let mut config = accounts.config(&Value::Null);
    config.as_object_mut().unwrap().remove("state");
    let folder = folder_with_schemas();
    let file = folder.write("routes.yaml", config.to_string());
    let mut ids: Vec<String> = Vec::new();
    for round in 0..4 {
        let mut gateway = Gateway::start_at(&file).await;
        // Follow-up requests reach the right account for each id of earlier rounds.
        for (turn, id) in ids.iter_mut().enumerate() {
            *id = create(&gateway, Some(id), turn % 2 == 0).await;
        }
        for _ in 0..4 {
            ids.push(create(&gateway, None, round % 2 == 0).await);
        }
        for id in &ids {
            written(&folder, id).await;
        }
        gateway.process.signal(libc::SIGKILL);
        eventually("the end", async || gateway.process.ended()).await;
    }
}

#[tokio::test]
async fn what_was_answered_before_sigterm_is_kept() {
    let accounts = Accounts::start().await;
    let config = accounts.config(&json!("sqlite:own.sqlite"));
    let folder = folder_with_schemas();
    let file = folder.write("routes.yaml", config.to_string());
    let mut gateway = Gateway::start_at(&file).await;
    let mut ids = Vec::new();
    for turn in 0..10 {
        ids.push(create(&gateway, None, turn % 2 == 0).await);
    }
    gateway.process.signal(libc::SIGTERM);
    eventually("the end", async || gateway.process.ended()).await;
    let gateway = Gateway::start_at(&file).await;
    for id in &ids {
        create(&gateway, Some(id), false).await;
    }
    assert!(folder.path().join("own.sqlite").exists());
    assert!(!folder.path().join("headgate-state.sqlite").exists());
}

#[tokio::test]
async fn a_conversation_goes_on_through_an_upgrade() {
    let accounts = Accounts::start().await;
    let config = accounts.config(&json!("sqlite:own.sqlite"));
    let folder = folder_with_schemas();
    let file = folder.write("routes.yaml", config.to_string());
    let mut gateway = Gateway::start_at(&file).await;
    let mut ids: Vec<String> = Vec::new();
    for _ in 0..3 {
        for turn in 0..4 {
            ids.push(create(&gateway, None, turn % 2 == 0).await);
        }
        let next = gateway.successor_at(Folder::new(), &file).await;
        eventually("the end", async || gateway.process.ended()).await;
        gateway = next;
        for (turn, id) in ids.iter_mut().enumerate() {
            *id = create(&gateway, Some(id.as_str()), turn % 2 == 0).await;
        }
    }
}

#[tokio::test]
async fn a_response_made_through_one_gateway_goes_on_through_another() {
    let redis = RedisServer::start();
    let accounts = Accounts::start().await;
    let state = patient_redis(&redis);
    let gateways = [
        accounts.gateway(&state).await,
        accounts.gateway(&state).await,
    ];
    for turn in 0..12 {
        let mut id = create(&gateways[turn % 2], None, turn % 3 == 0).await;
        for hop in 1..4 {
            let other = &gateways[(turn + hop) % 2];
            // The gateway that created it may write it to Redis a moment later.
            let read = Request::get(&format!("/v1/responses/{id}"));
            eventually("the other knows the id", async || {
                (other.ask(&read).await.status == 200).then_some(())
            })
            .await;
            id = create(other, Some(&id), hop % 2 == 0).await;
        }
    }
    assert_eq!(up(&gateways[0]).await, 1.0);
}

#[tokio::test]
async fn an_unreachable_redis_causes_errors_but_no_restart() {
    let mut redis = RedisServer::start();
    let accounts = Accounts::start().await;
    let state = json!({"redis": {"url": redis.url(), "on_store_failure": "deny"}});
    let gateway = accounts.gateway(&state).await;
    let other = accounts.gateway(&state).await;
    let id = create(&gateway, None, false).await;
    let read = Request::get(&format!("/v1/responses/{id}"));
    // Another gateway knows only what is in Redis.
    eventually("Redis has the id", async || {
        (up(&gateway).await == 1.0 && other.ask(&read).await.status == 200).then_some(())
    })
    .await;
    drop(other);

    redis.kill();
    eventually("Redis is found away", async || {
        (up(&gateway).await == 0.0).then_some(())
    })
    .await;
    for streamed in [false, true] {
        let began = Instant::now();
        let refused = ask(&gateway, Some(&id), streamed).await;
        assert!(began.elapsed() < BOUNDED, "{:?}", began.elapsed());
        let message = assert_error_body(Protocol::Responses, &refused, 503);
        assert!(message.contains("try again"), "{message}");
    }
    // Requests without an earlier response are not affected, and the ids created meanwhile are kept.
    let meanwhile = create(&gateway, None, true).await;

    redis.restart();
    eventually("Redis is reachable again", async || {
        (up(&gateway).await == 1.0).then_some(())
    })
    .await;
    create(&gateway, Some(&meanwhile), false).await;
    let other = accounts.gateway(&state).await;
    let read = Request::get(&format!("/v1/responses/{meanwhile}"));
    eventually("the other knows what was made meanwhile", async || {
        (other.ask(&read).await.status == 200).then_some(())
    })
    .await;
    // Redis lost its data: earlier ids are unknown, not assigned to a wrong account.
    assert_eq!(ask(&other, Some(&id), false).await.status, 404);
    let failed = gateway.metrics().await.sum(
        "headgate_state_failures_total",
        &[("operation", "get_owner")],
    );
    assert!(failed >= 2.0, "{failed}");
    for message in ["Redis is unreachable", "Redis is reachable again"] {
        eventually(message, async || {
            let output = gateway.process.stderr.all().join("\n");
            output.contains(message).then_some(())
        })
        .await;
    }
}

#[tokio::test]
async fn a_hanging_redis_counts_as_unreachable_until_it_responds_again() {
    let redis = RedisServer::start();
    let accounts = Accounts::start().await;
    let gateway = accounts.gateway(&json!(redis.url())).await;
    let id = create(&gateway, None, false).await;
    redis.stop(true);
    eventually("Redis is found away", async || {
        let read = Request::get("/v1/responses/resp_0123456789abcdef");
        let began = Instant::now();
        let answer = gateway.ask(&read).await;
        assert!(began.elapsed() < BOUNDED, "{:?}", began.elapsed());
        (answer.status == 503 && up(&gateway).await == 0.0).then_some(())
    })
    .await;
    redis.stop(false);
    eventually("Redis is reachable again", async || {
        (up(&gateway).await == 1.0).then_some(())
    })
    .await;
    create(&gateway, Some(&id), false).await;
}

#[tokio::test]
async fn redis_is_asked_through_tls_with_a_password() {
    let folder = folder_with_schemas();
    let authority = Authority::new();
    authority.server().write(&folder, "redis");
    folder.write("ca.pem", authority.pem());
    folder.write("password", "s3cret-canary\n");
    let redis = RedisServer::start_with_tls(folder.path(), "s3cret-canary");
    let accounts = Accounts::start().await;
    let config = accounts.config(&json!({"redis": {
        "url": format!("rediss://127.0.0.1:{}/1", redis.port),
        "password": {"file": "password"},
        "ca": "ca.pem",
        "prefix": "gate:test",
    }}));
    let gateway = Gateway::start_in(folder, &config.to_string()).await;
    assert_eq!(up(&gateway).await, 1.0);
    let id = create(&gateway, None, true).await;
    let other = Gateway::start_at(&gateway.folder.path().join("routes.yaml")).await;
    let read = Request::get(&format!("/v1/responses/{id}"));
    eventually("the other knows the id", async || {
        (other.ask(&read).await.status == 200).then_some(())
    })
    .await;
}

#[tokio::test]
async fn the_password_is_in_no_page_and_no_log() {
    let accounts = Accounts::start().await;
    let mut redis = RedisServer::start();
    redis.kill();
    let url = format!("redis://gate:s3cret-canary@127.0.0.1:{}/0", redis.port);
    let gateway = accounts.gateway(&json!(url)).await;
    let page = gateway.config_page().await;
    let state = (&page["state"]["store"], &page["state"]["up"]);
    assert_eq!(state, (&json!("redis"), &json!(false)));
    let metrics = gateway.page("GET", "/metrics").await.text();
    let output = gateway.process.stderr.all().join("\n");
    for text in [page.to_string(), metrics, output] {
        assert!(!text.contains("s3cret-canary"), "{text}");
    }
}

#[tokio::test]
async fn a_reload_that_changes_the_store_reports_that_it_needs_a_restart() {
    let accounts = Accounts::start().await;
    let mut gateway = accounts.gateway(&json!("memory")).await;
    let id = create(&gateway, None, false).await;
    let changed = accounts.config(&json!("sqlite:other.sqlite"));
    gateway.folder.replace("routes.yaml", changed.to_string());
    gateway.page("POST", "/reload").await;
    let reported = gateway
        .process
        .wait_for_line("this setting has changed; restart to apply it")
        .await;
    assert_eq!(reported["setting"], "state");
    create(&gateway, Some(&id), false).await;
    assert!(!gateway.folder.path().join("other.sqlite").exists());
    assert_eq!(gateway.config_page().await["state"]["store"], "memory");
}

#[tokio::test]
async fn check_and_explain_open_nothing() {
    let accounts = Accounts::start().await;
    let folder = folder_with_schemas();
    let mut redis = RedisServer::start();
    redis.kill();
    for state in [json!("sqlite:own.sqlite"), json!(redis.url())] {
        let config = accounts.config(&state);
        let file = folder.write("routes.yaml", config.to_string());
        let file = file.to_str().unwrap();
        for args in [
            vec!["check", file],
            vec!["explain", "/v1/responses/resp_1", "--config", file],
        ] {
            let mut process = Process::spawn(&args);
            eventually("the end", async || process.ended()).await;
        }
    }
    assert!(!folder.path().join("own.sqlite").exists());
}

#[tokio::test]
async fn an_unwritable_state_folder_is_logged_and_memory_is_used() {
    let accounts = Accounts::start().await;
    let mut gateway = accounts
        .gateway(&json!("sqlite:/proc/headgate.sqlite"))
        .await;
    gateway
        .process
        .wait_for_line(
            "cannot use the state file; state is kept in memory and lost when headgate stops",
        )
        .await;
    assert_eq!(up(&gateway).await, 0.0);
    let id = create(&gateway, None, false).await;
    create(&gateway, Some(&id), true).await;
}
