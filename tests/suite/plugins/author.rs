//! Tests of the commands for authors of plugins.

use crate::configuration::check::{GOOD, check_in};
use crate::harness::connection::Connection;
use crate::harness::folder::Folder;
use crate::harness::plugins::folder_with_plugin;
use crate::harness::process::{BINARY, Process};
use crate::harness::simulator::wait_for_listener;
use crate::harness::{Request, eventually};
use serde_json::json;
use std::path::Path;
use std::process::Command;

/// Sets a header of responses, and refuses every configuration of one byte.
const HEADER: &str = r#"
  (data (i32.const 0) "x-by-plugin")
  (data (i32.const 32) "yes")
  (func (export "proxy_on_configure") (param i32 i32) (result i32)
    (i32.ne (local.get 1) (i32.const 1)))
  (func (export "proxy_on_response_headers") (param i32 i32 i32) (result i32)
    (drop (call $log (i32.const 2) (i32.const 32) (i32.const 3)))
    (drop (call $set_header (i32.const 2) (i32.const 0) (i32.const 11) (i32.const 32) (i32.const 3)))
    (i32.const 0))"#;

/// Traps in requests for `/`. For others it calls `guard`, with the headers `:method: GET` and `:path: /check`, and holds the
/// request until the call is over.
const CALLS: &str = r#"
  (data (i32.const 0) "guard")
  (data (i32.const 16) "\02\00\00\00\07\00\00\00\03\00\00\00\05\00\00\00\06\00\00\00:method\00GET\00:path\00/check\00")
  (data (i32.const 80) ":path")
  (global $stream (mut i32) (i32.const 0))
  (func (export "proxy_on_request_headers") (param $context i32) (param i32 i32) (result i32)
    (drop (call $get_header (i32.const 0) (i32.const 80) (i32.const 5) (i32.const 96) (i32.const 100)))
    (if (i32.eq (i32.load (i32.const 100)) (i32.const 1)) (then unreachable))
    (global.set $stream (local.get $context))
    (i32.eqz (call $http_call (i32.const 0) (i32.const 5) (i32.const 16) (i32.const 45) (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 1000) (i32.const 104))))
  (func (export "proxy_on_http_call_response") (param i32 i32 i32 i32 i32)
    (drop (call $set_context (global.get $stream)))
    (drop (call $log (i32.const 3) (i32.const 0) (i32.const 5)))
    (drop (call $continue (i32.const 0))))"#;

/// What a command printed.
pub(super) struct CommandOutput {
    pub success: bool,
    pub stdout: String,
    pub stderr: String,
}

pub(super) fn headgate(folder: &Path, arguments: &[&str]) -> CommandOutput {
    let output = Command::new(BINARY)
        .arg("plugin")
        .args(arguments)
        .current_dir(folder)
        .output()
        .unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    CommandOutput {
        success: output.status.success(),
        stdout: text(output.stdout),
        stderr: text(output.stderr),
    }
}

#[test]
fn check_prints_the_interface_of_a_module() {
    let folder = folder_with_plugin("tested", HEADER);
    let output = headgate(folder.path(), &["check", "plugins/tested.wasm"]);
    assert!(output.success, "{}", output.stderr);
    for expected in [
        "abi        Proxy-Wasm 0.2.1\n",
        "size       ",
        "sha256     ",
        "callbacks  proxy_on_configure\n           proxy_on_context_create\n           proxy_on_response_headers\n",
        "env.proxy_log\n",
    ] {
        assert!(output.stdout.contains(expected), "{}", output.stdout);
    }
}

#[test]
fn check_prints_every_problem_of_a_module() {
    let folder = Folder::new();
    let problems = r#"(module (import "env" "open" (func)) (func (export "proxy_on_log")))"#;
    folder.write("bad.wasm", wat::parse_str(problems).unwrap());
    folder.write("text.wasm", "no module");
    let table: [(&str, &[&str]); 3] = [
        (
            "bad.wasm",
            &[
                "error: unknown import `env.open`\n",
                "error: missing export `proxy_abi_version_0_2_1`",
                "error: missing export `memory`\n",
                "error: the export `proxy_on_log` must be a function of 1 i32\n",
            ],
        ),
        ("text.wasm", &["error: text.wasm: not a WebAssembly module"]),
        ("none.wasm", &["error: cannot read none.wasm: no such file"]),
    ];
    for (module, expected) in table {
        let output = headgate(folder.path(), &["check", module]);
        assert!(!output.success, "{module}");
        for problem in expected {
            assert!(
                output.stderr.contains(problem),
                "{module}: {}",
                output.stderr
            );
        }
    }
}

#[test]
fn test_prints_the_outcome_of_each_case() {
    let folder = folder_with_plugin("tested", HEADER);
    let cases = r#"
cases:
  - name: the header is set
    request: {json: {b: 1, a: 2}}
    response: {events: ["data: 1", "data: 2"]}
    expect:
      request: {body: '{"b":1,"a":2}', headers: {":method": POST}, absent: [x-by-plugin]}
      response:
        headers: {":status": "200", x-by-plugin: {regex: ^y}, content-type: text/event-stream}
        events: ["data: 1", {not_regex: "1"}]
      log: [info yes, {not_regex: error}]
  - name: the configuration is refused
    configuration: x
    expect: {configuration: refused}
  - name: another value
    response: {}
    expect:
      response: {headers: {x-by-plugin: "no"}}
      log: [info no]
      trap: true
"#;
    folder.write("cases.yaml", cases);
    let output = headgate(
        folder.path(),
        &["test", "plugins/tested.wasm", "cases.yaml"],
    );
    assert!(!output.success);
    for expected in [
        "ok      the header is set\nok      the configuration is refused\nFAILED  another value\n",
        "        outcome\n          expected  a trap of the plugin\n          received  no failure of the plugin\n",
        "        response header `x-by-plugin`\n          expected  \"no\"\n          received  \"yes\"\n",
        "        log\n          expected  \"info no\"\n",
        "        log       info yes\n",
        "2 passed, 1 failed\n",
    ] {
        assert!(
            output.stdout.contains(expected),
            "{expected}{}",
            output.stdout
        );
    }
    assert_eq!(output.stderr, "error: 1 of 3 cases of cases.yaml failed\n");
}

#[test]
fn test_has_the_responses_to_calls_and_knows_traps() {
    let folder = folder_with_plugin("tested", CALLS);
    let cases = r#"
cases:
  - name: a call has its response
    request: &request {headers: {":path": /v1}}
    calls: [{channel: guard, response: {body: fine}}]
    expect:
      request: {headers: {":path": /v1}}
      calls: [{channel: guard, headers: {":path": /check, ":method": GET}, body: ""}]
      log: [warn guard]
  - name: a call fails
    request: *request
    calls: [{channel: guard, fails: true}]
    expect: {log: [warn guard]}
  - {name: a trap, expect: {trap: true}}
  - {name: a trap that is not expected, expect: {}}
  - {name: a call that is not expected, request: *request, expect: {}}
  - {name: a call to another channel, request: *request, calls: [{channel: other}], expect: {}}
  - {name: a call too few, request: *request, calls: [{channel: guard}, {channel: guard}], expect: {}}
"#;
    folder.write("cases.yaml", cases);
    let output = headgate(folder.path(), &["test", "plugins/tested.wasm"]);
    assert!(!output.success);
    for expected in [
        "ok      a call has its response\nok      a call fails\nok      a trap\nFAILED  a trap that is not expected\n",
        "received  trap in proxy_on_request_headers",
        "FAILED  a call that is not expected\n",
        "received  a call to `guard`, for which there is no entry\n",
        "received  no call to `other`, for which there is an entry\n",
        "received  no call to `guard`, for which there is an entry\n",
        "3 passed, 4 failed\n",
    ] {
        assert!(
            output.stdout.contains(expected),
            "{expected}{}",
            output.stdout
        );
    }
}

#[test]
fn a_mistake_in_the_file_of_cases_has_its_place() {
    let folder = folder_with_plugin("tested", HEADER);
    let table = [
        ("cases:\n  - name: a\n    expects: {}\n", &["expects", "3"]),
        (
            "cases:\n  - name: a\n    expect: {response: {headers: {a: {regexp: b}}}}\n",
            &["regexp", "3"],
        ),
        ("cases: []\nmore: []\n", &["more", "2"]),
    ];
    for (cases, expected) in table {
        folder.write("cases.yaml", cases);
        let output = headgate(folder.path(), &["test", "plugins/tested.wasm"]);
        assert!(!output.success, "{cases}");
        for part in expected {
            assert!(output.stderr.contains(part), "{cases}{}", output.stderr);
        }
    }
}

#[test]
fn new_writes_a_folder_for_each_language_and_refuses_one_that_exists() {
    let folder = Folder::new();
    for (language, source) in [
        ("rust", "src/lib.rs"),
        ("assemblyscript", "assembly/index.ts"),
        ("c", "plugin.c"),
    ] {
        let name = format!("my-{language}");
        let arguments = ["new", &name, "--language", language];
        let output = headgate(folder.path(), &arguments);
        assert!(output.success, "{}", output.stderr);
        let next = format!("headgate plugin test {name}.wasm cases.yaml");
        assert!(output.stdout.contains(&next), "{}", output.stdout);
        for file in [source, "build.sh", "cases.yaml", "README.md"] {
            assert!(
                folder.path().join(&name).join(file).is_file(),
                "{language} {file}"
            );
        }
        let again = headgate(folder.path(), &arguments);
        assert!(!again.success);
        assert!(
            again
                .stderr
                .contains(&format!("the folder {name} cannot be created"))
        );
    }
}

#[tokio::test]
async fn run_serves_requests_with_the_plugin_and_its_configuration() {
    let folder = folder_with_plugin("tested", HEADER);
    let module = folder.path().join("plugins/tested.wasm");
    let config = folder.write("config.yaml", "a: ${b}\n");
    let local = "127.0.0.1:0";
    let mut process = Process::spawn(&[
        "plugin",
        "run",
        module.to_str().unwrap(),
        "--config",
        config.to_str().unwrap(),
        "--listen",
        local,
        "--admin",
        local,
    ]);
    let line = process.wait_for_line("headgate is listening").await;
    let gateway = line["listen"].as_str().unwrap().parse().unwrap();
    wait_for_listener(gateway).await;
    let mut connection = Connection::to(gateway).await;
    let body = json!({"model": "demo-chat", "messages": [{"role": "user", "content": "hello"}]});
    let request = Request::post("/v1/chat/completions", body.to_string()).key("sk-demo");
    let response = connection.ask(&request).await;
    assert_eq!(response.status, 200, "{}", response.text());
    assert_eq!(response.headers.get("x-by-plugin"), Some("yes"));
    let printed = process.stderr.all().join("\n");
    let (_, written) = printed.split_once(", configuration ").unwrap();
    let written = Path::new(written.lines().next().unwrap()).to_owned();
    assert!(written.is_file(), "{}", written.display());
    process.signal(libc::SIGTERM);
    eventually("the process ends", async || process.ended()).await;
    assert!(!written.parent().unwrap().exists(), "{}", written.display());
}

/// `make plugins` builds the modules.
#[test]
fn the_cases_of_the_plugins_of_the_repository_pass() {
    let plugins = Path::new(env!("CARGO_MANIFEST_DIR")).join("plugins");
    for name in ["annotate", "minimal", "prompt_policy", "redact"] {
        let module = format!("built/{name}.wasm");
        assert!(
            plugins.join(&module).is_file(),
            "{module} is not built; run: make plugins"
        );
        let output = headgate(&plugins, &["test", &module, &format!("{name}/cases.yaml")]);
        assert!(output.success, "{name}\n{}{}", output.stdout, output.stderr);
    }
}

/// Each page has a `plugins` and a `routes`; the rest of the file and the module are the test's.
#[test]
fn the_examples_of_the_pages_for_authors_are_valid() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let pages = [
        ("docs/plugins.md", "my-plugin"),
        ("plugins/annotate/README.md", "annotate"),
        ("plugins/minimal/README.md", "minimal"),
        ("plugins/prompt_policy/README.md", "prompt_policy"),
        ("plugins/redact/README.md", "redact"),
        ("my-plugin/README.md", "my-plugin"),
    ];
    for (page, module) in pages {
        let folder = folder_with_plugin(module, HEADER);
        let path = match page.starts_with("my-plugin") {
            true => {
                headgate(folder.path(), &["new", "my-plugin"]);
                folder.path().join(page)
            }
            false => root.join(page),
        };
        let text = std::fs::read_to_string(path).unwrap();
        let (_, example) = text.split_once("```yaml\n").unwrap();
        let (example, _) = example.split_once("```").unwrap();
        let indent = example.len() - example.trim_start().len();
        let lines = example
            .lines()
            .map(|line| line.get(indent..).unwrap_or_default());
        let example: Vec<&str> = lines.collect();
        let (head, _) = GOOD.split_once("chains:").unwrap();
        let output = check_in(&folder, &format!("{head}{}\n", example.join("\n")));
        assert!(output.success, "{page}\n{}{}", output.stdout, output.stderr);
    }
}
