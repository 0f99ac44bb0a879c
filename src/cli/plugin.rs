//! `headgate plugin`: what an author of plugins needs, from a new folder to a gateway that runs the plugin.

mod case_file;
mod case_json;
mod case_message;
mod cases;
mod check;
mod create;
mod exchange;
mod expectation;
mod host_services;
mod matcher;
mod outcome;
mod rules;
#[cfg(feature = "simulator")]
mod run;

use super::{CommandError, examples};
use headgate_wasm::{PluginHost, PluginHostSettings, PluginModule, PluginModuleError};
use std::path::Path;

#[derive(clap::Subcommand)]
pub enum PluginCommand {
    /// Writes a folder with a plugin to start from: source, build script, test cases and a page.
    #[command(after_help = examples::PLUGIN_NEW)]
    New(create::PluginNewArgs),
    /// Prints the interface of a module, or every problem with it.
    #[command(after_help = examples::PLUGIN_CHECK)]
    Check(check::PluginCheckArgs),
    /// Runs test cases on the host that the gateway uses.
    #[command(after_help = examples::PLUGIN_TEST)]
    Test(cases::PluginTestArgs),
    /// Runs a gateway with the plugin and a simulated provider, and prints a request to try.
    #[cfg(feature = "simulator")]
    #[command(after_help = examples::PLUGIN_RUN)]
    Run(run::PluginRunArgs),
}

impl PluginCommand {
    /// Whether the command runs as a server.
    pub fn serves(&self) -> bool {
        match self {
            #[cfg(feature = "simulator")]
            Self::Run(_) => true,
            Self::New(_) | Self::Check(_) | Self::Test(_) => false,
        }
    }
}

pub fn run(command: &PluginCommand) -> Result<(), CommandError> {
    match command {
        PluginCommand::New(args) => create::run(args),
        PluginCommand::Check(args) => check::run(args),
        PluginCommand::Test(args) => cases::run(args),
        #[cfg(feature = "simulator")]
        PluginCommand::Run(args) => run::run(args),
    }
}

/// A module that is compiled here and not cached, since its author compiles it again and again.
fn compile(path: &Path, bytes: &[u8]) -> Result<PluginModule, CommandError> {
    let host = PluginHost::new(&PluginHostSettings::default())?;
    PluginModule::from_bytes(&host, bytes, &Default::default())
        .map_err(|error| CommandError::new(problems(path, &error)))
}

/// One line for each problem of a module.
fn problems(path: &Path, error: &PluginModuleError) -> String {
    let path = path.display();
    match error {
        PluginModuleError::Interface(problems) => {
            let lines = problems.iter().map(|problem| format!("error: {problem}\n"));
            let count = problems.len();
            let lines: String = lines.collect();
            format!("{lines}{path} is not a Proxy-Wasm 0.2 plugin: {count} problems")
        }
        other => format!("error: {path}: {other}"),
    }
}
