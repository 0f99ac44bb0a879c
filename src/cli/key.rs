//! `headgate key`: generates keys for callers, keys for task ids and webhook secrets.

use super::new_caller_key::{self, NewKeyArgs};
use super::{CommandError, examples};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use headgate_core::catalog::caller::KeyDigest;
use headgate_core::catalog::webhook_secret::CallerDeliverySigningKey;
use headgate_issuance::new_key::draw_key;
use std::io::{BufRead, Read};

#[derive(clap::Subcommand)]
pub enum KeyCommand {
    /// Prints a new API key for a caller and its digest for routes.yaml.
    #[command(after_help = examples::KEY_NEW)]
    New(NewKeyArgs),
    /// Prints the digest of a key from standard input.
    #[command(after_help = examples::KEY_DIGEST)]
    Digest,
    /// Prints a new key for `task_keys`.
    #[command(after_help = examples::KEY_TASK)]
    Task,
    /// Prints a new secret for `webhook_secrets` of a caller.
    #[command(after_help = examples::KEY_WEBHOOK)]
    Webhook,
}

/// The number of random bytes in a key for task ids.
const TASK_KEY_BYTES: usize = 48;
/// Longest line that is read as a key, in bytes.
const KEY_LINE_BYTES_MAX: u64 = 64 << 10;
/// The number of random bytes in a webhook secret.
const WEBHOOK_KEY_BYTES: usize = 32;

const NO_KEY: &str = "error: no key on standard input\n  write the key into its first line, as in `printf %s \"$KEY\" | headgate key digest`";

pub fn run(command: &KeyCommand) -> Result<(), CommandError> {
    match command {
        KeyCommand::New(args) => {
            let key = draw_key().map_err(no_random_numbers)?;
            new_caller_key::print(&key, args)?;
        }
        KeyCommand::Digest => {
            let mut key = String::new();
            std::io::stdin()
                .lock()
                .take(KEY_LINE_BYTES_MAX)
                .read_line(&mut key)?;
            let key = key.trim();
            if key.is_empty() {
                return Err(CommandError::new(NO_KEY));
            }
            println!("{}", KeyDigest::from_key(key.as_bytes()).to_hex());
        }
        KeyCommand::Task => {
            println!("{}", new_task_key()?);
            eprintln!(
                "Set it as an environment variable and refer to it: `task_keys: [\"${{HEADGATE_TASK_KEY}}\"]`. Anyone who has it can read and forge task ids."
            );
        }
        KeyCommand::Webhook => {
            println!(
                "{}",
                CallerDeliverySigningKey::encode(random_bytes::<WEBHOOK_KEY_BYTES>()?)
            );
            eprintln!(
                "Give it to the caller, set it as an environment variable and refer to it in the caller's `webhook_secrets`. Anyone who has it can forge deliveries."
            );
        }
    }
    Ok(())
}

/// A new key for sealing task ids.
pub fn new_task_key() -> Result<String, CommandError> {
    random::<TASK_KEY_BYTES>()
}

/// `BYTES` random bytes, encoded as text.
fn random<const BYTES: usize>() -> Result<String, CommandError> {
    Ok(URL_SAFE_NO_PAD.encode(random_bytes::<BYTES>()?))
}

fn random_bytes<const BYTES: usize>() -> Result<[u8; BYTES], CommandError> {
    let mut random = [0; BYTES];
    getrandom::fill(&mut random).map_err(no_random_numbers)?;
    Ok(random)
}

fn no_random_numbers(error: getrandom::Error) -> CommandError {
    CommandError::new(format!(
        "error: the system's random number generator failed: {error}"
    ))
}
