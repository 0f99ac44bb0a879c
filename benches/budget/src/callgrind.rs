//! Runs programs under callgrind, which counts the instructions of all their threads without the kernel's.

use super::load::Load;
use super::provider::Provider;
use headgate_budget::setup::{
    Endpoints, PLUGINS, TemporaryFolder, add_plugins, add_tracing, copy_plugins, free_addresses,
    routes, translating_routes, video_routes,
};
use std::fs::{self, File};
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
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
    /// With a route for creates of videos, in place of the others.
    VideoHeadgate,
    /// With routes that translate, in place of the others.
    TranslatingHeadgate,
    BarePingora,
}

/// What a run took.
#[derive(Clone, Copy)]
pub struct Run {
    pub instructions: f64,
    /// From the first request to the last response, and the time without load after it.
    pub seconds: f64,
}

/// The folder of the programs, and what they need.
pub struct Callgrind<'p> {
    programs: PathBuf,
    folder: TemporaryFolder,
    provider: &'p Provider,
    has_plugins: bool,
}

impl<'p> Callgrind<'p> {
    /// A runner of the programs in the folder `programs`, with the plugins of a folder.
    pub fn new(programs: &Path, provider: &'p Provider, plugins: Option<&Path>) -> Self {
        let folder = TemporaryFolder::new("headgate-budget");
        if let Some(plugins) = plugins {
            copy_plugins(plugins, &folder);
        }
        Self {
            programs: programs.into(),
            folder,
            provider,
            has_plugins: plugins.is_some(),
        }
    }

    /// The instructions of a whole run, from start to end, in which the program has nothing to do for `idle` after its load.
    pub fn count(&self, program: Program, load: &Load, idle: Duration) -> Run {
        let (address, mut command) = self.command(program);
        let report = self.folder.path().join("callgrind.log");
        let log = File::create(&report).expect("a file can be made");
        let child = command
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(log)
            .spawn()
            .expect("valgrind is installed");
        let mut running = Running(child);
        let connection = running.connect(address);
        let begun = Instant::now();
        load.send(connection, self.provider);
        thread::sleep(idle);
        let seconds = begun.elapsed().as_secs_f64();
        running.end();
        let report = fs::read_to_string(&report).expect("the log is text");
        let instructions = collected(&report)
            .unwrap_or_else(|| panic!("callgrind has counted nothing:\n{report}"));
        Run {
            instructions: instructions as f64,
            seconds,
        }
    }

    /// A free address, and the command of a program that will listen there.
    fn command(&self, program: Program) -> (SocketAddr, Command) {
        let [address, admin] = free_addresses();
        let provider = self.provider.address;
        let mut command = Command::new("valgrind");
        command.args(["--tool=callgrind", "--callgrind-out-file=/dev/null"]);
        match program {
            Program::Headgate
            | Program::TracingHeadgate
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
                if matches!(program, Program::TracingHeadgate) {
                    add_tracing(&mut routes);
                }
                fs::write(&config, routes).expect("a file can be written");
                command.arg(self.programs.join("headgate"));
                command.arg("run").arg("--config").arg(config);
            }
            Program::BarePingora => {
                command.arg(self.programs.join("bare-pingora"));
                command.args([address.to_string(), provider.to_string()]);
            }
        }
        (address, command)
    }
}

struct Running(Child);

impl Running {
    /// The first connection that the program accepts.
    fn connect(&mut self, address: SocketAddr) -> TcpStream {
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

    /// Lets the program end by itself, because callgrind reports only then.
    fn end(&mut self) {
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

/// The count in callgrind's report: `==PID== Collected : COUNT`.
fn collected(report: &str) -> Option<u64> {
    let line = report.lines().rfind(|line| line.contains("Collected :"))?;
    line.rsplit(' ').next()?.parse().ok()
}
