//! Tests of models in batches: a caller may use the same ones as in requests of their own, and reads the same reasons.

use crate::harness::batches::{CHAT, batch_config, create_messages, entry, line, received, upload};
use crate::harness::{Gateway, Request, Simulator};
use serde_json::{Value, json};

/// A gateway whose first account has models by a pattern, of which one has a price, and whose caller may not use them all.
async fn gateway(simulator: &Simulator) -> Gateway {
    let mut config = batch_config(&simulator.url(), &simulator.url());
    config["channels"]["first"]["models"]["team/*"] = "sim-*".into();
    config["prices"] = json!({"models": {"demo-*": {"input": 1}, "team/good": {"input": 1}}});
    config["callers"][0]["models"] = json!([
        "demo-large",
        "demo-plain",
        "team/good",
        "team/bad*",
        "none-*"
    ]);
    Gateway::start(&config).await
}

/// What an error says before its hint.
fn reason(body: &Value) -> String {
    let message = body["error"]["message"].as_str().unwrap();
    message.split(';').next().unwrap().to_owned()
}

#[tokio::test]
async fn a_model_is_refused_in_a_batch_for_the_reason_of_a_request_of_its_own() {
    let simulator = Simulator::start().await;
    let gateway = gateway(&simulator).await;
    let long = format!("none-{}", "x".repeat(300));
    let long_unpriced = format!("team/bad{}", "y".repeat(300));
    for (model, status) in [
        ("demo-large", 200),
        ("team/good", 200),
        ("demo-lage", 404),
        ("none-here", 404),
        (&*long, 404),
        ("team/bad", 404),
        (&*long_unpriced, 404),
        ("team/other", 404),
        ("demo-small", 403),
    ] {
        let body = json!({"model": model, "messages": [{"role": "user", "content": "Hello"}]});
        let single = gateway.ask(&Request::post(CHAT, body.to_string())).await;
        assert_eq!(single.status, status, "{model}: {}", single.text());
        let before = received(&simulator).await;
        for (batch, place) in [
            (upload(line("a", model)), "line 1: "),
            (
                create_messages(&json!([entry("a", model)])),
                "`requests.0`: ",
            ),
        ] {
            let batch = gateway.ask(&batch).await;
            if status == 200 {
                assert_eq!(batch.status, 200, "{model}: {}", batch.text());
                continue;
            }
            assert_eq!(batch.status, 400, "{model}: {}", batch.text());
            let expected = format!("{place}{}", reason(&single.json()));
            assert_eq!(reason(&batch.json()), expected, "{model}");
            assert_eq!(received(&simulator).await, before, "{model}");
        }
    }
}
