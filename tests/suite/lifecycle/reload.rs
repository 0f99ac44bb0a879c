//! Tests of reloads under load: no request is lost or sees two configurations; an invalid file changes nothing.
//!
//! `HEADGATE_RELOADS=1000 cargo test --test suite lifecycle::reload -- --nocapture` reloads more often.

use crate::harness::folder::Folder;
use crate::harness::gateway::folder_with_schemas;
use crate::harness::repetitions::repetitions;
use crate::harness::{Gateway, PROTOCOLS, Request, Simulator, TestSetup, config, eventually};
use headgate_protocol::Protocol;
use serde_json::{Value, json};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;
use tokio::task::JoinSet;

const STREAMS: usize = 50;

#[tokio::test]
async fn two_hundred_reloads_under_load_lose_nothing() {
    let reloads = repetitions("HEADGATE_RELOADS", 200);
    let simulator = Simulator::start().await;
    let mut config = config::standard(&simulator.url());
    let gateway = Arc::new(Gateway::start(&config).await);
    let over = Arc::new(AtomicBool::new(false));
    let served = Arc::new(AtomicU64::new(0));
    let mut callers = JoinSet::new();
    for index in 0..STREAMS {
        let protocol = PROTOCOLS[index % PROTOCOLS.len()];
        let request = Request::ask_stream(protocol).simulate("pace=100ms; events=15");
        callers.spawn(keep_asking(
            gateway.clone(),
            request,
            over.clone(),
            served.clone(),
        ));
    }
    for protocol in PROTOCOLS {
        let request = Request::ask(protocol);
        callers.spawn(keep_asking(
            gateway.clone(),
            request,
            over.clone(),
            served.clone(),
        ));
    }
    for n in 1..=reloads {
        config["models"]["demo-large"]["created"] = n.into();
        change_file(&gateway, n, &format!("{config:#}")).await;
        let listed = async || {
            let models = gateway
                .ask(&Request::get("/v1/models/demo-large"))
                .await
                .json();
            (models["created"] == n).then_some(())
        };
        eventually("the new configuration", listed).await;
    }
    over.store(true, Ordering::Relaxed);
    while let Some(outcome) = callers.join_next().await {
        outcome.unwrap();
    }
    let served = served.load(Ordering::Relaxed);
    println!("{reloads} reloads: {served} requests served, 0 failed");
    assert!(served > STREAMS as u64);
    let metrics = gateway.metrics().await;
    assert_eq!(
        metrics.sum("headgate_config_last_reload_successful", &[]),
        1.0
    );
    assert!(
        metrics.sum("headgate_config_reloads_total", &[("result", "success")]) >= reloads as f64
    );
    assert_eq!(metrics.sum("headgate_config_info", &[]), 1.0);
}

#[tokio::test]
async fn a_file_that_cannot_be_used_changes_nothing_until_it_is_mended() {
    let world = TestSetup::start().await;
    let gateway = &world.gateway;
    let good = std::fs::read_to_string(gateway.folder.path().join("routes.yaml")).unwrap();
    let in_use = gateway.config_page().await["revision"]["in_use"].clone();
    let line = 1 + good
        .lines()
        .position(|line| line.contains("\"callers\""))
        .unwrap();
    let typo = good.replacen("\"callers\"", "\"callrs\"", 1);
    for (bad, place) in [
        (typo, format!("routes.yaml:{line}:3")),
        (good[..good.len() / 2].to_string(), "routes.yaml:".into()),
        (String::new(), "routes.yaml".into()),
    ] {
        gateway.folder.replace("routes.yaml", &bad);
        let refused = async || {
            let page = gateway.config_page().await;
            let on_disk = config::sha256(bad.as_bytes())[..12].to_string();
            let known = page["revision"]["on_disk"] == on_disk && !page["last_rejection"].is_null();
            known.then_some(page)
        };
        let page = eventually("the refusal", refused).await;
        let report = page["last_rejection"]["report"].as_str().unwrap();
        assert!(report.contains(&place), "{place} in: {report}");
        assert_eq!(page["revision"]["in_use"], in_use);
        assert_ne!(page["revision"]["on_disk"], in_use);
        let metrics = gateway.metrics().await;
        assert_eq!(
            metrics.sum("headgate_config_last_reload_successful", &[]),
            0.0
        );
        assert_eq!(world.ask(&Request::ask(Protocol::Chat)).await.status, 200);
        let answer = gateway.page("POST", "/reload").await;
        assert_eq!(answer.status, 422, "{}", answer.text());
        assert!(answer.text().contains(&place), "{}", answer.text());
    }
    gateway.folder.replace("routes.yaml", &good);
    let mended = async || {
        let metrics = gateway.metrics().await;
        (metrics.sum("headgate_config_last_reload_successful", &[]) == 1.0).then_some(())
    };
    eventually("the mended configuration", mended).await;
    let page = gateway.config_page().await;
    assert_eq!(page["last_rejection"], Value::Null);
    assert_eq!(page["revision"]["in_use"], page["revision"]["on_disk"]);
}

#[tokio::test]
async fn a_deleted_file_changes_nothing() {
    let world = TestSetup::start().await;
    std::fs::remove_file(world.gateway.folder.path().join("routes.yaml")).unwrap();
    let answer = world.gateway.page("POST", "/reload").await;
    assert_eq!(answer.status, 422, "{}", answer.text());
    assert_eq!(world.ask(&Request::ask(Protocol::Chat)).await.status, 200);
}

#[tokio::test]
async fn a_schema_that_changes_is_used_from_then_on() {
    let simulator = Simulator::start().await;
    let folder = Folder::new();
    let schemas = folder.path().join("schemas");
    std::fs::create_dir(&schemas).unwrap();
    let own = Path::new(env!("CARGO_MANIFEST_DIR")).join("schemas");
    let files = std::fs::read_dir(own).unwrap().flatten();
    for file in files.filter(|file| file.path().is_file()) {
        std::fs::copy(file.path(), schemas.join(file.file_name())).unwrap();
    }
    let config = config::standard(&simulator.url());
    let gateway = Gateway::start_in(folder, &format!("{config:#}")).await;
    let request = Request::ask(Protocol::Chat);
    assert_eq!(gateway.ask(&request).await.status, 200);
    let name = "schemas/chat.schema.json";
    let old = std::fs::read(gateway.folder.path().join(name)).unwrap();
    let strict = json!({"type": "object", "required": ["seed"]});
    for (content, status) in [
        (strict.to_string().into_bytes(), 400),
        (b"{".to_vec(), 400),
        (old, 200),
    ] {
        std::fs::write(gateway.folder.path().join(name), content).unwrap();
        let changed = async || {
            // A broken schema makes the configuration invalid: the last good one stays in use.
            (gateway.ask(&request).await.status == status).then_some(())
        };
        eventually("the new schema", changed).await;
    }
}

#[tokio::test]
async fn a_reload_of_unchanged_files_reports_that_nothing_changed() {
    let world = TestSetup::start().await;
    let first = world.gateway.page("POST", "/reload").await.json();
    assert_eq!(first["result"], "unchanged", "{first}");
    let mut config = config::standard(&world.simulator.url());
    config["channels"]["openai"]["weight"] = 2.into();
    world
        .gateway
        .folder
        .replace("routes.yaml", format!("{config:#}"));
    // The file is loaded by this request, or has been by the watch.
    let second = world.gateway.page("POST", "/reload").await.json();
    assert_ne!(second["revision"], first["revision"], "{second}");
    let third = world.gateway.page("POST", "/reload").await.json();
    assert_eq!(third["result"], "unchanged", "{third}");
    assert_eq!(third["revision"], second["revision"], "{third}");
}

#[tokio::test]
async fn an_exchange_keeps_the_configuration_it_began_with() {
    let world = TestSetup::start().await;
    let mut reply = world
        .open(&Request::ask_stream(Protocol::Chat).simulate("pace=50ms; events=60"))
        .await;
    reply.until("data:").await;
    let old = world.gateway.config_page().await["revision"]["in_use"].clone();
    let mut config = config::standard(&world.simulator.url());
    config["channels"]["openai"]["models"] = json!({"demo-small": "sim-small-2026-08"});
    config["channels"]["messages"]["models"] = json!({"demo-small": "sim-small-2026-08"});
    world
        .gateway
        .folder
        .replace("routes.yaml", format!("{config:#}"));
    let reloaded = world.gateway.page("POST", "/reload").await.json();
    assert_eq!(reloaded["result"], "loaded");
    assert_eq!(world.ask(&Request::ask(Protocol::Chat)).await.status, 404);
    let page = world.gateway.config_page().await;
    assert_eq!(page["previous_revisions"][0]["revision"], old, "{page}");
    let answer = reply.rest().await;
    assert!(
        answer.whole && answer.text().ends_with("data: [DONE]\n\n"),
        "{}",
        answer.text()
    );
    let drained = async || {
        (world.gateway.config_page().await["previous_revisions"] == json!([])).then_some(())
    };
    eventually("the end of the old configuration", drained).await;
}

#[tokio::test]
async fn a_setting_that_needs_a_restart_is_reported_until_it_is_taken_back() {
    let world = TestSetup::start().await;
    let gateway = &world.gateway;
    let mut config = config::standard(&world.simulator.url());
    let in_use = gateway.config_page().await;
    let listening = gateway.address.to_string();
    assert_eq!(in_use["server"]["listen"], listening, "{in_use}");
    assert_eq!(in_use["server_configured"]["listen"], "127.0.0.1:0");
    assert_eq!(in_use["settings_needing_restart"], json!([]));
    for (listen, workers, differing) in [
        ("127.0.0.1:1", 2, json!(["server.listen"])),
        ("127.0.0.1:1", 3, json!(["server.listen", "server.workers"])),
        ("127.0.0.1:0", 3, json!(["server.workers"])),
        ("127.0.0.1:0", 2, json!([])),
    ] {
        config["server"]["listen"] = listen.into();
        config["server"]["workers"] = workers.into();
        gateway.folder.replace("routes.yaml", format!("{config:#}"));
        // The watch may have loaded the file before. The settings are compared with those of the process, not of the
        // last file.
        for _ in 0..3 {
            let answer = gateway.page("POST", "/reload").await.json();
            assert_eq!(answer["settings_needing_restart"], differing, "{answer}");
            assert_eq!(answer["needs_restart"], differing != json!([]), "{answer}");
        }
        let page = gateway.config_page().await;
        assert_eq!(page["server"]["listen"], listening, "{page}");
        assert_eq!(page["server"]["workers"], 2, "{page}");
        assert_eq!(page["server_configured"]["listen"], listen, "{page}");
        assert_eq!(page["server_configured"]["workers"], workers, "{page}");
        assert_eq!(page["settings_needing_restart"], differing, "{page}");
    }
    let warned = async || {
        let output = gateway.process.stderr.all().join("\n");
        (output.contains("restart to apply it") && output.contains("\"setting\":\"server.listen\""))
            .then_some(())
    };
    eventually("the warning", warned).await;
}

#[tokio::test]
async fn an_address_of_the_command_line_needs_no_restart_when_the_file_names_another() {
    let mut world = TestSetup::start().await;
    let mut config = config::standard(&world.simulator.url());
    let successor = world.gateway.successor(&format!("{config:#}")).await;
    // Until it has ended, the former process may also accept connections to the admin pages.
    let former_process_ended = async || world.gateway.process.ended();
    eventually("the end of the former process", former_process_ended).await;
    config["server"]["listen"] = "127.0.0.1:1".into();
    successor
        .folder
        .replace("routes.yaml", format!("{config:#}"));
    let answer = successor.page("POST", "/reload").await.json();
    assert_eq!(answer["needs_restart"], false, "{answer}");
    let page = successor.config_page().await;
    assert_eq!(page["server"]["listen"], successor.address.to_string());
    assert_eq!(page["server_configured"]["listen"], "127.0.0.1:1");
}

/// Sends the request repeatedly; every response must be complete.
async fn keep_asking(
    gateway: Arc<Gateway>,
    request: Request,
    over: Arc<AtomicBool>,
    served: Arc<AtomicU64>,
) {
    while !over.load(Ordering::Relaxed) {
        let answer = gateway.ask(&request).await;
        assert_eq!(
            (answer.status, answer.whole),
            (200, true),
            "{}",
            answer.text()
        );
        served.fetch_add(1, Ordering::Relaxed);
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

/// Changes the file in one of several ways, depending on `n`.
async fn change_file(gateway: &Gateway, n: u64, content: &str) {
    let folder = &gateway.folder;
    match n % 4 {
        0 => folder.replace("routes.yaml", content),
        1 => swap_symlinks(folder, n, content),
        2 => {
            folder.replace("routes.yaml", content);
            let answer = gateway.page("POST", "/reload").await;
            assert_eq!(answer.status, 200, "{}", answer.text());
        }
        _ => {
            folder.replace("routes.yaml", content);
            gateway.process.signal(libc::SIGHUP);
        }
    }
}

/// Changes the file like a mounted ConfigMap: it is a symlink through a folder that is a symlink, and that one is
/// swapped.
fn swap_symlinks(folder: &Folder, n: u64, content: &str) {
    use std::os::unix::fs::symlink;
    let path = folder.path();
    let version = format!("..version_{n}");
    std::fs::create_dir(path.join(&version)).unwrap();
    folder.write(&format!("{version}/routes.yaml"), content);
    symlink(&version, path.join("..data_new")).unwrap();
    std::fs::rename(path.join("..data_new"), path.join("..data")).unwrap();
    if !path.join("routes.yaml").is_symlink() {
        symlink("..data/routes.yaml", path.join(".link")).unwrap();
        std::fs::rename(path.join(".link"), path.join("routes.yaml")).unwrap();
    }
}

#[tokio::test]
async fn a_mounted_configuration_is_followed_through_its_links() {
    let simulator = Simulator::start().await;
    let folder = folder_with_schemas();
    let mut config = config::standard(&simulator.url());
    swap_symlinks(&folder, 0, &format!("{config:#}"));
    let gateway = Gateway::start_in(folder, "").await;
    for n in 1..=5 {
        config["models"]["demo-large"]["created"] = n.into();
        swap_symlinks(&gateway.folder, n, &format!("{config:#}"));
        let listed = async || {
            let model = gateway
                .ask(&Request::get("/v1/models/demo-large"))
                .await
                .json();
            (model["created"] == n).then_some(())
        };
        eventually("the new configuration", listed).await;
    }
}
