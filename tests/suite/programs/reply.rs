//! Tests of `reply`: errors in the format of each protocol, values, streams and redirects, with and without conditions.

use crate::harness::config::route;
use crate::harness::{PROTOCOLS, Request, TestSetup, body_of};
use headgate_protocol::Protocol;
use serde_json::{Value, json};

/// Inserts a step into the request chain of a route.
fn insert(config: &mut Value, name: &str, at: usize, step: Value) {
    let chain = route(config, name)["request"].as_array_mut().unwrap();
    chain.insert(at, step);
}

#[tokio::test]
async fn maintenance_has_the_format_of_the_protocol_and_asks_no_provider() {
    let world = TestSetup::with(|config| {
        for protocol in PROTOCOLS {
            let step = json!({
                "if": "request.headers[\"x-maintenance\"] == \"on\"",
                "reply": {
                    "status": 503,
                    "headers": {"retry-after": "120", "x-route": {"cel": "route"}},
                    "error": {"message": {"cel": "\"closed for \" + protocol"}, "code": "maintenance"},
                },
            });
            insert(config, protocol.name(), 0, step);
        }
    })
    .await;
    for protocol in PROTOCOLS {
        // Before `authenticate`, strangers get it, too.
        let request = Request::ask(protocol)
            .header("x-maintenance", "on")
            .key("sk-stranger");
        let response = world.ask(&request).await;
        assert_eq!(response.status, 503, "{}", response.text());
        assert_eq!(response.headers.get("retry-after"), Some("120"));
        assert_eq!(response.headers.get("x-route"), Some(protocol.name()));
        assert_eq!(
            response.headers.get("content-type"),
            Some("application/json")
        );
        let error = &response.json()["error"];
        assert_eq!(error["message"], format!("closed for {}", protocol.name()));
        match protocol {
            Protocol::Messages => {
                assert_eq!(error["type"], "overloaded_error");
                let id = response.headers.get("request-id").unwrap();
                assert_eq!(response.json()["request_id"], id);
            }
            _ => {
                assert_eq!(error["type"], "server_error");
                assert_eq!(error["code"], "maintenance");
            }
        }
        let line = world.gateway.log_of(&response).await;
        assert_eq!(line["status"], 503);
    }
    assert!(world.simulator.records().await.is_empty());
    for protocol in PROTOCOLS {
        assert_eq!(world.ask(&Request::ask(protocol)).await.status, 200);
    }
}

#[tokio::test]
async fn a_mock_replies_with_values_of_the_request() {
    let world = TestSetup::with(|config| {
        let end = route(config, "chat")["request"].as_array().unwrap().len();
        insert(
            config,
            "chat",
            end,
            json!({
                "if": "json(\"/user\") == \"test\" && json(\"/stream\") != true",
                "reply": {"json": {
                    "id": {"cel": "\"mock-\" + request.id"},
                    "model": {"cel": "model"},
                    "echo": {"cel": "json(\"/messages\")"},
                    "n": [1, {"cel": "request.size"}],
                }},
            }),
        );
        insert(
            config,
            "chat",
            end,
            json!({
                "if": "json(\"/user\") == \"test\" && json(\"/stream\") == true",
                "reply": {"events": [
                    {"data": {"choices": [{"delta": {"content": {"cel": "caller"}}}]}},
                    {"event": "note", "data": "two\nlines"},
                    {"data": "[DONE]"},
                ]},
            }),
        );
    })
    .await;
    let body = |stream: bool| {
        format!(
            "{{\"model\":\"demo-large\",\"messages\":[ {{\"role\":\"user\", \"content\":\"\\u00e9\"}}],\"user\":\"test\",\"stream\":{stream}}}"
        )
    };
    let response = world.ask(&Request::to(Protocol::Chat, body(false))).await;
    assert_eq!(response.status, 200, "{}", response.text());
    let id = response.headers.get("x-request-id").unwrap();
    let expected = format!(
        "{{\"echo\":[ {{\"role\":\"user\", \"content\":\"\\u00e9\"}}],\"id\":\"mock-{id}\",\"model\":\"demo-large\",\"n\":[1,{}]}}",
        body(false).len()
    );
    assert_eq!(response.text(), expected);
    let response = world.ask(&Request::to(Protocol::Chat, body(true))).await;
    assert_eq!(
        response.headers.get("content-type"),
        Some("text/event-stream")
    );
    assert_eq!(
        response.text(),
        "data: {\"choices\":[{\"delta\":{\"content\":\"ann\"}}]}\n\nevent: note\ndata: two\ndata: lines\n\ndata: [DONE]\n\n"
    );
    assert!(world.simulator.records().await.is_empty());
}

#[tokio::test]
async fn a_route_may_only_reply() {
    let world = TestSetup::with(|config| {
        let routes = config["routes"].as_array_mut().unwrap();
        for (name, pattern, reply) in [
            ("former", "GET /models", json!({"status": 308, "location": "/v1/models"})),
            ("search", "GET /search/{word}", json!({"location": {"cel": "\"https://find.example/?q=\" + request.params[\"word\"]"}})),
            ("notice", "GET /notice", json!({"body": {"cel": "\"Hello \" + caller"}, "content_type": "text/markdown"})),
            ("empty", "POST /empty", json!({"status": 204})),
        ] {
            routes.push(json!({"name": name, "match": pattern, "request": ["authenticate", {"reply": reply}]}));
        }
    })
    .await;
    let moved = world.ask(&Request::get("/models")).await;
    assert_eq!(
        (moved.status, moved.headers.get("location")),
        (308, Some("/v1/models"))
    );
    let search = world.ask(&Request::get("/search/cats")).await;
    assert_eq!(
        (search.status, search.headers.get("location")),
        (307, Some("https://find.example/?q=cats"))
    );
    let notice = world.ask(&Request::get("/notice")).await;
    assert_eq!(notice.headers.get("content-type"), Some("text/markdown"));
    assert_eq!((notice.status, notice.text().as_str()), (200, "Hello ann"));
    let empty = world.ask(&Request::post("/empty", "{}")).await;
    assert_eq!((empty.status, empty.body.len()), (204, 0));
    for path in ["/models", "/notice"] {
        let refused = world.ask(&Request::get(path).key("sk-stranger")).await;
        assert_eq!(refused.status, 401, "{path}");
    }
}

#[tokio::test]
async fn a_reply_that_cannot_be_computed_is_an_error_without_values() {
    let world = TestSetup::with(|config| {
        insert(
            config,
            "chat",
            0,
            json!({
                "if": "\"x-a\" in request.headers",
                "reply": {"headers": {"x-b": {"cel": "request.headers[\"x-a\"] + \"\\n\""}}},
            }),
        );
    })
    .await;
    let request = Request::ask(Protocol::Chat).header("x-a", "secret-text");
    let response = world.ask(&request).await;
    assert_eq!(response.status, 500, "{}", response.text());
    assert!(!response.text().contains("secret-text"));
    let line = world.gateway.log_of(&response).await;
    assert!(
        line["error_detail"]
            .as_str()
            .unwrap()
            .contains("header `x-b`"),
        "{line}"
    );
    assert!(!line.to_string().contains("secret-text"), "{line}");
}

#[tokio::test]
async fn a_client_is_not_redirected_where_no_client_should_go() {
    let world = TestSetup::with(|config| {
        for protocol in PROTOCOLS {
            let location = json!({"cel": "json(\"/user\")"});
            let step = json!({"if": "has(json(\"/user\"))", "reply": {"location": location}});
            insert(config, protocol.name(), 1, step);
        }
    })
    .await;
    for protocol in PROTOCOLS {
        let ask = |user: &str| {
            let mut body = body_of(protocol);
            body["user"] = user.into();
            Request::to(protocol, body.to_string())
        };
        let response = world.ask(&ask("https://find.example/secret-text")).await;
        assert_eq!(response.status, 307, "{}", response.text());
        for refused in [
            "",
            "javascript:alert('secret-text')",
            "/secret-text\r\nset-cookie: a=b",
            "/secret-text/ü",
        ] {
            let response = world.ask(&ask(refused)).await;
            assert_eq!(response.status, 500, "{refused:?}: {}", response.text());
            assert_eq!(response.headers.get("location"), None, "{refused:?}");
            assert_eq!(response.headers.get("set-cookie"), None, "{refused:?}");
            assert!(response.json()["error"].is_object(), "{refused:?}");
            let line = world.gateway.log_of(&response).await;
            let detail = line["error_detail"].as_str().unwrap();
            assert!(detail.contains("`reply`: `location` "), "{line}");
            let shown = format!("{}{line}", response.text());
            assert!(!shown.contains("secret-text"), "{shown}");
        }
    }
    assert!(world.simulator.records().await.is_empty());
}
