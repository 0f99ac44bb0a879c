//! Callback URLs that lead inside: refused when the task is created, and never connected to.

use crate::harness::name_server::NameServer;
use crate::harness::receiver::{CallbackSetup, create_with_callback, has_retried};
use crate::harness::video::{GENERIC, create_body, creates};
use crate::harness::{Request, ScriptedProvider};
use serde_json::json;

/// `PORT` is that of a decoy on the loopback addresses.
const HOSTILE: [&str; 64] = [
    "https://127.0.0.1:PORT/x",
    "http://127.0.0.1:PORT/x",
    "https://127.0.0.1.:PORT/x",
    "https://127.1:PORT/x",
    "https://127.0.1:PORT/x",
    "https://2130706433:PORT/x",
    "https://0x7f000001:PORT/x",
    "https://0x7f.0.0.1:PORT/x",
    "https://0x7f.1:PORT/x",
    "https://0177.0.0.1:PORT/x",
    "https://017700000001:PORT/x",
    "https://127.0.0.01:PORT/x",
    "https://localhost:PORT/x",
    "https://LOCALHOST:PORT/x",
    "https://localhost.:PORT/x",
    "https://[::1]:PORT/x",
    "https://[0:0:0:0:0:0:0:1]:PORT/x",
    "https://[::ffff:127.0.0.1]:PORT/x",
    "https://[::ffff:7f00:1]:PORT/x",
    "https://[0:0:0:0:0:ffff:7f00:1]:PORT/x",
    "https://[::127.0.0.1]:PORT/x",
    "https://[64:ff9b::127.0.0.1]:PORT/x",
    "https://[64:ff9b::7f00:1]:PORT/x",
    "https://[64:ff9b:1::7f00:1]:PORT/x",
    "https://[2002:7f00:1::]:PORT/x",
    "https://[2001::7f00:1]:PORT/x",
    "https://[fe80::1]:PORT/x",
    "https://[fe80::1%25lo]:PORT/x",
    "https://[fc00::1]:PORT/x",
    "https://[fd00::1]:PORT/x",
    "https://[ff02::1]:PORT/x",
    "https://[::]:PORT/x",
    "https://0.0.0.0:PORT/x",
    "https://0:PORT/x",
    "https://10.0.0.1/x",
    "https://172.16.0.1/x",
    "https://192.168.0.1/x",
    "https://169.254.169.254/latest/meta-data",
    "http://169.254.169.254/latest/meta-data",
    "https://100.64.0.1/x",
    "https://192.0.0.1/x",
    "https://192.0.2.1/x",
    "https://198.18.0.1/x",
    "https://224.0.0.1/x",
    "https://255.255.255.255/x",
    "https://user@127.0.0.1:PORT/x",
    "https://user:word@receiver.test/x",
    "https://receiver.test@127.0.0.1:PORT/x",
    "https://receiver.test:443@127.0.0.1:PORT/x",
    "https://127.0.0.1:PORT#@receiver.test/",
    "https://127.0.0.1:PORT?@receiver.test/",
    "https://127.0.0.1:PORT\\@receiver.test/",
    "https://\u{2460}\u{2461}\u{2466}.0.0.1:PORT/x",
    "https://127\u{3002}0\u{3002}0\u{3002}1:PORT/x",
    "https://%31%32%37.0.0.1:PORT/x",
    "https:///127.0.0.1:PORT/x",
    "https:127.0.0.1:PORT/x",
    "//127.0.0.1:PORT/x",
    "ftp://127.0.0.1:PORT/x",
    "file:///etc/passwd",
    "https://",
    "https://127.0.0.1:99999/x",
    "https://inside.test:PORT/x",
    "http://receiver.test/x",
];

#[tokio::test]
async fn urls_that_lead_inside_are_a_400_and_nobody_is_connected_to() {
    let names = NameServer::start().await;
    names.reply_with("inside.test", &["127.0.0.1"], 60);
    names.reply_with("receiver.test", &["93.184.216.34"], 60);
    let decoy = ScriptedProvider::answering("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n").await;
    let setup = CallbackSetup::with("", |config| {
        config["egress"] = json!({"allow": []});
        config["server"]["dns"] = json!({"servers": [names.address.to_string()]});
    })
    .await;
    for url in HOSTILE {
        let url = url.replace("PORT", &decoy.address.port().to_string());
        let mut body = create_body(GENERIC, "demo-video-a");
        body["callback_url"] = json!(url);
        let request = Request::post(GENERIC, body.to_string());
        let refused = setup.gateway.ask(&request).await;
        assert_eq!(refused.status, 400, "{url}: {}", refused.text());
        assert_eq!(refused.json()["error"]["param"], "callback_url", "{url}");
    }
    assert_eq!(decoy.connections().len(), 0);
    assert_eq!(creates(&setup.simulator).await, 0);
}

#[tokio::test]
async fn a_name_that_leads_inside_after_the_check_is_not_connected_to() {
    let names = NameServer::start().await;
    names.reply_with("rebind.test", &["93.184.216.34"], 1);
    let decoy = ScriptedProvider::answering("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n").await;
    let setup = CallbackSetup::with("queue=3s;run=1m", |config| {
        config["egress"] = json!({"allow": []});
        config["server"]["dns"] = json!({"servers": [names.address.to_string()]});
    })
    .await;
    let url = format!("https://rebind.test:{}/x", decoy.address.port());
    create_with_callback(&setup.gateway, GENERIC, "demo-video-a", &url).await;
    names.reply_with("rebind.test", &["127.0.0.1"], 1);
    has_retried(&setup.gateway).await;
    assert_eq!(decoy.connections().len(), 0);
}
