//! Tests of `edit_json`: the bytes that providers and callers receive.

use crate::harness::config::{self, route};
use crate::harness::http_response::typed_response;
use crate::harness::{
    Gateway, PROTOCOLS, Request, ScriptedProvider, Simulator, TestSetup, body_of,
};
use headgate_protocol::Protocol;
use serde_json::{Value, json};

/// Inserts a step into the request chain of a route, before the filter named `before`, or at its end.
fn insert(config: &mut Value, name: &str, before: &str, step: Value) {
    let chain = route(config, name)["request"].as_array_mut().unwrap();
    let at = chain.iter().position(|one| one == before);
    chain.insert(at.unwrap_or(chain.len()), step);
}

/// Appends a step to the response chain of a route.
fn append(config: &mut Value, name: &str, step: Value) {
    let chain = route(config, name)["response"].as_array_mut().unwrap();
    chain.push(step);
}

/// A gateway whose text routes have this step before `validate`.
async fn editing(step: &Value) -> TestSetup {
    TestSetup::with(|config| {
        for protocol in PROTOCOLS {
            insert(config, protocol.name(), "validate", step.clone());
        }
    })
    .await
}

/// What the provider received of a body.
async fn sent(world: &TestSetup, protocol: Protocol, body: impl Into<Vec<u8>>) -> String {
    let response = world.ask(&Request::to(protocol, body)).await;
    assert_eq!(response.status, 200, "{}", response.text());
    String::from_utf8(world.simulator.last_body().await).unwrap()
}

#[tokio::test]
async fn only_the_edited_bytes_of_a_request_change() {
    let step = json!({"edit_json": {
        "set": {"/metadata/team": {"cel": "caller"}, "/a~1b": [1, {"cel": "1 + 1"}]},
        "default": {"/user": "nobody", "/x_vendor/n": 1},
        "remove": ["/x_vendor/gone", "/x_vendor/list/1"],
        "rename": {"/x_vendor/old": "new"},
        "append": {"/stop_words": "END"},
    }});
    let world = editing(&step).await;
    let core = [
        (
            Protocol::Chat,
            "\"messages\":[ {\"role\":\"user\",\"content\":\"caf\\u00e9 \\/\"} ]",
        ),
        (
            Protocol::Messages,
            "\"max_tokens\" : 9,\"messages\":[{\"content\":\"\\u2028\",\"role\":\"user\"}]",
        ),
        (Protocol::Responses, "\"input\" :  \"\\n\""),
    ];
    for (protocol, core) in core {
        let vendor = |members: &str| format!("\"x_vendor\" : {{ {members} }}");
        let before = vendor(
            "\"n\":-0.0, \"gone\" : 1E400,\t\"old\" : 12345678901234567890123, \"list\":[1.0 , {\"a\":2}, 3]",
        );
        let after = vendor("\"n\":-0.0,\t\"new\" : 12345678901234567890123, \"list\":[1.0, 3]");
        let body = |model: &str, metadata: &str, vendor: &str, added: &str| {
            format!(
                " {{\r\n\"mod\\u0065l\" : \"{model}\", {core},{metadata}\n {vendor} ,\"z\":[ ]{added} }}\n"
            )
        };
        let asked = body("demo-large", "\"metadata\":null ,", &before, "");
        let expected = body(
            "sim-large-2026-08",
            "\"metadata\":{\"team\":\"ann\"} ,",
            &after,
            ",\"a/b\":[1,2],\"user\":\"nobody\",\"stop_words\":[\"END\"]",
        );
        // The simulated provider cannot read 1E400, but it does not receive it.
        assert_eq!(
            sent(&world, protocol, asked).await,
            expected,
            "{protocol:?}"
        );
    }
}

#[tokio::test]
async fn a_body_without_an_effective_edit_is_untouched() {
    let step = json!({"edit_json": {
        "default": {"/model": {"cel": "json(\"/model\") + 1"}},
        "remove": ["/nothing", "/model/x"],
        "rename": {"/nothing": "x"},
    }});
    // `model` may be edited before its channels are selected.
    let world = TestSetup::with(|config| {
        config["chains"]["body"] = json!(["require_json", "authenticate", step, "route_model"]);
    })
    .await;
    for protocol in PROTOCOLS {
        let body = format!("{:#} \r\n", body_of(protocol));
        let expected = body.replace("demo-large", "sim-large-2026-08");
        assert_eq!(sent(&world, protocol, body).await, expected);
    }
}

#[tokio::test]
async fn later_filters_read_the_edited_body() {
    let world = TestSetup::with(|config| {
        config["chains"]["body"] = json!([
            "require_json",
            "authenticate",
            {"edit_json": {"set": {"/model": {"cel": "json(\"/model\") == \"alias\" ? \"demo-large\" : json(\"/model\")"}}}},
            "route_model",
            {"edit_json": {"set": {"/stream": {"cel": "request.headers[\"x-stream\"] == \"yes\""}}}},
            {"if": "json(\"/stream\") == true", "edit_json": {"set": {"/user": "streaming"}}},
        ]);
        insert(config, "chat", "validate", json!("force_usage"));
    })
    .await;
    let mut body = body_of(Protocol::Chat);
    body["model"] = json!("alias");
    let request = Request::to(Protocol::Chat, body.to_string());
    let whole = world.ask(&request).await;
    assert_eq!(whole.status, 200, "{}", whole.text());
    assert_eq!(whole.headers.get("content-type"), Some("application/json"));
    let received: Value = serde_json::from_slice(&world.simulator.last_body().await).unwrap();
    assert_eq!(received["model"], "sim-large-2026-08");
    assert_eq!(received["stream"], false);
    assert_eq!(received["user"], Value::Null);
    let streamed = world.ask(&request.header("x-stream", "yes")).await;
    assert_eq!(streamed.status, 200);
    assert!(
        streamed
            .headers
            .get("content-type")
            .unwrap()
            .starts_with("text/event-stream")
    );
    // The usage chunk was not requested by the caller.
    assert!(
        !streamed.text().contains("\"usage\":{"),
        "{}",
        streamed.text()
    );
    let received: Value = serde_json::from_slice(&world.simulator.last_body().await).unwrap();
    assert_eq!(received["stream_options"]["include_usage"], true);
    assert_eq!(received["user"], "streaming");
    let line = world.gateway.log_of(&streamed).await;
    assert!(line["total_tokens"].as_u64().unwrap() > 0, "{line}");
}

#[tokio::test]
async fn edits_compose_with_each_other_and_with_other_filters() {
    let world = TestSetup::with(|config| {
        let chain = json!([
            "require_version",
            {"use": "body"},
            "normalise",
            {"edit_json": {"set": {"/tool_choice/disable_parallel_tool_use": true}}},
            {"edit_json": {"rename": {"/metadata": "x_meta"}, "set": {"/x_meta/a": 1}}},
            {"edit_json": {"prepend": {"/messages": {"role": "user", "content": "first"}}}},
            "validate",
        ]);
        route(config, "messages")["request"] = chain;
    })
    .await;
    let body = r#"{"model":"demo-large","max_tokens":9,"metadata":{"user_id":"u"},"tools":[{"name":"t","input_schema":{"type":"object"}}],"tool_choice":"any","messages":[ {"role":"user","content":"Hi"}]}"#;
    let expected = r#"{"model":"sim-large-2026-08","max_tokens":9,"x_meta":{"user_id":"u","a":1},"tools":[{"name":"t","input_schema":{"type":"object"}}],"tool_choice":{"type":"any","disable_parallel_tool_use":true},"messages":[{"content":"first","role":"user"}, {"role":"user","content":"Hi"}]}"#;
    assert_eq!(sent(&world, Protocol::Messages, body).await, expected);
}

#[tokio::test]
async fn an_edit_by_attempt_is_of_its_channel() {
    let world = TestSetup::between(|config, simulator| {
        let mut broken = config["channels"]["openai"].clone();
        broken["base_url"] = simulator.url_obeying("status=503").into();
        config["channels"]["broken"] = broken;
        config["channels"]["openai"]["tier"] = json!(1);
        config::without_cool_downs(config);
        let edit = json!({"edit_json": {
            "set": {"/metadata/channel": {"cel": "channel + \" \" + channel_model"}},
            "append": {"/x_attempts": {"cel": "attempt"}},
        }});
        insert(config, "chat", "", edit);
        let step = json!({"if": "channel == \"openai\"", "edit_json": {"remove": ["/user"]}});
        insert(config, "chat", "", step);
    })
    .await;
    let mut body = body_of(Protocol::Chat);
    body["user"] = json!("u");
    let response = world
        .ask(&Request::to(Protocol::Chat, body.to_string()))
        .await;
    assert_eq!(response.status, 200, "{}", response.text());
    let mut received = Vec::new();
    for record in world.simulator.records().await {
        let body = world.simulator.body(&record["n"]).await;
        received.push(serde_json::from_slice::<Value>(&body).unwrap());
    }
    let [first, .., last] = received.as_slice() else {
        panic!("{received:?}");
    };
    assert_eq!(
        first["metadata"],
        json!({"channel": "broken sim-large-2026-08"})
    );
    assert_eq!(first["x_attempts"], json!([1]));
    assert_eq!(first["user"], "u");
    let attempts = received.len();
    assert_eq!(
        last["metadata"],
        json!({"channel": "openai sim-large-2026-08"})
    );
    assert_eq!(last["x_attempts"], json!([attempts]));
    assert_eq!(last["user"], Value::Null);
    assert_eq!(last["model"], "sim-large-2026-08");
}

#[tokio::test]
async fn only_the_edited_bytes_of_a_response_change() {
    let body = "{ \"id\":\"x\",\r\n\"choices\":[ {\"n\":1.0 , \"message\":{\"content\":\"caf\\u00e9\"}} ],\"big\":12345678901234567890,\
                \"usage\":{\"prompt_tokens\":3,\"completion_tokens\":4,\"total_tokens\":7}}\n";
    let expected = body
        .replace("\"id\":\"x\",\r\n", "")
        .replace("}}\n", ",\"caller\":\"ann\"},\"left\":[93]}\n");
    for (body, content_type, status, expected) in [
        (body, "application/json", 200, expected.as_str()),
        // Not strict JSON.
        (
            "{\"id\":1,\"id\":2}",
            "application/json",
            200,
            "{\"id\":1,\"id\":2}",
        ),
        (
            "{\"id\":1,\"usage\":7}",
            "application/json",
            200,
            "{\"usage\":7,\"left\":[93]}",
        ),
        (
            "{\"id\":1,\"error\":{\"message\":\"m\"}}",
            "application/json",
            400,
            "{\"error\":{\"message\":\"m\"},\"usage\":{\"caller\":\"ann\"},\"left\":[93]}",
        ),
    ] {
        let response = typed_response(status, content_type, body);
        let provider = ScriptedProvider::answering(response).await;
        let mut config = config::standard(&provider.url());
        append(
            &mut config,
            "chat",
            json!({"edit_json": {
                "remove": ["/id"],
                "set": {"/usage/caller": {"cel": "caller"}},
                "append": {"/left": {"cel": "response_json(\"/usage/total_tokens\") == 7 ? 100 - 7 : 93"}},
            }}),
        );
        let gateway = Gateway::start(&config).await;
        let response = gateway.ask(&Request::ask(Protocol::Chat)).await;
        assert_eq!(response.status, status, "{}", response.text());
        assert_eq!(response.text(), expected);
        let length = response.body.len().to_string();
        assert_eq!(
            response.headers.get("content-length"),
            Some(length.as_str())
        );
    }
}

#[tokio::test]
async fn a_reload_changes_the_edit() {
    let simulator = Simulator::start().await;
    let mut config = config::standard(&simulator.url());
    insert(
        &mut config,
        "chat",
        "",
        json!({"edit_json": {"set": {"/user": "one"}}}),
    );
    let gateway = Gateway::start(&config).await;
    for user in ["one", "two"] {
        *route(&mut config, "chat")["request"]
            .as_array_mut()
            .unwrap()
            .last_mut()
            .unwrap() = json!({"edit_json": {"set": {"/user": user}}});
        gateway.reload(&config).await;
        assert_eq!(gateway.ask(&Request::ask(Protocol::Chat)).await.status, 200);
        let received: Value = serde_json::from_slice(&simulator.last_body().await).unwrap();
        assert_eq!(received["user"], user);
    }
}
