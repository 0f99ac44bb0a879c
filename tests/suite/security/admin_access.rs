//! Tests of who may use the admin pages: host names, origins, keys, roles, and what is refused.

use crate::harness::admin::{audit_lines, gateway, response, status};
use crate::harness::config::admin_keys;
use crate::harness::request::{ANN, OPERATOR, VIEWER};
use crate::harness::{Connection, Request};
use serde_json::json;

#[tokio::test]
async fn without_keys_loopback_reads_everything_and_reloads_and_nothing_else_acts() {
    let gateway = gateway(json!({})).await;
    for (method, path, expected) in [
        ("GET", "/metrics", 200),
        ("GET", "/config", 200),
        ("GET", "/channels", 200),
        ("GET", "/callbacks", 200),
        ("POST", "/reload", 200),
        ("POST", "/callbacks/redrive?all=true", 403),
        ("POST", "/channels/drain?channel=openai", 403),
        ("POST", "/channels/undrain?channel=openai", 403),
        ("POST", "/channels/reset?channel=openai", 403),
        ("POST", "/login", 409),
    ] {
        // A key is not read, since there is none that it could equal.
        for key in [None, Some(OPERATOR)] {
            let with_key = |request: Request| match key {
                Some(key) => request.key(key),
                None => request,
            };
            let received = response(&gateway, method, path, with_key).await;
            assert_eq!(received.status, expected, "{path}: {}", received.text());
            if expected == 403 {
                let text = received.text();
                assert!(text.contains("`server.admin_keys`"), "{text}");
            }
        }
    }
}

#[tokio::test]
async fn a_request_under_the_name_of_another_host_is_misdirected() {
    let gateway = gateway(json!({"admin_hosts": ["Gate.Internal", "10.1.2.3"]})).await;
    let port = gateway.admin.port();
    let own = [
        format!("127.0.0.1:{port}"),
        format!("localhost:{port}"),
        format!("[::1]:{port}"),
        "LOCALHOST".into(),
        // Behind `ssh -L 9999:127.0.0.1:9091`.
        "localhost:9999".into(),
        format!("gate.internal:{port}"),
        "GATE.internal.".into(),
        "10.1.2.3:9091".into(),
    ];
    let foreign = [
        "evil.test".into(),
        format!("evil.test:{port}"),
        format!("127.0.0.1.evil.test:{port}"),
        format!("localhost.evil.test:{port}"),
        "10.1.2.4".into(),
        "gate.internal.evil.test".into(),
    ];
    let named =
        |host: String| move |request: Request| request.without("host").header("Host", &host);
    for host in own {
        let received = status(&gateway, "GET", "/config", named(host.clone())).await;
        assert_eq!(received, 200, "{host}");
    }
    for host in foreign {
        for (method, path) in [
            ("GET", "/config"),
            ("GET", "/metrics"),
            ("POST", "/reload"),
            ("GET", "/nothing"),
        ] {
            let received = response(&gateway, method, path, named(host.clone())).await;
            assert_eq!(received.status, 421, "{host}: {}", received.text());
            assert!(
                received.text().contains("`server.admin_hosts`"),
                "{}",
                received.text()
            );
        }
        // They contain nothing, and probes send the address of a pod.
        for path in ["/healthz", "/readyz"] {
            let received = status(&gateway, "GET", path, named(host.clone())).await;
            assert_eq!(received, 200, "{host} {path}");
        }
    }
    for hosts in [
        &[][..],
        &[""],
        &["evil.test@127.0.0.1"],
        &["127.0.0.1, evil.test"],
        &["127.0.0.1", "evil.test"],
        &["evil.test", "127.0.0.1"],
    ] {
        let request = gateway.admin_request("GET", "/config").without("host");
        let with = |request: Request, host: &&str| request.header("Host", host);
        let request = hosts.iter().fold(request, with);
        let mut connection = Connection::to(gateway.admin).await;
        connection.send(&request.bytes()).await.unwrap();
        // Some of them are no HTTP, so that the connection is closed.
        if let Some(received) = connection.answer().await {
            assert!([400, 421].contains(&received.status), "{hosts:?}");
        }
    }
}

#[tokio::test]
async fn with_keys_any_address_may_be_the_host_and_other_names_may_not() {
    let gateway = gateway(json!({"admin_keys": admin_keys()})).await;
    for (host, expected) in [
        ("10.9.8.7:9091", 200),
        ("[fd00::1]:9091", 200),
        ("gate.internal", 421),
    ] {
        let change = |request: Request| request.key(VIEWER).without("host").header("Host", host);
        let received = status(&gateway, "GET", "/config", change).await;
        assert_eq!(received, expected, "{host}");
    }
}

#[tokio::test]
async fn a_web_page_of_another_origin_is_refused_with_and_without_a_key() {
    let gateway = gateway(json!({"admin_keys": admin_keys()})).await;
    let own = format!("http://{}", gateway.admin);
    let port = gateway.admin.port();
    let cases = [
        (vec![("Origin", own.clone())], 200),
        (
            vec![
                ("Origin", own.clone()),
                ("Sec-Fetch-Site", "same-origin".into()),
            ],
            200,
        ),
        (vec![("Sec-Fetch-Site", "none".into())], 200),
        (vec![("Origin", "https://evil.test".into())], 403),
        (vec![("Origin", "null".into())], 403),
        (vec![("Origin", String::new())], 403),
        (vec![("Origin", format!("http://localhost:{port}"))], 403),
        (vec![("Origin", "http://127.0.0.1:1".into())], 403),
        (
            vec![
                ("Origin", own.clone()),
                ("Origin", "https://evil.test".into()),
            ],
            403,
        ),
        (vec![("Sec-Fetch-Site", "cross-site".into())], 403),
        (vec![("Sec-Fetch-Site", "same-site".into())], 403),
    ];
    for (headers, expected) in &cases {
        for (method, path) in [("POST", "/reload"), ("GET", "/config")] {
            let change = |request: Request| {
                let with =
                    |request: Request, (name, value): &(&str, String)| request.header(name, value);
                headers.iter().fold(request.key(OPERATOR), with)
            };
            let received = response(&gateway, method, path, change).await;
            assert_eq!(
                received.status,
                *expected,
                "{path} {headers:?}: {}",
                received.text()
            );
            assert_eq!(received.headers.get("access-control-allow-origin"), None);
        }
    }
    // A link on another page leads here, and cannot act.
    let link = |request: Request| {
        let request = request.key(VIEWER).header("Sec-Fetch-Site", "cross-site");
        request.header("Sec-Fetch-Mode", "navigate")
    };
    assert_eq!(status(&gateway, "GET", "/config", link).await, 200);
    assert_eq!(status(&gateway, "POST", "/reload", link).await, 403);
}

#[tokio::test]
async fn with_keys_each_page_requires_one_that_has_its_role() {
    let gateway = gateway(json!({"admin_keys": admin_keys()})).await;
    let keys = [
        None,
        Some("sk-wrong"),
        Some(ANN),
        Some(VIEWER),
        Some(OPERATOR),
    ];
    for (method, path, expected) in [
        ("GET", "/healthz", [200; 5]),
        ("GET", "/readyz", [200; 5]),
        ("GET", "/metrics", [401, 401, 401, 200, 200]),
        ("GET", "/config", [401, 401, 401, 200, 200]),
        ("POST", "/reload", [401, 401, 401, 403, 200]),
        (
            "POST",
            "/callbacks/redrive?id=evt_x",
            [401, 401, 401, 403, 404],
        ),
    ] {
        for (key, expected) in keys.into_iter().zip(expected) {
            let change = |request: Request| match key {
                Some(key) => request.key(key),
                None => request,
            };
            let received = response(&gateway, method, path, change).await;
            let text = received.text();
            assert_eq!(received.status, expected, "{path} {key:?}: {text}");
            let words = match received.status {
                401 if key.is_none() => "no admin key provided; send `Authorization: Bearer <key>`",
                401 => "incorrect admin key",
                403 => "this key has the role `read`",
                _ => "",
            };
            assert!(text.contains(words), "{text}");
            let asks = received.headers.get("www-authenticate");
            assert_eq!(asks.is_some(), received.status == 401, "{asks:?}");
            assert_eq!(received.headers.get("x-frame-options"), Some("DENY"));
        }
    }
    for authorization in ["Basic c2stYW5u", OPERATOR, "Bearer", "Bearer "] {
        let change = |request: Request| request.header("Authorization", authorization);
        let received = status(&gateway, "GET", "/config", change).await;
        assert_eq!(received, 401, "{authorization}");
    }
    for line in gateway.process.stderr.all() {
        for secret in [OPERATOR, VIEWER, ANN, "sk-wrong", "c2stYW5u"] {
            assert!(!line.contains(secret), "{line}");
        }
    }
}

#[tokio::test]
async fn a_key_in_the_url_is_refused_and_appears_in_no_log() {
    let gateway = gateway(json!({"admin_keys": admin_keys()})).await;
    let queries = [
        format!("?key={OPERATOR}"),
        format!("?x=;key={OPERATOR}"),
        "?x=;key=unknown".into(),
        format!("?x=1;y={OPERATOR}"),
        format!("?x=1%26key%3D{OPERATOR}"),
        format!("?x=a={OPERATOR}"),
        format!("?x=1%3By%3D{OPERATOR}"),
        format!(";key={OPERATOR}"),
        format!("/{OPERATOR}"),
        format!("?token={OPERATOR}"),
        format!("?api_key={OPERATOR}"),
        format!("?id=evt_x&access_token={OPERATOR}"),
        format!("?%6bey={OPERATOR}"),
        format!("?q={OPERATOR}"),
    ];
    for query in &queries {
        for (method, path) in [
            ("GET", "/metrics"),
            ("GET", "/healthz"),
            ("POST", "/reload"),
            ("POST", "/login"),
        ] {
            let path = format!("{path}{query}");
            let change = |request: Request| request.key(OPERATOR);
            let received = response(&gateway, method, &path, change).await;
            assert_eq!(received.status, 400, "{path}: {}", received.text());
            let text = received.text();
            assert!(text.contains("`Authorization: Bearer <key>`"), "{text}");
            assert!(!text.contains(OPERATOR), "{text}");
        }
    }
    assert_eq!(gateway.page("POST", "/reload").await.status, 200);
    audit_lines(&gateway, 1).await;
    for line in gateway.process.stderr.all() {
        assert!(!line.contains(OPERATOR), "{line}");
    }
}
