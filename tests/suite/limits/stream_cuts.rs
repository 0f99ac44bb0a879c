//! Tests of `cut_streams`: a stream is cut where its cost passes what it has reserved and what is left of a budget.

use super::budgets::{NANOS, budget_config, key};
use crate::harness::config::{CREDENTIALS, channel, route, sha256, without_cool_downs};
use crate::harness::error_shape::assert_error_event;
use crate::harness::patient_redis::patient_redis;
use crate::harness::request::ANN;
use crate::harness::service::{CONTINUE, add_service, call_on_responses, respond};
use crate::harness::{
    Gateway, PROTOCOLS, RedisServer, Request, ScriptedProvider, Simulator, WholeResponse, body_of,
    eventually,
};
use headgate_protocol::Protocol;
use serde_json::{Value, json};

/// What a token of output costs, in billionths; input is free.
const TOKEN: u64 = 10_000;
/// The tokens that a request reserves, and those of the budget.
const RESERVED: u64 = 20;
const BUDGET: u64 = 40;
/// Far more events than a busy machine reads at once.
const LONG: &str = "events=1000; pace=1ms";
const CUT_BEFORE: u64 = 500;

/// A configuration in which one caller may spend `BUDGET`, on channels of the protocols that callers use.
fn cutting(provider: &str, state: &Value) -> Value {
    let mut config = budget_config(provider, state, 1, BUDGET * TOKEN);
    for name in ["messages", "responses"] {
        let chain = route(&mut config, name)["request"].as_array_mut();
        chain.unwrap().push("rate_limit".into());
    }
    without_cool_downs(&mut config);
    limits(&mut config)["cut_streams"] = true.into();
    config
}

/// The same, with one channel, which speaks `protocol`.
fn translated(provider: &str, caller: Protocol, protocol: Protocol) -> Value {
    let mut config = cutting(provider, &json!("memory"));
    config["channels"] = json!({
        "other": channel(provider, &[protocol.name()], json!({"bearer": CREDENTIALS[0]})),
    });
    without_cool_downs(&mut config);
    route(&mut config, caller.name())["translate"] = json!([protocol.name()]);
    config
}

fn limits(config: &mut Value) -> &mut Value {
    let callers = config["callers"].as_array_mut().unwrap();
    &mut callers.last_mut().unwrap()["limits"]
}

/// A request for a stream of at most `tokens`.
fn stream(protocol: Protocol, tokens: u64) -> Request {
    let mut body = body_of(protocol);
    body["stream"] = true.into();
    let limit = match protocol {
        Protocol::Responses => "max_output_tokens",
        _ => "max_tokens",
    };
    body[limit] = tokens.into();
    Request::to(protocol, body.to_string()).key(&key(0))
}

/// The tokens that a request was charged.
fn charge(line: &Value) -> u64 {
    let nanos = (line["budget_charge"].as_f64().expect("a charge") * NANOS).round() as u64;
    nanos / TOKEN
}

/// The number of events with content that the caller got before the error.
fn events(response: &WholeResponse) -> u64 {
    let text = response.text();
    let pings = text.matches("event: ping").count();
    (text.matches("\n\n").count() - pings) as u64 - 1
}

/// Asserts that a stream was cut by the budget of `whose`; returns its line in the log.
async fn assert_cut(
    gateway: &Gateway,
    protocol: Protocol,
    response: &WholeResponse,
    whose: &str,
) -> Value {
    let text = response.text();
    assert_eq!((response.status, response.whole), (200, false), "{text}");
    assert_error_event(protocol, response);
    assert!(
        text.contains("insufficient_quota") || protocol == Protocol::Messages,
        "{text}"
    );
    let expected = format!("quota exceeded: the budget of {whose} is used up");
    assert!(text.contains(&expected), "{text}");
    assert!(!text.contains("USD"), "the event has no figures: {text}");
    let line = gateway.log_of(response).await;
    assert_eq!(line["settlement"], "budget_cut", "{line}");
    assert_eq!(line["error_code"], "insufficient_quota", "{line}");
    line
}

/// Asserts that the provider's work ended with the stream, and that the next request is refused.
async fn assert_spent(gateway: &Gateway, simulator: &Simulator, protocol: Protocol) {
    simulator
        .record("the end of the provider's work", |record| {
            record["ended"] == "client_left"
        })
        .await;
    let next = gateway.ask(&stream(protocol, RESERVED)).await;
    assert_eq!(next.status, 429, "{}", next.text());
    let metrics = gateway.metrics().await;
    let settled = metrics.sum(
        "headgate_settlements_total",
        &[("settlement", "budget_cut")],
    );
    assert_eq!(settled, 1.0);
    let good = metrics.sum("headgate_attempts_total", &[("outcome", "success")]);
    assert_eq!(good, 1.0, "the channel did as it should");
}

#[tokio::test]
async fn a_stream_is_cut_where_its_cost_passes_what_it_reserved_and_what_is_left() {
    let redis = RedisServer::start();
    for state in [json!("memory"), patient_redis(&redis)] {
        for protocol in PROTOCOLS {
            let simulator = Simulator::start().await;
            let mut config = cutting(&simulator.url(), &state);
            // Budgets in Redis outlive each gateway.
            config["callers"][2]["name"] = json!(format!("of-{}", protocol.name()));
            let gateway = Gateway::start(&config).await;
            let request = stream(protocol, RESERVED).simulate(LONG);
            let response = gateway.ask(&request).await;
            let whose = "this API key in total (`cost_total`)";
            let charged = charge(&assert_cut(&gateway, protocol, &response, whose).await);
            assert_eq!(
                charged,
                events(&response),
                "each event counts as a token of output"
            );
            assert!(charged > BUDGET && charged < CUT_BEFORE, "{charged}");
            assert_spent(&gateway, &simulator, protocol).await;
        }
    }
}

#[tokio::test]
async fn a_translated_stream_is_cut_with_an_event_of_its_callers_protocol() {
    for caller in PROTOCOLS {
        for protocol in PROTOCOLS.into_iter().filter(|it| *it != caller) {
            let simulator = Simulator::start().await;
            let config = translated(&simulator.url(), caller, protocol);
            let gateway = Gateway::start(&config).await;
            let request = stream(caller, RESERVED).simulate(LONG);
            let response = gateway.ask(&request).await;
            let whose = "this API key in total (`cost_total`)";
            let charged = charge(&assert_cut(&gateway, caller, &response, whose).await);
            assert!(charged > BUDGET && charged < CUT_BEFORE, "{charged}");
            assert_spent(&gateway, &simulator, caller).await;
        }
    }
}

#[tokio::test]
async fn without_the_setting_the_stream_ends_whole_and_the_next_request_is_refused() {
    let simulator = Simulator::start().await;
    for protocol in PROTOCOLS {
        let mut config = cutting(&simulator.url(), &json!("memory"));
        limits(&mut config)["cut_streams"] = false.into();
        let gateway = Gateway::start(&config).await;
        let response = gateway
            .ask(&stream(protocol, RESERVED).simulate(LONG))
            .await;
        assert!(response.whole, "{}", response.text());
        let line = gateway.log_of(&response).await;
        assert!(charge(&line) > CUT_BEFORE, "{line}");
        let next = gateway.ask(&stream(protocol, RESERVED)).await;
        assert_eq!(next.status, 429, "{}", next.text());
    }
}

#[tokio::test]
async fn a_stream_within_what_it_has_reserved_ends_whole_although_nothing_else_is_left() {
    let simulator = Simulator::start().await;
    for protocol in PROTOCOLS {
        let mut config = cutting(&simulator.url(), &json!("memory"));
        limits(&mut config)["cost_total"] = json!(0.01);
        let gateway = Gateway::start(&config).await;
        let mut connection = gateway.connect().await;
        let request = stream(protocol, 1_000).simulate("events=300; pace=8ms; event_bytes=4");
        connection.send(&request.bytes()).await.unwrap();
        let mut open = connection.reply().await.unwrap();
        open.until("\n\n").await;
        // Those of other requests do not make it a stream without a budget.
        let refused = gateway.ask(&stream(protocol, RESERVED)).await;
        assert_eq!(refused.status, 429, "{}", refused.text());
        let response = open.rest().await;
        assert!(response.whole, "{}", response.text());
        let line = gateway.log_of(&response).await;
        assert_ne!(line["settlement"], "budget_cut", "{line}");
        let charged = charge(&line);
        assert!(charged > 250 && charged <= 1_000, "{charged}");
    }
}

#[tokio::test]
async fn a_reload_below_what_is_used_cuts_streams_also_those_of_a_silent_provider() {
    let simulator = Simulator::start().await;
    for directives in ["events=5000; pace=10ms", "stall_after=3"] {
        let mut config = cutting(&simulator.url(), &json!("memory"));
        limits(&mut config)["cost_total"] = json!(1);
        let gateway = Gateway::start(&config).await;
        let request = stream(Protocol::Chat, 1_000).simulate(directives);
        let mut open = gateway.open(&request).await;
        open.until("\n\n").await;
        // Two tokens.
        limits(&mut config)["cost_total"] = json!(0.000_02);
        gateway.reload(&config).await;
        let response = open.rest().await;
        let whose = "this API key in total (`cost_total`)";
        assert_cut(&gateway, Protocol::Chat, &response, whose).await;
    }
}

#[tokio::test]
async fn a_stream_that_lives_on_what_is_left_is_cut_when_others_use_that_up() {
    let (redis, simulator) = (RedisServer::start(), Simulator::start().await);
    let mut config = cutting(&simulator.url(), &patient_redis(&redis));
    config["callers"][0]["group"] = "team".into();
    config["callers"][2]["group"] = "team".into();
    *limits(&mut config) = json!({});
    config["groups"] = json!({"team": {"limits": {"cost_per_month": 0.05, "cut_streams": true}}});
    config["models"]["demo-large"]["max_output_tokens"] = json!(10_000);
    let gateways = [Gateway::start(&config).await, Gateway::start(&config).await];
    let request = stream(Protocol::Chat, RESERVED).simulate("events=20000; pace=10ms");
    let mut open = gateways[0].open(&request).await;
    // It costs more than it has reserved, and 4980 tokens are left.
    for _ in 0..2 * RESERVED {
        open.until("\n\n").await;
    }
    let all = stream(Protocol::Chat, 4_970).simulate("stall").key(ANN);
    let mut other = gateways[1].connect().await;
    other.send(&all.bytes()).await.unwrap();
    let response = open.rest().await;
    let whose = "group `team` of this API key per month (`cost_per_month`)";
    let charged = charge(&assert_cut(&gateways[0], Protocol::Chat, &response, whose).await);
    assert!(charged < 4_000, "{charged}");
    assert!(
        response.text().contains("try again in "),
        "{}",
        response.text()
    );
}

#[tokio::test]
async fn each_budget_with_the_setting_cuts_the_streams_that_use_it() {
    let simulator = Simulator::start().await;
    let budget = json!({"cost_per_day": 0.000_4, "cut_streams": true});
    for (place, whose) in [
        ("caller", "this API key per day (`cost_per_day`)"),
        (
            "caller's model",
            "this API key per day on model `demo-large` (`cost_per_day`)",
        ),
        ("key", "key `laptop` per day (`cost_per_day`)"),
        (
            "model",
            "all callers together per day on model `demo-large` (`cost_per_day`)",
        ),
        ("channel", "this gateway for the model"),
    ] {
        let mut config = cutting(&simulator.url(), &json!("memory"));
        *limits(&mut config) = json!({});
        match place {
            "caller" => *limits(&mut config) = budget.clone(),
            "caller's model" => *limits(&mut config) = json!({"models": {"demo-large": budget}}),
            "key" => {
                let digest = sha256(b"sk-budget-canary-laptop");
                config["callers"][2]["keys"] =
                    json!([{"label": "laptop", "key_sha256": digest, "budget": budget}]);
            }
            "model" => config["models"]["demo-large"]["budget"] = budget.clone(),
            _ => config["channels"]["openai"]["budget"] = budget.clone(),
        }
        let gateway = Gateway::start(&config).await;
        let mut request = stream(Protocol::Chat, RESERVED).simulate(LONG);
        if place == "key" {
            request = request.key("sk-budget-canary-laptop");
        }
        let response = gateway.ask(&request).await;
        assert_cut(&gateway, Protocol::Chat, &response, whose).await;
        let events = events(&response);
        assert!(events > BUDGET && events < CUT_BEFORE, "{place}: {events}");
        let next = gateway.ask(&request).await;
        let refused = if place == "channel" { 503 } else { 429 };
        assert_eq!(next.status, refused, "{place}: {}", next.text());
    }
}

#[tokio::test]
async fn a_response_that_is_no_stream_is_not_cut() {
    let simulator = Simulator::start().await;
    let gateway = Gateway::start(&cutting(&simulator.url(), &json!("memory"))).await;
    for (tokens, status) in [(RESERVED, 200), (RESERVED, 429)] {
        let mut request = stream(Protocol::Chat, tokens);
        let body = String::from_utf8(request.body.take().unwrap()).unwrap();
        let body = body.replace("\"stream\":true", "\"stream\":false");
        let request = request.with_body(body.into()).simulate("body_bytes=800");
        let response = gateway.ask(&request).await;
        assert_eq!(response.status, status, "{}", response.text());
        eventually("its settlement", async || {
            (!gateway.log().is_empty()).then_some(())
        })
        .await;
    }
}

#[tokio::test]
async fn a_stream_that_a_service_checks_is_cut_after_the_events_that_it_passed() {
    let (simulator, service) = (
        Simulator::start().await,
        ScriptedProvider::start(respond(CONTINUE)).await,
    );
    for protocol in PROTOCOLS {
        let mut config = cutting(&simulator.url(), &json!("memory"));
        add_service(&mut config, &service, json!({"timeout": "5s"}));
        let hold = json!({"hold": {"events": 7}});
        call_on_responses(&mut config, protocol.name(), hold);
        let gateway = Gateway::start(&config).await;
        let request = stream(protocol, RESERVED).simulate(LONG);
        let response = gateway.ask(&request).await;
        let whose = "this API key in total (`cost_total`)";
        let charged = charge(&assert_cut(&gateway, protocol, &response, whose).await);
        assert_eq!(charged, events(&response), "what was held was passed");
        assert!(charged > BUDGET && charged < CUT_BEFORE, "{charged}");
    }
}
