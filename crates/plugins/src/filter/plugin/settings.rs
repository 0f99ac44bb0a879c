//! The settings of `plugin`, and what they are built into.

use crate::{PluginCallback, PluginDefinitions, PluginWithSettings, WithheldPartGrants};
use bytes::Bytes;
use headgate_core::filter::InspectionLimit;
use headgate_core::filter::descriptor::{BuildContext, ChainSide, InvalidSettings, read_settings};
use headgate_protocol::nearest::nearest;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;
use std::sync::Arc;

/// Settings of `plugin`.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PluginFilterConfig {
    /// Name of the plugin, one of `plugins`.
    #[schemars(length(min = 1))]
    pub r#use: String,
    /// The configuration that the plugin gets: a text as it is, anything else as JSON. Default: none.
    #[serde(default)]
    config: Value,
    /// What happens if the plugin fails: it traps, exceeds a limit, or is disabled after repeated failures.
    /// Default: deny.
    #[serde(default)]
    pub on_failure: PluginFailurePolicy,
    /// The parts of an exchange that the plugin gets, among those that it has callbacks for. Name only what the plugin
    /// needs: without bodies, large requests stream to the provider, and responses pass unread. Default: all.
    #[serde(default)]
    phases: Option<Vec<PluginPhase>>,
}

/// What happens if a plugin fails.
#[derive(Clone, Copy, Debug, Default, Deserialize, JsonSchema, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub enum PluginFailurePolicy {
    /// The request or response ends with an error.
    #[default]
    Deny,
    /// It continues as it was before the plugin failed, without the plugin.
    Allow,
}

/// A part of an exchange.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
enum PluginPhase {
    /// The head of the request.
    RequestHeaders,
    /// The body of the request, whole.
    RequestBody,
    /// The head of the response.
    ResponseHeaders,
    /// The body of the response; of a stream, each event.
    ResponseBody,
}

/// The callbacks that a filter makes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PluginPhases {
    pub request_headers: bool,
    pub request_body: bool,
    pub response_headers: bool,
    pub response_body: bool,
}

impl PluginPhases {
    /// How much of a request body the plugin can be given, if larger requests are refused.
    pub fn inspection_limit(
        self,
        plugin: &PluginWithSettings,
        on_failure: PluginFailurePolicy,
    ) -> Option<InspectionLimit> {
        let is_required = self.request_body && on_failure == PluginFailurePolicy::Deny;
        is_required.then(|| InspectionLimit {
            bytes: plugin.body_limit() as u64,
            setting: "limits.body",
        })
    }
}

impl PluginFilterConfig {
    /// # Errors
    /// The settings do not fit their type.
    pub fn read(settings: &Value) -> Result<Self, InvalidSettings> {
        read_settings(settings)
    }

    /// Starts the plugin, unless it runs with the same configuration already. Returns its grants, too.
    ///
    /// # Errors
    /// There is no such plugin, or it does not start.
    pub fn start(
        &self,
        context: &BuildContext<'_>,
    ) -> Result<(Arc<PluginWithSettings>, Arc<WithheldPartGrants>), InvalidSettings> {
        let name = &self.r#use;
        let plugins = context.features.get::<PluginDefinitions>();
        let Some(definition) = plugins.get(name) else {
            let reason = format!("no plugin `{name}`");
            let hint = match nearest(name, plugins.names(), 1).first() {
                Some(near) => format!("did you mean `{near}`?"),
                None => "declare it in `plugins`".to_owned(),
            };
            return Err(InvalidSettings::new(reason).at("/use").hint(hint));
        };
        let Some(definition) = definition else {
            let reason = format!("plugin `{name}` does not load");
            let hint = format!("correct the errors of `plugins.{name}` first");
            return Err(InvalidSettings::new(reason).at("/use").hint(hint));
        };
        let started = definition.start(self.configuration()).map_err(|reason| {
            InvalidSettings::new(format!("plugin `{name}` does not start: {reason}"))
                .hint("the lines of the plugin are in the log; its page names the keys of `config`")
        })?;
        Ok((started, definition.grants().clone()))
    }

    /// The parts that the filter gives to the plugin in this chain.
    ///
    /// # Errors
    /// A part that the plugin has no callback for, or that the chain does not have.
    pub fn phases(
        &self,
        plugin: &PluginWithSettings,
        side: ChainSide,
    ) -> Result<PluginPhases, InvalidSettings> {
        let mut phases = PluginPhases::default();
        let all = [
            PluginPhase::RequestHeaders,
            PluginPhase::RequestBody,
            PluginPhase::ResponseHeaders,
            PluginPhase::ResponseBody,
        ];
        for phase in self.phases.as_deref().unwrap_or(&all) {
            let (part, callback, is_request) = match phase {
                PluginPhase::RequestHeaders => (
                    &mut phases.request_headers,
                    PluginCallback::RequestHeaders,
                    true,
                ),
                PluginPhase::RequestBody => {
                    (&mut phases.request_body, PluginCallback::RequestBody, true)
                }
                PluginPhase::ResponseHeaders => (
                    &mut phases.response_headers,
                    PluginCallback::ResponseHeaders,
                    false,
                ),
                PluginPhase::ResponseBody => (
                    &mut phases.response_body,
                    PluginCallback::ResponseBody,
                    false,
                ),
            };
            let is_of_chain = !is_request || side == ChainSide::Request;
            *part = is_of_chain && plugin.exports(callback);
            if self.phases.is_some() && !*part {
                let reason = match is_of_chain {
                    true => format!("plugin `{}` has no `{callback}`", self.r#use),
                    false => "a response chain has no requests".to_owned(),
                };
                let error = InvalidSettings::new(reason).at("/phases");
                return Err(error.hint("remove the phase"));
            }
        }
        Ok(phases)
    }

    fn configuration(&self) -> Bytes {
        match &self.config {
            Value::Null => Bytes::new(),
            Value::String(text) => Bytes::copy_from_slice(text.as_bytes()),
            other => Bytes::from(other.to_string()),
        }
    }
}
