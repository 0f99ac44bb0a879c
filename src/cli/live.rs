//! The status of the channels of a running gateway, for `headgate explain --live`.

use super::CommandError;
use super::admin_client::{AdminClient, AdminClientAuthArgs, AdminUrl};
use headgate_core::catalog::model::Candidate;
use serde_json::Value;
use std::str::FromStr;

/// The status of the channels of a running gateway.
pub struct LiveChannelStatuses {
    pub address: String,
    page: Value,
}

/// The address of the running gateway's admin pages.
#[derive(Clone, Debug)]
pub enum AdminAddressSource {
    /// The address in the configuration.
    Configuration,
    Argument(AdminUrl),
}

impl FromStr for AdminAddressSource {
    type Err = String;

    /// An option without a value gives an empty text.
    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "" => Ok(Self::Configuration),
            _ => text.parse().map(Self::Argument).map_err(|expected: String| {
                format!("{expected}; to use `server.admin` of the configuration, put --live after the path")
            }),
        }
    }
}

impl LiveChannelStatuses {
    /// Fetches the status from the admin pages at `address`.
    ///
    /// # Errors
    /// There is no response in time, or it is not that of a gateway.
    pub fn fetch(url: &AdminUrl, args: &AdminClientAuthArgs) -> Result<Self, CommandError> {
        if url.authority.ends_with(":0") {
            return Err(CommandError::new(
                "error: `server.admin` has port 0, so its port is not known; give the address with --live http://HOST:PORT",
            ));
        }
        let response = AdminClient { url, args }.fetch("GET", "/channels")?;
        let page = serde_json::from_slice(&response.body).ok();
        let page = page.filter(|_| response.status == 200).ok_or_else(|| {
            let text = String::from_utf8_lossy(&response.body);
            let reason = match response.status {
                401 | 403 | 421 | 429 => text.trim(),
                _ => "it is not an admin page of this version of headgate",
            };
            CommandError::new(format!(
                "error: {url}/channels: {}: {reason}",
                response.line
            ))
        })?;
        Ok(Self {
            address: url.authority.clone(),
            page,
        })
    }

    /// The revision of the configuration that the gateway uses.
    pub fn revision(&self) -> &str {
        self.page["revision"].as_str().unwrap_or_default()
    }

    /// Whether `candidate` is usable now, or else why not and for how long.
    pub fn candidate_status(&self, candidate: &Candidate) -> String {
        let channel = &*candidate.channel.name;
        let Some(model) = &candidate.model else {
            return match self.entry("channels", |entry| entry["name"] == *channel) {
                Some(entry) if entry["usable"] == true => "usable".into(),
                Some(_) => "not usable".into(),
                None => "unknown to the running gateway".into(),
            };
        };
        let models = self.page["models"].as_array().into_iter().flatten();
        let mut candidates =
            models.flat_map(|model| model["candidates"].as_array().into_iter().flatten());
        let entry = candidates
            .find(|entry| entry["channel"] == *channel && entry["channel_model"] == *model.name);
        match entry {
            Some(entry) if entry["usable"] == true => "usable".into(),
            Some(entry) => {
                let detail = entry["detail"].as_str().unwrap_or("no reason given");
                format!("not usable: {detail}")
            }
            None => "unknown to the running gateway: it uses another configuration".into(),
        }
    }

    fn entry(&self, list: &str, is_it: impl Fn(&Value) -> bool) -> Option<&Value> {
        self.page[list]
            .as_array()?
            .iter()
            .find(|entry| is_it(entry))
    }
}
