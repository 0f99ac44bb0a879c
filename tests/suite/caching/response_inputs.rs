//! Tests of responses that depend on what no provider gets: nobody gets a response that filters made for another.

use crate::harness::caching::{CachingSetup, insert_step};
use crate::harness::config::route;
use crate::harness::request::BOB;
use crate::harness::service::{CONTINUE, add_service, call_on_responses, payloads, respond};
use crate::harness::{Request, ScriptedProvider, ScriptedResponse, body_of};
use headgate_protocol::Protocol;
use serde_json::{Value, json};

const CHAT: Protocol = Protocol::Chat;

/// What distinguishes the second request, of which its provider gets nothing.
type Difference = fn(Request) -> Request;

fn other_caller(request: Request) -> Request {
    request.key(BOB)
}

fn other_tenant(request: Request) -> Request {
    request.header("x-tenant", "blue")
}

fn other_address(request: Request) -> Request {
    request.header("x-forwarded-for", "192.0.2.7")
}

fn with_credential_in_query(mut request: Request) -> Request {
    request.target += "?api_key=x";
    request
}

/// A gateway whose callers share responses, where no provider gets `x-tenant`.
async fn sharing(change: impl FnOnce(&mut Value)) -> CachingSetup {
    CachingSetup::with(json!({"shared": true, "streams": true}), |config| {
        config["callers"][1]["models"] = json!(["*"]);
        config["server"]["client_address"] =
            json!({"source": "x_forwarded_for", "trusted_proxies": ["127.0.0.0/8"]});
        insert_step(config, "chat", json!({"remove_headers": ["x-tenant"]}));
        change(config);
    })
    .await
}

/// Asserts that the second request gets a response of its own, and that both are sent again.
async fn assert_apart(world: &CachingSetup, request: &Request, differs: Difference, what: &str) {
    let other = differs(request.clone());
    let first = world.expect(request, "miss", what).await;
    let second = world.expect(&other, "miss", what).await;
    for (request, expected) in [(request, &first), (&other, &second)] {
        let again = world.expect(request, "hit", what).await;
        assert!(again.body == expected.body, "{what}");
        let set = |response: &crate::harness::WholeResponse| {
            response.headers.get("x-for").map(str::to_owned)
        };
        assert_eq!(set(&again), set(expected), "{what}");
    }
}

#[tokio::test]
async fn what_a_response_step_reads_makes_another_response() {
    let cel = |text: &str| json!({"set_headers": {"x-for": {"cel": text}}});
    let cases: Vec<(Value, Difference)> = vec![
        (cel("caller"), other_caller),
        (cel("client.address"), other_address),
        (cel("request.headers['X-Tenant']"), other_tenant),
        (cel("request.headers['x-' + 'tenant']"), other_tenant),
        (cel("request.query_string"), with_credential_in_query),
        (
            json!({"set_headers": {"x-for": {"source": "x-tenant", "match": "(.+)", "value": "$1"}}}),
            other_tenant,
        ),
        (
            json!({"if": "caller == 'ann'", "set_headers": {"x-for": "ann"}}),
            other_caller,
        ),
        (
            json!({"if": "request.headers['x-tenant'] == ''", "remove_headers": ["openai-version"]}),
            other_tenant,
        ),
        (
            json!({"edit_json": {"set": {"/for": {"cel": "caller"}}}}),
            other_caller,
        ),
        (
            json!({"if": "in_network(client.address, '192.0.2.0/24')", "edit_json": {"remove": ["/usage"]}}),
            other_address,
        ),
    ];
    for (step, differs) in cases {
        let world = sharing(|config| {
            let response = &mut route(config, "chat")["response"];
            *response = json!(["pass_sse", "meter_usage", step]);
        })
        .await;
        assert_apart(&world, &Request::ask(CHAT), differs, &step.to_string()).await;
        assert_eq!(world.received().await, 2, "{step}");
    }
}

#[tokio::test]
async fn what_an_event_step_reads_makes_another_stream() {
    let step = json!({"edit_event": {"events": ["*"], "set": {"/for": {"cel": "caller"}}}});
    let world = sharing(|config| {
        route(config, "chat")["response"] = json!(["pass_sse", "meter_usage", step]);
    })
    .await;
    assert_apart(&world, &Request::ask_stream(CHAT), other_caller, "a stream").await;
}

#[tokio::test]
async fn what_a_step_of_attempts_reads_makes_another_response() {
    for step in [
        json!({"set_headers": {"x-account": {"cel": "channel + '/' + caller"}}}),
        json!({"if": "attempt == 1 && caller == 'ann'", "set_headers": {"x-account": "a"}}),
        json!({"edit_json": {"set": {"/user": {"cel": "channel + '/' + caller"}}}}),
    ] {
        let world = sharing(|config| insert_step(config, "chat", step.clone())).await;
        assert_apart(&world, &Request::ask(CHAT), other_caller, &step.to_string()).await;
    }
}

#[tokio::test]
async fn a_condition_of_an_earlier_step_makes_another_response() {
    let step = json!({"if": "caller == 'ann'", "force_usage": null});
    let world = sharing(|config| insert_step(config, "chat", step)).await;
    let mut body = body_of(CHAT);
    body["stream"] = json!(true);
    // Providers get the same from both: the caller asked for usage already.
    body["stream_options"] = json!({"include_usage": true});
    let request = Request::to(CHAT, body.to_string());
    assert_apart(&world, &request, other_caller, "a condition").await;
}

#[tokio::test]
async fn usage_that_only_the_gateway_asked_for_reaches_nobody_from_the_cache() {
    let world = sharing(|config| insert_step(config, "chat", json!("force_usage"))).await;
    let of = |options: &str| {
        let body = body_of(CHAT).to_string();
        let end = body.len() - 1;
        let text = format!("{},\"stream\":true{options}}}", &body[..end]);
        Request::to(CHAT, text)
    };
    let asking = of(",\"stream_options\":{\"include_usage\":true}");
    for round in ["miss", "hit"] {
        for (request, has_usage) in [(&asking, true), (&of(""), false)] {
            let response = world.expect(request, round, "usage").await;
            let text = response.text();
            assert_eq!(text.contains("\"total_tokens\""), has_usage, "{text}");
        }
    }
}

#[tokio::test]
async fn callers_share_what_no_step_makes_for_one_of_them() {
    let world = sharing(|config| {
        let step = json!({"set_headers": {"x-model": {"cel": "model + '/' + channel"}}});
        route(config, "chat")["response"] = json!(["pass_sse", "meter_usage", step]);
    })
    .await;
    let request = Request::ask(CHAT);
    world.expect(&request, "miss", "first").await;
    let differences: [Difference; 4] = [
        other_caller,
        other_tenant,
        other_address,
        with_credential_in_query,
    ];
    for differs in differences {
        world
            .expect(&differs(request.clone()), "hit", "shared")
            .await;
    }
}

#[tokio::test]
async fn a_service_is_asked_about_the_response_of_each_caller() {
    let service = ScriptedProvider::start(respond(CONTINUE)).await;
    let world = sharing(|config| {
        add_service(config, &service, json!({}));
        let settings = json!({"hold": {}, "send": {"headers": ["x-tenant"]}});
        call_on_responses(config, "chat", settings);
    })
    .await;
    let cases: [(&str, Difference); 2] = [("u-1", other_caller), ("u-2", other_tenant)];
    for (user, differs) in cases {
        let mut body = body_of(CHAT);
        body["user"] = json!(user);
        let request = Request::to(CHAT, body.to_string());
        assert_apart(&world, &request, differs, user).await;
    }
    let asked = payloads(&service);
    let callers: Vec<&str> = asked
        .iter()
        .map(|question| question["request"]["caller"].as_str().unwrap())
        .collect();
    assert_eq!(callers, ["ann", "bob", "ann", "ann"]);
}

#[tokio::test]
async fn a_response_that_no_service_checked_is_not_recorded() {
    let service = ScriptedProvider::start(respond(CONTINUE)).await;
    let world = sharing(|config| {
        add_service(
            config,
            &service,
            json!({"breaker": {"consecutive_failures": 0}}),
        );
        let settings = json!({"hold": {}, "on_failure": "allow"});
        call_on_responses(config, "chat", settings);
    })
    .await;
    for request in [Request::ask(CHAT), Request::ask_stream(CHAT)] {
        let failure = "HTTP/1.1 500 Internal Server Error\r\nContent-Length: 0\r\n\r\n";
        service.next(vec![ScriptedResponse::Send(failure.into())]);
        for expected in ["miss", "miss", "hit"] {
            let response = world.gateway.ask(&request).await;
            let line = world.gateway.log_of(&response).await;
            assert_eq!(line["cache"], expected, "{line}");
            assert!(response.whole);
        }
    }
}
