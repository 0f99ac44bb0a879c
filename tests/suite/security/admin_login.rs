//! Tests of log in with a browser, and of the TLS of the admin listener.

use crate::harness::admin::PROVIDER;
use crate::harness::certificates::Authority;
use crate::harness::config::{admin_keys, standard};
use crate::harness::connection::Connection;
use crate::harness::gateway::folder_with_schemas;
use crate::harness::request::{OPERATOR, VIEWER};
use crate::harness::{Gateway, Request, WholeResponse};
use serde_json::{Value, json};

async fn gateway_with_keys() -> Gateway {
    let mut config = standard(PROVIDER);
    config["server"]["admin_keys"] = admin_keys();
    Gateway::start(&config).await
}

fn login(gateway: &Gateway, key: &str) -> Request {
    let request = gateway.admin_request("POST", "/login");
    let request = request.header("Content-Type", "application/json");
    request.with_body(json!({"key": key}).to_string().into())
}

/// The cookie of a response as a browser sends it.
fn cookie(response: &WholeResponse) -> String {
    let set = response.headers.get("set-cookie").unwrap();
    set.split(';').next().unwrap().to_owned()
}

async fn status(gateway: &Gateway, method: &str, path: &str, cookie: &str) -> u16 {
    let request = gateway.admin_request(method, path).header("Cookie", cookie);
    gateway.ask_admin(&request).await.status
}

#[tokio::test]
async fn a_browser_logs_in_once_and_its_cookie_has_the_role_of_the_key() {
    let gateway = gateway_with_keys().await;
    for (key, name, role, reload) in [
        (VIEWER, "viewer", "read", 403),
        (OPERATOR, "operator", "act", 200),
    ] {
        let received = gateway.ask_admin(&login(&gateway, key)).await;
        assert_eq!(received.status, 200, "{}", received.text());
        assert_eq!(received.json(), json!({"key": name, "role": role}));
        let set = received.headers.get("set-cookie").unwrap();
        let port = gateway.admin.port();
        assert!(set.starts_with(&format!("headgate_admin_{port}=")), "{set}");
        assert!(
            set.ends_with("; Max-Age=43200; Path=/; HttpOnly; SameSite=Strict"),
            "{set}"
        );
        assert!(!set.contains(key), "{set}");
        let cookie = cookie(&received);
        let others = format!("a=b; {cookie}; c=d");
        for cookie in [&cookie, &others] {
            assert_eq!(status(&gateway, "GET", "/config", cookie).await, 200);
            assert_eq!(status(&gateway, "POST", "/reload", cookie).await, reload);
        }
        let who = gateway
            .admin_request("GET", "/session")
            .header("Cookie", &cookie);
        let who = gateway.ask_admin(&who).await.json();
        let expected =
            json!({"key": name, "role": role, "needs_key": true, "may_reload": role == "act"});
        assert_eq!(who, expected);
    }
    let form = gateway.admin_request("POST", "/login");
    let form = form.header("Content-Type", "application/x-www-form-urlencoded");
    let form = form.with_body(format!("key={OPERATOR}").into());
    let received = gateway.ask_admin(&form).await;
    assert_eq!(
        (received.status, received.headers.get("location")),
        (303, Some("/"))
    );
    assert_eq!(
        status(&gateway, "GET", "/config", &cookie(&received)).await,
        200
    );
}

#[tokio::test]
async fn forged_and_closed_sessions_and_those_of_removed_keys_are_refused() {
    let gateway = gateway_with_keys().await;
    let operator = cookie(&gateway.ask_admin(&login(&gateway, OPERATOR)).await);
    let viewer = cookie(&gateway.ask_admin(&login(&gateway, VIEWER)).await);
    let (name, id) = operator.split_once('=').unwrap();
    for forged in [
        format!("{name}="),
        format!("{name}={}", "A".repeat(id.len())),
        format!("{name}={}", &id[1..]),
        format!("{name}={id}A"),
        format!("{name}={OPERATOR}"),
        format!("headgate_admin={id}"),
        format!("x{name}={id}"),
    ] {
        assert_eq!(
            status(&gateway, "GET", "/config", &forged).await,
            401,
            "{forged}"
        );
    }
    let wrong = gateway.ask_admin(&login(&gateway, "sk-wrong")).await;
    assert_eq!((wrong.status, wrong.headers.get("set-cookie")), (401, None));
    let foreign = login(&gateway, OPERATOR).header("Origin", "https://evil.test");
    assert_eq!(gateway.ask_admin(&foreign).await.status, 403);

    let logout = gateway
        .admin_request("POST", "/logout")
        .header("Cookie", &operator);
    let logout = gateway.ask_admin(&logout).await;
    assert_eq!(logout.status, 200);
    assert!(
        logout
            .headers
            .get("set-cookie")
            .unwrap()
            .contains("Max-Age=0")
    );
    assert_eq!(status(&gateway, "GET", "/config", &operator).await, 401);
    assert_eq!(status(&gateway, "GET", "/config", &viewer).await, 200);

    let mut config: Value = serde_json::from_str(&gateway.config()).unwrap();
    config["server"]["admin_keys"] = json!([admin_keys()[0]]);
    gateway.reload(&config).await;
    assert_eq!(status(&gateway, "GET", "/config", &viewer).await, 401);
    for line in gateway.process.stderr.all() {
        for secret in [id, OPERATOR, VIEWER, "sk-wrong"] {
            assert!(!line.contains(secret), "{line}");
        }
    }
}

#[tokio::test]
async fn the_body_of_a_log_in_must_have_the_key() {
    let gateway = gateway_with_keys().await;
    for body in ["", "{}", "[]", r#"{"key": null}"#, "key=x"] {
        let request = gateway
            .admin_request("POST", "/login")
            .with_body(body.into());
        let received = gateway.ask_admin(&request).await;
        assert_eq!(received.status, 400, "{body}");
        assert!(received.text().contains("expected the key in the body"));
    }
    let large = gateway
        .admin_request("POST", "/login")
        .with_body(vec![b'x'; 100_000]);
    assert_eq!(gateway.ask_admin(&large).await.status, 413);
}

#[tokio::test]
async fn the_admin_listener_has_tls_if_there_are_files_for_it() {
    let (folder, authority) = (folder_with_schemas(), Authority::new());
    let mut config = standard(PROVIDER);
    config["server"]["admin_keys"] = admin_keys();
    config["server"]["admin_tls"] = authority.server().write(&folder, "admin");
    let gateway = Gateway::start_in(folder, &config.to_string()).await;
    let own = format!("https://{}", gateway.admin);
    for (origin, expected) in [(own.clone(), 200), (own.replace("https", "http"), 403)] {
        let stream = authority.connect(gateway.admin, &[], None).await;
        let mut connection = Connection::over(stream.unwrap());
        let request = login(&gateway, OPERATOR).header("Origin", &origin);
        let received = connection.ask(&request).await;
        assert_eq!(received.status, expected, "{origin}: {}", received.text());
        if expected == 200 {
            assert!(
                received
                    .headers
                    .get("set-cookie")
                    .unwrap()
                    .ends_with("; Secure")
            );
            let read = gateway.admin_request("GET", "/config");
            let read = read.header("Cookie", &cookie(&received));
            let page = connection.ask(&read).await.json();
            assert_eq!(page["server"]["admin_tls"], true);
        }
    }
    let mut plain = Connection::to(gateway.admin).await;
    let request = gateway.admin_request("GET", "/healthz");
    plain.send(&request.bytes()).await.unwrap();
    assert!(
        plain
            .answer()
            .await
            .is_none_or(|received| received.status == 400)
    );
}
