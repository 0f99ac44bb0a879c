//! `headgate plugin run`: a gateway with the plugin and a simulated provider in one process.

use super::super::config_file::PositionalConfigFileArgs;
use super::super::run as gateway_run;
use super::CommandError;
use crate::cli::input_file::{read, read_text};
use crate::features::FEATURES;
use headgate_config::snapshot::CrossSnapshotState;
use headgate_core::catalog::caller::KeyDigest;
use headgate_observe::process_log;
use headgate_simulator::server::SimulatorServer;
use headgate_simulator::{Simulator, SimulatorDefaults};
use serde_json::Value;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

#[derive(clap::Args)]
pub struct PluginRunArgs {
    /// Path of the module, a file of WebAssembly.
    module: PathBuf,
    /// File with the configuration of the plugin, as JSON or YAML.
    #[arg(long, short)]
    config: Option<PathBuf>,
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

/// The configuration of the gateway. Words in capital letters are replaced.
const ROUTES: &str = include_str!("templates/routes.yaml.template");
/// The key of the only caller.
const KEY: &str = "sk-demo";
/// The model of the template.
const MODEL: &str = "demo-chat";
const SIMULATOR_THREADS: usize = 1;

pub fn run(args: &PluginRunArgs) -> Result<(), CommandError> {
    let module = read(&args.module)?;
    let configuration = match &args.config {
        Some(path) => configuration(path)?,
        None => Value::Null,
    };
    let log = process_log::start();
    let simulator = gateway_run::bind(&args.simulator, "with `--simulator`")?;
    let address = simulator.address;
    let folder = RunFolder::create()?;
    let name = plugin_name(&args.module);
    std::fs::write(folder.module(&name), module)?;
    let config = routes_yaml(&name, &configuration, address);
    std::fs::write(folder.config(), config)?;
    let started = gateway_run::gateway(
        &gateway_run::RunArgs {
            config: PositionalConfigFileArgs::new(folder.config()),
            listen: Some(args.listen.clone()),
            admin: Some(args.admin.clone()),
            upgrade: false,
        },
        CrossSnapshotState::new(FEATURES),
        log,
        vec![folder.0.clone()],
    );
    let gateway_run::ReadyGateway {
        process,
        listen,
        admin,
    } = started.inspect_err(|_| folder.remove())?;
    let app = Simulator::new(SimulatorDefaults::default());
    let _server = SimulatorServer::start(app, simulator.into_listener(), SIMULATOR_THREADS)?;
    let config = folder.config();
    eprintln!("{}", example_commands(&name, listen, admin, &config));
    process.run()
}

/// A folder of this process in the system's folder of temporary files.
struct RunFolder(PathBuf);

impl RunFolder {
    fn create() -> Result<Self, CommandError> {
        let name = format!("headgate-plugin-{}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        std::fs::create_dir(&folder)?;
        std::fs::create_dir(folder.join("plugins"))?;
        Ok(Self(folder))
    }

    fn config(&self) -> PathBuf {
        self.0.join("routes.yaml")
    }

    fn module(&self, name: &str) -> PathBuf {
        self.0.join(format!("plugins/{name}.wasm"))
    }

    fn remove(&self) {
        // What is left is in a folder that the system clears.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// The configuration of the plugin. JSON is YAML, too.
fn configuration(path: &Path) -> Result<Value, CommandError> {
    let text = read_text(path)?;
    let value = serde_saphyr::from_str(&text);
    value.map(without_variables).map_err(|error| {
        CommandError::new(format!("error: {} is not YAML: {error}", path.display()))
    })
}

/// The value, with `$` written so that the gateway does not expand variables.
fn without_variables(value: Value) -> Value {
    match value {
        Value::String(text) => Value::String(text.replace('$', "$$")),
        Value::Array(items) => items.into_iter().map(without_variables).collect(),
        Value::Object(members) => members
            .into_iter()
            .map(|(name, value)| (name, without_variables(value)))
            .collect(),
        other => other,
    }
}

/// The name of the file without its extension, as far as a plugin may have it.
fn plugin_name(module: &Path) -> String {
    let stem = module.file_stem().unwrap_or_default().to_string_lossy();
    let name: String = stem
        .chars()
        .filter(|c| c.is_ascii_alphanumeric() || "_-".contains(*c))
        .collect();
    match name.is_empty() {
        true => "unnamed".to_owned(),
        false => name,
    }
}

/// A configuration with the plugin last in the request chain of the text routes.
fn routes_yaml(name: &str, configuration: &Value, simulator: SocketAddr) -> String {
    ROUTES
        .replace("KEY_SHA256", &KeyDigest::from_key(KEY.as_bytes()).to_hex())
        .replace("SIMULATOR", &simulator.to_string())
        .replace("PLUGIN", name)
        // Last, since it may contain the other words.
        .replace("CONFIGURATION", &configuration.to_string())
}

fn example_commands(name: &str, gateway: SocketAddr, admin: SocketAddr, config: &Path) -> String {
    let config = config.display();
    format!(
        r#"
headgate plugin run: {name} at http://{gateway}, admin http://{admin}, configuration {config}
Lines of the plugin are in the log. Stop it with Ctrl-C. Try:

  curl -si http://{gateway}/v1/chat/completions -H 'authorization: Bearer {KEY}' \
    -H 'content-type: application/json' \
    -d '{{"model":"{MODEL}","messages":[{{"role":"user","content":"What is a headgate?"}}]}}'

  curl -siN http://{gateway}/v1/chat/completions -H 'authorization: Bearer {KEY}' \
    -H 'content-type: application/json' \
    -d '{{"model":"{MODEL}","stream":true,"messages":[{{"role":"user","content":"What is a headgate?"}}]}}'
"#
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_plugin_has_the_name_of_its_file() {
        for (path, expected) in [
            ("a/my-plugin.wasm", "my-plugin"),
            ("a b.wasm", "ab"),
            ("é.wasm", "unnamed"),
        ] {
            assert_eq!(plugin_name(Path::new(path)), expected, "{path}");
        }
    }

    #[test]
    fn a_configuration_is_not_expanded() {
        let value = json!({"a": ["${HOME}", 1], "b": {"c": "$1"}});
        let expected = json!({"a": ["$${HOME}", 1], "b": {"c": "$$1"}});
        assert_eq!(without_variables(value), expected);
    }
}
