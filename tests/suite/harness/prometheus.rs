//! A real Prometheus for tests, on a free port, which scrapes one gateway every second. It ends with the test.

use super::folder::Folder;
use super::free_port::free_port;
use super::request::VIEWER;
use super::{Connection, PATIENCE, Request, eventually_within};
use serde_json::Value;
use std::io::Write;
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};

pub struct PrometheusServer {
    process: Child,
    address: SocketAddr,
    _folder: Folder,
}

impl PrometheusServer {
    /// Starts a server that scrapes `target` and evaluates `rules`.
    pub async fn start(target: SocketAddr, rules: &Path) -> Self {
        let folder = Folder::new();
        let config = format!(
            "global: {{scrape_interval: 1s, evaluation_interval: 1s}}\nrule_files: [\"{}\"]\nscrape_configs:\n  - job_name: headgate\n    authorization: {{credentials: {VIEWER}}}\n    static_configs: [{{targets: [\"{target}\"]}}]\n",
            rules.display()
        );
        let config = folder.write("prometheus.yaml", config);
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, free_port()));
        let process = Command::new("prometheus")
            .arg(format!("--config.file={}", config.display()))
            .arg(format!(
                "--storage.tsdb.path={}",
                folder.path().join("data").display()
            ))
            .arg(format!("--web.listen-address={address}"))
            .arg("--log.level=warn")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::inherit())
            .spawn()
            .expect("prometheus is installed; tests/set_up.sh test installs it");
        let mut server = Self {
            process,
            address,
            _folder: folder,
        };
        eventually_within(PATIENCE, "a Prometheus that is ready", async || {
            let ended = server.process.try_wait().unwrap();
            assert!(ended.is_none(), "prometheus has ended: {ended:?}");
            TcpStream::connect(address).ok()?;
            (server.get("/-/ready").await.0 == 200).then_some(())
        })
        .await;
        server
    }

    /// The samples that a query returns now.
    ///
    /// # Errors
    /// The query is invalid or fails.
    pub async fn query(&self, expression: &str) -> Result<Vec<Value>, String> {
        let encoded: String = expression
            .bytes()
            .map(|byte| format!("%{byte:02X}"))
            .collect();
        let (_, response) = self.get(&format!("/api/v1/query?query={encoded}")).await;
        match response["data"]["result"].as_array() {
            Some(samples) => Ok(samples.clone()),
            None => Err(response.to_string()),
        }
    }

    /// All rules, with their state.
    pub async fn rules(&self) -> Vec<Value> {
        let (_, response) = self.get("/api/v1/rules").await;
        let groups = response["data"]["groups"].as_array().unwrap();
        let rules = groups.iter().flat_map(|group| group["rules"].as_array());
        rules.flatten().cloned().collect()
    }

    async fn get(&self, target: &str) -> (u16, Value) {
        let request = Request::get(target).without("authorization");
        let response = Connection::to(self.address).await.ask(&request).await;
        let body = serde_json::from_slice(&response.body).unwrap_or_default();
        (response.status, body)
    }
}

impl Drop for PrometheusServer {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Runs promtool with these arguments, and returns what it prints.
///
/// # Panics
/// If it fails.
pub fn promtool(args: &[&str], input: &[u8]) -> String {
    let mut process = Command::new("promtool")
        .args(args)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("promtool is installed; tests/set_up.sh test installs it with prometheus");
    let mut stdin = process.stdin.take().unwrap();
    stdin.write_all(input).unwrap();
    drop(stdin);
    let output = process.wait_with_output().unwrap();
    let printed = [output.stdout, output.stderr].concat();
    let printed = String::from_utf8(printed).unwrap();
    assert!(output.status.success(), "promtool {args:?}: {printed}");
    printed
}
