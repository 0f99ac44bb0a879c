//! The ends of `--help`: examples of each command, and its exit status.

pub const HEADGATE: &str = "\
Examples:
  headgate demo
  headgate check routes.yaml
  headgate run --config routes.yaml";

pub const RUN: &str = "\
Examples:
  headgate run --config /etc/headgate/routes.yaml
  headgate run --listen 0.0.0.0:8080 --upgrade

Exit status: 0 after a stop by a signal, 1 if the configuration is invalid or an address cannot be used, 2 for wrong
arguments.";

pub const EXPLAIN: &str = "\
Examples:
  headgate explain /v1/models --caller demo
  headgate explain /v1/chat/completions --live -d @request.json

Exit status: 0 if the gateway would accept the request or reply to it, 1 if it would refuse it or the configuration is
invalid, 2 for wrong arguments.";

pub const PRICES: &str = "\
Example:
  headgate prices import model_prices_and_context_window.json --config routes.yaml";

pub const PRICES_IMPORT: &str = "\
Examples:
  headgate prices import model_prices_and_context_window.json > prices.yaml
  headgate prices import model_prices_and_context_window.json --apply --config routes.yaml

Exit status: 0 if it succeeds, 1 if the list is refused or the configuration is invalid, 2 for wrong arguments.";

pub const SCHEMA: &str = "\
Examples:
  headgate schema > routes.schema.json
  headgate schema openapi routes.yaml > openapi.json

Exit status: 0 if it succeeds, 1 if the configuration is invalid, 2 for wrong arguments.";

pub const SCHEMA_OPENAPI: &str = "\
Example:
  headgate schema openapi --config routes.yaml > openapi.json

Exit status: 0 if it succeeds, 1 if the configuration is invalid, 2 for wrong arguments.";

pub const FILTERS: &str = "\
Examples:
  headgate filters | grep request
  headgate filters rate_limit

Exit status: 0, 1 if there is no such filter, 2 for wrong arguments.";

pub const FAMILIES: &str = "\
Examples:
  headgate families
  headgate families family-a

Exit status: 0 if it succeeds, 1 if there is no such family, 2 for wrong arguments.";

pub const PROTOCOLS: &str = "\
Examples:
  headgate protocols
  headgate protocols embeddings

Exit status: 0 if it succeeds, 1 if there is no such declaration, 2 for wrong arguments.";

pub const FAMILY: &str = "\
Examples:
  headgate family new my-video
  headgate family check my-video.yaml
  headgate family test my-video.yaml my-video.cases.yaml";

pub const FAMILY_NEW: &str = "\
Example:
  headgate family new my-video --dir families

Exit status: 0 if it succeeds, 1 if a file exists or cannot be written, 2 for wrong arguments.";

pub const FAMILY_CHECK: &str = "\
Examples:
  headgate family check my-video.yaml
  headgate family check routes.yaml --name my-video --model my-model

Exit status: 0 the definition is valid, 1 otherwise, 2 for wrong arguments.";

pub const FAMILY_TEST: &str = "\
Examples:
  headgate family test my-video.yaml my-video.cases.yaml
  headgate family test family-a cases.yaml --json

Exit status: 0 if all cases pass, 1 otherwise, 2 for wrong arguments.";

pub const KEY: &str = "\
Examples:
  headgate key new
  headgate key task";

pub const KEY_NEW: &str = "\
Examples:
  headgate key new
  headgate key new --for web --expires 90d
  headgate key new --for web --into callers

Exit status: 0 if it succeeds, 1 if it fails, 2 for wrong arguments.";

pub const KEY_DIGEST: &str = "\
Example:
  headgate key digest < key.txt

Exit status: 0 if it succeeds, 1 if it fails, 2 for wrong arguments.";

pub const KEY_TASK: &str = "\
Example:
  headgate key task > task.key

Exit status: 0 if it succeeds, 1 if it fails, 2 for wrong arguments.";

pub const KEY_WEBHOOK: &str = "\
Example:
  headgate key webhook > webhook.key

Exit status: 0 if it succeeds, 1 if it fails, 2 for wrong arguments.";

pub const STATUS: &str = "\
Examples:
  headgate status
  headgate status --admin https://gate.internal:9091 --json

Exit status: 0 the gateway is fine, 1 it is degraded, 2 it cannot be reached, or wrong arguments.";

pub const WHY: &str = "\
Example:
  headgate why 019ac4d2e1b87f30

Exit status: 0 if it is printed, 1 if the gateway cannot be reached or has no such request, 2 for wrong arguments.";

pub const DRAIN: &str = "\
Examples:
  headgate drain main
  headgate drain main --admin https://gate.internal:9091

It needs an admin key with the role `act`, in HEADGATE_ADMIN_KEY, if the gateway has admin keys.

Exit status: 0 if it succeeds, 1 if the gateway cannot be reached or has no such channel, 2 for wrong arguments.";

pub const UNDRAIN: &str = "\
Example:
  headgate undrain main

It needs an admin key with the role `act`, in HEADGATE_ADMIN_KEY, if the gateway has admin keys.

Exit status: 0 if it succeeds, 1 if the gateway cannot be reached or has no such channel, 2 for wrong arguments.";

pub const RESET: &str = "\
Example:
  headgate reset main

It needs an admin key with the role `act`, in HEADGATE_ADMIN_KEY, if the gateway has admin keys.

Exit status: 0 if it succeeds, 1 if the gateway cannot be reached or has no such channel, 2 for wrong arguments.";

pub const RELOAD: &str = "\
Example:
  headgate reload

It needs an admin key with the role `act`, in HEADGATE_ADMIN_KEY, if the gateway has admin keys.

Exit status: 0 if the configuration is in use, 1 if it is rejected or the gateway cannot be reached, 2 for wrong arguments.";

#[cfg(feature = "top")]
pub const TOP: &str = "\
Examples:
  headgate top
  headgate top --config routes.yaml --once

Exit status: 0 if it succeeds, 2 if the gateway cannot be read, or wrong arguments.";

pub const CALLBACK: &str = "\
Examples:
  headgate callback list
  headgate callback redrive --all";

pub const CALLBACK_LIST: &str = "\
Example:
  headgate callback list --admin 127.0.0.1:9091

Exit status: 0 if it succeeds, 1 if the gateway cannot be reached, 2 for wrong arguments.";

pub const CALLBACK_REDRIVE: &str = "\
Examples:
  headgate callback redrive evt_5d1e0f5ff1a8e0b2c3d4e5f60718293a
  headgate callback redrive --all

Exit status: 0 if it succeeds, 1 if the gateway cannot be reached or has no such event, 2 for wrong arguments.";

pub const CAPTURE: &str = "\
Examples:
  headgate capture start ann --seconds 300
  headgate capture show cap_1";

pub const CAPTURE_START: &str = "\
Examples:
  headgate capture start ann
  headgate capture start ann --seconds 300 --exchanges 20

Exit status: 0 if it succeeds, 1 if the gateway cannot be reached or refuses it, 2 for wrong arguments.";

pub const CAPTURE_LIST: &str = "\
Example:
  headgate capture list

Exit status: 0 if it succeeds, 1 if the gateway cannot be reached or refuses it, 2 for wrong arguments.";

pub const CAPTURE_SHOW: &str = "\
Example:
  headgate capture show cap_1 > exchanges.json

Needs an admin key with the role `act`, in HEADGATE_ADMIN_KEY.

Exit status: 0 if it succeeds, 1 if the gateway cannot be reached or has no such capture, 2 for wrong arguments.";

pub const CAPTURE_REMOVE: &str = "\
Example:
  headgate capture remove cap_1

Needs an admin key with the role `act`, in HEADGATE_ADMIN_KEY.

Exit status: 0 if it succeeds, 1 if the gateway cannot be reached or has no such capture, 2 for wrong arguments.";

pub const LOG_FILTER: &str = "\
Examples:
  headgate log-filter
  headgate log-filter debug --seconds 600
  headgate log-filter headgate::gateway=debug,headgate=info
  headgate log-filter usual

A change needs an admin key with the role `act`, in HEADGATE_ADMIN_KEY.

Exit status: 0 if it succeeds, 1 if the gateway cannot be reached or refuses it, 2 for wrong arguments.";

pub const TASK: &str = "\
Examples:
  headgate task unknown
  headgate task settle 01k3nq2e --not-made";

pub const TASK_UNKNOWN: &str = "\
Example:
  headgate task unknown --config routes.yaml --json

Exit status: 0 if the records were read, 1 if they cannot be, 2 for wrong arguments.";

pub const TASK_SETTLE: &str = "\
Examples:
  headgate task settle 01k3nq2e --made
  headgate task settle 01k3nq2e --not-made

Exit status: 0 if the record was settled, 1 if it was not, 2 for wrong arguments.";

pub const USAGE: &str = "\
Examples:
  headgate usage callers --from 2026-11-01 --to 2026-11-30
  headgate usage models --caller web
  headgate usage --format csv > usage.csv

Exit status: 0 if it succeeds, 1 if it fails, 2 for wrong arguments.";

pub const COMPLETIONS: &str = "\
Examples:
  headgate completions bash > /etc/bash_completion.d/headgate
  headgate completions zsh > ~/.zfunc/_headgate
  headgate completions fish > ~/.config/fish/completions/headgate.fish

Exit status: 0; 2 for wrong arguments.";

pub const MAN: &str = "\
Examples:
  headgate man | man -l -
  headgate man --to /usr/local/share/man/man1

Exit status: 0 if it succeeds, 1 if the folder cannot be written, 2 for wrong arguments.";

#[cfg(feature = "wasm")]
pub const PLUGIN: &str = "\
Examples:
  headgate plugin new my-plugin
  headgate plugin run my-plugin/my_plugin.wasm";

#[cfg(feature = "wasm")]
pub const PLUGIN_NEW: &str = "\
Examples:
  headgate plugin new my-plugin
  headgate plugin new my-plugin --language c

Exit status: 0 if it succeeds, 1 if the folder exists or cannot be written, 2 for wrong arguments.";

#[cfg(feature = "wasm")]
pub const PLUGIN_CHECK: &str = "\
Example:
  headgate plugin check my_plugin.wasm

Exit status: 0 if the module is a plugin, 1 if it is none, 2 for wrong arguments.";

#[cfg(feature = "wasm")]
pub const PLUGIN_TEST: &str = "\
Example:
  headgate plugin test my_plugin.wasm cases.yaml

Exit status: 0 if all cases pass, 1 otherwise, 2 for wrong arguments.";

#[cfg(all(feature = "wasm", feature = "simulator"))]
pub const PLUGIN_RUN: &str = "\
Example:
  headgate plugin run my_plugin.wasm --config settings.json

Exit status: 0 after a stop by a signal, 1 if it cannot start, 2 for wrong arguments.";

#[cfg(feature = "simulator")]
pub const SIMULATE: &str = "\
Example:
  headgate simulate --listen 127.0.0.1:9092 --event-ms 5

Exit status: 0 after a stop by a signal, 1 if it cannot start, 2 for wrong arguments.";

#[cfg(feature = "simulator")]
pub const DEMO: &str = "\
Examples:
  headgate demo
  headgate demo --config routes.yaml --listen 127.0.0.1:8081

Exit status: 0 after a stop by a signal, 1 if it cannot start, 2 for wrong arguments.";

#[cfg(test)]
mod tests {
    use crate::cli::Cli;
    use clap::{Command, CommandFactory};

    /// The commands below this one and itself, by their full names.
    fn list_commands(command: &Command, name: String) -> Vec<(String, Command)> {
        let nested = command
            .get_subcommands()
            .filter(|nested| nested.get_name() != "help");
        let below: Vec<_> = nested
            .flat_map(|nested| list_commands(nested, format!("{name} {}", nested.get_name())))
            .collect();
        [vec![(name, command.clone())], below].concat()
    }

    fn all_commands() -> Vec<(String, Command)> {
        let mut command = Cli::command();
        command.build();
        list_commands(&command, "headgate".into())
    }

    fn help_end(command: &Command) -> String {
        let text = command.get_after_help();
        text.map(ToString::to_string).unwrap_or_default()
    }

    #[test]
    fn each_help_ends_with_examples_that_the_command_line_accepts() {
        let commands = all_commands();
        assert!(commands.len() > 20, "{}", commands.len());
        for (name, command) in commands {
            let end = help_end(&command);
            let lines = end
                .lines()
                .filter_map(|line| line.strip_prefix("  headgate "));
            let examples: Vec<_> = lines.collect();
            assert!(!examples.is_empty(), "`{name} --help` has no example");
            for example in examples {
                let words = example
                    .split(' ')
                    .take_while(|word| !["|", "<", ">"].contains(word));
                let words = std::iter::once("headgate").chain(words);
                let parsed = Cli::command().try_get_matches_from(words);
                assert!(parsed.is_ok(), "{name}: {example}: {:?}", parsed.err());
                let full = format!("headgate {example}");
                assert!(full.starts_with(&name), "{name}: {example}");
            }
        }
    }

    #[test]
    fn each_help_of_a_command_that_does_something_has_its_exit_status() {
        for (name, command) in all_commands() {
            if command.is_subcommand_required_set() {
                continue;
            }
            assert!(help_end(&command).contains("Exit status: 0"), "{name}");
        }
    }
}
