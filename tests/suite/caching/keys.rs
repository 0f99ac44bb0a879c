//! Tests of what makes two requests equal: the caller, and everything that reaches the provider.

use crate::harness::caching::{CachingSetup, insert_step};
use crate::harness::request::BOB;
use crate::harness::{Request, path_of};
use headgate_protocol::Protocol;
use serde_json::{Value, json};

/// Requests of which no two are equal, with what distinguishes each.
fn variations() -> Vec<(&'static str, Request)> {
    let body = json!({"model": "demo-small", "messages": [{"role": "user", "content": "Hello"}]});
    let text = body.to_string();
    let post = |text: &str| Request::to(Protocol::Chat, text.to_owned());
    let with = |name: &str, value: Value| {
        let mut body = body.clone();
        body[name] = value;
        post(&body.to_string())
    };
    let plain = || post(&text);
    let mut query = plain();
    query.target = format!("{}?trace=1", path_of(Protocol::Chat));
    let mut other_query = plain();
    other_query.target = format!("{}?trace=2", path_of(Protocol::Chat));
    let spaced = text.replacen(':', ": ", 1);
    let escaped = text.replace("Hello", "Hell\\u006f");
    vec![
        ("nothing", plain()),
        ("white space", post(&spaced)),
        ("a line break at the end", post(&format!("{text}\n"))),
        ("an escape", post(&escaped)),
        ("another text", post(&text.replace("Hello", "hello"))),
        (
            "a normalised letter",
            post(&text.replace("Hello", "He\u{301}llo")),
        ),
        (
            "a composed letter",
            post(&text.replace("Hello", "H\u{e9}llo")),
        ),
        ("a temperature", with("temperature", json!(0))),
        (
            "a temperature with a fraction",
            with("temperature", json!(0.5)),
        ),
        ("a user", with("user", json!("u-1"))),
        ("another user", with("user", json!("u-2"))),
        ("no stream", with("stream", json!(false))),
        ("metadata", with("metadata", json!({"a": "b"}))),
        (
            "another model",
            post(&text.replace("demo-small", "demo-large")),
        ),
        ("a query", query),
        ("another query", other_query),
        ("a header", plain().header("x-tenant", "a")),
        ("another value", plain().header("x-tenant", "b")),
        ("another case", plain().header("x-tenant", "A")),
        (
            "two lines",
            plain().header("x-tenant", "a").header("x-tenant", "b"),
        ),
        (
            "two lines in another order",
            plain().header("x-tenant", "b").header("x-tenant", "a"),
        ),
        ("a list in one line", plain().header("x-tenant", "a, b")),
        ("an empty header", plain().header("x-tenant", "")),
        (
            "a header with an underscore",
            plain().header("x_tenant", "a"),
        ),
        ("a language", plain().header("accept-language", "de")),
        (
            "an accepted type",
            plain().header("accept", "application/json"),
        ),
        ("a user agent", plain().header("user-agent", "sdk/1")),
        ("a beta", plain().header("openai-beta", "assistants=v2")),
        (
            "an idempotency key",
            plain().header("idempotency-key", "k-1"),
        ),
        ("a trace", plain().header("traceparent", "00-1-2-01")),
        (
            "a charset",
            plain()
                .without("content-type")
                .header("content-type", "application/json; charset=utf-8"),
        ),
    ]
}

#[tokio::test]
async fn two_callers_never_get_each_others_responses() {
    let world = CachingSetup::with(json!({}), |config| {
        config["callers"][1]["models"] = json!(["*"]);
    })
    .await;
    let mut connection = world.gateway.connect().await;
    let mut bodies = std::collections::HashSet::new();
    for round in ["miss", "hit"] {
        for (what, request) in variations() {
            let ann = connection.ask(&request).await;
            let bob = connection.ask(&request.clone().key(BOB)).await;
            for response in [&ann, &bob] {
                let outcome = response.headers.get("x-headgate-cache");
                assert_eq!(outcome, Some(round), "{what}: {}", response.text());
            }
            let is_new = [&ann, &bob].map(|response| bodies.insert(response.body.clone()));
            assert_eq!(is_new, [round == "miss"; 2], "{what}");
        }
    }
    let expected = variations().len() * 2;
    assert_eq!(
        bodies.len(),
        expected,
        "each response of the provider is unique"
    );
    assert_eq!(world.received().await, expected);
}

#[tokio::test]
async fn callers_share_responses_where_the_operator_allows_it() {
    let world = CachingSetup::with(json!({"shared": true}), |config| {
        config["callers"][1]["models"] = json!(["*"]);
    })
    .await;
    for (what, request) in variations() {
        let ann = world.expect(&request, "miss", what).await;
        let bob = world.expect(&request.clone().key(BOB), "hit", what).await;
        assert!(ann.body == bob.body, "{what}");
    }
    assert_eq!(world.received().await, variations().len());
}

#[tokio::test]
async fn what_does_not_reach_the_provider_makes_no_difference() {
    let world = CachingSetup::with(json!({}), |config| {
        insert_step(config, "chat", json!({"remove_headers": ["traceparent"]}));
    })
    .await;
    let request = || Request::ask(Protocol::Chat);
    world.expect(&request(), "miss", "first").await;
    for (name, value) in [
        ("traceparent", "00-1-2-01"),
        ("cookie", "a=b"),
        ("x-forwarded-for", "192.0.2.1"),
        ("x-request-id", "mine"),
        ("x-api-token", "secret"),
        ("openai-organization", "org"),
        ("accept-encoding", "gzip"),
    ] {
        world
            .expect(&request().header(name, value), "hit", name)
            .await;
    }
    let mut with_credential = request();
    with_credential.target += "?api_key=x";
    world
        .expect(&with_credential, "hit", "a credential in the query")
        .await;
}

#[tokio::test]
async fn headers_that_filters_set_are_part_of_the_key() {
    let world = CachingSetup::with(json!({}), |config| {
        let tenant = json!({"set_headers": {
            "x-tenant": {"source": "cookie", "match": "tenant=(\\w+)", "value": "$1"},
        }});
        insert_step(config, "chat", tenant);
    })
    .await;
    let of = |tenant: &str| {
        Request::ask(Protocol::Chat).header("cookie", &format!("tenant={tenant}; session=1"))
    };
    for round in ["miss", "hit"] {
        for tenant in ["a", "b", "c"] {
            world.expect(&of(tenant), round, tenant).await;
        }
    }
    assert_eq!(world.received().await, 3);
}

#[tokio::test]
async fn a_route_has_its_own_responses() {
    let world = CachingSetup::with(json!({}), |config| {
        let mut twin = crate::harness::config::route(config, "chat").clone();
        twin["name"] = json!("twin");
        twin["match"] = json!("POST /v1/twin");
        let rewrite =
            json!({"rewrite_path": {"match": "^/v1/twin$", "to": "/v1/chat/completions"}});
        twin["request"].as_array_mut().unwrap().insert(0, rewrite);
        config["routes"].as_array_mut().unwrap().push(twin);
    })
    .await;
    let chat = Request::ask(Protocol::Chat);
    let mut twin = chat.clone();
    twin.target = "/v1/twin".into();
    for round in ["miss", "hit"] {
        world.expect(&chat, round, "chat").await;
        world.expect(&twin, round, "twin").await;
    }
}
