//! The gateway as a process: its two listeners, its log, its metrics.

use super::folder::Folder;
use super::process::{Process, Reader};
use super::request::OPERATOR;
use super::simulator::wait_for_listener;
use super::{Connection, OpenResponse, Request, WholeResponse, eventually};
use serde_json::Value;
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::Path;

pub struct Gateway {
    pub process: Process,
    pub address: SocketAddr,
    pub admin: SocketAddr,
    pub folder: Folder,
}

/// The samples of a metrics page.
pub struct Metrics {
    pub samples: Vec<Sample>,
}

pub struct Sample {
    pub name: String,
    pub labels: BTreeMap<String, String>,
    pub value: f64,
}

impl Gateway {
    pub async fn start(config: &Value) -> Self {
        Self::start_in(folder_with_schemas(), &format!("{config:#}")).await
    }

    /// Starts with the text of a configuration, in a folder with all files that it names.
    pub async fn start_in(folder: Folder, config: &str) -> Self {
        Self::start_read_by(folder, config, Reader::Stays).await
    }

    /// Starts with these variables in its environment.
    pub async fn start_with_variables(
        folder: Folder,
        config: &Value,
        variables: &[(&str, String)],
    ) -> Self {
        let file = folder.write("routes.yaml", format!("{config:#}"));
        let variables = variables
            .iter()
            .map(|(name, value)| format!("{name}={value}"));
        let variables: Vec<String> = variables.collect();
        let variables: Vec<&str> = variables.iter().map(String::as_str).collect();
        let args = ["run", "--config", file.to_str().unwrap()];
        Self::listening(Process::spawn_under("env", &variables, &args), folder).await
    }

    /// All that the process has written.
    pub fn output(&self) -> String {
        let lines = [self.process.stdout.all(), self.process.stderr.all()];
        lines.concat().join("\n")
    }

    /// Starts with a configuration whose folder outlives the gateway.
    pub async fn start_at(file: &Path) -> Self {
        Self::start_with(Folder::new(), file, &[], Reader::Stays).await
    }

    /// Starts with these directives as `RUST_LOG`.
    pub async fn start_logging(folder: Folder, config: &Value, directives: &str) -> Self {
        let file = folder.write("routes.yaml", format!("{config:#}"));
        let args = ["run", "--config", file.to_str().unwrap()];
        let process = Process::spawn_logging(&args, Some(directives), Reader::Stays);
        Self::listening(process, folder).await
    }

    /// Starts with a reader of its standard error that may stop reading.
    pub async fn start_read_by(folder: Folder, config: &str, reader: Reader) -> Self {
        let file = folder.path().join("routes.yaml");
        if !file.exists() {
            folder.write("routes.yaml", config);
        }
        Self::start_with(folder, &file, &[], reader).await
    }

    /// Starts the next process at the same addresses, which takes over from this one.
    pub async fn successor(&self, config: &str) -> Self {
        let folder = folder_with_schemas();
        let file = folder.write("routes.yaml", config);
        self.successor_at(folder, &file).await
    }

    /// Like [`Gateway::successor`], with a configuration whose folder may outlive both.
    pub async fn successor_at(&self, folder: Folder, file: &Path) -> Self {
        let (listen, admin) = (self.address.to_string(), self.admin.to_string());
        let args = ["--upgrade", "--listen", &listen, "--admin", &admin];
        Self::start_with(folder, file, &args, Reader::Stays).await
    }

    /// The text of its configuration.
    pub fn config(&self) -> String {
        std::fs::read_to_string(self.folder.path().join("routes.yaml")).unwrap()
    }

    async fn start_with(folder: Folder, file: &Path, reported: &[&str], reader: Reader) -> Self {
        let args = [&["run", "--config", file.to_str().unwrap()], reported].concat();
        Self::listening(Process::spawn_read_by(&args, reader), folder).await
    }

    /// Waits until a process that was started with a configuration serves.
    pub async fn listening(mut process: Process, folder: Folder) -> Self {
        let line = process.wait_for_line("headgate is listening").await;
        let address = |key: &str| line[key].as_str().unwrap().parse().unwrap();
        let (address, admin) = (address("listen"), address("admin"));
        wait_for_listener(address).await;
        wait_for_listener(admin).await;
        Self {
            process,
            address,
            admin,
            folder,
        }
    }

    pub async fn connect(&self) -> Connection {
        Connection::to(self.address).await
    }

    /// Sends a request on a new connection and reads the whole response.
    pub async fn ask(&self, request: &Request) -> WholeResponse {
        self.connect().await.ask(request).await
    }

    /// Sends a request on a new connection and reads the head of its response.
    pub async fn open(&self, request: &Request) -> OpenResponse {
        self.connect().await.open(request).await
    }

    /// Has the gateway read a changed configuration.
    pub async fn reload(&self, config: &Value) {
        self.folder.replace("routes.yaml", format!("{config:#}"));
        let reloaded = self.page("POST", "/reload").await;
        assert_eq!(reloaded.status, 200, "{}", reloaded.text());
    }

    /// A page of the admin listener, with a key that may act if the configuration has it.
    pub async fn page(&self, method: &str, path: &str) -> WholeResponse {
        let request = self.admin_request(method, path).key(OPERATOR);
        self.ask_admin(&request).await
    }

    /// A request to the admin listener, without a key.
    pub fn admin_request(&self, method: &str, path: &str) -> Request {
        let request = Request::new(method, path).without("host");
        let request = request.header("Host", &self.admin.to_string());
        request.without("authorization")
    }

    /// Sends a request to the admin listener on a new connection.
    pub async fn ask_admin(&self, request: &Request) -> WholeResponse {
        Connection::to(self.admin).await.ask(request).await
    }

    pub async fn metrics(&self) -> Metrics {
        Metrics::parse(&self.page("GET", "/metrics").await.text())
    }

    /// `/config` as JSON.
    pub async fn config_page(&self) -> Value {
        self.page("GET", "/config").await.json()
    }

    /// The lines of the access log so far.
    pub fn log(&self) -> Vec<Value> {
        self.process.stdout.json()
    }

    /// The access-log line of the response's request, once it is written.
    pub async fn log_of(&self, answer: &WholeResponse) -> Value {
        let id = answer
            .headers
            .get("x-request-id")
            .expect("every answer has an id");
        self.log_line(|line| line["id"] == id).await
    }

    /// The first line that `is_wanted` accepts, once it is written.
    pub async fn log_line(&self, is_wanted: impl Fn(&Value) -> bool) -> Value {
        eventually("an access-log line", async || {
            self.log().into_iter().find(|line| is_wanted(line))
        })
        .await
    }
}

/// A folder with the schemas of this repository.
pub fn folder_with_schemas() -> Folder {
    let folder = Folder::new();
    let schemas = Path::new(env!("CARGO_MANIFEST_DIR")).join("schemas");
    std::os::unix::fs::symlink(schemas, folder.path().join("schemas")).unwrap();
    folder
}

impl Metrics {
    /// # Panics
    /// If a line is not in Prometheus' text format.
    pub fn parse(text: &str) -> Self {
        let samples = text
            .lines()
            .filter(|line| !line.is_empty() && !line.starts_with('#'))
            .map(|line| Sample::parse(line).unwrap_or_else(|| panic!("not a sample: {line}")))
            .collect();
        Self { samples }
    }

    /// The sum of all samples with this name and these labels.
    pub fn sum(&self, name: &str, labels: &[(&str, &str)]) -> f64 {
        self.samples
            .iter()
            .filter(|sample| sample.name == name)
            .filter(|sample| {
                labels
                    .iter()
                    .all(|(key, value)| sample.labels.get(*key).is_some_and(|is| is == value))
            })
            .map(|sample| sample.value)
            .sum()
    }
}

impl Sample {
    fn parse(line: &str) -> Option<Self> {
        let (series, value) = line.rsplit_once(' ')?;
        let (name, labels) = match series.split_once('{') {
            None => (series, ""),
            Some((name, labels)) => (name, labels.strip_suffix('}')?),
        };
        let labels = labels
            .split("\",")
            .filter(|label| !label.is_empty())
            .map(|label| {
                let (key, value) = label.split_once("=\"")?;
                Some((key.to_string(), value.trim_end_matches('"').to_string()))
            })
            .collect::<Option<_>>()?;
        Some(Self {
            name: name.into(),
            labels,
            value: value.parse().ok()?,
        })
    }
}
