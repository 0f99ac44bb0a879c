//! Tests of what frees a key, and of what leaves its outcome unknown.

use crate::harness::Simulator;
use crate::harness::paid::{CreateShape, error_code, is_replayed};
use serde_json::json;

/// A create that fails by these directives: its status, and whether its key is free afterwards.
const CASES: [(&str, u16, bool); 13] = [
    ("status=400", 400, true),
    ("status=404", 404, true),
    ("status=408", 408, true),
    ("status=409", 409, true),
    ("status=422", 422, true),
    ("status=429", 429, true),
    ("status=401", 502, true),
    ("status=500", 502, false),
    ("status=503", 502, false),
    ("cut", 504, false),
    ("stall", 504, false),
    ("malformed", 502, false),
    ("html", 502, false),
];

#[tokio::test]
async fn a_refusal_frees_the_key_and_an_unknown_outcome_keeps_it() {
    for shape in CreateShape::ALL {
        let simulator = Simulator::start().await;
        let mut config = shape.config(&simulator, &json!({}));
        for channel in config["channels"].as_object_mut().unwrap().values_mut() {
            channel["timeouts"] = json!({"first_byte": "300ms", "idle": "300ms"});
            channel["health"] = json!({"consecutive_failures": 0, "credential_cool_down": "1ms"});
        }
        let gateway = crate::harness::Gateway::start(&config).await;
        for (nth, (directives, status, is_freed)) in CASES.iter().enumerate() {
            let shown = format!("{shape:?}, {directives}");
            let before = shape.received(&simulator).await;
            let request = shape.keyed(&format!("key-{nth}"));
            let response = gateway.ask(&request.clone().simulate(directives)).await;
            assert_eq!(response.status, *status, "{shown}: {}", response.text());
            let id = response.headers.get("x-request-id").unwrap().to_owned();
            // The key is freed after the response was sent.
            let retry = gateway.ask(&request).await;
            let received = shape.received(&simulator).await - before;
            if *is_freed {
                assert_eq!(retry.status, 200, "{shown}: {}", retry.text());
                assert!(!is_replayed(&retry), "{shown}");
                assert_eq!(received, 2, "{shown}");
                continue;
            }
            assert_eq!(retry.status, 504, "{shown}: {}", retry.text());
            let code = match shape {
                CreateShape::FamilyB => "InternalError.Timeout",
                _ => "outcome_unknown",
            };
            assert_eq!(error_code(&retry), code, "{shown}");
            assert!(retry.text().contains(&id), "{shown}: {}", retry.text());
            assert_eq!(
                retry.headers.get("x-should-retry"),
                Some("false"),
                "{shown}"
            );
            assert_eq!(received, 1, "{shown}");
        }
    }
}

#[tokio::test]
async fn a_provider_that_is_not_there_and_a_request_that_is_refused_here_free_the_key() {
    let simulator = Simulator::start().await;
    let shape = CreateShape::GenericForA;
    let mut config = shape.config(&simulator, &json!({}));
    config["channels"]["a"]["base_url"] = json!("http://127.0.0.1:1/api/v3");
    let gateway = crate::harness::Gateway::start(&config).await;
    for _ in 0..2 {
        let response = gateway.ask(&shape.keyed("absent")).await;
        assert_eq!(response.status, 502, "{}", response.text());
        let line = gateway.log_of(&response).await;
        assert_eq!(line["idempotency"], "first", "{line}");
    }
    let broken = shape
        .keyed("broken")
        .with_body(b"{\"model\":\"demo-video-a\"}".to_vec());
    assert_eq!(gateway.ask(&broken).await.status, 400);
    // The same key with another body is a first request, too.
    let response = gateway.ask(&shape.keyed("broken")).await;
    assert_eq!(response.status, 502, "{}", response.text());
}
