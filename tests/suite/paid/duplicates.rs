//! Tests of duplicates: which requests are equal, and what each of them gets.
//!
//! `HEADGATE_RACES=100 cargo test --test suite paid::duplicates -- --nocapture` has more races of one key, and prints counts.

use super::recorded_streams::stream;
use crate::harness::http2_provider::{Http2Provider, ScriptedStreamResponse};
use crate::harness::images::{self, MODEL, PNG};
use crate::harness::paid::{CreateShape, ask_at_once, error_code, is_replayed};
use crate::harness::repetitions::repetitions;
use crate::harness::request::BOB;
use crate::harness::{Request, Simulator, eventually};
use h2::Reason;
use serde_json::json;

/// All requests of a race arrive before the first one ends.
const SLOW: &str = "delay=300ms";

#[tokio::test]
async fn a_hundred_concurrent_creates_with_one_key_make_one_in_every_shape() {
    let races: usize = repetitions("HEADGATE_RACES", 7);
    let keyed: fn(CreateShape, &str) -> Request = |shape, key| shape.keyed(key).simulate(SLOW);
    let streamed: fn(CreateShape, &str) -> Request = |_, key| stream(key, SLOW);
    let forms = CreateShape::ALL.map(|shape| (format!("{shape:?}"), shape, keyed));
    let forms = forms.into_iter().chain([(
        "ImageJson, streamed".to_owned(),
        CreateShape::ImageJson,
        streamed,
    )]);
    let races_each = races.div_ceil(CreateShape::ALL.len() + 1);
    for (name, shape, request) in forms {
        let simulator = Simulator::start().await;
        let gateway = shape.gateway(&simulator, json!({})).await;
        for race in 0..races_each {
            let before = shape.received(&simulator).await;
            let request = request(shape, &format!("key-{race}"));
            let responses = ask_at_once(&gateway, &request, 100).await;
            let received = shape.received(&simulator).await - before;
            let replayed = responses.iter().filter(|one| is_replayed(one)).count();
            println!(
                "{name}: {} creates with one key, {} responses 200, {replayed} replayed, {received} received by the provider",
                responses.len(),
                responses.iter().filter(|one| one.status == 200).count()
            );
            assert_eq!((received, replayed), (1, 99), "{name}");
            for response in &responses {
                assert_eq!(response.status, 200, "{name}: {}", response.text());
                assert_eq!(response.body, responses[0].body, "{name}");
                let content_type = response.headers.get("content-type");
                assert_eq!(content_type, responses[0].headers.get("content-type"));
            }
        }
    }
}

#[tokio::test]
async fn another_request_under_the_same_key_is_422_in_every_shape() {
    for shape in CreateShape::ALL {
        let simulator = Simulator::start().await;
        let gateway = shape.gateway(&simulator, json!({})).await;
        assert_eq!(gateway.ask(&shape.keyed("key")).await.status, 200);
        let other = shape.request("a lock").header("Idempotency-Key", "key");
        let response = gateway.ask(&other).await;
        assert_eq!(response.status, 422, "{shape:?}: {}", response.text());
        let code = match shape {
            CreateShape::FamilyB => "InvalidParameter",
            _ => "idempotency_key_reused",
        };
        assert_eq!(error_code(&response), code, "{shape:?}");
        assert_eq!(response.headers.get("x-should-retry"), Some("false"));
        assert_eq!(shape.received(&simulator).await, 1, "{shape:?}");
        let line = gateway.log_of(&response).await;
        assert_eq!(line["idempotency"], "key_reused", "{line}");
    }
}

#[tokio::test]
async fn a_key_belongs_to_its_caller_and_its_route() {
    let simulator = Simulator::start().await;
    let shape = CreateShape::FamilyA;
    let gateway = shape.gateway(&simulator, json!({})).await;
    let request = shape.keyed("shared");
    for request in [
        request.clone(),
        request.key(BOB),
        CreateShape::GenericForA.keyed("shared"),
    ] {
        let response = gateway.ask(&request).await;
        assert_eq!((response.status, is_replayed(&response)), (200, false));
    }
    assert_eq!(shape.received(&simulator).await, 3);
    let records = simulator.records().await;
    for record in &records {
        let sent = record["headers"].to_string();
        assert!(!sent.contains("idempotency"), "{sent}");
    }
}

#[tokio::test]
async fn a_provider_that_takes_a_key_gets_one_for_each_caller_and_request() {
    let simulator = Simulator::start().await;
    let shape = CreateShape::FamilyA;
    let mut config = shape.config(&simulator, &json!({}));
    config["channels"]["a"]["idempotency_header"] = json!("X-Client-Token");
    let gateway = crate::harness::Gateway::start(&config).await;
    let request = shape.keyed("canary-key");
    // The first one frees its key, and is sent again.
    gateway.ask(&request.clone().simulate("status=400")).await;
    for request in [request.clone(), request.key(BOB), shape.request("a gate")] {
        assert_eq!(gateway.ask(&request).await.status, 200);
    }
    let records = simulator.records().await;
    let tokens: Vec<_> = records
        .iter()
        .map(|record| record["headers"]["x-client-token"].as_str())
        .collect();
    assert!(
        tokens[0].is_some_and(|token| token.len() == 64),
        "{tokens:?}"
    );
    assert_eq!(tokens[0], tokens[1]);
    assert_ne!(tokens[1], tokens[2]);
    assert_eq!(tokens[3], None);
    assert!(
        !records
            .iter()
            .any(|record| record["headers"].to_string().contains("canary-key"))
    );
}

#[tokio::test]
async fn a_key_has_1_to_255_visible_characters_and_is_sent_once() {
    let simulator = Simulator::start().await;
    let shape = CreateShape::FamilyA;
    let gateway = shape.gateway(&simulator, json!({})).await;
    let longest = "k".repeat(255);
    for (keys, status) in [
        (vec!["a"], 200),
        (vec![&*longest], 200),
        (vec!["\"quoted-uuid\""], 200),
        (vec![""], 400),
        (vec!["with space"], 400),
        (vec!["k\u{e4}y"], 400),
        (vec!["first", "second"], 400),
        (vec!["same", "same"], 400),
    ] {
        let mut request = shape.request("a gate");
        for key in &keys {
            request = request.header("Idempotency-Key", key);
        }
        let response = gateway.ask(&request).await;
        assert_eq!(response.status, status, "{keys:?}: {}", response.text());
        if status == 400 {
            assert_eq!(error_code(&response), "invalid_header", "{keys:?}");
        }
    }
    let too_long = shape.keyed(&"k".repeat(256));
    assert_eq!(gateway.ask(&too_long).await.status, 400);
    assert_eq!(shape.received(&simulator).await, 3);
}

#[tokio::test]
async fn forms_are_equal_by_their_parts_whatever_their_boundary() {
    let simulator = Simulator::start().await;
    let shape = CreateShape::ImageForm;
    let gateway = shape.gateway(&simulator, json!({})).await;
    let fields: &[(&str, &[u8])] = &[
        ("model", MODEL.as_bytes()),
        ("prompt", b"a gate"),
        ("image[]!", PNG),
    ];
    let swapped: &[(&str, &[u8])] = &[fields[1], fields[0], fields[2]];
    let written = images::written(fields, MODEL);
    let text = |from: &str, to: &str| replaced(&written, from.as_bytes(), to.as_bytes());
    let with_boundary = |boundary: &str, body: Vec<u8>| {
        Request::post(images::PATH, body)
            .without("content-type")
            .header(
                "Content-Type",
                &format!("multipart/form-data; boundary={boundary}"),
            )
            .header("Idempotency-Key", "form")
    };
    let first = with_boundary("gate-7f", written.clone());
    assert_eq!(gateway.ask(&first).await.status, 200);
    for (name, request, status) in [
        ("the same", first.clone(), 200),
        (
            "another boundary",
            with_boundary("other-9", text("gate-7f", "other-9")),
            200,
        ),
        (
            "another order",
            with_boundary("gate-7f", images::written(swapped, MODEL)),
            422,
        ),
        (
            "another file name",
            with_boundary("gate-7f", text("a.png", "b.png")),
            422,
        ),
        (
            "another type",
            with_boundary("gate-7f", text("image/png", "image/jpg")),
            422,
        ),
        (
            "other content",
            with_boundary("gate-7f", text("a gate", "a Gate")),
            422,
        ),
    ] {
        let response = gateway.ask(&request).await;
        assert_eq!(response.status, status, "{name}: {}", response.text());
        assert_eq!(is_replayed(&response), status == 200, "{name}");
    }
    assert_eq!(shape.received(&simulator).await, 1);
}

#[tokio::test]
async fn a_duplicate_waits_only_so_long() {
    let simulator = Simulator::start().await;
    let shape = CreateShape::GenericForA;
    let gateway = shape.gateway(&simulator, json!({"wait": "200ms"})).await;
    let request = shape.keyed("slow").simulate("delay=2s");
    let first = tokio::spawn({
        let (address, request) = (gateway.address, request.clone());
        async move {
            let mut connection = crate::harness::Connection::to(address).await;
            connection.ask(&request).await
        }
    });
    let arrived = async || (shape.received(&simulator).await == 1).then_some(());
    eventually("the create", arrived).await;
    let response = gateway.ask(&request).await;
    assert_eq!(response.status, 409, "{}", response.text());
    assert_eq!(error_code(&response), "idempotency_key_in_use");
    assert_eq!(response.headers.get("retry-after"), Some("5"));
    assert_eq!(response.headers.get("x-should-retry"), None);
    assert_eq!(first.await.unwrap().status, 200);
    let response = gateway.ask(&request).await;
    assert!(is_replayed(&response), "{}", response.text());
    assert_eq!(shape.received(&simulator).await, 1);
}

#[tokio::test]
async fn a_replay_takes_nothing_from_the_limits_and_is_authenticated() {
    let simulator = Simulator::start().await;
    let shape = CreateShape::FamilyB;
    let mut config = shape.config(&simulator, &json!({}));
    config["callers"][0]["limits"] = json!({"requests_per_minute": 1});
    for route in config["routes"].as_array_mut().unwrap() {
        let chain = route["request"].as_array_mut().unwrap();
        if let Some(at) = chain
            .iter()
            .position(|filter| filter.get("map_task").is_some())
            && chain.len() > 2
        {
            chain.insert(at, json!("rate_limit"));
        }
    }
    let gateway = crate::harness::Gateway::start(&config).await;
    for nth in 0..3 {
        let response = gateway.ask(&shape.keyed("paid")).await;
        assert_eq!((response.status, is_replayed(&response)), (200, nth > 0));
    }
    for _ in 0..2 {
        // A refusal by the limits frees its key.
        let response = gateway.ask(&shape.keyed("refused")).await;
        assert_eq!((response.status, is_replayed(&response)), (429, false));
    }
    let stranger = gateway.ask(&shape.keyed("paid").key("sk-nobody")).await;
    assert_eq!(stranger.status, 401);
    assert_eq!(shape.received(&simulator).await, 1);
}

#[tokio::test]
async fn a_create_on_an_http2_connection_that_breaks_is_not_sent_again() {
    for scripted in [
        ScriptedStreamResponse::Close,
        ScriptedStreamResponse::Reset(Reason::INTERNAL_ERROR),
        ScriptedStreamResponse::Reset(Reason::HTTP_1_1_REQUIRED),
    ] {
        let simulator = Simulator::start().await;
        let provider = Http2Provider::start(&[ScriptedStreamResponse::Answer, scripted]).await;
        let shape = CreateShape::ImageJson;
        let mut config = shape.config(&simulator, &json!({}));
        for channel in config["channels"].as_object_mut().unwrap().values_mut() {
            channel["base_url"] = provider.url().into();
            channel["http"] = "http2".into();
        }
        let gateway = crate::harness::Gateway::start(&config).await;
        // The connection is in the pool afterwards.
        gateway.ask(&shape.keyed("first")).await;
        assert_eq!(provider.seen(), 1);
        for _ in 0..2 {
            let response = gateway.ask(&shape.keyed("broken")).await;
            assert_eq!(response.status, 504, "{scripted:?}: {}", response.text());
            assert_eq!(error_code(&response), "outcome_unknown", "{scripted:?}");
        }
        assert_eq!(provider.seen(), 2, "{scripted:?}");
    }
}

fn replaced(bytes: &[u8], from: &[u8], to: &[u8]) -> Vec<u8> {
    let mut replaced = Vec::new();
    let mut rest = bytes;
    while let Some(at) = memchr::memmem::find(rest, from) {
        replaced.extend_from_slice(&rest[..at]);
        replaced.extend_from_slice(to);
        rest = &rest[at + from.len()..];
    }
    replaced.extend_from_slice(rest);
    replaced
}
