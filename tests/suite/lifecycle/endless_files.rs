//! Tests of paths that lead to something endless or to something that nobody writes: no reload may wait for it or hold
//! it in memory.

use crate::harness::folder::Folder;
use crate::harness::{Gateway, Request, ScriptedProvider, ScriptedResponse, config, eventually};
use headgate_protocol::Protocol;
use serde_json::{Value, json};
use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;

const ANSWER: &str =
    "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 2\r\n\r\n{}";
/// How much the largest memory of the process may grow over all reloads.
const GROWTH_MAX: u64 = 32 << 20;

#[tokio::test]
async fn a_file_that_becomes_a_device_or_a_pipe_is_refused_and_costs_no_memory() {
    let provider = ScriptedProvider::start(vec![ScriptedResponse::Send(ANSWER.into())]).await;
    let folder = Folder::new();
    folder.write("key", "sk-provider");
    fs::create_dir(folder.path().join("schemas")).unwrap();
    let schema = Path::new(env!("CARGO_MANIFEST_DIR")).join("schemas/chat.schema.json");
    fs::copy(schema, folder.path().join("schemas/chat.schema.json")).unwrap();
    let mut written = config::standard(&provider.url());
    written["channels"]["openai"]["credential"] = json!({"bearer": {"file": "key"}});
    let gateway = Gateway::start_in(folder, &format!("{written:#}")).await;
    let before = gateway.process.memory_peak();
    for name in ["key", "schemas/chat.schema.json", "routes.yaml"] {
        let path = gateway.folder.path().join(name);
        let good = fs::read(&path).unwrap();
        for kind in ["device", "pipe"] {
            fs::remove_file(&path).unwrap();
            match kind {
                "device" => symlink("/dev/zero", &path).unwrap(),
                _ => make_pipe(&path),
            }
            let reason = format!("it is a {kind}, and must be a regular file");
            let refused = async || {
                let page = gateway.config_page().await;
                let report = page["last_rejection"]["report"].as_str()?;
                report.contains(&reason).then_some(())
            };
            eventually(&format!("{name}: {reason}"), refused).await;
            let response = gateway.ask(&Request::ask(Protocol::Chat)).await;
            assert_eq!(response.status, 200, "{}", response.text());
            fs::remove_file(&path).unwrap();
            fs::write(&path, &good).unwrap();
            let is_good = async || {
                let page = gateway.config_page().await;
                (page["last_rejection"] == Value::Null).then_some(())
            };
            eventually("a good configuration again", is_good).await;
        }
    }
    let grown = gateway.process.memory_peak() - before;
    assert!(grown < GROWTH_MAX, "{grown} bytes");
}

fn make_pipe(path: &Path) {
    assert!(Command::new("mkfifo").arg(path).status().unwrap().success());
}

#[test]
fn commands_refuse_devices_and_pipes_and_end_a_standard_input_without_end() {
    let folder = Folder::new();
    let written = config::standard("https://provider.test/v1");
    folder.write("routes.yaml", format!("{written:#}"));
    make_pipe(&folder.path().join("pipe"));
    for (args, words) in [
        (&["check", "/dev/zero"][..], "it is a device"),
        (&["check", "pipe"], "it is a pipe"),
        (&["replay", "/dev/zero"], "it is a device"),
        (&["replay", "pipe"], "give `-` as the file"),
        (&["convert", "litellm", "pipe"], "it is a pipe"),
        (&["convert", "new-api", "/dev/zero"], "it is a device"),
        (
            &["explain", "/v1/models", "-d", "@/dev/zero"],
            "it is a device",
        ),
        (
            &["explain", "/v1/models", "-d", "@-"],
            "it is larger than 256 MiB",
        ),
        (&["replay", "-"], "it is larger than 256 MiB"),
        (&["diff", "routes.yaml", "/dev/zero"], "it is a device"),
        (
            &[
                "status",
                "--admin",
                "https://127.0.0.1:1",
                "--admin-ca",
                "/dev/zero",
            ],
            "it is a device",
        ),
    ] {
        // `timeout` ends with 124 if the command does not end.
        let zero = fs::File::open("/dev/zero").unwrap();
        let output = Command::new("timeout")
            .args(["30", crate::harness::process::BINARY])
            .args(args)
            .current_dir(folder.path())
            .stdin(zero)
            .output()
            .unwrap();
        let text = String::from_utf8_lossy(&output.stderr);
        assert!(text.contains(words), "{args:?}: {text}");
        assert!(
            matches!(output.status.code(), Some(1 | 2)),
            "{args:?}: {:?}",
            output.status
        );
    }
}
