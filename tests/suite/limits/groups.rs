//! Tests of groups: their callers share limits and budgets, in every store, and learn nothing of each other.

use crate::configuration::check::check;
use crate::harness::config::{caller, route};
use crate::harness::error_shape::assert_error_body;
use crate::harness::folder::Folder;
use crate::harness::patient_redis::patient_redis;
use crate::harness::request::{ANN, BOB};
use crate::harness::{Gateway, RedisServer, Request, Simulator, WholeResponse, config};
use headgate_protocol::Protocol;
use serde_json::{Value, json};
use tokio::task::JoinSet;

const EVE: &str = "sk-caller-of-no-group";

/// Ann and Bob in one group, and Eve in none.
fn grouped(provider: &str, state: Value, limits: Value) -> Value {
    let mut config = config::standard(provider);
    config["state"] = state;
    config["callers"] = json!([
        caller("ann", ANN, &["*"]),
        caller("bob", BOB, &["*"]),
        caller("eve", EVE, &["*"])
    ]);
    for member in 0..2 {
        config["callers"][member]["group"] = "team".into();
    }
    config["groups"] = json!({"team": {"limits": limits}});
    let chain = route(&mut config, "chat")["request"].as_array_mut();
    chain.unwrap().push("rate_limit".into());
    config
}

fn chat(key: &str) -> Request {
    Request::ask(Protocol::Chat).key(key)
}

fn refusal(answer: &WholeResponse) -> String {
    assert_error_body(Protocol::Chat, answer, 429)
}

#[tokio::test]
async fn callers_of_a_group_use_up_its_limits_together_in_every_store() {
    let (simulator, redis, folder) = (
        Simulator::start().await,
        RedisServer::start(),
        Folder::new(),
    );
    let file = folder.path().join("state.sqlite");
    for state in [
        json!("memory"),
        json!(format!("sqlite:{}", file.display())),
        patient_redis(&redis),
    ] {
        let config = grouped(
            &simulator.url(),
            state.clone(),
            json!({"requests_per_minute": 3}),
        );
        let gateway = Gateway::start(&config).await;
        for key in [ANN, BOB, ANN] {
            assert_eq!(gateway.ask(&chat(key)).await.status, 200, "{state}");
        }
        for key in [ANN, BOB] {
            let message = refusal(&gateway.ask(&chat(key)).await);
            assert!(
                message.contains("group `team` of this API key may send 3 requests per minute"),
                "{message}"
            );
            assert!(
                !message.contains("ann") && !message.contains("bob"),
                "{message}"
            );
        }
        assert_eq!(gateway.ask(&chat(EVE)).await.status, 200);
    }
}

#[tokio::test]
async fn a_limit_of_the_caller_alone_charges_nothing_to_its_group() {
    let simulator = Simulator::start().await;
    let mut config = grouped(
        &simulator.url(),
        json!("memory"),
        json!({"requests_per_minute": 3}),
    );
    config["callers"][0]["limits"] = json!({"requests_per_minute": 1});
    let gateway = Gateway::start(&config).await;
    assert_eq!(gateway.ask(&chat(ANN)).await.status, 200);
    for _ in 0..5 {
        let message = refusal(&gateway.ask(&chat(ANN)).await);
        assert!(
            message.contains("this API key may send 1 request"),
            "{message}"
        );
        assert!(!message.contains("group"), "{message}");
    }
    for _ in 0..2 {
        assert_eq!(gateway.ask(&chat(BOB)).await.status, 200);
    }
    let message = refusal(&gateway.ask(&chat(BOB)).await);
    assert!(message.contains("group `team`"), "{message}");
}

#[tokio::test]
async fn a_budget_of_a_group_holds_for_all_of_its_callers_at_once() {
    let simulator = Simulator::start().await;
    let mut config = grouped(
        &simulator.url(),
        json!("memory"),
        json!({"cost_total": 0.01}),
    );
    config["prices"] =
        json!({"models": {"demo-large": {"output": 10}, "demo-small": {"output": 10}}});
    for model in ["demo-large", "demo-small"] {
        config["models"][model]["max_output_tokens"] = json!(1_000);
    }
    let gateway = Gateway::start(&config).await;
    let body = json!({"model": "demo-large", "max_tokens": 100, "messages": [{"role": "user", "content": "Count."}]});
    let mut crowd = JoinSet::new();
    for number in 0..60 {
        let key = [ANN, BOB][number % 2];
        let request = Request::to(Protocol::Chat, body.to_string()).key(key);
        // Each writes all that it may, and none ends before all have come.
        let request = request.simulate("delay=2s; body_bytes=400");
        let mut connection = gateway.connect().await;
        crowd.spawn(async move { connection.ask(&request).await });
    }
    let answers = crowd.join_all().await;
    let admitted = answers.iter().filter(|answer| answer.status == 200).count();
    assert_eq!(admitted, 10, "a request may cost 0.001 of 0.01");
    for refused in answers.iter().filter(|answer| answer.status != 200) {
        let message = refusal(refused);
        assert!(
            message.contains("group `team` of this API key may spend 0.01 USD"),
            "{message}"
        );
    }
}

#[test]
fn groups_that_cannot_be_used_are_reported_with_their_places() {
    let provider = "https://provider.test/v1";
    let standard = || grouped(provider, json!("memory"), json!({"requests_per_minute": 3}));
    type Change = fn(&mut Value);
    let cases: [(Change, &str); 5] = [
        (
            |config| config["callers"][0]["group"] = "teem".into(),
            "there is no group `teem`",
        ),
        (
            |config| config["callers"][2]["name"] = "group:team".into(),
            "is that of a group",
        ),
        (
            |config| config["groups"]["team"]["limits"]["connections"] = 3.into(),
            "connections are those of one caller",
        ),
        (
            |config| config["groups"]["idle"] = json!({"limits": {}}),
            "no caller belongs to group `idle`",
        ),
        (
            |config| config["groups"]["team"]["limits"]["cost_per_day"] = 1.into(),
            "a budget in money requires `prices`",
        ),
    ];
    for (change, reason) in cases {
        let mut config = standard();
        change(&mut config);
        let output = check(&format!("{config:#}"));
        let text = output.stdout + &output.stderr;
        assert!(text.contains(reason), "{reason}: {text}");
    }
    let output = check(&format!("{:#}", standard()));
    assert!(output.success, "{}", output.stderr);
}
