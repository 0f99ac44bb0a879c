//! Tests of message batches with a request that cannot be one: each gets 400 with the request, and nothing is sent.

use crate::harness::batches::{MESSAGE_BATCHES, batch_gateway, create_messages, entry, received};
use crate::harness::{Request, Simulator};
use serde_json::{Value, json};

/// A change of the second request, of three.
type RequestChange = fn(&mut Value);

const BAD_REQUESTS: &[(RequestChange, &str)] = &[
    (
        |entry| *entry = json!("x"),
        "the entry must be a JSON object",
    ),
    (
        |entry| drop(entry.as_object_mut().unwrap().remove("custom_id")),
        "missing required field `custom_id`",
    ),
    (
        |entry| entry["custom_id"] = json!("a"),
        "`custom_id` is that of `requests.0`, too",
    ),
    (
        |entry| drop(entry.as_object_mut().unwrap().remove("params")),
        "missing required field `params`",
    ),
    (
        |entry| entry["params"] = json!([]),
        "`params` must be a JSON object",
    ),
    (
        |entry| entry["params"]["model"] = json!("demo"),
        "model `demo` does not exist",
    ),
    (
        |entry| entry["params"]["model"] = json!("demo-apart"),
        "no provider account serves both model `demo-apart` and model `demo-large` of `requests.0`",
    ),
    (
        |entry| entry["params"]["stream"] = json!(true),
        "a batch has no streams",
    ),
    (
        |entry| {
            drop(
                entry["params"]
                    .as_object_mut()
                    .unwrap()
                    .remove("max_tokens"),
            )
        },
        "missing required field `params.max_tokens`",
    ),
    (
        |entry| entry["params"]["messages"][0]["role"] = json!("x"),
        "`params.messages.0.role` must",
    ),
    (
        |entry| entry["params"]["container"] = json!("c"),
        "no container with the id in `params.container` exists",
    ),
];

#[tokio::test]
async fn a_bad_request_gets_400_with_its_place_and_nothing_is_sent() {
    let simulator = Simulator::start().await;
    let gateway = batch_gateway(&simulator).await;
    for (change, expected) in BAD_REQUESTS {
        let mut requests = json!([
            entry("a", "demo-large"),
            entry("b", "demo-large"),
            entry("c", "demo-small")
        ]);
        change(&mut requests[1]);
        let refused = gateway.ask(&create_messages(&requests)).await;
        assert_eq!(refused.status, 400, "{expected}: {}", refused.text());
        let message = refused.json()["error"]["message"]
            .as_str()
            .unwrap()
            .to_owned();
        assert!(
            message.starts_with("`requests.1`: ") && message.contains(expected),
            "{expected}: {message}"
        );
    }
    for (body, expected) in [
        ("{}", "missing required field `requests`"),
        (r#"{"requests":[]}"#, "`requests` must not be empty"),
        (r#"{"requests":{}}"#, "`requests` must be an array"),
        (
            r#"{"Requests":[],"requests":[]}"#,
            "unknown field `Requests`",
        ),
        ("[]", "missing required field `requests`"),
    ] {
        let request = Request::post(MESSAGE_BATCHES, body);
        let refused = gateway
            .ask(&request.header("anthropic-version", "2023-06-01"))
            .await;
        assert_eq!(refused.status, 400, "{body}: {}", refused.text());
        let message = refused.json()["error"]["message"]
            .as_str()
            .unwrap()
            .to_owned();
        assert!(message.starts_with(expected), "{body}: {message}");
    }
    assert_eq!(received(&simulator).await, 0);
}
