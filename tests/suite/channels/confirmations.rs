//! Tests of errors that one request can provoke: they fail over, and count against a channel only once another request has
//! the same.

use crate::harness::config::{self, channel};
use crate::harness::http_response::json_response;
use crate::harness::request::{ANN, BOB, body_of};
use crate::harness::{Gateway, Request, ScriptedProvider, ScriptedResponse, Simulator};
use headgate_protocol::Protocol;
use headgate_protocol::error_class::{ErrorEvidence, ErrorSubject, classify_response};
use serde_json::{Value, json};

/// Errors whose message is a text of the caller, of every place for messages.
const QUOTED: &[(u16, &str)] = &[
    (
        400,
        "Your credit balance is too low to access the Anthropic API.",
    ),
    (400, "This organization has been disabled"),
    (404, "model: sim-small-2026-08"),
];

/// Values of `user` for which the provider sends a message of its own.
const OWN: [(&str, &str); 2] = [("retired", QUOTED[2].1), ("poor", QUOTED[0].1)];

/// A provider that sends the caller's `user` as the message of its error, with the status in the caller's `seed`; without
/// a `user` it responds with a success.
fn quoting(request: &str) -> Vec<u8> {
    let body: Value = serde_json::from_str(request.split_once("\r\n\r\n").unwrap().1).unwrap();
    let Some(text) = body["user"].as_str() else {
        return json_response(200, chat_response());
    };
    let own = OWN.iter().find(|(name, _)| *name == text);
    let message = own.map_or(text, |(_, message)| message);
    let status = u16::try_from(body["seed"].as_u64().unwrap()).unwrap();
    json_response(status, error_of(status, message))
}

fn error_of(status: u16, text: &str) -> Value {
    let kind = if status == 404 {
        "not_found_error"
    } else {
        "invalid_request_error"
    };
    json!({"type": "error", "error": {"type": kind, "message": text}})
}

pub fn chat_response() -> Value {
    json!({"id": "c", "object": "chat.completion", "created": 1, "model": "m", "choices": [
        {"index": 0, "message": {"role": "assistant", "content": "Hi"}, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}})
}

/// A chat request of `key` to the model that all callers may use; `quoted` is what the provider responds with.
pub fn chat(key: &str, quoted: Option<(u16, &str)>, content: &str) -> Request {
    let mut body = body_of(Protocol::Chat);
    body["model"] = "demo-small".into();
    body["messages"][0]["content"] = content.into();
    if let Some((status, text)) = quoted {
        body["user"] = text.into();
        body["seed"] = status.into();
    }
    Request::to(Protocol::Chat, body.to_string()).key(key)
}

/// A gateway with three channels at a provider that responds with the result of `respond`.
pub async fn start(
    respond: fn(&str) -> Vec<u8>,
    change: impl FnOnce(&mut Value),
) -> (Gateway, ScriptedProvider) {
    let provider = ScriptedProvider::start(vec![ScriptedResponse::Answer(respond)]).await;
    let mut config = config::standard(&provider.url());
    let mut channels = json!({});
    for (tier, name) in ["one", "two", "three"].into_iter().enumerate() {
        channels[name] = channel(&provider.url(), &["chat"], json!({"bearer": "sk-x"}));
        channels[name]["tier"] = tier.into();
    }
    config["channels"] = channels;
    config::with_unlimited_retries(&mut config);
    change(&mut config);
    (Gateway::start(&config).await, provider)
}

/// The findings, but for those about what one caller does.
pub async fn findings(gateway: &Gateway) -> Vec<Value> {
    let overview = gateway.page("GET", "/overview").await;
    let mut overview: Value = serde_json::from_str(&overview.text()).unwrap();
    let mut findings = overview["findings"].take();
    let mut list = std::mem::take(findings.as_array_mut().unwrap());
    // One caller made nearly all of the requests, and they failed because of it: both is true.
    let about_callers = ["caller_dominates", "caller_errors"];
    list.retain(|finding| about_callers.iter().all(|code| finding["code"] != *code));
    list
}

pub async fn cool_downs(gateway: &Gateway) -> f64 {
    gateway
        .metrics()
        .await
        .sum("headgate_cool_downs_total", &[])
}

#[tokio::test]
async fn a_text_of_one_caller_in_the_providers_message_cools_nothing_down_and_affects_nobody() {
    let (gateway, provider) = start(quoting, |_| {}).await;
    let mut connection = gateway.connect().await;
    for (status, text) in QUOTED {
        let body = error_of(*status, text).to_string();
        let error = classify_response(*status, body.as_bytes(), ErrorSubject::Model);
        assert_eq!(error.evidence, ErrorEvidence::Text, "{text}");
        for nth in 0..40 {
            let before = provider.requests().len();
            let request = chat(ANN, Some((*status, text)), &nth.to_string());
            let answer = connection.ask(&request).await;
            assert!(answer.status >= 400, "{text}: {}", answer.status);
            let attempts = provider.requests().len() - before;
            assert!(attempts <= 2, "{text}: {attempts} attempts");
        }
        let other = gateway.ask(&chat(BOB, None, "Hello")).await;
        assert_eq!(other.status, 200, "{text}: {}", other.text());
        assert_eq!(gateway.log_of(&other).await["channel"], "one", "{text}");
    }
    assert_eq!(cool_downs(&gateway).await, 0.0);
    assert_eq!(findings(&gateway).await, [] as [Value; 0]);
}

#[tokio::test]
async fn a_second_caller_or_a_second_body_of_the_only_caller_confirms_the_error() {
    let quoted = Some(QUOTED[0]);
    let (gateway, _provider) = start(quoting, |_| {}).await;
    gateway.ask(&chat(ANN, quoted, "a")).await;
    gateway.ask(&chat(ANN, quoted, "b")).await;
    assert_eq!(cool_downs(&gateway).await, 0.0);
    gateway.ask(&chat(BOB, quoted, "c")).await;
    assert_eq!(
        cool_downs(&gateway).await,
        2.0,
        "of the two channels that were tried"
    );

    let (gateway, _provider) = start(quoting, |config| {
        config["callers"].as_array_mut().unwrap().truncate(1);
    })
    .await;
    gateway.ask(&chat(ANN, quoted, "a")).await;
    gateway.ask(&chat(ANN, quoted, "a")).await;
    assert_eq!(cool_downs(&gateway).await, 0.0);
    gateway.ask(&chat(ANN, quoted, "b")).await;
    assert_eq!(cool_downs(&gateway).await, 2.0);
}

#[tokio::test]
async fn a_404_is_about_the_model_unless_the_request_names_ids_of_its_own() {
    let good = Simulator::start().await;
    let not_found =
        json!({"error": {"message": "Not Found", "type": "NotFoundError", "code": 404}});
    for (field, attempts) in [(None, 2), (Some("previous_response_id"), 1)] {
        let gone = ScriptedProvider::answering(json_response(404, &not_found)).await;
        let mut config = config::standard(&gone.url());
        let mut first = channel(&gone.url(), &["responses"], json!({"bearer": "sk-x"}));
        let mut second = channel(&good.url(), &["responses"], json!({"bearer": "sk-y"}));
        first["tier"] = 0.into();
        second["tier"] = 1.into();
        config["channels"] = json!({"gone": first, "good": second});
        let route = config::route(&mut config, "responses");
        route["request"] = json!([{"use": "body"}, "validate"]);
        route["response"] = json!(["pass_sse", "meter_usage"]);
        let gateway = Gateway::start(&config).await;
        let mut body = body_of(Protocol::Responses);
        body["store"] = false.into();
        if let Some(field) = field {
            body[field] = "resp_of_somebody".into();
        }
        let answer = gateway
            .ask(&Request::to(Protocol::Responses, body.to_string()))
            .await;
        let line = gateway.log_of(&answer).await;
        assert_eq!(line["attempts"], attempts, "{field:?}: {line}");
        assert_eq!(answer.status, if attempts == 2 { 200 } else { 404 });
    }
}

/// A gateway whose first channel quotes its callers, and whose second one serves all of them, if it is there.
async fn quoting_then_serving(is_served: bool) -> (Gateway, ScriptedProvider) {
    let serving = ScriptedProvider::answering(json_response(200, chat_response())).await;
    let url = serving.url();
    let (gateway, _) = start(quoting, |config| {
        let channels = config["channels"].as_object_mut().unwrap();
        channels.remove("three");
        match is_served {
            true => channels["two"]["base_url"] = url.into(),
            false => drop(channels.remove("two")),
        }
    })
    .await;
    (gateway, serving)
}

#[tokio::test]
async fn a_model_that_a_provider_refuses_to_one_caller_is_named_unless_the_error_quotes_it() {
    let retired = (404, "retired");
    let poor = (400, "poor");
    for (quoted, is_served, is_shared, cause) in [
        (
            retired,
            false,
            false,
            Some("the provider does not serve the model on this account; no channel served one"),
        ),
        (
            retired,
            true,
            false,
            Some(
                "the provider does not serve the model on this account; other channels served 28 of them",
            ),
        ),
        (
            poor,
            false,
            false,
            Some("the provider refuses the account; no channel served one"),
        ),
        (
            poor,
            true,
            false,
            Some("the provider refuses the account; other channels served 28 of them"),
        ),
        // Others get the model: what this caller refers to may be what is not there.
        (retired, false, true, None),
        (QUOTED[2], false, false, None),
        (QUOTED[2], true, false, None),
        (QUOTED[0], true, false, None),
    ] {
        let (gateway, _serving) = quoting_then_serving(is_served).await;
        if is_shared {
            gateway.ask(&chat(BOB, None, "Hello")).await;
        }
        let mut last = None;
        for nth in 0..28 {
            let request = chat(ANN, Some(quoted), &nth.to_string());
            last = Some(gateway.ask(&request).await);
        }
        gateway.log_of(&last.unwrap()).await;
        assert_eq!(cool_downs(&gateway).await, 0.0);
        let findings = findings(&gateway).await;
        let is_meant = |one: &&Value| one["code"] == "model_refused";
        let refused: Vec<&Value> = findings.iter().filter(is_meant).collect();
        match (cause, &*refused) {
            (None, []) => {}
            (Some(cause), [found]) => {
                assert_eq!(found["subject"], "model demo-small on channel one");
                assert_eq!(found["severity"], "warning");
                let sentence = found["cause"].as_str().unwrap();
                let count = "refused all 28 requests for model `demo-small` within";
                assert!(sentence.contains(count), "{sentence}");
                assert!(sentence.contains(cause), "{sentence}");
            }
            _ => panic!("{quoted:?} {is_served} {is_shared}: {findings:?}"),
        }
    }
}
