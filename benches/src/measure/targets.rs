//! What requests are sent to: the simulated provider, and the proxies in front of it.

use super::process::{PinnedProgram, pin};
use super::{nginx, tls};
use headgate_budget::setup::{
    Endpoints, PLUGINS, TemporaryFolder, add_plugins, copy_plugins, free_addresses, routes,
};
use std::fs;
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Command, Stdio};

/// The processor of the measured program, and that of client and provider.
pub const TARGET_CPU: usize = 0;
pub const OTHER_CPU: usize = 1;
const BOTH_CPUS: &[usize] = &[TARGET_CPU, OTHER_CPU];

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
    Nginx,
}

/// The proxies in the order of the summary's columns.
pub const PROXIES: [Target; 3] = [Target::Headgate, Target::BarePingora, Target::Nginx];

impl Target {
    /// The name in the headings of columns.
    pub fn name(self) -> &'static str {
        match self {
            Self::Direct => "direct",
            Self::BarePingora => "bare Pingora",
            Self::Headgate => "Headgate",
            Self::Nginx => "nginx",
        }
    }
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

/// What is started.
#[derive(Clone, Copy, Debug)]
pub struct TargetSetup<'a> {
    /// The folder of the programs.
    pub programs: &'a Path,
    /// The folder of modules, each with a route of its own.
    pub plugins: Option<&'a Path>,
    pub transport: Transport,
    /// Workers of the gateway. More than one share both processors with client and provider.
    pub workers: usize,
}

/// All programs of a run; they end when the value is dropped.
pub struct Targets {
    provider: PinnedProgram,
    bare: PinnedProgram,
    headgate: PinnedProgram,
    nginx: Option<PinnedProgram>,
    client_cpus: &'static [usize],
    pub has_plugins: bool,
    pub transport: Transport,
    _folder: TemporaryFolder,
}

impl Targets {
    /// Starts the simulated provider, bare Pingora, nginx if it is installed, and the gateway with all features.
    pub fn start(setup: TargetSetup) -> Self {
        let folder = TemporaryFolder::new(&format!("headgate-bench-{}", setup.workers));
        let (target_cpus, client_cpus): (&[usize], &[usize]) = match setup.workers {
            1 => (&[TARGET_CPU], &[OTHER_CPU]),
            _ => (BOTH_CPUS, BOTH_CPUS),
        };
        pin(0, client_cpus);
        let [listen, admin, provider, bare, nginx] = free_addresses();
        let endpoints = Endpoints {
            listen,
            admin,
            provider,
            tls: (setup.transport == Transport::ClientHttp2).then(|| tls::files(folder.path())),
            provider_http2: setup.transport == Transport::ProviderHttp2,
        };
        let provider = start_provider(setup.programs, provider, client_cpus);
        let has_nginx = setup.transport == Transport::Http1 && nginx::is_installed();
        let nginx = has_nginx.then(|| {
            let mut command = nginx::command(folder.path(), nginx, provider.address);
            PinnedProgram::start(&mut command, nginx, target_cpus, Stdio::null())
        });
        let mut command = bare_command(setup.programs, bare, &endpoints);
        let bare = PinnedProgram::start(&mut command, bare, target_cpus, Stdio::null());
        let config = folder.path().join("routes.yaml");
        let routes = written_routes(setup, &endpoints, &folder);
        fs::write(&config, routes).expect("a file can be written");
        let log = fs::File::create(folder.path().join("access.log")).expect("a file can be made");
        let mut command = Command::new(setup.programs.join("headgate"));
        command.arg("run").arg("--config").arg(&config);
        let headgate = PinnedProgram::start(&mut command, listen, target_cpus, Stdio::from(log));
        Self {
            provider,
            bare,
            headgate,
            nginx,
            client_cpus,
            has_plugins: setup.plugins.is_some(),
            transport: setup.transport,
            _folder: folder,
        }
    }

    /// The proxies that run, in the order of [`PROXIES`].
    pub fn proxies(&self) -> &'static [Target] {
        &PROXIES[..2 + usize::from(self.nginx.is_some())]
    }

    /// Moves this process to the processors of the client.
    pub fn pin_client(&self) {
        pin(0, self.client_cpus);
    }

    pub fn address(&self, target: Target) -> SocketAddr {
        self.program(target).address
    }

    pub fn program(&self, target: Target) -> &PinnedProgram {
        match target {
            Target::Direct => &self.provider,
            Target::BarePingora => &self.bare,
            Target::Headgate => &self.headgate,
            Target::Nginx => self.nginx.as_ref().expect("only what runs is measured"),
        }
    }
}

fn start_provider(programs: &Path, address: SocketAddr, cpus: &'static [usize]) -> PinnedProgram {
    let mut command = Command::new(programs.join("headgate"));
    command.args(["simulate", "--no-record", "--event-ms", "0", "--listen"]);
    command.arg(address.to_string());
    PinnedProgram::start(&mut command, address, cpus, Stdio::null())
}

fn bare_command(programs: &Path, listen: SocketAddr, endpoints: &Endpoints) -> Command {
    let mut command = Command::new(programs.join("bare-pingora"));
    command.args([listen.to_string(), endpoints.provider.to_string()]);
    if endpoints.provider_http2 {
        command.arg("--upstream-http2");
    }
    if let Some(files) = &endpoints.tls {
        command.arg("--tls").args([&files.certificate, &files.key]);
    }
    command
}

/// The configuration of the gateway, whose plugins are copied to where it expects them.
fn written_routes(setup: TargetSetup, endpoints: &Endpoints, folder: &TemporaryFolder) -> String {
    let workers = format!("workers: {}", setup.workers);
    let mut routes = routes(endpoints).replace("workers: 1", &workers);
    if let Some(plugins) = setup.plugins {
        copy_plugins(plugins, folder);
        let looping = wat::parse_str(LOOP).expect("the text is a module");
        let module = folder.path().join("plugins/loop.wasm");
        fs::write(module, looping).expect("a file can be written");
        add_plugins(
            &mut routes,
            &[PLUGINS[0], PLUGINS[1], ("loop", PLUGIN_LOOP)],
        );
    }
    routes
}
