//! The command line: parses arguments and runs the commands.

mod admin_address;
mod admin_client;
mod admin_pages;
mod callback;
mod capture;
mod case_report;
mod channel_action;
mod check;
mod comparable_plan;
mod completions;
mod config_file;
#[cfg(feature = "convert")]
mod convert;
#[cfg(feature = "simulator")]
mod demo;
mod diff;
mod dry_run;
mod examples;
mod explain;
mod explain_callouts;
mod explain_candidates;
mod explain_conditions;
mod explain_trace;
mod families;
mod family;
mod filters;
#[cfg(target_os = "linux")]
mod handover;
#[cfg(not(target_os = "linux"))]
#[path = "handover_unsupported.rs"]
mod handover;
mod input_file;
mod key;
mod lifecycle;
mod limits;
mod live;
mod log_filter;
mod logged_plan;
mod man;
mod new_caller_file;
mod new_caller_key;
mod new_name;
mod offline_config;
mod output_failure;
mod plan_changes;
#[cfg(feature = "wasm")]
mod plugin;
mod price_list;
mod prices;
mod progress;
mod protocols;
mod reload_config;
mod replay;
mod request_file;
mod run;
mod schema;
#[cfg(feature = "simulator")]
mod simulate;
mod status;
mod status_report;
mod status_usage;
mod step_changes;
mod strict_check;
mod style;
mod supervisor;
mod task;
#[cfg(feature = "top")]
mod top;
mod usage;
mod usage_run;
mod usage_table;
mod value_changes;
mod version;
mod why;

use channel_action::ChannelAction;
use clap::{Parser, Subcommand};
use std::process::ExitCode;

/// A configuration-driven reverse proxy in front of AI generation providers.
#[derive(Parser)]
#[command(name = "headgate", version, long_version = version::LONG_VERSION.as_str(), about)]
#[command(after_help = examples::HEADGATE)]
struct Cli {
    #[command(subcommand)]
    command: CliCommand,
}

#[derive(Subcommand)]
enum CliCommand {
    /// Runs the gateway.
    #[command(after_help = examples::RUN)]
    Run(run::RunArgs),
    /// Validates a configuration and prints all problems with their positions.
    Check(check::CheckArgs),
    /// Dry-runs a request: prints its route, filters, channels and upstream request.
    #[command(after_help = examples::EXPLAIN)]
    Explain(explain::ExplainArgs),
    /// Prints what changes from one configuration to another, and for which requests; exits with 0 if nothing does, 1 if
    /// something does, and 2 if a file cannot be read.
    Diff(diff::DiffArgs),
    /// Dry-runs recorded requests (access-log lines or a HAR file) with a configuration, and prints which of them would end
    /// differently; exits with 0 if none does, 1 if some do, and 2 if a file cannot be read.
    Replay(replay::ReplayArgs),
    /// Prints the configuration of another gateway as routes.yaml, with comments on what has no counterpart; exits with 0
    /// if everything has one, 1 if something has none, and 2 if a file cannot be read or written.
    #[cfg(feature = "convert")]
    Convert(convert::ConvertArgs),
    /// Prints the JSON Schema of routes.yaml, or the HTTP API of a configuration as OpenAPI 3.1.
    #[command(after_help = examples::SCHEMA)]
    Schema(schema::SchemaArgs),
    /// Lists the filters, the chain of each, and what it does; with a name, prints the settings of one.
    #[command(after_help = examples::FILTERS)]
    Filters(filters::FiltersArgs),
    /// Lists the built-in video families, their vendors and what they make videos from; with a name, prints the
    /// definition of one.
    #[command(after_help = examples::FAMILIES)]
    Families(families::VideoFamiliesArgs),
    /// Lists the protocols that routes and channels may name, and the paths of their endpoints; with a name, prints the
    /// declaration of one.
    #[command(after_help = examples::PROTOCOLS)]
    Protocols(protocols::ProtocolsArgs),
    /// Creates, checks and tests definitions of video families.
    #[command(subcommand)]
    #[command(after_help = examples::FAMILY)]
    Family(family::VideoFamilyCommand),
    /// Generates API keys for callers, keys for task ids and webhook secrets.
    #[command(subcommand)]
    #[command(after_help = examples::KEY)]
    Key(key::KeyCommand),
    /// Prints the status of a running gateway as text; exits with 0 if it is fine, 1 if it is degraded, and 2 if it
    /// cannot be reached.
    #[command(after_help = examples::STATUS)]
    Status(status::StatusArgs),
    /// Shows what a running gateway does, updated every second, in the terminal; exits with 2 if it cannot be read.
    #[cfg(feature = "top")]
    #[command(after_help = examples::TOP)]
    Top(top::TopArgs),
    /// Prints what happened to a request of a running gateway: route, attempts, times, the error, and findings about it.
    #[command(after_help = examples::WHY)]
    Why(why::WhyArgs),
    /// Prints what callers, models and channels of a running gateway have used, by day in UTC.
    #[command(after_help = examples::USAGE)]
    Usage(usage::UsageArgs),
    /// Reads public lists of prices.
    #[command(subcommand)]
    #[command(after_help = examples::PRICES)]
    Prices(prices::PricesCommand),
    /// Keeps new requests from a channel of a running gateway.
    #[command(after_help = examples::DRAIN)]
    Drain(channel_action::ChannelActionArgs),
    /// Lets new requests go to a drained channel again.
    #[command(after_help = examples::UNDRAIN)]
    Undrain(channel_action::ChannelActionArgs),
    /// Ends all cool-downs of a channel of a running gateway.
    #[command(after_help = examples::RESET)]
    Reset(channel_action::ChannelActionArgs),
    /// Has a running gateway read its configuration again, and prints the revision in use or why the file is rejected.
    #[command(after_help = examples::RELOAD)]
    Reload(admin_pages::AdminConnectionArgs),
    /// Lists and redrives deliveries to callers that failed for good.
    #[command(subcommand)]
    #[command(after_help = examples::CALLBACK)]
    Callback(callback::DeadLetterCommand),
    /// Records exchanges of a caller of a running gateway, and prints what was recorded.
    Capture(capture::CaptureArgs),
    /// Prints or changes the filter of the process log of a running gateway.
    LogFilter(log_filter::LogFilterArgs),
    /// Lists paid creates that are not settled.
    #[command(subcommand)]
    #[command(after_help = examples::TASK)]
    Task(task::UnsettledCreateCommand),
    /// Creates, checks, tests and runs plugins.
    #[cfg(feature = "wasm")]
    #[command(subcommand)]
    #[command(after_help = examples::PLUGIN)]
    Plugin(plugin::PluginCommand),
    /// Prints a completion script for a shell.
    #[command(after_help = examples::COMPLETIONS)]
    Completions(completions::CompletionsArgs),
    /// Prints the manual page, or writes the pages of all commands to a folder.
    #[command(after_help = examples::MAN)]
    Man(man::ManArgs),
    /// Runs a simulated provider.
    #[cfg(feature = "simulator")]
    #[command(after_help = examples::SIMULATE)]
    Simulate(simulate::SimulateArgs),
    /// Runs the gateway with a simulated provider, and prints requests to try.
    #[cfg(feature = "simulator")]
    #[command(after_help = examples::DEMO)]
    Demo(demo::DemoArgs),
}

impl CliCommand {
    /// Whether the command runs as a server and needs many connections.
    fn serves(&self) -> bool {
        match self {
            Self::Run(_) => true,
            #[cfg(feature = "simulator")]
            Self::Simulate(_) | Self::Demo(_) => true,
            #[cfg(feature = "wasm")]
            Self::Plugin(command) => command.serves(),
            #[cfg(feature = "convert")]
            Self::Convert(_) => false,
            #[cfg(feature = "top")]
            Self::Top(_) => false,
            // A server that closes its connection must not end the command by SIGPIPE.
            Self::Check(args) => args.connects(),
            Self::Explain(_)
            | Self::Diff(_)
            | Self::Replay(_)
            | Self::Schema(_)
            | Self::Filters(_)
            | Self::Families(_)
            | Self::Protocols(_)
            | Self::Family(_)
            | Self::Key(_)
            | Self::Status(_)
            | Self::Why(_)
            | Self::Drain(_)
            | Self::Undrain(_)
            | Self::Reset(_)
            | Self::Reload(_)
            | Self::Callback(_)
            | Self::Capture(_)
            | Self::LogFilter(_)
            | Self::Task(_)
            | Self::Usage(_)
            | Self::Prices(_)
            | Self::Completions(_)
            | Self::Man(_) => false,
        }
    }
}

/// Runs the command of the command line.
pub fn main() -> ExitCode {
    let command = Cli::parse().command;
    match command.serves() {
        true => limits::raise_open_files(),
        false => limits::end_quietly_with_reader(),
    }
    output_failure::end_instead_of_panic();
    let result = match command {
        CliCommand::Run(args) => run::run(&args),
        CliCommand::Check(args) => check::run(&args),
        CliCommand::Explain(args) => explain::run(&args),
        CliCommand::Diff(args) => return report_exit_code(diff::run(&args)),
        CliCommand::Replay(args) => return report_exit_code(replay::run(&args)),
        #[cfg(feature = "convert")]
        CliCommand::Convert(args) => return report_exit_code(convert::run(&args)),
        CliCommand::Schema(args) => schema::run(&args),
        CliCommand::Filters(args) => filters::run(&args),
        CliCommand::Families(args) => families::run(&args),
        CliCommand::Protocols(args) => protocols::run(&args),
        CliCommand::Family(command) => family::run(&command),
        CliCommand::Key(command) => key::run(&command),
        CliCommand::Status(args) => return status::run(&args),
        #[cfg(feature = "top")]
        CliCommand::Top(args) => return top::run(&args),
        CliCommand::Why(args) => why::run(&args),
        CliCommand::Drain(args) => channel_action::run(&args, ChannelAction::Drain),
        CliCommand::Undrain(args) => channel_action::run(&args, ChannelAction::Undrain),
        CliCommand::Reset(args) => channel_action::run(&args, ChannelAction::Reset),
        CliCommand::Reload(pages) => reload_config::run(&pages),
        CliCommand::Callback(command) => callback::run(&command),
        CliCommand::Capture(args) => capture::run(&args),
        CliCommand::LogFilter(args) => log_filter::run(&args),
        CliCommand::Task(command) => task::run(&command),
        CliCommand::Usage(args) => usage::run(&args),
        CliCommand::Prices(command) => prices::run(&command),
        CliCommand::Completions(args) => completions::run(&args),
        CliCommand::Man(args) => man::run(&args),
        #[cfg(feature = "wasm")]
        CliCommand::Plugin(command) => plugin::run(&command),
        #[cfg(feature = "simulator")]
        CliCommand::Simulate(args) => simulate::run(&args),
        #[cfg(feature = "simulator")]
        CliCommand::Demo(args) => demo::run(&args),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            style::print_error(&error);
            ExitCode::FAILURE
        }
    }
}

/// The exit code of a command that looks for something to report, such as differences: 0 nothing, 1 something, 2 it failed.
fn report_exit_code(found: Result<bool, CommandError>) -> ExitCode {
    match found {
        Ok(false) => ExitCode::SUCCESS,
        Ok(true) => ExitCode::from(1),
        Err(error) => {
            style::print_error(&error);
            ExitCode::from(2)
        }
    }
}

/// Why a command failed, as a message for the terminal.
struct CommandError {
    message: String,
}

impl CommandError {
    fn new(message: impl Into<String>) -> Self {
        Self {
            message: message.into(),
        }
    }
}

impl<E: std::error::Error> From<E> for CommandError {
    fn from(error: E) -> Self {
        Self::new(error.to_string())
    }
}
