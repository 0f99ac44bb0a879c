//! Attacks on the admin pages that make callers: roles, origins, bodies, names.

use crate::harness::issuance::{ALL_KEYS, ISSUER, ask, chat, config, make, request};
use crate::harness::request::ANN;
use crate::harness::{Gateway, Simulator};
use serde_json::{Value, json};

#[tokio::test]
async fn only_the_role_issue_changes_callers_and_it_does_nothing_else() {
    let simulator = Simulator::start().await;
    let gateway = Gateway::start(&config(&simulator.url(), "memory", "a")).await;
    make(&gateway, "carl").await;
    for (method, path, body, expected) in [
        ("GET", "/callers", Value::Null, [401, 401, 200, 200, 200]),
        (
            "GET",
            "/callers/carl",
            Value::Null,
            [401, 401, 200, 200, 200],
        ),
        (
            "POST",
            "/callers",
            json!({"name": "dora", "models": []}),
            [401, 401, 403, 403, 201],
        ),
        (
            "PATCH",
            "/callers/carl",
            json!({"models": ["x"]}),
            [401, 401, 403, 403, 200],
        ),
        (
            "DELETE",
            "/callers/carl",
            Value::Null,
            [401, 401, 403, 403, 200],
        ),
        ("GET", "/config", Value::Null, [401, 401, 200, 200, 200]),
        ("POST", "/reload", Value::Null, [401, 401, 403, 200, 403]),
        (
            "POST",
            "/channels/drain?channel=openai",
            Value::Null,
            [401, 401, 403, 200, 403],
        ),
    ] {
        for (key, expected) in ALL_KEYS.into_iter().zip(expected) {
            let request = request(&gateway, method, path, &body).without("authorization");
            let request = match key {
                Some(key) => request.key(key),
                None => request,
            };
            let received = gateway.ask_admin(&request).await;
            assert_eq!(
                received.status,
                expected,
                "{method} {path} {key:?}: {}",
                received.text()
            );
            if received.status == 403 {
                let role = if path.starts_with("/callers") {
                    "issue"
                } else {
                    "act"
                };
                let words = format!("use a key with the role `{role}`");
                assert!(received.text().contains(&words), "{}", received.text());
            }
        }
    }
}

#[tokio::test]
async fn without_admin_keys_nobody_makes_callers() {
    let simulator = Simulator::start().await;
    let mut config = config(&simulator.url(), "memory", "a");
    config["server"]
        .as_object_mut()
        .unwrap()
        .remove("admin_keys");
    let gateway = Gateway::start(&config).await;
    let body = json!({"name": "carl", "models": ["*"]});
    let received = ask(&gateway, "POST", "/callers", body).await;
    assert_eq!(received.status, 403, "{}", received.text());
    assert!(
        received.text().contains("`server.admin_keys`"),
        "{}",
        received.text()
    );
}

#[tokio::test]
async fn a_request_that_a_web_page_or_another_host_could_make_changes_nothing() {
    let simulator = Simulator::start().await;
    let gateway = Gateway::start(&config(&simulator.url(), "memory", "a")).await;
    let body = json!({"name": "carl", "models": ["*"]});
    let own = request(&gateway, "POST", "/callers", &body);
    for (request, expected) in [
        (own.clone().header("Origin", "https://evil.test"), 403),
        (own.clone().header("Origin", "null"), 403),
        (own.clone().header("Sec-Fetch-Site", "cross-site"), 403),
        (own.clone().without("host").header("Host", "evil.test"), 421),
        (own.clone().without("content-type"), 400),
        (
            own.clone()
                .without("content-type")
                .header("Content-Type", "text/plain"),
            400,
        ),
        (
            own.clone()
                .without("content-type")
                .header("Content-Type", "application/x-www-form-urlencoded"),
            400,
        ),
        (
            own.clone()
                .header("Authorization", &format!("Bearer {ISSUER}")),
            401,
        ),
        (
            own.clone()
                .without("authorization")
                .header("Authorization", ISSUER),
            401,
        ),
    ] {
        let received = gateway.ask_admin(&request).await;
        assert_eq!(
            received.status,
            expected,
            "{:?}: {}",
            request.headers,
            received.text()
        );
    }
    let listed = ask(&gateway, "GET", "/callers", Value::Null).await;
    assert_eq!(listed.json(), json!({"callers": [], "next": null}));
}

#[tokio::test]
async fn a_body_that_is_no_caller_is_refused_with_the_places_of_its_errors() {
    let simulator = Simulator::start().await;
    let gateway = Gateway::start(&config(&simulator.url(), "memory", "a")).await;
    make(&gateway, "dora").await;
    let caller = |members: Value| {
        let mut body = json!({"name": "carl", "models": ["*"]});
        body.as_object_mut()
            .unwrap()
            .extend(members.as_object().unwrap().clone());
        body.to_string()
    };
    let deep = format!(
        "{{\"name\":\"carl\",\"models\":{}{}}}",
        "[".repeat(60_000),
        "]".repeat(100)
    );
    for (body, expected) in [
        (caller(json!({"modells": []})), "/modells"),
        (caller(json!({"models": "chat"})), "/models"),
        (caller(json!({"group": "nobody"})), "/group"),
        (
            caller(json!({"limits": {"requests_per_minute": -1}})),
            "/limits/requests_per_minute",
        ),
        (caller(json!({"key_sha256": "0".repeat(64)})), "/key_sha256"),
        (caller(json!({"keys": []})), ""),
        (
            caller(json!({"keys": [{"label": "a"}, {"label": "a"}]})),
            "/keys/1/label",
        ),
        (caller(json!({"keys": [{"label": "a b"}]})), "/keys/0/label"),
        (
            caller(json!({"keys": [{"label": "a", "not_after": "soon"}]})),
            "/keys/0/not_after",
        ),
        (
            caller(json!({"keys": [{"label": "a", "networks": ["x"]}]})),
            "/keys/0/networks/0",
        ),
        (
            caller(json!({"keys": [{"label": "a", "routes": ["none"]}]})),
            "/keys/0/routes/0",
        ),
        (
            caller(json!({"webhook_secrets": [{"file": "/etc/hostname"}]})),
            "/webhook_secrets/0",
        ),
        (
            caller(json!({"webhook_secrets": ["${HOME}"]})),
            "/webhook_secrets/0",
        ),
        (
            caller(json!({"limits": {"cost_per_day": 0.0000000001}})),
            "/limits/cost_per_day",
        ),
        (
            caller(json!({"limits": {"runs": {"cost": 9.1234567891}}})),
            "/limits/runs/cost",
        ),
        (
            caller(json!({"keys": [{"label": "a", "budget": {"cost_total": 1.0000000001}}]})),
            "/keys/0/budget/cost_total",
        ),
        (
            caller(json!({"keys": [{"label": "a", "certificate": "dns:a.example"}]})),
            "/keys/0/certificate",
        ),
        (
            caller(json!({"webhook_url": "http://x.test/"})),
            "/webhook_url",
        ),
    ] {
        let request = request(&gateway, "POST", "/callers", &json!({}));
        let received = gateway
            .ask_admin(&request.with_body(body.clone().into_bytes()))
            .await;
        let page = received.json();
        assert_eq!(received.status, 400, "{body}: {page}");
        let problems = page["problems"].as_array().unwrap();
        let pointers: Vec<&str> = problems
            .iter()
            .map(|one| one["pointer"].as_str().unwrap())
            .collect();
        assert!(pointers.contains(&expected), "{body}: {page}");
        assert!(!received.text().contains("/root"), "{}", received.text());
        assert!(!received.text().contains("`- `"), "{}", received.text());
    }
    for (body, expected) in [
        (String::new(), 400),
        ("[]".into(), 400),
        (r#"{"name":"carl","name":"ann","models":["*"]}"#.into(), 400),
        (
            r#"{"name":"carl","models":["*"],"models":["a"]}"#.into(),
            400,
        ),
        (deep, 400),
        (caller(json!({"models": ["a".repeat(70_000)]})), 413),
    ] {
        let request = request(&gateway, "POST", "/callers", &json!({}));
        let received = gateway
            .ask_admin(&request.with_body(body.clone().into_bytes()))
            .await;
        assert_eq!(received.status, expected, "{body:.80}: {}", received.text());
    }
    let listed = ask(&gateway, "GET", "/callers", Value::Null).await;
    assert_eq!(listed.json()["callers"].as_array().unwrap().len(), 1);
    // What routes.yaml only warns of is no error here, either.
    let limits =
        json!({"requests_per_minute": 1e1, "models": {"none": {"requests_per_minute": 1.0}}});
    let body = json!({"name": "emma", "models": ["nomodel"], "limits": limits});
    let made = ask(&gateway, "POST", "/callers", body).await;
    assert_eq!(made.status, 201, "{}", made.text());
    let pointer = &made.json()["warnings"][0]["pointer"];
    assert_eq!(pointer, "/limits/models/none");
    let pointer = &made.json()["warnings"][1]["pointer"];
    assert_eq!(pointer, "/models/0");
}

#[tokio::test]
async fn a_name_that_is_taken_or_could_mislead_is_refused() {
    let simulator = Simulator::start().await;
    let gateway = Gateway::start(&config(&simulator.url(), "memory", "a")).await;
    make(&gateway, "carl").await;
    let long = "a".repeat(10_000);
    for (name, expected) in [
        ("ann", 409),
        ("bob", 409),
        ("carl", 409),
        ("Ann", 201),
        ("../ann", 400),
        ("a%2fb", 400),
        ("issuer:ann", 400),
        ("group:team", 400),
        ("key:a/b", 400),
        ("callers:", 400),
        ("", 400),
        (".", 400),
        ("an\u{0430}", 400),
        ("ann\u{200b}", 400),
        ("ann\u{0}", 400),
        ("carl~2", 400),
        (&long, 400),
    ] {
        let body = json!({"name": name, "models": ["*"]});
        let received = ask(&gateway, "POST", "/callers", body).await;
        assert_eq!(received.status, expected, "{name:.40}: {}", received.text());
        if ["ann", "bob"].contains(&name) {
            assert!(
                received.text().contains("stands in routes.yaml"),
                "{}",
                received.text()
            );
        }
    }
    for path in ["/callers/ann", "/callers/bob", "/callers/%61nn"] {
        for (method, body) in [("PATCH", json!({"models": []})), ("DELETE", Value::Null)] {
            let received = ask(&gateway, method, path, body).await;
            assert_eq!(received.status, 409, "{method} {path}: {}", received.text());
        }
        let shown = ask(&gateway, "GET", path, Value::Null).await;
        assert_eq!(shown.status, 404, "{path}: {}", shown.text());
    }
    for path in [
        "/callers/..%2fann",
        "/callers/ann%00",
        "/callers/%ff",
        "/callers/",
        "/callers/.",
        "/callers/..",
        "/callers/carl/x",
        "/callers/carl/../ann",
        "/callers/nobody",
        "/callers//ann",
        "/callers/issuer:ann",
    ] {
        for (method, body) in [("PATCH", json!({"models": []})), ("DELETE", Value::Null)] {
            let received = ask(&gateway, method, path, body).await;
            let is_refused = [400, 404, 405].contains(&received.status);
            assert!(
                is_refused,
                "{method} {path}: {} {}",
                received.status,
                received.text()
            );
        }
    }
    let shown = ask(&gateway, "GET", "/callers/carl", Value::Null).await;
    assert_eq!(shown.json()["models"], json!(["*"]));
    let long = format!("/callers/{long}");
    assert_eq!(
        ask(&gateway, "DELETE", &long, Value::Null).await.status,
        404
    );
    assert_eq!(chat(&gateway, ANN).await, 200);
}
