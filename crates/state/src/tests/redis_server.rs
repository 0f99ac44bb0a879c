//! A real Redis server for tests, on a free port. It stops with the test, and can be killed and restarted.

use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// How long to wait until the server listens, on a busy machine.
const MAX_WAIT: Duration = Duration::from_secs(30);

/// A `redis-server`, which stores nothing on disk unless it is started so.
pub struct RedisServer {
    child: Option<Child>,
    pub port: u16,
    options: Vec<String>,
    is_tls: bool,
}

impl RedisServer {
    pub fn start() -> Self {
        Self::start_with(|_| Vec::new(), false)
    }

    /// Starts a server that has each write on disk, in `folder`, before it responds: a restart finds all of them.
    pub fn start_durable(folder: &Path) -> Self {
        let options = |_| {
            let folder = folder.to_str().unwrap();
            let options = [
                "--appendonly",
                "yes",
                "--appendfsync",
                "always",
                "--dir",
                folder,
            ];
            options.map(ToString::to_string).to_vec()
        };
        Self::start_with(options, false)
    }

    /// Starts the server with TLS only, with the certificates of `folder`, and a password.
    pub fn start_with_tls(folder: &Path, password: &str) -> Self {
        let file = |name: &str| -> PathBuf { folder.join(name) };
        let options = |port: u16| {
            let port = port.to_string();
            let (certificate, key) = (file("redis.pem"), file("redis.key"));
            [
                ("--tls-port", port.as_str()),
                ("--tls-cert-file", certificate.to_str().unwrap()),
                ("--tls-key-file", key.to_str().unwrap()),
                ("--tls-auth-clients", "no"),
                ("--requirepass", password),
            ]
            .into_iter()
            .flat_map(|(name, value)| [name.to_string(), value.to_string()])
            .collect()
        };
        Self::start_with(options, true)
    }

    /// Kills the server, like a crash.
    pub fn kill(&mut self) {
        if let Some(mut child) = self.child.take() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }

    /// Restarts the server on its port, without its data unless it is durable.
    pub fn restart(&mut self) {
        self.kill();
        let until = Instant::now() + MAX_WAIT;
        while !self.spawn() {
            assert!(Instant::now() < until, "redis-server does not start again");
        }
    }

    /// Stops the process with SIGSTOP, so that it accepts connections and responds to nothing, or continues it.
    pub fn stop(&self, is_stopped: bool) {
        let child = self.child.as_ref().expect("it runs");
        let signal = if is_stopped { "-STOP" } else { "-CONT" };
        let sent = Command::new("kill")
            .args([signal, &child.id().to_string()])
            .status();
        assert!(sent.unwrap().success());
    }

    pub fn url(&self) -> String {
        format!("redis://127.0.0.1:{}/0", self.port)
    }

    fn start_with(options: impl Fn(u16) -> Vec<String>, is_tls: bool) -> Self {
        let until = Instant::now() + MAX_WAIT;
        loop {
            let port = free_port();
            let mut server = Self {
                child: None,
                port,
                options: options(port),
                is_tls,
            };
            if server.spawn() {
                return server;
            }
            // Another process has taken the port.
            assert!(Instant::now() < until, "redis-server does not start");
        }
    }

    /// Starts the process; returns false if it ends at once.
    fn spawn(&mut self) -> bool {
        let plain_port = if self.is_tls { 0 } else { self.port };
        let child = Command::new("redis-server")
            .args(["--port", &plain_port.to_string(), "--bind", "127.0.0.1"])
            .args(["--save", "", "--appendonly", "no", "--daemonize", "no"])
            .args(&self.options)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .current_dir(std::env::temp_dir())
            .spawn()
            .expect("redis-server is installed by tests/set_up.sh test");
        let child = self.child.insert(child);
        let until = Instant::now() + MAX_WAIT;
        while Instant::now() < until {
            if child.try_wait().unwrap().is_some() {
                return false;
            }
            if TcpStream::connect(SocketAddr::from((Ipv4Addr::LOCALHOST, self.port))).is_ok() {
                return true;
            }
            sleep(Duration::from_millis(10));
        }
        panic!("redis-server does not listen");
    }
}

impl Drop for RedisServer {
    fn drop(&mut self) {
        self.kill();
    }
}

fn free_port() -> u16 {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    listener.local_addr().unwrap().port()
}
