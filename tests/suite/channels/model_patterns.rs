//! Tests of models that a channel serves by a pattern of their names.

use crate::harness::config::{self, caller};
use crate::harness::request::{ANN, BOB};
use crate::harness::{Gateway, Request, Simulator};
use serde_json::{Value, json};

/// Channels whose credentials say which one served, with these `models`, all for chat.
pub(super) fn serving(simulator: &Simulator, channels: &[(&str, Value)]) -> Value {
    let mut config = config::standard(&simulator.url());
    let built = channels.iter().map(|(name, models)| {
        let channel = json!({
            "base_url": simulator.url(), "credential": {"bearer": format!("sk-of-{name}")},
            "protocols": ["chat"], "models": models, "unpriced": "allow",
        });
        (name.to_string(), channel)
    });
    config["channels"] = Value::Object(built.collect());
    config.as_object_mut().unwrap().remove("models");
    let routes = config["routes"].as_array_mut().unwrap();
    routes.retain(|route| ["chat", "models", "model"].contains(&route["name"].as_str().unwrap()));
    config::route(&mut config, "chat")["response"] =
        json!(["pass_sse", "meter_usage", "restore_model"]);
    config::without_cool_downs(&mut config);
    config
}

fn chat(model: &str) -> Request {
    let body = json!({"model": model, "messages": [{"role": "user", "content": "Hi"}]});
    Request::post("/v1/chat/completions", body.to_string())
}

/// The channel and the provider's model of the last request.
async fn last(simulator: &Simulator) -> (String, String) {
    let record = simulator.last().await;
    let credential = record["headers"]["authorization"].as_str().unwrap();
    let body: Value = serde_json::from_slice(&simulator.last_body().await).unwrap();
    let channel = credential.strip_prefix("Bearer sk-of-").unwrap();
    (
        channel.to_owned(),
        body["model"].as_str().unwrap().to_owned(),
    )
}

#[tokio::test]
async fn the_most_exact_name_decides_over_all_channels() {
    let simulator = Simulator::start().await;
    let config = serving(
        &simulator,
        &[
            ("openai", json!({"openai/*": "*", "gpt-*": "gpt-*"})),
            (
                "azure",
                json!({"openai/gpt-4o": "deployment-7", "gpt-*-eu": "eu-*-west"}),
            ),
            ("others", json!({"*": "*", "*-fixed": "one-model"})),
        ],
    );
    let gateway = Gateway::start(&config).await;
    for (model, channel, there) in [
        ("openai/gpt-4o", "azure", "deployment-7"),
        ("openai/gpt-4o-mini", "openai", "gpt-4o-mini"),
        (
            "openai/ft:gpt-4o:acme::a/b",
            "openai",
            "ft:gpt-4o:acme::a/b",
        ),
        ("gpt-5", "openai", "gpt-5"),
        ("gpt-5-eu", "azure", "eu-5-west"),
        ("mistral/large", "others", "mistral/large"),
        ("is-fixed", "others", "one-model"),
        (
            "Qwen/Qwen3 72B \"it\" é%2F..",
            "others",
            "Qwen/Qwen3 72B \"it\" é%2F..",
        ),
        ("*", "others", "*"),
    ] {
        let answer = gateway.ask(&chat(model)).await;
        assert_eq!(answer.status, 200, "{model}: {}", answer.text());
        let expected = (channel.to_owned(), there.to_owned());
        assert_eq!(last(&simulator).await, expected, "{model}");
        let line = gateway.log_of(&answer).await;
        assert_eq!(
            (&line["model"], &line["channel_model"]),
            (&json!(model), &json!(there))
        );
        // `restore_model` gives the caller the name that it used.
        let body: Value = serde_json::from_str(&answer.text()).unwrap();
        assert_eq!(body["model"], model);
    }
}

#[tokio::test]
async fn names_that_no_pattern_can_mean_reach_no_provider() {
    let simulator = Simulator::start().await;
    let config = serving(&simulator, &[("openai", json!({"openai/*": "*"}))]);
    let gateway = Gateway::start(&config).await;
    let long = format!("openai/{}", "x".repeat(256));
    for model in [
        "gpt-4o",
        "openai/",
        "openai",
        "Openai/gpt-4o",
        "openai/a\nb",
        "openai/\u{7f}",
        &long,
    ] {
        let answer = gateway.ask(&chat(model)).await;
        assert_eq!(answer.status, 404, "{model}: {}", answer.text());
        let error: Value = serde_json::from_str(&answer.text()).unwrap();
        assert_eq!(error["error"]["code"], "model_not_found", "{model}");
    }
    assert_eq!(simulator.records().await.len(), 0);
}

#[tokio::test]
async fn a_pattern_serves_only_models_with_a_price_unless_it_allows_others() {
    let simulator = Simulator::start().await;
    let mut config = serving(&simulator, &[("openai", json!({"openai/*": "*"}))]);
    config["channels"]["openai"]["prices"] = json!({"openai/own": {"input": 1}});
    config["prices"] = json!({"models": {"openai/gpt-4o*": {"input": 2.5, "output": 10}}});
    config["channels"]["openai"]["unpriced"] = "refuse".into();
    let gateway = Gateway::start(&config).await;
    for (model, status) in [
        ("openai/gpt-4o", 200),
        ("openai/own", 200),
        ("openai/o1-pro", 404),
    ] {
        let before = simulator.records().await.len();
        let answer = gateway.ask(&chat(model)).await;
        assert_eq!(answer.status, status, "{model}: {}", answer.text());
        let sent = simulator.records().await.len() - before;
        assert_eq!(sent, usize::from(status == 200), "{model}");
        if status == 404 {
            assert!(answer.text().contains("has no price"), "{}", answer.text());
            // Only those who may use the model learn why they cannot.
            let answer = gateway.ask(&chat(model).key(BOB)).await;
            assert!(!answer.text().contains("price"), "{}", answer.text());
        } else {
            let line = gateway.log_of(&answer).await;
            assert!(line["cost"].is_number(), "{line}");
        }
    }
    config["channels"]["openai"]["unpriced"] = "allow".into();
    gateway.reload(&config).await;
    let answer = gateway.ask(&chat("openai/o1-pro")).await;
    assert_eq!(answer.status, 200, "{}", answer.text());
}

#[tokio::test]
async fn metrics_name_only_the_first_models_that_a_provider_accepts() {
    let simulator = Simulator::start().await;
    let mut config = serving(&simulator, &[("others", json!({"*": "*"}))]);
    config["server"]["limits"] = json!({"pattern_models": 2});
    let gateway = Gateway::start(&config).await;
    let refused = chat("invented").simulate("status=404");
    assert_eq!(gateway.ask(&refused).await.status, 404);
    for model in ["first", "second", "third", "first", "third"] {
        assert_eq!(gateway.ask(&chat(model)).await.status, 200, "{model}");
    }
    let metrics = gateway.metrics().await;
    let of = |model| {
        metrics.sum(
            "headgate_request_duration_seconds_count",
            &[("model", model)],
        )
    };
    let counts = ["first", "second", "third", "invented", "other"].map(of);
    assert_eq!(counts, [2.0, 1.0, 0.0, 0.0, 3.0]);
    // A reload gives no new places.
    config["models"] = json!({"first": {"display_name": "First"}});
    gateway.reload(&config).await;
    assert_eq!(gateway.ask(&chat("fourth")).await.status, 200);
    let metrics = gateway.metrics().await;
    let fourth = metrics.sum(
        "headgate_request_duration_seconds_count",
        &[("model", "fourth")],
    );
    assert_eq!(fourth, 0.0);
    let page: Value = serde_json::from_str(&gateway.page("GET", "/channels").await.text()).unwrap();
    let listed = page["models"].as_array().unwrap().iter();
    let listed: Vec<&str> = listed
        .map(|model| model["name"].as_str().unwrap())
        .collect();
    assert_eq!(listed, ["demo-small", "first", "second"]);
}

#[tokio::test]
async fn a_name_that_the_provider_refuses_starts_no_cool_down_of_other_models() {
    let simulator = Simulator::start().await;
    let mut config = serving(&simulator, &[("others", json!({"*": "*"}))]);
    config["channels"]["others"]["health"] = json!({"consecutive_failures": 2, "cool_down": "1m"});
    let gateway = Gateway::start(&config).await;
    assert_eq!(gateway.ask(&chat("served")).await.status, 200);
    for failure in [
        "status=404",
        "status=404;code=model_not_found",
        "status=429",
        "status=429;retry_after=30",
        "status=500",
        "reset",
    ] {
        for _ in 0..4 {
            let answer = gateway.ask(&chat("invented").simulate(failure)).await;
            assert!(answer.status >= 400, "{failure}: {}", answer.status);
        }
        for model in ["served", "real"] {
            let answer = gateway.ask(&chat(model)).await;
            assert_eq!(answer.status, 200, "{failure}: {}", answer.text());
        }
    }
}

#[tokio::test]
async fn models_that_share_a_pattern_of_limits_are_counted_together() {
    let simulator = Simulator::start().await;
    let mut config = serving(
        &simulator,
        &[("others", json!({"*": "*", "gpt-named": "named"}))],
    );
    config["callers"][0]["limits"] = json!({"models": {"gpt-*": {"requests_per_minute": 2}}});
    config::route(&mut config, "chat")["request"]
        .as_array_mut()
        .unwrap()
        .push("rate_limit".into());
    let gateway = Gateway::start(&config).await;
    for (model, status) in [
        ("gpt-1", 200),
        ("gpt-2", 200),
        ("gpt-3", 429),
        ("gpt-named", 200),
        ("gpt-named", 200),
        ("gpt-named", 429),
        ("other", 200),
    ] {
        let answer = gateway.ask(&chat(model)).await;
        assert_eq!(answer.status, status, "{model}: {}", answer.text());
    }
}

#[tokio::test]
async fn the_list_has_the_names_of_the_file_that_a_pattern_serves() {
    let simulator = Simulator::start().await;
    let mut config = serving(&simulator, &[("openai", json!({"openai/*": "*"}))]);
    config["callers"] = json!([
        caller("ann", ANN, &["*"]),
        caller("bob", BOB, &["openai/of-bob", "openai/gpt-*"]),
    ]);
    config["models"] = json!({
        "openai/gpt-4o": {"owned_by": "us"}, "openai/*": {"owned_by": "openai"}, "openai/a/b": {},
    });
    config["prices"] = json!({"models": {"openai/priced": {"input": 1}, "unserved": {"input": 1}}});
    let gateway = Gateway::start(&config).await;
    let listed = async |key: &str| {
        let answer = gateway.ask(&Request::get("/v1/models").key(key)).await;
        let list: Value = serde_json::from_str(&answer.text()).unwrap();
        let entries = list["data"].as_array().unwrap().iter();
        let entries = entries.map(|one| {
            format!(
                "{}={}",
                one["id"].as_str().unwrap(),
                one["owned_by"].as_str().unwrap()
            )
        });
        entries.collect::<Vec<_>>().join(" ")
    };
    // The last two are what the provider lists.
    assert_eq!(
        listed(ANN).await,
        "openai/a/b=headgate openai/gpt-4o=us openai/of-bob=openai openai/priced=openai \
         openai/simulated-large=openai openai/simulated-small=openai"
    );
    assert_eq!(listed(BOB).await, "openai/gpt-4o=us openai/of-bob=openai");
    for path in [
        "openai%2Fa%2Fb",
        "openai/a/b",
        "openai/gpt-4o",
        "openai%2fgpt-4o",
        "openai/of-no-list",
    ] {
        let answer = gateway
            .ask(&Request::get(&format!("/v1/models/{path}")))
            .await;
        assert_eq!(answer.status, 200, "{path}: {}", answer.text());
    }
    let answer = gateway
        .ask(&Request::get("/v1/models/openai/of-bob").key(BOB))
        .await;
    assert_eq!(answer.status, 200, "{}", answer.text());
    let answer = gateway
        .ask(&Request::get("/v1/models/openai/a/b").key(BOB))
        .await;
    assert_eq!(answer.status, 404, "{}", answer.text());
}

#[tokio::test]
async fn a_request_without_a_model_goes_to_a_channel_whose_pattern_the_caller_may_use() {
    let simulator = Simulator::start().await;
    let mut config = serving(
        &simulator,
        &[
            ("openai", json!({"openai/*": "*"})),
            ("other", json!({"other/*": "*"})),
        ],
    );
    config["callers"] = json!([
        caller("ann", ANN, &["other/a*"]),
        caller("bob", BOB, &["third/*"])
    ]);
    let routes = config["routes"].as_array_mut().unwrap();
    routes.push(json!({
        "name": "files", "match": "GET /v1/files", "protocol": "chat",
        "request": ["authenticate", "first_channel"],
    }));
    let gateway = Gateway::start(&config).await;
    let answer = gateway.ask(&Request::get("/v1/files").key(ANN)).await;
    let credential = &simulator.last().await["headers"]["authorization"];
    assert_eq!(credential, "Bearer sk-of-other", "{}", answer.text());
    let before = simulator.records().await.len();
    let answer = gateway.ask(&Request::get("/v1/files").key(BOB)).await;
    assert_eq!(answer.status, 403, "{}", answer.text());
    assert_eq!(simulator.records().await.len(), before);
}
