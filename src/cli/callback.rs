//! `headgate callback`: lists and redrives events that could not be delivered.

use super::admin_address::AdminAddressArgs;
use super::admin_client::{AdminClient, AdminClientAuthArgs};
use super::{CommandError, examples};
use serde_json::Value;

#[derive(clap::Subcommand)]
pub enum DeadLetterCommand {
    /// Prints the dead letters of a running gateway, one JSON object per line.
    #[command(after_help = examples::CALLBACK_LIST)]
    List(ListDeadLettersArgs),
    /// Delivers dead letters again.
    #[command(after_help = examples::CALLBACK_REDRIVE)]
    Redrive(RedriveArgs),
}

#[derive(clap::Args)]
pub struct ListDeadLettersArgs {
    #[command(flatten)]
    address: AdminAddressArgs,
    #[command(flatten)]
    request: AdminClientAuthArgs,
}

#[derive(clap::Args)]
pub struct RedriveArgs {
    /// Id of the event, such as evt_5d1e0f5ff1a8e0b2c3d4e5f60718293a.
    #[arg(required_unless_present = "all")]
    id: Option<String>,
    /// Redrives all dead letters.
    #[arg(long, conflicts_with = "id")]
    all: bool,
    #[command(flatten)]
    address: AdminAddressArgs,
    #[command(flatten)]
    request: AdminClientAuthArgs,
}

pub fn run(command: &DeadLetterCommand) -> Result<(), CommandError> {
    match command {
        DeadLetterCommand::List(ListDeadLettersArgs { address, request }) => list(&AdminClient {
            url: &address.url()?,
            args: request,
        }),
        DeadLetterCommand::Redrive(RedriveArgs {
            id,
            address,
            request,
            ..
        }) => {
            let admin = &AdminClient {
                url: &address.url()?,
                args: request,
            };
            let redriven = match id {
                Some(id) if !id.bytes().all(is_of_id) => {
                    return Err(CommandError::new(format!(
                        "error: `{id}` is not the id of an event"
                    )));
                }
                Some(id) => {
                    let page = admin.json("POST", &format!("/callbacks/redrive?id={id}"))?;
                    page["redriven"].as_u64().unwrap_or_default()
                }
                None => redrive_all(admin)?,
            };
            println!("{redriven} redriven");
            Ok(())
        }
    }
}

fn list(admin: &AdminClient<'_>) -> Result<(), CommandError> {
    let mut listed = 0;
    let mut path = "/callbacks".to_owned();
    loop {
        let page = admin.json("GET", &path)?;
        let letters = page["dead_letters"].as_array();
        for letter in letters.into_iter().flatten() {
            println!("{letter}");
            listed += 1;
        }
        match next(&page) {
            Some(next) => path = format!("/callbacks?after={next}"),
            None => {
                let count = |name: &str| page[name].as_u64().unwrap_or_default();
                eprintln!("{listed} dead letters, {} events pending", count("pending"));
                return Ok(());
            }
        }
    }
}

/// Redrives all dead letters, a page for each request.
fn redrive_all(admin: &AdminClient<'_>) -> Result<u64, CommandError> {
    let mut redriven = 0;
    let mut path = "/callbacks/redrive?all=true".to_owned();
    loop {
        let page = admin.json("POST", &path)?;
        redriven += page["redriven"].as_u64().unwrap_or_default();
        match next(&page) {
            Some(next) => path = format!("/callbacks/redrive?all=true&after={next}"),
            None => return Ok(redriven),
        }
    }
}

/// The id after which the next page begins.
fn next(page: &Value) -> Option<&str> {
    let id = page["next"].as_str()?;
    id.bytes().all(is_of_id).then_some(id)
}

fn is_of_id(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}
