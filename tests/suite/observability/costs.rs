//! Tests of what requests cost: in the access log and in the metric, for tokens, images and videos.

use crate::harness::caching::{caching_config, outcome};
use crate::harness::http_response::{json_response, typed_response};
use crate::harness::images::{self, image_config, json_body};
use crate::harness::paid::CreateShape;
use crate::harness::video::{self, FAMILY_A, FAMILY_B, GENERIC, video_config};
use crate::harness::{
    Gateway, Request, ScriptedProvider, Simulator, WholeResponse, body_of, config,
};
use headgate_protocol::Protocol;
use serde_json::{Value, json};

const COST: &str = "headgate_cost_total";
const UNPRICED: &str = "headgate_unpriced_requests_total";

/// 60 tokens of input, 30 from the cache, 10 to the cache; 30 of output, 20 of reasoning.
fn usage(protocol: Protocol) -> Value {
    match protocol {
        Protocol::Chat => json!({"prompt_tokens": 100, "completion_tokens": 50,
            "prompt_tokens_details": {"cached_tokens": 30, "cache_write_tokens": 10},
            "completion_tokens_details": {"reasoning_tokens": 20}}),
        Protocol::Messages => json!({"input_tokens": 60, "output_tokens": 50,
            "cache_read_input_tokens": 30, "cache_creation_input_tokens": 10,
            "output_tokens_details": {"thinking_tokens": 20}}),
        _ => json!({"input_tokens": 100, "output_tokens": 50,
            "input_tokens_details": {"cached_tokens": 30, "cache_write_tokens": 10},
            "output_tokens_details": {"reasoning_tokens": 20}}),
    }
}

/// A response with this usage, as JSON or as a stream.
fn answer(protocol: Protocol, is_stream: bool) -> Vec<u8> {
    let usage = usage(protocol);
    let whole = match protocol {
        Protocol::Chat => json!({"object": "chat.completion", "choices": [], "usage": usage}),
        Protocol::Messages => json!({"type": "message", "content": [], "usage": usage}),
        _ => json!({"object": "response", "id": "resp_1", "usage": usage}),
    };
    if !is_stream {
        return json_response(200, whole);
    }
    let body = match protocol {
        Protocol::Chat => format!("data: {whole}\n\ndata: [DONE]\n\n"),
        Protocol::Messages => {
            let start = json!({"type": "message_start", "message": {"usage": usage}});
            let delta = json!({"type": "message_delta", "delta": {}, "usage": usage});
            format!(
                "event: message_start\ndata: {start}\n\nevent: message_delta\ndata: {delta}\n\nevent: message_stop\ndata: {{\"type\":\"message_stop\"}}\n\n"
            )
        }
        _ => {
            let event = json!({"type": "response.completed", "response": whole});
            format!("event: response.completed\ndata: {event}\n\n")
        }
    };
    typed_response(200, "text/event-stream", body)
}

fn request(protocol: Protocol, is_stream: bool) -> Request {
    match is_stream {
        true => Request::ask_stream(protocol),
        false => Request::ask(protocol),
    }
}

/// The cost in the access log of the response's request.
async fn cost_of(gateway: &Gateway, response: &WholeResponse) -> Option<f64> {
    gateway.log_of(response).await["cost"].as_f64()
}

#[tokio::test]
async fn tokens_cost_by_kind_in_every_protocol_with_and_without_a_stream() {
    // Without prices of their own, 100 tokens cost 2 and 50 cost 10 a million.
    let cases = [
        (
            "all",
            json!({"input": 2, "cached_input": 0.5, "cache_write": "2.5", "output": 10, "reasoning": 20}),
            0.000_86,
        ),
        ("defaults", json!({"input": 2, "output": 10}), 0.000_7),
        ("output", json!({"output": 10}), 0.000_5),
        ("free", json!({"input": 0}), 0.0),
    ];
    for protocol in crate::harness::PROTOCOLS {
        for is_stream in [false, true] {
            let provider = ScriptedProvider::answering(answer(protocol, is_stream)).await;
            let mut config = config::standard(&provider.url());
            config["models"] = json!({});
            for (model, prices, _) in &cases {
                config["prices"]["models"][*model] = prices.clone();
                for channel in ["openai", "messages"] {
                    config["channels"][channel]["models"][*model] = json!("upstream");
                }
            }
            let gateway = Gateway::start(&config).await;
            for (model, _, expected) in &cases {
                let mut body = body_of(protocol);
                body["model"] = json!(model);
                body["stream"] = json!(is_stream);
                let response = gateway.ask(&Request::to(protocol, body.to_string())).await;
                assert_eq!(response.status, 200, "{}", response.text());
                let line = gateway.log_of(&response).await;
                let case = format!("{protocol:?} {is_stream} {model}: {line}");
                assert_eq!(line["cost"].as_f64(), Some(*expected), "{case}");
                assert_eq!(line["currency"], "USD", "{case}");
                let labels = [
                    ("caller", "ann"),
                    ("model", model),
                    ("channel", line["channel"].as_str().unwrap()),
                    ("currency", "USD"),
                ];
                let metrics = gateway.metrics().await;
                assert_eq!(metrics.sum(COST, &labels), *expected, "{case}");
                assert_eq!(metrics.sum(UNPRICED, &[]), 0.0, "{case}");
            }
        }
    }
}

#[tokio::test]
async fn a_channels_own_price_replaces_that_of_the_table_and_the_most_exact_name_applies() {
    let provider = ScriptedProvider::answering(answer(Protocol::Chat, false)).await;
    for (table, own, expected) in [
        (json!({"*": {"output": 1}}), json!({}), 0.000_05),
        (
            json!({"*": {"output": 1}, "demo-*": {"output": 2}}),
            json!({}),
            0.000_1,
        ),
        (
            json!({"demo-*": {"output": 2}, "demo-large": {"output": 3}}),
            json!({}),
            0.000_15,
        ),
        // The whole entry is replaced.
        (
            json!({"demo-large": {"input": 2, "output": 3}}),
            json!({"*": {"output": 4}}),
            0.000_2,
        ),
        (
            json!({}),
            json!({"demo-large": {"output": 5}, "demo-small": {"output": 9}}),
            0.000_25,
        ),
    ] {
        let mut config = config::standard(&provider.url());
        config["prices"] = json!({"currency": "EUR", "models": table});
        config["channels"]["openai"]["prices"] = own.clone();
        let gateway = Gateway::start(&config).await;
        let response = gateway.ask(&Request::ask(Protocol::Chat)).await;
        let line = gateway.log_of(&response).await;
        assert_eq!(line["cost"], json!(expected), "{table} {own}: {line}");
        assert_eq!(line["currency"], "EUR", "{line}");
    }
}

#[tokio::test]
async fn without_prices_there_is_no_cost_and_a_model_without_one_is_counted() {
    let provider = ScriptedProvider::answering(answer(Protocol::Chat, false)).await;
    for (prices, unpriced) in [
        (json!({}), 0.0),
        (json!({"models": {"demo-small": {"input": 1}}}), 1.0),
        (
            json!({"models": {"demo-large": {"image": 1}, "*": {"input": 1}}}),
            1.0,
        ),
    ] {
        let mut config = config::standard(&provider.url());
        config["prices"] = prices.clone();
        let gateway = Gateway::start(&config).await;
        let response = gateway.ask(&Request::ask(Protocol::Chat)).await;
        let line = gateway.log_of(&response).await;
        assert_eq!(line["output_tokens"], 50, "{line}");
        assert_eq!(line["cost"], Value::Null, "{prices}: {line}");
        assert_eq!(line["currency"], Value::Null, "{prices}: {line}");
        let metrics = gateway.metrics().await;
        assert_eq!(metrics.sum(COST, &[]), 0.0, "{prices}");
        let labels = [("model", "demo-large"), ("channel", "openai")];
        assert_eq!(metrics.sum(UNPRICED, &labels), unpriced, "{prices}");
    }
}

#[tokio::test]
async fn a_request_without_reported_usage_or_without_success_costs_nothing() {
    let simulator = Simulator::start().await;
    for (directives, is_stream, settlement) in [
        ("no_usage", true, "usage_missing"),
        ("no_usage", false, "usage_missing"),
        ("status=400", false, "upstream_error"),
    ] {
        let mut config = config::standard(&simulator.url_obeying(directives));
        config["prices"] = json!({"models": {"*": {"input": 1, "output": 1}}});
        let gateway = Gateway::start(&config).await;
        let response = gateway.ask(&request(Protocol::Chat, is_stream)).await;
        let line = gateway.log_of(&response).await;
        assert_eq!(line["settlement"], settlement, "{line}");
        assert_eq!(line["cost"], Value::Null, "{line}");
        let metrics = gateway.metrics().await;
        assert_eq!(metrics.sum(COST, &[]), 0.0, "{directives}");
        assert_eq!(metrics.sum(UNPRICED, &[]), 0.0, "{directives}");
    }
}

#[tokio::test]
async fn usage_that_cannot_be_true_is_neither_counted_nor_billed() {
    for (usage, is_true) in [
        (json!({"prompt_tokens": 100, "completion_tokens": 50}), true),
        (
            json!({"prompt_tokens": 100, "completion_tokens": 200_000_000}),
            false,
        ),
        (
            json!({"prompt_tokens": u64::MAX, "completion_tokens": 1}),
            false,
        ),
    ] {
        let body = json!({"id": "c", "object": "chat.completion", "usage": usage});
        let provider = ScriptedProvider::answering(json_response(200, body)).await;
        let mut config = config::standard(&provider.url());
        config["prices"] = json!({"models": {"*": {"input": 1, "output": 1}}});
        let gateway = Gateway::start(&config).await;
        let response = gateway.ask(&Request::ask(Protocol::Chat)).await;
        let line = gateway.log_of(&response).await;
        let settlement = if is_true {
            "complete"
        } else {
            "usage_implausible"
        };
        assert_eq!(line["settlement"], settlement, "{usage}: {line}");
        assert_eq!(line["cost"].is_null(), !is_true, "{usage}: {line}");
        assert_eq!(line["output_tokens"].is_null(), !is_true, "{usage}: {line}");
        let metrics = gateway.metrics().await;
        let labels = [("settlement", settlement)];
        assert_eq!(
            metrics.sum("headgate_settlements_total", &labels),
            1.0,
            "{usage}"
        );
        assert_eq!(metrics.sum(COST, &[]) > 0.0, is_true, "{usage}");
    }
}

#[tokio::test]
async fn a_recorded_response_costs_nothing_again() {
    let simulator = Simulator::start().await;
    let mut config = caching_config(&simulator.url(), &json!({"ttl": "10m"}));
    config["prices"] = json!({"models": {"*": {"input": 1, "output": 1}}});
    let gateway = Gateway::start(&config).await;
    let first = gateway.ask(&Request::ask(Protocol::Chat)).await;
    assert_eq!(outcome(&first), "miss", "{}", first.text());
    let cost = cost_of(&gateway, &first).await.expect("a cost");
    assert!(cost > 0.0, "{cost}");
    let second = gateway.ask(&Request::ask(Protocol::Chat)).await;
    assert_eq!(outcome(&second), "hit", "{}", second.text());
    assert_eq!(cost_of(&gateway, &second).await, None);
    assert_eq!(gateway.metrics().await.sum(COST, &[]), cost);
}

#[tokio::test]
async fn images_cost_by_their_number_in_the_response() {
    let simulator = Simulator::start().await;
    let mut config = image_config(&simulator, "", json!({}));
    config["prices"] = json!({"models": {images::MODEL: {"image": 0.04}}});
    let gateway = Gateway::start(&config).await;
    for (is_stream, count, expected) in [(false, 1, 0.04), (false, 3, 0.12), (true, 1, 0.04)] {
        let mut body = json_body();
        body["n"] = count.into();
        if is_stream {
            body["stream"] = true.into();
            body.as_object_mut().unwrap().remove("response_format");
        }
        let response = gateway
            .ask(&Request::post(images::PATH, body.to_string()))
            .await;
        assert_eq!(response.status, 200, "{}", response.text());
        let line = gateway.log_of(&response).await;
        assert_eq!(line["cost"], json!(expected), "{is_stream} {count}: {line}");
    }
    let labels = [("model", images::MODEL), ("channel", "images")];
    assert_eq!(gateway.metrics().await.sum(COST, &labels), 0.2);
}

#[tokio::test]
async fn a_duplicate_of_a_paid_create_costs_nothing() {
    let simulator = Simulator::start().await;
    for shape in [CreateShape::ImageJson, CreateShape::GenericForB] {
        let mut config = shape.config(&simulator, &json!({}));
        config["prices"] = json!({"models": {"*": {"image": 0.04, "video_second": {"*": 0.01}}}});
        let gateway = Gateway::start(&config).await;
        let first = gateway.ask(&shape.keyed("once")).await;
        let cost = cost_of(&gateway, &first).await.expect("a cost");
        assert!(cost > 0.0, "{cost}");
        let second = gateway.ask(&shape.keyed("once")).await;
        assert_eq!(second.body, first.body, "{shape:?}");
        let line = gateway.log_of(&second).await;
        assert_eq!(line["idempotency"], "replayed", "{line}");
        assert_eq!(line["cost"], Value::Null, "{line}");
        assert_eq!(gateway.metrics().await.sum(COST, &[]), cost);
    }
}

/// A create with these duration and resolution.
fn video_request(path: &str, duration: Value, resolution: Value) -> Request {
    let model = match path {
        FAMILY_B => "demo-video-b",
        _ => "demo-video-a",
    };
    let mut body = video::create_body(path, model);
    let fields = match path {
        FAMILY_B => &mut body["parameters"],
        _ => &mut body,
    };
    fields["duration"] = duration;
    fields["resolution"] = resolution;
    Request::post(path, body.to_string())
}

#[tokio::test]
async fn videos_cost_by_seconds_and_resolution_once_when_the_create_is_accepted() {
    let simulator = Simulator::start().await;
    let mut config = video_config(&simulator, "");
    let by_resolution = json!({"720P": 0.1, "1080p": "0.25"});
    config["prices"] = json!({"models": {
        "demo-video-a": {"video_second": by_resolution},
        "demo-video-b": {"video_second": {"*": 0.07, "720p": 0.1}, "video_default_seconds": 5},
    }});
    let gateway = Gateway::start(&config).await;
    let (none, unpriced) = (Value::Null, Value::Null);
    for (path, duration, resolution, expected) in [
        (GENERIC, json!(5), json!("720p"), json!(0.5)),
        (GENERIC, json!(4), json!("1080P"), json!(1)),
        (FAMILY_A, json!(5), json!("1080p"), json!(1.25)),
        (FAMILY_A, json!(5), json!("480p"), unpriced.clone()),
        (FAMILY_A, json!(5), none.clone(), unpriced.clone()),
        (FAMILY_A, json!(-1), json!("720p"), unpriced.clone()),
        (FAMILY_B, json!(10), json!("720P"), json!(1)),
        (FAMILY_B, json!(10), json!("1080P"), json!(0.7)),
        (FAMILY_B, none.clone(), none.clone(), json!(0.35)),
    ] {
        let request = video_request(path, duration.clone(), resolution.clone());
        let response = gateway.ask(&request).await;
        assert_eq!(response.status, 200, "{}", response.text());
        let line = gateway.log_of(&response).await;
        let case = format!("{path} {duration} {resolution}: {line}");
        let cost = line["cost"].as_f64();
        assert_eq!(cost, expected.as_f64(), "{case}");
        let id = video::id_of(path, &response);
        let queried = video::ask(&gateway, path, &id).await;
        assert_eq!(queried.status, 200, "{}", queried.text());
        assert_eq!(cost_of(&gateway, &queried).await, None, "{case}");
    }
    let metrics = gateway.metrics().await;
    let sum = metrics.sum(COST, &[]);
    assert!((sum - 4.8).abs() < 1e-9, "{sum}");
    assert_eq!(metrics.sum(UNPRICED, &[("model", "demo-video-a")]), 3.0);
}

#[tokio::test]
async fn a_refused_video_costs_nothing_and_one_without_an_id_was_accepted() {
    let simulator = Simulator::start().await;
    for (directives, status, expected) in [("status=400", 400, None), ("no_id", 502, Some(0.5))] {
        let mut config = video_config(&simulator, directives);
        config["prices"] = json!({"models": {"*": {"video_second": {"*": 0.1}}}});
        let gateway = Gateway::start(&config).await;
        let response = gateway
            .ask(&video_request(GENERIC, json!(5), json!("720p")))
            .await;
        assert_eq!(response.status, status, "{}", response.text());
        assert_eq!(cost_of(&gateway, &response).await, expected, "{directives}");
    }
}

#[tokio::test]
async fn a_reload_changes_the_prices_of_the_requests_after_it() {
    let provider = ScriptedProvider::answering(answer(Protocol::Chat, false)).await;
    let mut config = config::standard(&provider.url());
    config["prices"] = json!({"models": {"*": {"output": 1}}});
    let gateway = Gateway::start(&config).await;
    let request = Request::ask(Protocol::Chat);
    let first = gateway.ask(&request).await;
    assert_eq!(cost_of(&gateway, &first).await, Some(0.000_05));
    config["prices"] = json!({"currency": "EUR", "models": {"*": {"output": 2}}});
    gateway.reload(&config).await;
    let second = gateway.ask(&request).await;
    assert_eq!(cost_of(&gateway, &second).await, Some(0.000_1));
    let metrics = gateway.metrics().await;
    assert_eq!(metrics.sum(COST, &[("currency", "USD")]), 0.000_05);
    assert_eq!(metrics.sum(COST, &[("currency", "EUR")]), 0.000_1);
}
