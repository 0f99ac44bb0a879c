//! The admin pages of a running gateway, by the arguments of a command.

use super::CommandError;
use super::admin_address::AdminAddressArgs;
use super::admin_client::{AdminClient, AdminClientAuthArgs, AdminResponse};
use serde_json::Value;
use std::time::Duration;

/// Where the admin pages are, and how they are requested.
#[derive(clap::Args)]
pub struct AdminConnectionArgs {
    #[command(flatten)]
    address: AdminAddressArgs,
    #[command(flatten)]
    request: AdminClientAuthArgs,
}

impl AdminConnectionArgs {
    /// The JSON of an admin page.
    ///
    /// # Errors
    /// There is no address, no response in time, or the response is an error.
    pub fn json(&self, method: &str, path: &str) -> Result<Value, CommandError> {
        let admin = AdminClient {
            url: &self.address.url()?,
            args: &self.request,
        };
        admin.json(method, path)
    }

    /// The JSON of an admin page that may take up to `wait`, unless `refusal` makes an error of the response.
    ///
    /// # Errors
    /// As [`Self::json`], and what `refusal` returns.
    pub fn json_within(
        &self,
        method: &str,
        path: &str,
        wait: Duration,
        refusal: impl FnOnce(&AdminResponse) -> Option<CommandError>,
    ) -> Result<Value, CommandError> {
        let admin = AdminClient {
            url: &self.address.url()?,
            args: &self.request,
        };
        let response = admin.fetch_within(method, path, wait)?;
        match refusal(&response) {
            Some(refusal) => Err(refusal),
            None => admin.json_in(&response, path),
        }
    }
}
