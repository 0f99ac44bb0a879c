//! Callback URLs that lead inside: refused when the task is created, and never connected to.

use crate::harness::hostile_urls::Decoy;
use crate::harness::name_server::{NameServer, NameServerBehaviour};
use crate::harness::receiver::{CallbackSetup, create_with_callback, has_retried};
use crate::harness::video::{GENERIC, create_body, creates};
use crate::harness::{Request, WholeResponse};
use serde_json::{Value, json};

#[tokio::test]
async fn urls_that_lead_inside_are_a_400_and_nobody_is_connected_to() {
    let names = NameServer::start().await;
    names.reply_with("inside.test", &["127.0.0.1"], 60);
    names.reply_with("receiver.test", &["93.184.216.34"], 60);
    let decoy = Decoy::start().await;
    let setup = CallbackSetup::with("", |config| {
        config["egress"] = json!({"allow": []});
        config["server"]["dns"] = json!({"servers": [names.address.to_string()]});
    })
    .await;
    for url in decoy.urls() {
        let mut body = create_body(GENERIC, "demo-video-a");
        body["callback_url"] = json!(url);
        let request = Request::post(GENERIC, body.to_string());
        let refused = setup.gateway.ask(&request).await;
        assert_eq!(refused.status, 400, "{url}: {}", refused.text());
        assert_eq!(refused.json()["error"]["param"], "callback_url", "{url}");
    }
    let count = decoy.connections();
    println!(
        "{} callback URLs that lead inside: {count} connections to decoys",
        decoy.urls().len()
    );
    assert_eq!(count, 0);
    assert_eq!(creates(&setup.simulator).await, 0);
}

#[tokio::test]
async fn a_name_that_cannot_be_looked_up_now_is_a_503_and_an_unknown_one_a_400() {
    let names = NameServer::start().await;
    let setup = CallbackSetup::with("", |config| {
        config["egress"] = json!({"allow": []});
        config["server"]["dns"] = json!({"servers": [names.address.to_string()]});
    })
    .await;
    for (behaviour, host, status) in [
        (NameServerBehaviour::Failing, "failing.test", 503),
        (NameServerBehaviour::Never, "silent.test", 503),
        (NameServerBehaviour::AtOnce, "unknown.test", 400),
    ] {
        names.behave(behaviour);
        let mut body = create_body(GENERIC, "demo-video-a");
        body["callback_url"] = json!(format!("https://{host}/x"));
        let request = Request::post(GENERIC, body.to_string());
        let refused = setup.gateway.ask(&request).await;
        assert_eq!(refused.status, status, "{host}: {}", refused.text());
        let has_delay = refused.headers.get("retry-after").is_some();
        assert_eq!(has_delay, status == 503, "{host}");
    }
    assert_eq!(creates(&setup.simulator).await, 0);
}

#[tokio::test]
async fn a_name_that_leads_inside_after_the_check_is_not_connected_to() {
    let names = NameServer::start().await;
    names.reply_with("rebind.test", &["93.184.216.34"], 1);
    let decoy = Decoy::start().await;
    let setup = CallbackSetup::with("queue=3s;run=1m", |config| {
        config["egress"] = json!({"allow": []});
        config["server"]["dns"] = json!({"servers": [names.address.to_string()]});
    })
    .await;
    let url = format!("https://rebind.test:{}/x", decoy.port);
    create_with_callback(&setup.gateway, GENERIC, "demo-video-a", &url).await;
    names.reply_with("rebind.test", &["127.0.0.1"], 1);
    has_retried(&setup.gateway).await;
    assert_eq!(decoy.connections(), 0);
}

#[tokio::test]
async fn a_callback_url_is_a_url_or_none() {
    let setup = CallbackSetup::start("queue=5m").await;
    let own = setup.receiver.url("");
    let host = own.strip_prefix("http://").unwrap();
    let long = format!("{own}/{}", "x".repeat(100 << 10));
    for url in [json!(null), json!(""), json!(format!("{own}/done"))] {
        let made = create(&setup, &url).await;
        assert_eq!(made.status, 200, "{url}: {}", made.text());
    }
    for url in [
        json!(7),
        json!(true),
        json!(["x"]),
        json!({"url": own}),
        json!(long),
        json!(" "),
        json!(format!("http://user:password@{host}/")),
        json!(format!("http://user@{host}/")),
        json!("http://127.0.0.1:0/"),
        json!("http://127.0.0.1:70000/"),
        json!("http://127.0.0.1:99999999999999999999/"),
        json!("http://127.0.0.1:-1/"),
        json!("http://127.0.0.1:8o/"),
        json!(format!("{own}/a\r\nhost: inside")),
        json!(format!("{own}/a\nb")),
        json!(format!("{own}/a b")),
        json!(format!("{own}/a\u{0}")),
        json!("http://b\u{fc}cher.example/"),
        json!("http://127.0.0.1%0d%0a/"),
        json!("http:///done"),
        json!("//127.0.0.1/done"),
        json!("file:///etc/passwd"),
    ] {
        let refused = create(&setup, &url).await;
        let shown = url.to_string().chars().take(80).collect::<String>();
        assert_eq!(refused.status, 400, "{shown}: {}", refused.text());
        let error = &refused.json()["error"];
        assert_eq!(error["param"], "callback_url", "{shown}: {error}");
    }
    assert_eq!(creates(&setup.simulator).await, 3);
}

#[tokio::test]
async fn a_callback_url_is_called_as_it_is_written_without_its_fragment() {
    let setup = CallbackSetup::start("queue=500ms;run=5m").await;
    let mut expected = Vec::new();
    for (path, target) in [
        ("/done?for=1#part", "/done?for=1"),
        ("#part", "/"),
        ("/a%0d%0ab?c=%20", "/a%0d%0ab?c=%20"),
        ("/../a//b/./c", "/../a//b/./c"),
    ] {
        let url = setup.receiver.url(path);
        create_with_callback(&setup.gateway, GENERIC, "demo-video-a", &url).await;
        expected.push(format!("POST {target} HTTP/1.1"));
    }
    setup.receiver.wait_for(expected.len()).await;
    let requests = setup.receiver.0.requests();
    let mut lines: Vec<_> = requests
        .iter()
        .filter_map(|text| text.lines().next())
        .collect();
    lines.sort_unstable();
    expected.sort_unstable();
    assert_eq!(lines, expected);
}

async fn create(setup: &CallbackSetup, callback_url: &Value) -> WholeResponse {
    let mut body = create_body(GENERIC, "demo-video-a");
    body["callback_url"] = callback_url.clone();
    setup
        .gateway
        .ask(&Request::post(GENERIC, body.to_string()))
        .await
}
