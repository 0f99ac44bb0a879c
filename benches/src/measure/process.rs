//! The measured programs, each pinned to a processor.

use super::tls;
use headgate_budget::setup::{
    Endpoints, PLUGINS, TemporaryFolder, add_plugins, copy_plugins, free_addresses, routes,
};
use std::io::{BufRead, BufReader};
use std::net::{SocketAddr, TcpStream};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;
use std::{fs, thread};

/// The unit of times in `/proc/PID/stat`, the same on all of Linux's usual platforms.
const TICKS_PER_SECOND: f64 = 100.0;

pub const TARGET_CPU: usize = 0;
pub const OTHER_CPU: usize = 1;

/// The path of the route with a plugin that never returns.
pub const PLUGIN_LOOP: &str = "/plugin-loop/chat/completions";
const LOOP: &str = r#"(module
  (memory (export "memory") 1)
  (func (export "proxy_abi_version_0_2_1"))
  (func (export "proxy_on_memory_allocate") (param i32) (result i32) (i32.const 0))
  (func (export "proxy_on_context_create") (param i32 i32))
  (func (export "proxy_on_request_headers") (param i32 i32 i32) (result i32) (loop (br 0)) (i32.const 0)))"#;

/// What requests are sent to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    Direct,
    BarePingora,
    Headgate,
}

/// The protocols between client, target and provider.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transport {
    /// HTTP/1.1 without TLS on both sides.
    Http1,
    /// HTTP/2 with TLS from clients, HTTP/1.1 to the provider.
    ClientHttp2,
    /// HTTP/1.1 from clients, HTTP/2 to the provider, both without TLS.
    ProviderHttp2,
}

/// All programs of a run; they end when the value is dropped.
pub struct Targets {
    provider: Running,
    bare: Running,
    headgate: Running,
    pub has_plugins: bool,
    pub transport: Transport,
    _folder: TemporaryFolder,
}

struct Running {
    child: Child,
    address: SocketAddr,
}

impl Targets {
    /// Starts the simulated provider, bare Pingora, and the gateway with all features, and with the plugins of a folder.
    pub fn start(programs: &Path, plugins: Option<&Path>, transport: Transport) -> Self {
        let folder = TemporaryFolder::new("headgate-bench");
        let [provider, bare, headgate, admin] = free_addresses();
        let program = programs.join("headgate");
        let config = folder.path().join("routes.yaml");
        let provider_http2 = transport == Transport::ProviderHttp2;
        let has_tls = transport == Transport::ClientHttp2;
        let mut routes = routes(&Endpoints {
            listen: headgate,
            admin,
            provider,
            tls: has_tls.then(|| tls::files(folder.path())),
            provider_http2,
        });
        if let Some(plugins) = plugins {
            copy_plugins(plugins, &folder);
            let looping = wat::parse_str(LOOP).expect("the text is a module");
            let module = folder.path().join("plugins/loop.wasm");
            fs::write(module, looping).expect("a file can be written");
            add_plugins(
                &mut routes,
                &[PLUGINS[0], PLUGINS[1], ("loop", PLUGIN_LOOP)],
            );
        }
        fs::write(&config, routes).expect("a file can be written");
        let log = fs::File::create(folder.path().join("access.log")).expect("a file can be made");
        let provider = start(
            Command::new(&program).args([
                "simulate",
                "--no-record",
                "--event-ms",
                "0",
                "--listen",
                &provider.to_string(),
            ]),
            provider,
            OTHER_CPU,
            Stdio::null(),
        );
        let mut command = Command::new(programs.join("bare-pingora"));
        command.args([bare.to_string(), provider.address.to_string()]);
        if provider_http2 {
            command.arg("--upstream-http2");
        }
        if has_tls {
            let files = tls::files(folder.path());
            command.arg("--tls").args([files.certificate, files.key]);
        }
        let bare = start(&mut command, bare, TARGET_CPU, Stdio::null());
        let headgate = start(
            Command::new(&program)
                .arg("run")
                .arg("--config")
                .arg(&config),
            headgate,
            TARGET_CPU,
            Stdio::from(log),
        );
        pin(std::process::id(), OTHER_CPU);
        Self {
            provider,
            bare,
            headgate,
            has_plugins: plugins.is_some(),
            transport,
            _folder: folder,
        }
    }

    pub fn address(&self, target: Target) -> SocketAddr {
        self.running(target).address
    }

    pub fn process_id(&self, target: Target) -> u32 {
        self.running(target).child.id()
    }

    /// The processor time in seconds that all threads of a target have used.
    pub fn cpu_seconds(&self, target: Target) -> f64 {
        let tasks = format!("/proc/{}/task", self.running(target).child.id());
        let nanoseconds: u64 = fs::read_dir(tasks)
            .expect("a running program has tasks")
            .filter_map(|task| fs::read_to_string(task.ok()?.path().join("schedstat")).ok())
            .filter_map(|line| line.split(' ').next()?.parse::<u64>().ok())
            .sum();
        nanoseconds as f64 / 1e9
    }

    /// User time and system time of a target since its start, in seconds, in steps of 10 ms.
    pub fn user_and_system_seconds(&self, target: Target) -> [f64; 2] {
        let path = format!("/proc/{}/stat", self.running(target).child.id());
        let line = fs::read_to_string(path).expect("a running program has a status");
        // The fields after the name, which may contain spaces (proc_pid_stat(5)).
        let (_, fields) = line.rsplit_once(')').expect("the name is in parentheses");
        let fields: Vec<&str> = fields.split_whitespace().collect();
        [11, 12].map(|field| fields[field].parse::<f64>().unwrap_or(f64::NAN) / TICKS_PER_SECOND)
    }

    /// The resident memory in MiB.
    pub fn resident_mib(&self, target: Target) -> f64 {
        let status =
            fs::read_to_string(format!("/proc/{}/status", self.running(target).child.id()))
                .expect("running");
        let kib = status
            .lines()
            .find_map(|line| line.strip_prefix("VmRSS:"))
            .and_then(|rest| rest.trim().split(' ').next()?.parse::<f64>().ok());
        kib.unwrap_or(f64::NAN) / 1024.0
    }

    fn running(&self, target: Target) -> &Running {
        match target {
            Target::Direct => &self.provider,
            Target::BarePingora => &self.bare,
            Target::Headgate => &self.headgate,
        }
    }
}

fn start(command: &mut Command, address: SocketAddr, cpu: usize, stdout: Stdio) -> Running {
    // SAFETY: the closure only makes system calls that are allowed between fork and exec.
    unsafe {
        command.pre_exec(move || {
            pin(0, cpu);
            Ok(())
        })
    };
    let mut child = command
        .stdin(Stdio::null())
        .stdout(stdout)
        .stderr(Stdio::piped())
        .spawn()
        .expect("the programs are built: run this through `make bench`");
    let errors = child.stderr.take().expect("it was piped");
    thread::spawn(move || {
        let lines = BufReader::new(errors).lines().map_while(Result::ok);
        lines
            .filter(|line| line.contains("ERROR"))
            .for_each(|line| eprintln!("{line}"));
    });
    // `Running` ends the process, also if it does not listen in time.
    let running = Running { child, address };
    for _ in 0..200 {
        if TcpStream::connect(address).is_ok() {
            return running;
        }
        thread::sleep(Duration::from_millis(25));
    }
    panic!("nothing listens on {address}");
}

fn pin(process: u32, cpu: usize) {
    // SAFETY: an empty set is a valid one, and both calls only read and write it.
    unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        libc::CPU_SET(cpu, &mut set);
        libc::sched_setaffinity(process as libc::pid_t, size_of::<libc::cpu_set_t>(), &set);
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
