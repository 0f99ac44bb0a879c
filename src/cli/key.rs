//! `headgate key`: keys for callers.

use super::Failure;
use crate::catalog::caller::KeyDigest;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

#[derive(clap::Subcommand)]
pub enum Command {
    /// Prints a new key, and the digest that routes.yaml keeps of it.
    New,
    /// Prints the digest of a key given on standard input.
    Digest,
}

/// Bytes of randomness in a key.
const KEY_BYTES: usize = 24;

pub fn run(command: &Command) -> Result<(), Failure> {
    match command {
        Command::New => {
            let mut random = [0; KEY_BYTES];
            getrandom::fill(&mut random).map_err(|error| {
                Failure::new(format!("error: no randomness to be had: {error}"))
            })?;
            let key = format!("sk-hg-{}", URL_SAFE_NO_PAD.encode(random));
            println!("key:        {key}");
            println!("key_sha256: {}", KeyDigest::of(key.as_bytes()).to_hex());
            println!("Give the key to the caller; routes.yaml keeps only its digest.");
        }
        Command::Digest => {
            let mut key = String::new();
            std::io::stdin().read_line(&mut key)?;
            println!("{}", KeyDigest::of(key.trim().as_bytes()).to_hex());
        }
    }
    Ok(())
}
