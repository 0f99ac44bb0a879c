//! The settings of `callout`, and what they are built into.

use super::changes::CalloutPermissions;
use super::payload_selection::{PayloadFormat, PayloadSelection};
use super::stream_settings::{StreamHoldWindowConfig, StreamRequestPolicyConfig, output_check};
use bytes::Bytes;
use headgate_core::callout::CallFailure;
use headgate_core::filter::descriptor::{BuildContext, ChainSide, InvalidSettings, read_settings};
use headgate_core::filter::header_name::header_name;
use headgate_core::filter::output_check::OutputCheckMode;
use headgate_core::scalar::ByteSize;
use headgate_protocol::credential_names::names_credential;
use headgate_protocol::nearest::nearest;
use http::HeaderName;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

/// Where requests of any protocol have their texts.
const REQUEST_TEXTS: [&str; 11] = [
    "/system",
    "/systemInstruction",
    "/instructions",
    "/prompt",
    "/negative_prompt",
    "/messages",
    "/contents",
    "/input",
    "/prediction",
    "/query",
    "/documents",
];
/// Members of a request that decide about its route, its channel and its response.
const FIXED_MEMBERS: [&str; 3] = ["/model", "/stream", ""];

/// Settings of `callout`.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CalloutConfig {
    /// Name of the service, one of `services`.
    #[schemars(length(min = 1))]
    pub service: String,
    /// Format of the requests to the service and of its responses. Set it to `litellm` for a service that is written for
    /// the `generic_guardrail_api` of LiteLLM. Default: headgate.
    #[serde(default)]
    format: PayloadFormatConfig,
    /// What is sent to the service, beyond method, path, route, model and caller. Default: see below.
    #[serde(default)]
    send: PayloadSelectionConfig,
    /// What the service may decide and change; anything else in its response is a failure. Default: see below.
    #[serde(default)]
    allow: CalloutPermissionsConfig,
    /// What happens without a usable response of the service. Default: deny.
    #[serde(default)]
    pub on_failure: OnFailureConfig,
    /// Holds streams until the service has decided about their text, window by window; a window ends at the first of
    /// these limits. `{}` is for the defaults. Only in the response chain. Default: none.
    hold: Option<StreamHoldWindowConfig>,
    /// What happens to requests for streams, instead of `hold`. Only in the response chain. Default: none.
    streams: Option<StreamRequestPolicyConfig>,
}

/// Format of the requests to a service and of its responses.
#[derive(Clone, Copy, Debug, Default, Deserialize, JsonSchema, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
enum PayloadFormatConfig {
    /// The gateway's own.
    #[default]
    Headgate,
    /// That of LiteLLM's `generic_guardrail_api`.
    Litellm,
}

/// What is sent to a service.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
struct PayloadSelectionConfig {
    /// JSON pointers into the body of the request, in the response chain into that of the response (not of a stream),
    /// such as `/messages`; `""` is the whole body. With `format: litellm` the texts at and below them, only in the request
    /// chain, and without tools, images and messages. Default: none; with `format: litellm` all texts of the request.
    fields: Vec<String>,
    /// Names of headers of the request. A header that carries a credential cannot be sent, nor a value that is the key
    /// of the caller. Default: none.
    headers: Vec<String>,
    /// Values for the service, as an object, such as a threshold: `additional_provider_specific_params` of
    /// `format: litellm`. Default: none.
    parameters: Option<serde_json::Map<String, Value>>,
    /// Maximum size of the fields, and of the text; more is not sent. A request is then refused with 413 whatever
    /// `on_failure` is, so that callers cannot choose by size whether they are checked; for a response it is a failure.
    /// Set it to `limit_body` of the route. Default: 1MiB.
    max_bytes: ByteSize,
}

/// What a service may decide and change; everything else in its response is a failure.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
struct CalloutPermissionsConfig {
    /// Whether it may deny. Default: true.
    deny: bool,
    /// Names of headers that it may set, of the request to the provider or of the response to the caller (not of a
    /// stream). Default: none.
    set_headers: Vec<String>,
    /// JSON pointers of values that it may set, with all that is below them, in the body of the request or of a
    /// response that is not a stream. `/model` and `/stream` of a request cannot be set. An edited request must be
    /// valid by the schemas of the protocol and of the model, and for all earlier filters. Default: none.
    edit_body: Vec<String>,
}

/// What happens without a usable response.
#[derive(Clone, Copy, Debug, Default, Deserialize, JsonSchema, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub enum OnFailureConfig {
    /// The request or response ends with an error.
    #[default]
    Deny,
    /// It continues unchanged.
    Allow,
    /// It continues unchanged if the service is not reached: a timeout, no connection or a broken one, too many calls, the
    /// status 502, 503 or 504, or a circuit breaker that only these opened. Otherwise it ends with an error.
    AllowUnreachable,
}

/// The settings as built.
pub struct CalloutSettings {
    pub service: String,
    pub sent: PayloadSelection,
    pub allowed: CalloutPermissions,
    pub on_failure: OnFailureConfig,
    pub output_check: OutputCheckMode,
    /// Text before a window that is sent with it, in bytes.
    pub overlap: usize,
}

impl OnFailureConfig {
    /// The value in the configuration.
    pub fn name(self) -> &'static str {
        match self {
            Self::Deny => "deny",
            Self::Allow => "allow",
            Self::AllowUnreachable => "allow_unreachable",
        }
    }

    /// Whether a request or response continues after this failure.
    pub fn allows(self, failed: &CallFailure) -> bool {
        match self {
            Self::Deny => false,
            Self::Allow => true,
            Self::AllowUnreachable => failed.is_unreachable,
        }
    }
}

impl CalloutSettings {
    /// # Errors
    /// Settings that cannot work, or that would let a response pass unchecked.
    pub fn read(settings: &Value, context: &BuildContext<'_>) -> Result<Self, InvalidSettings> {
        let CalloutConfig {
            service,
            format,
            send,
            allow,
            on_failure,
            hold,
            streams,
        } = read_settings(settings)?;
        let hold_config = hold.as_ref();
        let overlap = hold_config.map_or(0, StreamHoldWindowConfig::overlap);
        Ok(Self {
            output_check: output_check(hold_config, streams, context)?,
            service,
            sent: send.build(format, context.side)?,
            allowed: allow.build(format, context.side)?,
            on_failure,
            overlap,
        })
    }
}

impl PayloadSelectionConfig {
    fn build(
        self,
        format: PayloadFormatConfig,
        side: ChainSide,
    ) -> Result<PayloadSelection, InvalidSettings> {
        check_pointers(&self.fields, "/send/fields")?;
        let is_litellm = format == PayloadFormatConfig::Litellm;
        if is_litellm && side == ChainSide::Response && !self.fields.is_empty() {
            return Err(InvalidSettings::new("all texts of a response are sent")
                .at("/send/fields")
                .hint("remove it; with `format: litellm` it is for the request chain"));
        }
        if !is_litellm && self.parameters.is_some() {
            return Err(
                InvalidSettings::new("`parameters` is for `format: litellm`")
                    .at("/send/parameters")
                    .hint("write them into `headers` of the service"),
            );
        }
        let is_whole_request = is_litellm && side == ChainSide::Request && self.fields.is_empty();
        let parameters = Value::Object(self.parameters.unwrap_or_default());
        Ok(PayloadSelection {
            format: match format {
                PayloadFormatConfig::Headgate => PayloadFormat::Headgate,
                PayloadFormatConfig::Litellm => PayloadFormat::Litellm,
            },
            headers: header_names(&self.headers, "/send/headers")?,
            fields: match is_whole_request {
                true => REQUEST_TEXTS.map(str::to_owned).into(),
                false => self.fields,
            },
            is_whole_request,
            bytes_max: saturated(self.max_bytes),
            parameters: Bytes::from(parameters.to_string()),
        })
    }
}

impl CalloutPermissionsConfig {
    fn build(
        self,
        format: PayloadFormatConfig,
        side: ChainSide,
    ) -> Result<CalloutPermissions, InvalidSettings> {
        if format == PayloadFormatConfig::Litellm && !self.set_headers.is_empty() {
            return Err(
                InvalidSettings::new("a service of LiteLLM's format sets no headers")
                    .at("/allow/set_headers")
                    .hint("remove it"),
            );
        }
        check_pointers(&self.edit_body, "/allow/edit_body")?;
        for (index, pointer) in self.edit_body.iter().enumerate() {
            if side == ChainSide::Request && FIXED_MEMBERS.contains(&pointer.as_str()) {
                let reason = format!("a service cannot set `{pointer}` of a request");
                return Err(InvalidSettings::new(reason)
                    .at(format!("/allow/edit_body/{index}"))
                    .hint("name the members that it may set, other than `/model` and `/stream`"));
            }
        }
        Ok(CalloutPermissions {
            deny: self.deny,
            headers: header_names(&self.set_headers, "/allow/set_headers")?,
            pointers: self.edit_body,
        })
    }
}

/// The error for a service that the file does not have.
pub fn unknown_service(name: &str, context: &BuildContext<'_>) -> InvalidSettings {
    let names: Vec<&str> = context.services.iter().map(|one| &*one.name).collect();
    let near = nearest(name, names.iter().copied(), 1);
    let hint = match (near.first(), names.is_empty()) {
        (Some(near), _) => format!("did you mean `{near}`?"),
        (None, true) => "add it to `services`".to_owned(),
        (None, false) => format!("use one of {}, or add it to `services`", names.join(", ")),
    };
    InvalidSettings::new(format!("unknown service `{name}`"))
        .at("/service")
        .hint(hint)
}

fn check_pointers(pointers: &[String], at: &str) -> Result<(), InvalidSettings> {
    for (index, pointer) in pointers.iter().enumerate() {
        if !pointer.is_empty() && !pointer.starts_with('/') {
            return Err(
                InvalidSettings::new(format!("`{pointer}` is not a JSON pointer"))
                    .at(format!("{at}/{index}"))
                    .hint(format!("write `/{pointer}`")),
            );
        }
    }
    Ok(())
}

fn header_names(names: &[String], at: &str) -> Result<Vec<HeaderName>, InvalidSettings> {
    let named = |(index, name): (usize, &String)| {
        let at = format!("{at}/{index}");
        let parsed = header_name(name).map_err(|invalid| invalid.at(&at))?;
        let plain = parsed.as_str().replace('_', "-");
        match names_credential(plain.as_bytes()) {
            true => Err(InvalidSettings::new(format!(
                "`{name}` carries a credential, which services neither get nor set"
            ))
            .at(at)),
            false => Ok(parsed),
        }
    };
    names.iter().enumerate().map(named).collect()
}

fn saturated(size: ByteSize) -> usize {
    usize::try_from(size.bytes()).unwrap_or(usize::MAX)
}

impl Default for PayloadSelectionConfig {
    fn default() -> Self {
        Self {
            fields: Vec::new(),
            headers: Vec::new(),
            parameters: None,
            max_bytes: ByteSize::mebibytes(1),
        }
    }
}

impl Default for CalloutPermissionsConfig {
    fn default() -> Self {
        Self {
            deny: true,
            set_headers: Vec::new(),
            edit_body: Vec::new(),
        }
    }
}
