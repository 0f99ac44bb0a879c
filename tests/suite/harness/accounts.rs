//! Two accounts at one provider, and three callers that use them: `ann` and `cat` the first, `bob` the second.

use super::config::{self, CREDENTIALS, caller};
use super::request::{ANN, BOB};
use super::{Connection, Gateway, Request, Simulator, WholeResponse};
use serde_json::Value;

/// The key of the caller `cat`, who may use every model.
pub const CAT: &str = "sk-cat-canary-7e02b1";
pub const CALLERS: [&str; 3] = [ANN, BOB, CAT];
/// The accounts' credentials, those of the channels `openai` and `second`.
pub const ACCOUNTS: [&str; 2] = [CREDENTIALS[0], "sk-upstream-second-canary-1d9a"];

pub struct Accounts {
    pub gateway: Gateway,
    pub simulator: Simulator,
    pub config: Value,
}

impl Accounts {
    pub async fn start() -> Self {
        Self::with(|_| {}).await
    }

    /// Starts them with a changed configuration.
    pub async fn with(change: impl FnOnce(&mut Value)) -> Self {
        let simulator = Simulator::start().await;
        let mut config = config::standard(&simulator.url());
        config::add_stored_objects(&mut config);
        let mut second = config["channels"]["openai"].clone();
        second["credential"]["bearer"] = ACCOUNTS[1].into();
        config["channels"]["second"] = second;
        // A caller who may use only the small model has no model on the first channel.
        let models = config["channels"]["openai"]["models"].as_object_mut();
        models.unwrap().remove("demo-small");
        let callers = config["callers"].as_array_mut().unwrap();
        callers.push(caller("cat", CAT, &["*"]));
        change(&mut config);
        Self {
            gateway: Gateway::start(&config).await,
            simulator,
            config,
        }
    }

    pub async fn ask(&self, request: &Request) -> WholeResponse {
        self.gateway.ask(request).await
    }

    /// Sends a request that creates a resource; returns its id once the gateway has recorded it.
    pub async fn make(&self, request: &Request) -> String {
        let answer = self.ask(request).await;
        assert_eq!(answer.status, 200, "{}", answer.text());
        // The gateway has recorded the id once the log has it.
        let line = self.gateway.log_of(&answer).await;
        line["response_id"]
            .as_str()
            .expect("an id in the log")
            .to_string()
    }

    /// The accounts that have the resource at `path`.
    pub async fn knowing(&self, path: &str) -> Vec<&'static str> {
        let mut knowing = Vec::new();
        for account in ACCOUNTS {
            if self.direct(&Request::get(path).key(account)).await.status == 200 {
                knowing.push(account);
            }
        }
        knowing
    }

    /// Sends a request to the provider directly.
    pub async fn direct(&self, request: &Request) -> WholeResponse {
        Connection::to(self.simulator.address)
            .await
            .ask(request)
            .await
    }

    /// The number of requests that the provider has received.
    pub async fn count(&self) -> usize {
        self.simulator.records().await.len()
    }

    /// Reloads the gateway with a changed configuration.
    pub async fn reload(&mut self, change: impl FnOnce(&mut Value)) {
        change(&mut self.config);
        let reloaded = self.try_reload(&self.config).await;
        assert_eq!(reloaded.status, 200, "{}", reloaded.text());
    }

    /// Reloads the gateway with a configuration that it may refuse.
    pub async fn try_reload(&self, config: &Value) -> WholeResponse {
        let text = format!("{config:#}");
        self.gateway.folder.replace("routes.yaml", text);
        self.gateway.page("POST", "/reload").await
    }
}

/// A form with a file, and the given fields.
pub fn form(target: &str, fields: &[(&str, &str)], content: &[u8]) -> Request {
    const BOUNDARY: &str = "----headgate-test-8c1";
    let mut body = Vec::new();
    for (name, value) in fields {
        let head =
            format!("--{BOUNDARY}\r\nContent-Disposition: form-data; name=\"{name}\"\r\n\r\n");
        body.extend_from_slice(format!("{head}{value}\r\n").as_bytes());
    }
    let head = "Content-Disposition: form-data; name=\"file\"; filename=\"50% of \\a.bin\"\r\nContent-Type: application/octet-stream";
    body.extend_from_slice(format!("--{BOUNDARY}\r\n{head}\r\n\r\n").as_bytes());
    body.extend_from_slice(content);
    body.extend_from_slice(format!("\r\n--{BOUNDARY}--\r\n").as_bytes());
    let content_type = format!("multipart/form-data; boundary={BOUNDARY}");
    Request::new("POST", target)
        .header("Content-Type", &content_type)
        .with_body(body)
}
