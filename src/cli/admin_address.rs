//! Where a command finds the admin pages: an address, or the configuration file that has it.

use super::CommandError;
use super::admin_client::AdminUrl;
use super::config_file::{DEFAULT_FILE, path_of_variable};
use crate::features::FEATURES;
use headgate_config::snapshot::CrossSnapshotState;
use headgate_config::{CONFIG_BYTES_MAX, snapshot};
use headgate_core::regular_file;
use serde_json::Value;
use std::path::{Path, PathBuf};

const DEFAULT_ADMIN: &str = "127.0.0.1:9091";

/// The arguments that give the address of the admin pages.
#[derive(clap::Args)]
pub struct AdminAddressArgs {
    /// Address of the gateway's admin pages [default: that of the configuration, or 127.0.0.1:9091]
    #[arg(long, value_name = "URL")]
    admin: Option<AdminUrl>,
    /// Configuration file whose `server.admin` is the address [env: HEADGATE_CONFIG] [default: routes.yaml, if it exists]
    #[arg(long, short, value_name = "FILE", conflicts_with = "admin")]
    config: Option<PathBuf>,
}

impl AdminAddressArgs {
    /// The address.
    ///
    /// # Errors
    /// The configuration file does not have it.
    pub(super) fn url(&self) -> Result<AdminUrl, CommandError> {
        if let Some(url) = &self.admin {
            return Ok(url.clone());
        }
        let given = self.config.clone().or_else(path_of_variable);
        let in_folder = || Some(PathBuf::from(DEFAULT_FILE)).filter(|file| file.is_file());
        match given.or_else(in_folder) {
            Some(file) => configured_url(&file),
            None => DEFAULT_ADMIN.parse().map_err(CommandError::new),
        }
    }
}

/// `server.admin` of a file. A gateway also runs while its file has an error, so that the rest of the file need not be
/// valid.
fn configured_url(file: &Path) -> Result<AdminUrl, CommandError> {
    let with_hint = |reason: String| {
        let file = file.display();
        CommandError::new(format!(
            "error: {reason}\n  {file} does not have the address of the admin pages; give it with --admin URL"
        ))
    };
    let (admin, is_tls) = match snapshot::build(file, &CrossSnapshotState::new(FEATURES)) {
        Ok(built) => {
            let server = built.snapshot.server;
            (server.admin, server.admin_tls.is_some())
        }
        Err(_) => {
            let text = regular_file::read_text(file, CONFIG_BYTES_MAX)
                .map_err(|error| with_hint(error.to_string()))?;
            let parsed = serde_saphyr::from_str::<Value>(&text);
            let server = parsed.map_or(Value::Null, |mut config| config["server"].take());
            let admin = server["admin"].as_str().unwrap_or(DEFAULT_ADMIN);
            (admin.to_owned(), server["admin_tls"].is_object())
        }
    };
    if admin.ends_with(":0") {
        return Err(with_hint(
            "`server.admin` has port 0, so its port is not known".into(),
        ));
    }
    let url: AdminUrl = admin.parse().map_err(with_hint)?;
    Ok(AdminUrl { is_tls, ..url })
}
