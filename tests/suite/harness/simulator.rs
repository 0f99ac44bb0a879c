//! The simulated provider as a process, and its request log.

use super::process::Process;
use super::{Connection, Request, eventually};
use serde_json::Value;
use std::net::SocketAddr;

pub struct Simulator {
    _process: Process,
    pub address: SocketAddr,
}

impl Simulator {
    pub async fn start() -> Self {
        Self::start_with(&["--event-ms", "0"]).await
    }

    pub async fn start_with(settings: &[&str]) -> Self {
        let args = [&["simulate", "--listen", "127.0.0.1:0"], settings].concat();
        let mut process = Process::spawn(&args);
        let line = process
            .wait_for_line("simulated provider is listening")
            .await;
        let address: SocketAddr = line["listen"].as_str().unwrap().parse().unwrap();
        wait_for_listener(address).await;
        Self {
            _process: process,
            address,
        }
    }

    /// The base URL of a channel.
    pub fn url(&self) -> String {
        format!("http://{}/v1", self.address)
    }

    /// The base URL of a channel whose requests all apply `directives`.
    pub fn url_obeying(&self, directives: &str) -> String {
        format!("http://{}/~{directives}/v1", self.address)
    }

    /// The records of all requests, the oldest first.
    pub async fn records(&self) -> Vec<Value> {
        let answer = self.control("requests").await;
        serde_json::from_slice(&answer).unwrap()
    }

    /// The record of the newest request.
    pub async fn last(&self) -> Value {
        self.records().await.pop().expect("a request came")
    }

    /// The body of request `n` as received.
    pub async fn body(&self, n: &Value) -> Vec<u8> {
        self.control(&format!("requests/{n}/body")).await
    }

    /// The body of the newest request.
    pub async fn last_body(&self) -> Vec<u8> {
        let n = self.last().await["n"].clone();
        self.body(&n).await
    }

    /// The files of media stores that creates named, as they were downloaded.
    pub async fn downloads(&self) -> Vec<Value> {
        serde_json::from_slice(&self.control("media").await).unwrap()
    }

    /// The body of the newest create of a video.
    pub async fn last_create_body(&self) -> Vec<u8> {
        let records = self.records().await;
        let is_create = |record: &&Value| {
            let endpoint = record["endpoint"].as_str();
            endpoint.is_some_and(|name| name.ends_with(".create"))
        };
        let create = records.iter().rev().find(is_create).expect("a create came");
        self.body(&create["n"]).await
    }

    /// The number of open requests.
    pub async fn open(&self) -> u64 {
        serde_json::from_slice(&self.control("open").await).unwrap()
    }

    /// Sets the default directives of all requests; removes them if `directives` is empty.
    pub async fn obey(&self, directives: &str) {
        let method = if directives.is_empty() {
            "DELETE"
        } else {
            "PUT"
        };
        let request = Request::new(method, "/_simulate/directives");
        let length = directives.len().to_string();
        let request = request.header("Content-Length", &length);
        let mut connection = Connection::to(self.address).await;
        let mut bytes = request.bytes();
        bytes.extend_from_slice(directives.as_bytes());
        connection.send(&bytes).await.unwrap();
        let answer = connection.answer().await.expect("an answer");
        assert_eq!(answer.status, 200, "{directives}: {}", answer.text());
    }

    /// The first record that `is_wanted` accepts, once there is one.
    pub async fn record(&self, what: &str, is_wanted: impl Fn(&Value) -> bool) -> Value {
        eventually(what, async || {
            self.records()
                .await
                .into_iter()
                .find(|record| is_wanted(record))
        })
        .await
    }

    async fn control(&self, path: &str) -> Vec<u8> {
        let mut connection = Connection::to(self.address).await;
        let answer = connection
            .ask(&Request::get(&format!("/_simulate/{path}")))
            .await;
        assert_eq!(answer.status, 200, "{path}: {}", answer.text());
        answer.body
    }
}

/// Waits for a listener: a process logs its address shortly before it listens.
pub async fn wait_for_listener(address: SocketAddr) {
    eventually("a listener", async || {
        tokio::net::TcpStream::connect(address).await.ok()
    })
    .await;
}
