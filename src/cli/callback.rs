//! `headgate callback`: lists and redrives events that could not be delivered.

use super::{CommandError, live};
use serde_json::Value;

#[derive(clap::Subcommand)]
pub enum CallbackCommand {
    /// Prints the dead letters of a running gateway, one JSON object per line.
    List(ListDeadLettersArgs),
    /// Delivers dead letters again.
    Redrive(RedriveArgs),
}

#[derive(clap::Args)]
pub struct ListDeadLettersArgs {
    /// Address of the gateway's admin pages.
    #[arg(long, default_value = "127.0.0.1:9091", value_parser = live::address)]
    admin: String,
}

#[derive(clap::Args)]
pub struct RedriveArgs {
    /// Id of the event, such as evt_5d1e0f5ff1a8e0b2c3d4e5f60718293a.
    #[arg(required_unless_present = "all")]
    id: Option<String>,
    /// Redrives all dead letters.
    #[arg(long, conflicts_with = "id")]
    all: bool,
    /// Address of the gateway's admin pages.
    #[arg(long, default_value = "127.0.0.1:9091", value_parser = live::address)]
    admin: String,
}

pub fn run(command: &CallbackCommand) -> Result<(), CommandError> {
    match command {
        CallbackCommand::List(ListDeadLettersArgs { admin }) => {
            let page = live::page(admin, "GET", "/callbacks")?;
            let letters = page["dead_letters"].as_array();
            let letters = letters.map(Vec::as_slice).unwrap_or_default();
            for letter in letters {
                println!("{letter}");
            }
            let count = |name: &str| page[name].as_u64().unwrap_or_default();
            eprintln!(
                "{} dead letters, of which {} are listed, {} events pending",
                count("dead"),
                letters.len(),
                count("pending")
            );
        }
        CallbackCommand::Redrive(RedriveArgs { id, admin, .. }) => {
            let path = match id {
                Some(id) if !id.bytes().all(is_of_id) => {
                    return Err(CommandError::new(format!(
                        "error: `{id}` is not the id of an event"
                    )));
                }
                Some(id) => format!("/callbacks/redrive?id={id}"),
                None => "/callbacks/redrive?all=true".to_owned(),
            };
            let page: Value = live::page(admin, "POST", &path)?;
            if let Some(error) = page["error"].as_str() {
                return Err(CommandError::new(format!("error: {error}")));
            }
            println!("{} redriven", page["redriven"]);
        }
    }
    Ok(())
}

fn is_of_id(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}
