//! The measured gateway with two workers, and its provider, which is in this process.

use super::chat_client::ChatClient;
use headgate_budget::conversation::Conversation;
use headgate_budget::service;
use headgate_budget::setup::{Endpoints, TemporaryFolder, free_addresses, routes};
use std::fs;
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// How long the gateway may take to listen.
const START_TIMEOUT: Duration = Duration::from_secs(30);
const LOOK: Duration = Duration::from_millis(10);
/// Chats by which the worker of a connection is found.
const PROBE_CHATS: usize = 100;

/// A running gateway; it ends when the value is dropped.
pub struct TwoWorkerGateway {
    child: Child,
    listen: SocketAddr,
    pub program: PathBuf,
    _folder: TemporaryFolder,
}

/// A thread of the gateway.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WorkerThread(pub libc::pid_t);

impl TwoWorkerGateway {
    /// Starts `headgate` of the folder `programs`.
    ///
    /// # Errors
    /// There is none, or it does not listen.
    pub fn start(programs: &Path) -> Result<Self, String> {
        let folder = TemporaryFolder::new("headgate-shared-writes");
        let [listen, admin] = free_addresses();
        let body = Conversation::Chat.provider_texts().response;
        let response = format!(
            "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        );
        let endpoints = Endpoints {
            listen,
            admin,
            provider: service::start(response.leak()),
            tls: None,
            provider_http2: false,
        };
        let config = folder.path().join("routes.yaml");
        let text = routes(&endpoints).replace("workers: 1", "workers: 2");
        fs::write(&config, text).map_err(|error| format!("{}: {error}", config.display()))?;
        let program = programs.join("headgate");
        let mut command = Command::new(&program);
        command.arg("run").arg("--config").arg(&config);
        command.stdin(Stdio::null()).stdout(Stdio::null());
        let child = command.spawn();
        let child = child.map_err(|error| format!("{}: {error}", program.display()))?;
        Ok(Self {
            child,
            listen,
            program,
            _folder: folder,
        })
    }

    pub fn process(&self) -> libc::pid_t {
        self.child.id() as libc::pid_t
    }

    /// A new connection, as soon as the gateway listens.
    ///
    /// # Errors
    /// It does not listen.
    pub fn connect(&self) -> Result<ChatClient, String> {
        let begun = Instant::now();
        loop {
            match TcpStream::connect(self.listen) {
                Ok(connection) => return Ok(ChatClient::new(connection)),
                Err(error) if begun.elapsed() > START_TIMEOUT => {
                    return Err(format!("the gateway does not listen: {error}"));
                }
                Err(_) => thread::sleep(LOOK),
            }
        }
    }

    /// Finds the worker that serves a warm connection: the one that waits most often meanwhile.
    ///
    /// # Errors
    /// A chat fails, or there are no workers.
    pub fn find_worker(&self, client: &mut ChatClient) -> Result<WorkerThread, String> {
        let before = self.workers()?;
        for _ in 0..PROBE_CHATS {
            client.chat()?;
        }
        let waits = self.workers()?.into_iter().filter_map(|(thread, count)| {
            let earlier = before.iter().find(|(known, _)| *known == thread)?;
            Some((count.saturating_sub(earlier.1), thread))
        });
        let busiest = waits.max_by_key(|(waits, _)| *waits);
        busiest
            .map(|(_, thread)| thread)
            .ok_or_else(|| "no thread of the gateway has the name of a worker".into())
    }

    /// The worker threads, each with how often it has waited.
    fn workers(&self) -> Result<Vec<(WorkerThread, u64)>, String> {
        let tasks = format!("/proc/{}/task", self.process());
        let entries = fs::read_dir(&tasks).map_err(|error| format!("{tasks}: {error}"))?;
        let workers = entries.filter_map(|entry| {
            let entry = entry.ok()?;
            let status = fs::read_to_string(entry.path().join("status")).ok()?;
            let value = |key: &str| {
                let line = status.lines().find_map(|line| line.strip_prefix(key))?;
                Some(line.trim())
            };
            // Workers have the name of their listener and a number.
            let name = value("Name:")?;
            let number = name.rsplit_once(' ')?.1;
            number.parse::<usize>().ok()?;
            let waits = value("voluntary_ctxt_switches:")?.parse().ok()?;
            let thread = entry.file_name().to_str()?.parse().ok()?;
            Some((WorkerThread(thread), waits))
        });
        Ok(workers.collect())
    }
}

impl Drop for TwoWorkerGateway {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
