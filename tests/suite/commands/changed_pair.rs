//! Two configurations, a request, and what two real gateways do with it.

use crate::harness::folder::Folder;
use crate::harness::gateway::folder_with_schemas;
use crate::harness::process::BINARY;
use crate::harness::request::ANN;
use crate::harness::{Gateway, Request, Simulator, config};
use serde_json::{Value, json};
use std::path::PathBuf;
use std::process::{Command, Stdio};

/// What became of a request.
#[derive(Debug, PartialEq, Eq)]
pub struct ObservedEnd {
    pub status: u16,
    pub error_code: Option<String>,
    pub channel: Option<String>,
    pub channel_model: Option<String>,
    /// The body that the provider received, if it received one.
    pub sent: Option<Value>,
    /// The line of the access log.
    pub line: Value,
}

/// The output of a command.
pub struct CommandEnd {
    pub code: i32,
    pub stdout: String,
    pub stderr: String,
}

/// Folders with two configurations, each `routes.yaml`, and the provider of both.
pub struct ChangedPair {
    pub simulator: Simulator,
    pub old: Folder,
    pub new: Folder,
}

impl ChangedPair {
    /// The standard configuration, changed by `before` in both and by `after` in the new one.
    pub async fn new(
        before: impl Fn(&mut Value, &Simulator),
        after: impl Fn(&mut Value, &Simulator),
    ) -> Self {
        let simulator = Simulator::start().await;
        let mut config = config::standard(&simulator.url());
        before(&mut config, &simulator);
        let old = folder_with_schemas();
        old.write("routes.yaml", format!("{config:#}"));
        after(&mut config, &simulator);
        let new = folder_with_schemas();
        new.write("routes.yaml", format!("{config:#}"));
        Self {
            simulator,
            old,
            new,
        }
    }

    /// Runs `headgate diff` with the sample requests of these lines.
    pub fn diff(&self, samples: &[Value]) -> CommandEnd {
        let samples = self.file("samples.jsonl", samples);
        let (old, new) = (config_of(&self.old), config_of(&self.new));
        run(&["diff", &old, &new, "--requests", &samples])
    }

    /// Runs `headgate replay` with these lines of an access log and the new configuration.
    pub fn replay(&self, lines: &[Value]) -> CommandEnd {
        let lines = self.file("access.log", lines);
        run(&["replay", &lines, "--config", &config_of(&self.new)])
    }

    /// Runs `headgate replay` with a HAR file and the new configuration.
    pub fn replay_har(&self, har: &Value) -> CommandEnd {
        let file = self.new.write("requests.har", har.to_string());
        let file = file.to_str().unwrap();
        run(&["replay", file, "--config", &config_of(&self.new)])
    }

    fn file(&self, name: &str, lines: &[Value]) -> String {
        let lines: Vec<String> = lines.iter().map(Value::to_string).collect();
        let file = self.new.write(name, lines.join("\n"));
        file.to_str().unwrap().to_owned()
    }

    /// What a gateway with the configuration of `folder` does with a request of `ann`.
    pub async fn observe(&self, folder: &Folder, sample: &Value) -> ObservedEnd {
        let gateway = Gateway::start_at(&folder.path().join("routes.yaml")).await;
        let received = self.simulator.records().await.len();
        let response = gateway.ask(&request_of(sample)).await;
        let line = gateway.log_of(&response).await;
        let sent = match self.simulator.records().await.len() > received {
            true => serde_json::from_slice(&self.simulator.last_body().await).ok(),
            false => None,
        };
        let text = |key: &str| line[key].as_str().map(str::to_owned);
        ObservedEnd {
            status: response.status,
            error_code: text("error_code"),
            channel: text("channel"),
            channel_model: text("channel_model"),
            sent,
            line,
        }
    }
}

/// A request to the chat endpoint, with the key of `ann`.
pub fn chat(body: &Value) -> Value {
    json!({
        "path": "/v1/chat/completions",
        "headers": {"authorization": format!("Bearer {ANN}")},
        "body": body,
    })
}

/// A HAR file with a request and the status of its response.
pub fn har(sample: &Value, status: u16) -> Value {
    let headers = sample["headers"].as_object().unwrap().iter();
    let headers: Vec<Value> = headers
        .map(|(name, value)| json!({"name": name, "value": value}))
        .collect();
    let path = sample["path"].as_str().unwrap();
    json!({"log": {"version": "1.2", "entries": [{
        "request": {
            "method": "POST",
            "url": format!("https://gate.test{path}"),
            "headers": headers,
            "postData": {"mimeType": "application/json", "text": sample["body"].to_string()},
        },
        "response": {"status": status},
    }]}})
}

/// Runs a command in the folder of the package.
pub fn run(args: &[&str]) -> CommandEnd {
    let mut command = Command::new(BINARY);
    let output = command.args(args).stdin(Stdio::null()).output().unwrap();
    CommandEnd {
        code: output.status.code().unwrap(),
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
    }
}

pub fn config_of(folder: &Folder) -> String {
    let path: PathBuf = folder.path().join("routes.yaml");
    path.to_str().unwrap().to_owned()
}

fn request_of(sample: &Value) -> Request {
    Request::post(sample["path"].as_str().unwrap(), sample["body"].to_string())
}
