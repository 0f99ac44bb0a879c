//! `headgate protocols`: lists the protocols that a routes.yaml may name, or prints the declaration of one.

use super::CommandError;
use headgate_config::hint::did_you_mean;
use headgate_config::protocols::shipped;
use headgate_protocol::{Protocol, SHIPPED_PROTOCOLS};
use serde::Serialize;

#[derive(clap::Args)]
pub struct ProtocolsArgs {
    /// Name of a protocol that is shipped as YAML, whose declaration is printed in the format of `protocols` in
    /// routes.yaml [default: all are listed].
    name: Option<String>,
    /// Prints the list as a JSON array.
    #[arg(long, conflicts_with = "name")]
    json: bool,
}

/// A line of the list.
#[derive(Serialize)]
struct ListedProtocol {
    name: &'static str,
    /// Of the endpoint in the provider's own API.
    path: &'static str,
    /// `built-in`, or `yaml` for one whose declaration can be printed.
    source: &'static str,
}

pub fn run(args: &ProtocolsArgs) -> Result<(), CommandError> {
    match &args.name {
        Some(name) => return print_declaration(name),
        None if args.json => println!("{}", serde_json::to_string_pretty(&list())?),
        None => print_list(&list()),
    }
    Ok(())
}

fn list() -> Vec<ListedProtocol> {
    let listed = |protocol: Protocol, source| ListedProtocol {
        name: protocol.name(),
        path: protocol.descriptor().path,
        source,
    };
    let built_in = Protocol::BUILT_IN.iter();
    let built_in = built_in.map(|protocol| listed(*protocol, "built-in"));
    let declared = shipped().iter().map(|(name, config)| {
        let protocol = config.build(name);
        listed(
            protocol.expect("a shipped protocol is valid: a test builds each"),
            "yaml",
        )
    });
    built_in.chain(declared).collect()
}

fn print_list(protocols: &[ListedProtocol]) {
    let width = |text: fn(&ListedProtocol) -> &str| {
        let widths = protocols.iter().map(|protocol| text(protocol).len());
        widths.max().unwrap_or_default()
    };
    let (names, paths) = (width(|it| it.name), width(|it| it.path));
    for ListedProtocol { name, path, source } in protocols {
        println!("{name:names$}  {path:paths$}  {source}");
    }
}

fn print_declaration(name: &str) -> Result<(), CommandError> {
    if let Some((_, declaration)) = SHIPPED_PROTOCOLS
        .iter()
        .find(|(shipped, _)| *shipped == name)
    {
        print!("{declaration}");
        return Ok(());
    }
    if Protocol::built_in(name).is_some() {
        let reason = format!("error: `{name}` is part of the program, and has no declaration");
        return Err(CommandError::new(reason));
    }
    let names = SHIPPED_PROTOCOLS.map(|(name, _)| name);
    let hint = did_you_mean(name, names);
    let hint = hint.unwrap_or_else(|| format!("expected one of {}", names.join(", ")));
    Err(CommandError::new(format!(
        "error: unknown protocol `{name}`; {hint}"
    )))
}
