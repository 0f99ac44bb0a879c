//! `headgate demo`: a simulated provider and the gateway in one process, and requests to paste into a terminal.

use super::config_file::{ConfigFileOptionArgs, DEFAULT_FILE, PositionalConfigFileArgs};
use super::{CommandError, key, run};
use crate::features::FEATURES;
use headgate_config::snapshot::CrossSnapshotState;
use headgate_observe::process_log;
use headgate_simulator::server::SimulatorServer;
use headgate_simulator::{Simulator, SimulatorDefaults};
use std::fs::DirBuilder;
use std::io;
use std::net::SocketAddr;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

#[derive(clap::Args)]
pub struct DemoArgs {
    #[command(flatten)]
    config: ConfigFileOptionArgs,
    /// Address of the gateway.
    #[arg(long, default_value = "127.0.0.1:8080")]
    listen: String,
    /// Address of the admin pages.
    #[arg(long, default_value = "127.0.0.1:9091")]
    admin: String,
    /// Address of the simulated provider.
    #[arg(long, default_value = "127.0.0.1:0")]
    simulator: String,
}

/// The key whose digest is in the repository's routes.yaml.
const KEY: &str = "sk-demo";
/// Variables with provider URLs in the repository's routes.yaml, and the base path of their protocol at the simulated
/// provider. A variable without a value gets the simulated provider's URL.
const PROVIDERS: &[(&str, &str)] = &[
    ("PRIMARY_URL", "/v1"),
    ("SECOND_URL", "/v1"),
    ("MESSAGES_URL", "/v1"),
    ("IMAGES_URL", "/v1"),
    ("VIDEO_A_URL", "/api/v3"),
    ("VIDEO_B_URL", "/api/v1"),
];
/// If the variable is not set, callbacks may go to this machine, and to URLs without TLS there.
const EGRESS_ALLOW: &str = "HEADGATE_EGRESS_ALLOW";
const LOOPBACK: &str = "127.0.0.0/8";
/// Where the printed receiver listens.
const RECEIVER: &str = "127.0.0.1:8099";
/// If the variable is not set, task ids are sealed with a new key, and the next demo cannot open them.
const TASK_KEY: &str = "HEADGATE_TASK_KEY";
/// If the variable is not set, the state is in a file of its own: another demo cannot open its task ids.
const STATE: &str = "HEADGATE_STATE";
/// If the variable is not set, the simulated provider reaches the gateway by the demo's own address.
const PUBLIC_URL: &str = "HEADGATE_PUBLIC_URL";
const SIMULATOR_THREADS: usize = 1;
/// The repository's routes.yaml, for a demo in another folder. Its schemas are built in, too.
const BUILT_IN_CONFIG: &str = include_str!("../../routes.yaml");
/// The name of the file that it becomes, which a file of the working folder is not mistaken for.
const BUILT_IN_FILE: &str = "built-in-routes.yaml";
const STATE_FILE: &str = "state.sqlite";
/// Folders that are tried before the demo gives up.
const FOLDERS_MAX: usize = 100;

pub fn run(args: &DemoArgs) -> Result<(), CommandError> {
    let log = process_log::start();
    let simulator = run::bind(&args.simulator, "with `--simulator`")?;
    let address = simulator.address;
    // The configuration names the gateway's address, so that a port must be picked before it is read.
    let gateway = run::bind(&args.listen, "with `--listen`")?.address;
    let gateway_url = format!("http://{gateway}");
    let folder = new_folder()?;
    let config = config_file(&args.config, &folder)?;
    let shared = CrossSnapshotState {
        variables: Arc::new(variables(
            address,
            gateway_url,
            key::new_task_key()?,
            format!("sqlite:{}", folder.join(STATE_FILE).display()),
        )),
        ..CrossSnapshotState::new(FEATURES)
    };
    let run::ReadyGateway {
        process,
        listen,
        admin,
    } = run::gateway(
        &run::RunArgs {
            config: PositionalConfigFileArgs::new(config.clone()),
            listen: Some(gateway.to_string()),
            admin: Some(args.admin.clone()),
            upgrade: false,
        },
        shared,
        log,
        vec![folder],
    )?;
    let app = Simulator::new(SimulatorDefaults::default());
    let _server = SimulatorServer::start(app, simulator.into_listener(), SIMULATOR_THREADS)?;
    eprintln!("{}", example_commands(listen, admin, address));
    if config.file_name() == Some(BUILT_IN_FILE.as_ref()) {
        let file = config.display();
        eprintln!(
            "  # The configuration, built into the program; the gateway reloads it when it changes.\n  {file}\n"
        );
    }
    process.run()
}

fn variables(
    simulator: SocketAddr,
    gateway_url: String,
    task_key: String,
    state: String,
) -> impl Fn(&str) -> Option<String> {
    let provider = move |name: &str| {
        let (_, path) = PROVIDERS.iter().find(|(known, _)| *known == name)?;
        Some(format!("http://{simulator}{path}"))
    };
    move |name| match name {
        PUBLIC_URL => std::env::var(name)
            .ok()
            .or_else(|| Some(gateway_url.clone())),
        TASK_KEY => std::env::var(name).ok().or_else(|| Some(task_key.clone())),
        STATE => std::env::var(name).ok().or_else(|| Some(state.clone())),
        EGRESS_ALLOW => std::env::var(name).ok().or_else(|| Some(LOOPBACK.into())),
        _ => std::env::var(name).ok().or_else(|| provider(name)),
    }
}

/// A folder of this process alone, in the system's folder of temporary files.
fn new_folder() -> io::Result<PathBuf> {
    let id = std::process::id();
    let names = (0..FOLDERS_MAX).map(|n| format!("headgate-demo-{id}-{n}"));
    for name in names {
        let folder = std::env::temp_dir().join(name);
        match DirBuilder::new().mode(0o700).create(&folder) {
            Ok(()) => return Ok(folder),
            // Of an earlier process with this id that was killed.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
    }
    Err(io::ErrorKind::AlreadyExists.into())
}

/// The configuration: the given file, or `routes.yaml` of the working folder, or else the built-in one.
fn config_file(option: &ConfigFileOptionArgs, folder: &Path) -> io::Result<PathBuf> {
    if let Some(given) = option.given() {
        return Ok(given);
    }
    let beside = PathBuf::from(DEFAULT_FILE);
    if beside.exists() {
        return Ok(beside);
    }
    let file = folder.join(BUILT_IN_FILE);
    std::fs::write(&file, BUILT_IN_CONFIG)?;
    Ok(file)
}

fn example_commands(gateway: SocketAddr, admin: SocketAddr, simulator: SocketAddr) -> String {
    format!(
        r#"
headgate demo: gateway http://{gateway}, admin http://{admin}, simulated provider http://{simulator}
key {KEY}, models demo-chat, demo-small, demo-image, demo-video-a, demo-video-b and demo-video-b-2. Stop it with Ctrl-C. Try:

  curl -s http://{gateway}/v1/models -H 'authorization: Bearer {KEY}'

  curl -s http://{gateway}/v1/chat/completions -H 'authorization: Bearer {KEY}' \
    -H 'content-type: application/json' \
    -d '{{"model":"demo-chat","messages":[{{"role":"user","content":"What is a headgate?"}}]}}'

  curl -sN http://{gateway}/v1/chat/completions -H 'authorization: Bearer {KEY}' \
    -H 'content-type: application/json' \
    -d '{{"model":"demo-chat","stream":true,"messages":[{{"role":"user","content":"What is a headgate?"}}]}}'

  curl -sN http://{gateway}/v1/messages -H 'x-api-key: {KEY}' -H 'anthropic-version: 2023-06-01' \
    -H 'content-type: application/json' \
    -d '{{"model":"demo-small","max_tokens":200,"stream":true,"messages":[{{"role":"user","content":"Hello"}}]}}'

  curl -s http://{gateway}/v1/responses -H 'authorization: Bearer {KEY}' \
    -H 'content-type: application/json' -d '{{"model":"demo-chat","input":"Hello"}}'

  curl -s http://{gateway}/v1/images/edits -H 'authorization: Bearer {KEY}' -H 'content-type: application/json' \
    -d '{{"model":"demo-image","prompt":"Open it","images":[{{"image_url":"https://example.com/gate.png"}}]}}' | cut -c -200

  # A video: create a task, then poll it. The same request with demo-video-b goes to another provider.
  task=$(curl -s http://{gateway}/v1/video/generations -H 'authorization: Bearer {KEY}' \
    -H 'content-type: application/json' -d '{{"model":"demo-video-a","prompt":"A gate opens","duration":5}}' \
    | cut -d '"' -f 4)
  sleep 1; curl -s http://{gateway}/v1/video/generations/$task -H 'authorization: Bearer {KEY}'

  # A video without polling: paste the receiver into another terminal, then create the task. It prints each change
  # of the task's status, signed with both `webhook_secrets` of routes.yaml.
  python3 -c 'import http.server as h, sys
class Receiver(h.BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers["content-length"])).decode()
        print(self.headers["webhook-id"], self.headers["webhook-signature"], body, flush=True)
        self.send_response(204); self.end_headers()
    def log_message(self, *line): pass
host, port = sys.argv[1].split(":"); h.HTTPServer((host, int(port)), Receiver).serve_forever()' {RECEIVER}

  curl -s http://{gateway}/v1/video/generations -H 'authorization: Bearer {KEY}' \
    -H 'content-type: application/json' -H 'x-simulate: queue=2s;run=3s' \
    -d '{{"model":"demo-video-a","prompt":"A gate opens","duration":5,"callback_url":"http://{RECEIVER}/done"}}'
  curl -s http://{admin}/callbacks    # deliveries that wait or failed for good

  curl -s http://{admin}/metrics | grep headgate_requests_total
  curl -s http://{simulator}/_simulate/requests    # what the provider received
"#
    )
}
