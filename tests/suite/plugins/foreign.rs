//! Tests of plugins as other people's SDKs and compilers make them.

use crate::harness::folder::Folder;
use crate::harness::gateway::folder_with_schemas;
use crate::harness::plugins::declare_plugin;
use crate::harness::service::respond;
use crate::harness::{Gateway, Request, ScriptedProvider, Simulator, config};
use headgate_protocol::Protocol;
use serde_json::json;
use std::path::Path;
use std::process::Command;

/// Compiles a plugin in C++ to `plugins/tested.wasm`, without a library of C++.
fn folder_with_cpp(source: &str) -> Folder {
    let folder = folder_with_schemas();
    let plugins = folder.path().join("plugins");
    std::fs::create_dir_all(&plugins).unwrap();
    let source = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/fixtures/plugins")
        .join(source);
    let compiler = std::env::var("CLANG").unwrap_or_else(|_| "clang".to_owned());
    let output = Command::new(compiler)
        .args(["--target=wasm32", "-x", "c++", "-std=c++17", "-Os"])
        .args(["-Wall", "-Wextra", "-Werror", "-nostdlib"])
        .args(["-fno-exceptions", "-fno-rtti", "-fno-threadsafe-statics"])
        .args(["-Wl,--no-entry", "-Wl,--strip-all", "-o"])
        .arg(plugins.join("tested.wasm"))
        .arg(source)
        .output()
        .expect("clang is there: tests/set_up.sh plugins installs it");
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    folder
}

#[tokio::test]
async fn a_plugin_in_cpp_waits_for_a_service() {
    let service = ScriptedProvider::start(respond("{}")).await;
    let simulator = Simulator::start().await;
    let mut config = config::standard(&simulator.url());
    config["services"]["policy"] = json!({"url": service.url()});
    let grants = json!({"grants": {"http_call": ["policy"]}});
    declare_plugin(&mut config, "tested", grants);
    let chain = &mut config::route(&mut config, "chat")["request"];
    let filter = json!({"plugin": {"use": "tested"}});
    chain.as_array_mut().unwrap().push(filter);
    let gateway = Gateway::start_in(folder_with_cpp("callout.cpp"), &format!("{config:#}")).await;
    for request in [
        Request::ask(Protocol::Chat),
        Request::ask_stream(Protocol::Chat),
    ] {
        let response = gateway.ask(&request).await;
        assert_eq!(response.status, 200, "{}", response.text());
        let sent = simulator.last().await;
        assert_eq!(sent["headers"]["x-policy"], "200", "{sent}");
    }
    assert_eq!(service.requests().len(), 2);
}
