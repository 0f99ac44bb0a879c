//! Tests of secrets in files: any change of a file is a reload, and an invalid file changes nothing.

use crate::harness::certificates::Authority;
use crate::harness::folder::Folder;
use crate::harness::gateway::folder_with_schemas;
use crate::harness::{Gateway, Request, ScriptedProvider, ScriptedResponse, config, eventually};
use headgate_protocol::Protocol;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::symlink;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

const ANSWER: &str =
    "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 2\r\n\r\n{}";

struct Secret {
    gateway: Gateway,
    provider: ScriptedProvider,
}

impl Secret {
    /// A gateway whose credential is in `path`, below the folder that `prepare` fills.
    async fn at(path: &str, prepare: impl FnOnce(&Folder)) -> Self {
        let provider = ScriptedProvider::start(vec![ScriptedResponse::Send(ANSWER.into())]).await;
        let folder = folder_with_schemas();
        prepare(&folder);
        let mut config = config::standard(&provider.url());
        config["channels"]["openai"]["credential"] = json!({"bearer": {"file": path}});
        let gateway = Gateway::start_in(folder, &format!("{config:#}")).await;
        Self { gateway, provider }
    }

    /// The credential that the gateway sends now.
    async fn sent(&self) -> String {
        let answer = self.gateway.ask(&Request::ask(Protocol::Chat)).await;
        assert_eq!(answer.status, 200, "{}", answer.text());
        self.provider
            .requests()
            .last()
            .map(|request| bearer(request))
            .unwrap()
    }

    async fn sends(&self, expected: &str) {
        let changed = async || (self.sent().await == expected).then_some(());
        eventually(expected, changed).await;
    }

    async fn refusal(&self) -> Value {
        self.gateway.config_page().await["last_rejection"].clone()
    }
}

fn bearer(request: &str) -> String {
    let line = request.lines().find_map(|line| {
        let (name, value) = line.split_once(": ")?;
        name.eq_ignore_ascii_case("authorization").then_some(value)
    });
    line.unwrap().trim_start_matches("Bearer ").to_string()
}

#[tokio::test]
async fn a_secret_that_changes_is_sent_from_then_on_and_no_request_fails_meanwhile() {
    let secret = Secret::at("keys/provider", |folder| {
        fs::create_dir(folder.path().join("keys")).unwrap();
        folder.write("keys/provider", "sk-secret-0\n");
    })
    .await;
    assert_eq!(secret.sent().await, "sk-secret-0");
    let secret = Arc::new(secret);
    let over = Arc::new(AtomicBool::new(false));
    let asking = tokio::spawn(keep_asking(secret.clone(), over.clone()));
    let folder = &secret.gateway.folder;
    for n in 1..=6 {
        let content = format!("sk-secret-{n}\n");
        match n % 2 {
            0 => drop(folder.write("keys/provider", &content)),
            _ => {
                let new = folder.write("keys/.provider.new", &content);
                fs::rename(new, folder.path().join("keys/provider")).unwrap();
            }
        }
        secret.sends(content.trim()).await;
    }
    over.store(true, Ordering::Relaxed);
    asking.await.unwrap();
    let requests = secret.provider.requests();
    let sent: BTreeSet<String> = requests.iter().map(|request| bearer(request)).collect();
    let all = (0..=6).map(|n| format!("sk-secret-{n}")).collect();
    assert_eq!(sent, all);
    assert_eq!(secret.refusal().await, Value::Null);
}

#[tokio::test]
async fn a_mounted_secret_is_followed_through_its_links() {
    let secret = Secret::at("mount/provider", |folder| {
        fs::create_dir(folder.path().join("mount")).unwrap();
        swap_links(folder, 0);
        symlink("..data/provider", folder.path().join("mount/provider")).unwrap();
    })
    .await;
    assert_eq!(secret.sent().await, "sk-mounted-0");
    for n in 1..=3 {
        swap_links(&secret.gateway.folder, n);
        secret.sends(&format!("sk-mounted-{n}")).await;
    }
}

#[tokio::test]
async fn a_secret_behind_a_link_to_another_folder_is_noticed_too() {
    let elsewhere = Folder::new();
    let target = elsewhere.write("key", "sk-elsewhere-0");
    let secret = Secret::at("key", |folder| {
        symlink(&target, folder.path().join("key")).unwrap()
    })
    .await;
    assert_eq!(secret.sent().await, "sk-elsewhere-0");
    elsewhere.write("key", "sk-elsewhere-1");
    secret.sends("sk-elsewhere-1").await;
}

#[tokio::test]
async fn a_file_that_holds_no_secret_changes_nothing_until_it_does() {
    let secret = Secret::at("key", |folder| drop(folder.write("key", "sk-good-0"))).await;
    let file = secret.gateway.folder.path().join("key");
    let too_large = "x".repeat(65 << 10);
    let cases = [
        (Some(""), "is empty"),
        (None, "no such file"),
        (Some("\n"), "is empty"),
        (Some("sk-bad\nsk-canary\n"), "not a valid header value"),
        (Some(&*too_large), "is larger than 64 KiB"),
    ];
    for (n, (content, reason)) in cases.into_iter().enumerate() {
        match content {
            Some(content) => fs::write(&file, content).unwrap(),
            None => fs::remove_file(&file).unwrap(),
        }
        let refused = async || {
            let report = secret.refusal().await["report"].as_str()?.to_string();
            report.contains(reason).then_some(report)
        };
        let report = eventually(reason, refused).await;
        assert!(!report.contains("canary"), "{report}");
        assert_eq!(secret.sent().await, format!("sk-good-{n}"));
        fs::write(&file, format!("sk-good-{}", n + 1)).unwrap();
        secret.sends(&format!("sk-good-{}", n + 1)).await;
        assert_eq!(secret.refusal().await, Value::Null);
    }
}

#[tokio::test]
async fn the_certificates_of_a_channel_are_watched_as_well() {
    let provider = ScriptedProvider::start(vec![ScriptedResponse::Send(ANSWER.into())]).await;
    let folder = folder_with_schemas();
    let good = Authority::new().pem();
    folder.write("ca.pem", &good);
    let mut config = config::standard(&provider.url());
    config["channels"]["openai"]["base_url"] = "https://provider.test/v1".into();
    config["channels"]["openai"]["tls"] = json!({"ca": "ca.pem"});
    let gateway = Gateway::start_in(folder, &format!("{config:#}")).await;
    for (content, is_good) in [("no certificate", false), (&*good, true)] {
        gateway.folder.replace("ca.pem", content);
        let looked = async || {
            let refusal = gateway.config_page().await["last_rejection"].clone();
            (refusal.is_null() == is_good).then_some(())
        };
        eventually("the change", looked).await;
    }
}

/// Sends requests until `over`; each must get a response, with any credential.
async fn keep_asking(secret: Arc<Secret>, over: Arc<AtomicBool>) {
    while !over.load(Ordering::Relaxed) {
        let answer = secret.gateway.ask(&Request::ask(Protocol::Chat)).await;
        assert_eq!(
            (answer.status, answer.whole),
            (200, true),
            "{}",
            answer.text()
        );
    }
}

/// Changes the file like a secret mounted by Kubernetes: a folder that is a symlink is swapped atomically.
fn swap_links(folder: &Folder, n: u32) {
    let mount = folder.path().join("mount");
    let version = format!("..version_{n}");
    fs::create_dir(mount.join(&version)).unwrap();
    folder.write(
        &format!("mount/{version}/provider"),
        format!("sk-mounted-{n}\n"),
    );
    symlink(&version, mount.join("..data_new")).unwrap();
    fs::rename(mount.join("..data_new"), mount.join("..data")).unwrap();
    if let Some(old) = n.checked_sub(1) {
        fs::remove_dir_all(mount.join(format!("..version_{old}"))).unwrap();
    }
}
