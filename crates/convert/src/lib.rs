//! The configuration of another gateway as a routes.yaml, with comments on what has no counterpart.

mod channel_draft;
mod litellm;
mod naming;
mod new_api;
mod routes_draft;
mod scalars;
mod source_settings;
#[cfg(test)]
mod tests;
mod writer;
mod yaml_text;

use routes_draft::RoutesDraft;
use serde_json::Value;
use source_settings::SourceSettingsTracker;

/// The other gateway.
#[derive(Clone, Copy)]
pub enum SourceFormat {
    /// A config.yaml of LiteLLM.
    Litellm,
    /// Channels of new-api as JSON: the response of `GET /api/channel/`, or an array of channels.
    NewApi,
}

/// A converted file.
pub struct Conversion {
    routes: RoutesDraft,
    settings: SourceSettingsTracker,
}

/// Converts the text of a file.
///
/// # Errors
/// Why the text cannot be read.
pub fn convert(format: SourceFormat, text: &str) -> Result<Conversion, String> {
    match format {
        SourceFormat::Litellm => {
            // The error's snippet could have a key in it.
            let config: Value = serde_saphyr::from_str(text)
                .map_err(|error| format!("invalid YAML: {}", error.without_snippet()))?;
            litellm::read(&config)
        }
        SourceFormat::NewApi => {
            let export: Value =
                serde_json::from_str(text).map_err(|error| format!("invalid JSON: {error}"))?;
            new_api::read(export)
        }
    }
}

impl Conversion {
    /// The text of the routes.yaml.
    pub fn yaml(&self) -> String {
        writer::write(&self.routes, &self.settings)
    }

    /// Lines for the terminal: what was converted, and what has no counterpart.
    pub fn summary(&self) -> String {
        self.settings.summary()
    }

    /// Whether a setting has no counterpart.
    pub fn has_unconverted(&self) -> bool {
        self.settings.has_unconverted()
    }
}
