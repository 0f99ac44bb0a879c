//! Tests of models that stand in for another one after its channels failed.

use crate::harness::config::{self, caller, channel};
use crate::harness::request::{ANN, BOB};
use crate::harness::{Gateway, Request, Simulator, WholeResponse};
use serde_json::{Value, json};

/// What a provider responds when it fails, as a directive of the simulator, and the cause that it is.
const FAILURES: [(&str, &str); 9] = [
    (
        "status=400;code=context_length_exceeded",
        "context_too_long",
    ),
    ("status=400;code=content_policy_violation", "content_policy"),
    ("status=429", "rate_limited"),
    ("status=503", "unavailable"),
    ("status=500", "unavailable"),
    ("status=404;code=model_not_found", "unavailable"),
    ("status=401", "account"),
    ("status=429;code=insufficient_quota", "account"),
    ("html", "unavailable"),
];

/// Model `first` on a channel that obeys `directives`, and `second` and `third` on one that works.
fn falling_back(simulator: &Simulator, directives: &str, fallback: &Value) -> Value {
    let mut config = config::standard(&simulator.url());
    let mut failing = channel(
        &simulator.url_obeying(directives),
        &["chat"],
        json!({"bearer": "sk-1"}),
    );
    failing["models"] = json!({"first": "first-there"});
    let mut working = channel(&simulator.url(), &["chat"], json!({"bearer": "sk-2"}));
    working["models"] = json!({"second": "second-there", "third": "third-there"});
    config["channels"] = json!({"failing": failing, "working": working});
    config["models"] = json!({"first": {"fallback": fallback}});
    config["callers"] = json!([
        caller("ann", ANN, &["*"]),
        caller("bob", BOB, &["first", "third"])
    ]);
    let routes = config["routes"].as_array_mut().unwrap();
    routes.retain(|route| route["name"] == "chat");
    config::route(&mut config, "chat")["response"] =
        json!(["pass_sse", "meter_usage", "restore_model"]);
    config::without_cool_downs(&mut config);
    config
}

fn chat(stream: bool) -> Request {
    let body = json!({
        "model": "first", "stream": stream, "messages": [{"role": "user", "content": "Hi"}],
    });
    Request::post("/v1/chat/completions", body.to_string())
}

fn served_by(answer: &WholeResponse) -> Option<&str> {
    answer.headers.get("x-headgate-model")
}

#[tokio::test]
async fn each_cause_leads_to_its_own_model() {
    let simulator = Simulator::start().await;
    for (directives, cause) in FAILURES {
        let config = falling_back(&simulator, directives, &json!({cause: "second"}));
        let gateway = Gateway::start(&config).await;
        let answer = gateway.ask(&chat(false)).await;
        assert_eq!(answer.status, 200, "{directives}: {}", answer.text());
        assert_eq!(served_by(&answer), Some("second"), "{directives}");
        let body: Value = serde_json::from_str(&answer.text()).unwrap();
        assert_eq!(body["model"], "second");
        let line = gateway.log_of(&answer).await;
        for (field, expected) in [
            ("model", "second"),
            ("channel_model", "second-there"),
            ("requested_model", "first"),
            ("fallback_cause", cause),
        ] {
            assert_eq!(line[field], expected, "{directives}: {line}");
        }
        assert_eq!(line["attempts"], 2);
        let labels = [("model", "first"), ("cause", cause)];
        assert_eq!(
            gateway
                .metrics()
                .await
                .sum("headgate_fallbacks_total", &labels),
            1.0
        );

        // Another cause has no model, and the caller gets the provider's error.
        let other = if cause == "account" {
            "rate_limited"
        } else {
            "account"
        };
        let config = falling_back(&simulator, directives, &json!({other: "second"}));
        gateway.reload(&config).await;
        let answer = gateway.ask(&chat(false)).await;
        assert!(answer.status >= 400, "{directives}: {}", answer.status);
        assert_eq!(served_by(&answer), None, "{directives}");
    }
}

#[tokio::test]
async fn models_for_any_cause_do_not_get_what_a_content_policy_refused() {
    let simulator = Simulator::start().await;
    for (directives, cause) in FAILURES {
        let config = falling_back(&simulator, directives, &json!({"any": ["second"]}));
        let gateway = Gateway::start(&config).await;
        let answer = gateway.ask(&chat(false)).await;
        let expected = if cause == "content_policy" { 400 } else { 200 };
        assert_eq!(answer.status, expected, "{directives}: {}", answer.text());
    }
}

#[tokio::test]
async fn a_stream_that_begins_with_an_error_and_an_error_under_200_lead_there_too() {
    let simulator = Simulator::start().await;
    for (directives, streams) in [
        ("error_event_first", true),
        ("error_event_first;code=context_length_exceeded", true),
        ("error_event_first;code=content_policy_violation", true),
        ("error_body", false),
        ("error_body;code=context_length_exceeded", false),
    ] {
        let fallback = json!({"any": "second", "content_policy": "third"});
        let config = falling_back(&simulator, directives, &fallback);
        let gateway = Gateway::start(&config).await;
        let answer = gateway.ask(&chat(streams)).await;
        assert_eq!(answer.status, 200, "{directives}: {}", answer.text());
        let expected = if directives.contains("policy") {
            "third"
        } else {
            "second"
        };
        assert_eq!(
            served_by(&answer),
            Some(expected),
            "{directives}: {}",
            answer.text()
        );
        assert!(
            !answer.text().contains("error"),
            "{directives}: {}",
            answer.text()
        );
    }
}

#[tokio::test]
async fn a_stream_with_content_is_not_replaced() {
    let simulator = Simulator::start().await;
    let config = falling_back(&simulator, "error_event_after=1", &json!({"any": "second"}));
    let gateway = Gateway::start(&config).await;
    let answer = gateway.ask(&chat(true)).await;
    assert_eq!(served_by(&answer), None);
    assert!(answer.text().contains("error"), "{}", answer.text());
    assert_eq!(simulator.records().await.len(), 1);
}

#[tokio::test]
async fn all_channels_of_a_model_come_before_another_model() {
    let simulator = Simulator::start().await;
    let mut config = falling_back(&simulator, "status=503", &json!({"any": "second"}));
    let mut spare = channel(&simulator.url(), &["chat"], json!({"bearer": "sk-3"}));
    spare["models"] = json!({"first": "first-elsewhere"});
    spare["tier"] = 1.into();
    config["channels"]["spare"] = spare;
    config::without_cool_downs(&mut config);
    let gateway = Gateway::start(&config).await;
    let answer = gateway.ask(&chat(false)).await;
    assert_eq!((answer.status, served_by(&answer)), (200, None));
    assert_eq!(
        gateway.log_of(&answer).await["channel_model"],
        "first-elsewhere"
    );
}

#[tokio::test]
async fn a_model_that_the_caller_may_not_use_is_passed_over() {
    let simulator = Simulator::start().await;
    let config = falling_back(
        &simulator,
        "status=503",
        &json!({"any": ["second", "third"]}),
    );
    let gateway = Gateway::start(&config).await;
    for (key, expected) in [(ANN, "second"), (BOB, "third")] {
        let answer = gateway.ask(&chat(false).key(key)).await;
        assert_eq!(served_by(&answer), Some(expected), "{}", answer.text());
    }
}

#[tokio::test]
async fn a_model_whose_limit_is_reached_is_passed_over() {
    let simulator = Simulator::start().await;
    let mut config = falling_back(
        &simulator,
        "status=503",
        &json!({"any": ["second", "third"]}),
    );
    config["callers"][0]["limits"] = json!({"models": {"second": {"requests_per_minute": 1}}});
    let chain = config::route(&mut config, "chat")["request"]
        .as_array_mut()
        .unwrap();
    chain.push("rate_limit".into());
    let gateway = Gateway::start(&config).await;
    for expected in ["second", "third", "third"] {
        let answer = gateway.ask(&chat(false)).await;
        assert_eq!(served_by(&answer), Some(expected), "{}", answer.text());
    }
}

#[tokio::test]
async fn at_most_three_models_and_the_attempts_of_the_route_are_tried() {
    let simulator = Simulator::start().await;
    let mut config = falling_back(
        &simulator,
        "status=503",
        &json!({"any": ["b", "c", "second"]}),
    );
    config["channels"]["failing"]["models"] = json!({"first": "1", "b": "2", "c": "3"});
    let gateway = Gateway::start(&config).await;
    let answer = gateway.ask(&chat(false)).await;
    assert_eq!(answer.status, 503, "{}", answer.text());
    let names = async || {
        let mut names = Vec::new();
        for record in simulator.records().await {
            let body: Value = serde_json::from_slice(&simulator.body(&record["n"]).await).unwrap();
            names.push(body["model"].as_str().unwrap().to_owned());
        }
        names
    };
    assert_eq!(names().await, ["1", "2", "3"]);
    config::route(&mut config, "chat")["failover"] = json!({"max_attempts": 2});
    gateway.reload(&config).await;
    assert_eq!(gateway.ask(&chat(false)).await.status, 503);
    assert_eq!(names().await, ["1", "2", "3", "1", "2"]);
}

#[tokio::test]
async fn requests_with_stored_responses_have_no_other_model() {
    let simulator = Simulator::start().await;
    let config = falling_back(&simulator, "status=503", &json!({"any": "second"}));
    let gateway = Gateway::start(&config).await;
    let mut body: Value = serde_json::from_slice(&chat(false).body.unwrap()).unwrap();
    body["store"] = true.into();
    let answer = gateway
        .ask(&Request::post("/v1/chat/completions", body.to_string()))
        .await;
    assert_eq!(
        (answer.status, served_by(&answer)),
        (503, None),
        "{}",
        answer.text()
    );
}

#[tokio::test]
async fn the_first_attempt_is_no_retry_although_it_is_for_another_model() {
    let simulator = Simulator::start().await;
    let mut config = falling_back(&simulator, "status=503", &json!({"any": "second"}));
    config["retries"] = json!({"budget_percent": 0, "min_per_second": 0});
    config["channels"]["failing"]["health"] = json!({"consecutive_failures": 1, "cool_down": "1m"});
    config["channels"]["failing"]["limits"] = json!({"requests_per_minute": 1});
    let gateway = Gateway::start(&config).await;
    // The first request is sent to the first model, and has no retry left.
    let answer = gateway.ask(&chat(false)).await;
    assert_eq!((answer.status, served_by(&answer)), (503, None));
    for _ in 0..20 {
        let answer = gateway.ask(&chat(false)).await;
        assert_eq!((answer.status, served_by(&answer)), (200, Some("second")));
        assert_eq!(gateway.log_of(&answer).await["attempts"], 1);
    }
}

#[tokio::test]
async fn a_model_that_is_passed_over_leaves_room_for_the_next_one() {
    let simulator = Simulator::start().await;
    let fallback = json!({"any": ["forbidden", "unknown-to-ann", "second"]});
    let mut config = falling_back(&simulator, "status=503", &fallback);
    let models = json!({"first": "1", "forbidden": "2", "unknown-to-ann": "3"});
    config["channels"]["failing"]["models"] = models;
    config["callers"][0]["models"] = json!(["first", "second"]);
    let gateway = Gateway::start(&config).await;
    let answer = gateway.ask(&chat(false)).await;
    assert_eq!(served_by(&answer), Some("second"), "{}", answer.text());
}

#[tokio::test]
async fn the_condition_of_a_limit_is_evaluated_for_the_model_that_stands_in() {
    let simulator = Simulator::start().await;
    let mut config = falling_back(
        &simulator,
        "status=503",
        &json!({"any": ["second", "third"]}),
    );
    config["callers"][0]["limits"] = json!({"models": {"second": {"requests_per_minute": 1}}});
    let chain = config::route(&mut config, "chat")["request"]
        .as_array_mut()
        .unwrap();
    chain.push(json!({"if": "model == \"second\"", "rate_limit": {}}));
    let gateway = Gateway::start(&config).await;
    for expected in ["second", "third"] {
        let answer = gateway.ask(&chat(false)).await;
        assert_eq!(served_by(&answer), Some(expected), "{}", answer.text());
    }
}
