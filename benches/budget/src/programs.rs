//! The measured programs: how each is started with the configuration that it needs, and ended.

use super::provider::Provider;
use headgate_budget::setup::{
    Endpoints, PLUGINS, TemporaryFolder, add_plugins, add_tracing, copy_plugins, free_addresses,
    routes, sign_requests, translating_routes, video_routes,
};
use std::fs;
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::thread;
use std::time::{Duration, Instant};

/// The timeout for a program to listen, and to end. The first start with plugins compiles them.
const WAIT: Duration = Duration::from_secs(300);
const LOOK: Duration = Duration::from_millis(50);

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Program {
    Headgate,
    /// With a trace of every request.
    TracingHeadgate,
    /// With a channel whose requests are signed with a key of AWS.
    SigningHeadgate,
    /// With a route for creates of videos, in place of the others.
    VideoHeadgate,
    /// With routes that translate, in place of the others.
    TranslatingHeadgate,
    BarePingora,
}

/// The folder of the programs, and what they need.
pub struct Programs {
    programs: PathBuf,
    folder: TemporaryFolder,
    provider: SocketAddr,
    has_plugins: bool,
}

impl Programs {
    /// The programs in the folder `programs`, with the plugins of a folder.
    pub fn new(programs: &Path, provider: &Provider, plugins: Option<&Path>) -> Self {
        let folder = TemporaryFolder::new("headgate-budget");
        if let Some(plugins) = plugins {
            copy_plugins(plugins, &folder);
        }
        Self {
            programs: programs.into(),
            folder,
            provider: provider.address,
            has_plugins: plugins.is_some(),
        }
    }

    /// The folder for what a run writes.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// A free address, and what follows the arguments of `runner` to start a program that will listen there.
    pub fn command(&self, program: Program, mut runner: Command) -> (SocketAddr, Command) {
        let [address, admin] = free_addresses();
        let provider = self.provider;
        match program {
            Program::Headgate
            | Program::TracingHeadgate
            | Program::SigningHeadgate
            | Program::VideoHeadgate
            | Program::TranslatingHeadgate => {
                let config = self.folder.path().join("routes.yaml");
                let endpoints = Endpoints {
                    listen: address,
                    admin,
                    provider,
                    tls: None,
                    provider_http2: false,
                };
                let mut routes = match program {
                    Program::VideoHeadgate => video_routes(&endpoints),
                    Program::TranslatingHeadgate => translating_routes(&endpoints),
                    _ => routes(&endpoints),
                };
                if self.has_plugins {
                    add_plugins(&mut routes, &PLUGINS);
                }
                match program {
                    Program::TracingHeadgate => add_tracing(&mut routes),
                    Program::SigningHeadgate => sign_requests(&mut routes),
                    _ => {}
                }
                fs::write(&config, routes).expect("a file can be written");
                runner.arg(self.programs.join("headgate"));
                runner.arg("run").arg("--config").arg(config);
            }
            Program::BarePingora => {
                runner.arg(self.programs.join("bare-pingora"));
                runner.args([address.to_string(), provider.to_string()]);
            }
        }
        (address, runner)
    }
}

/// A program that was started.
pub struct Running(Child);

impl Running {
    pub fn start(command: &mut Command) -> Self {
        let child = command.spawn();
        Self(child.expect("the program and what runs it are installed"))
    }

    /// The first connection that the program accepts.
    pub fn connect(&mut self, address: SocketAddr) -> TcpStream {
        let begun = Instant::now();
        while begun.elapsed() < WAIT {
            if let Ok(connection) = TcpStream::connect(address) {
                return connection;
            }
            assert!(!self.has_ended(), "the program ended instead of listening");
            thread::sleep(LOOK);
        }
        panic!("nothing listens on {address}");
    }

    /// Lets the program end by itself: what counts or records it writes its result only then.
    pub fn end(&mut self) {
        // SAFETY: the call takes two numbers; the process is a child that was not waited for yet.
        unsafe { libc::kill(self.0.id() as libc::pid_t, libc::SIGTERM) };
        let begun = Instant::now();
        while !self.has_ended() {
            assert!(begun.elapsed() < WAIT, "the program does not end");
            thread::sleep(LOOK);
        }
    }

    fn has_ended(&mut self) -> bool {
        let status = self.0.try_wait().expect("it is a child");
        status.is_some()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
