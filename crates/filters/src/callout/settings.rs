//! The settings of `callout`, and what they are built into.

use super::changes::CalloutPermissions;
use headgate_core::filter::descriptor::{BuildContext, ChainSide, InvalidSettings, read_settings};
use headgate_core::filter::header_name::header_name;
use headgate_core::filter::output_check::{HoldWindow, OutputCheckMode};
use headgate_core::scalar::{ByteSize, HumanDuration};
use headgate_protocol::credential_names::names_credential;
use headgate_protocol::nearest::nearest;
use http::HeaderName;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

/// Members of a request that decide about its route, its channel and its response.
const FIXED_MEMBERS: [&str; 3] = ["/model", "/stream", ""];

/// Settings of `callout`.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CalloutConfig {
    /// Name of the service, one of `services`.
    #[schemars(length(min = 1))]
    pub service: String,
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

/// What is sent to a service.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
struct PayloadSelectionConfig {
    /// JSON pointers into the body of the request, in the response chain into that of the response (not of a stream),
    /// such as `/messages`; `""` is the whole body. Default: none.
    fields: Vec<String>,
    /// Names of headers of the request. A header that carries a credential cannot be sent, nor a value that is the key
    /// of the caller. Default: none.
    headers: Vec<String>,
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
}

/// How much of a stream is held: until the first of these limits.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
struct StreamHoldWindowConfig {
    /// Maximum events of a window, 1 to 10000. Lower it to send text earlier, raise it for fewer calls. Default: 16.
    #[schemars(range(min = 1, max = 10_000))]
    events: u32,
    /// Maximum size of the events of a window, up to 16MiB; one event may exceed it. Default: 16KiB.
    bytes: ByteSize,
    /// Maximum time for which events are held before the service is called, up to 1m. Default: 200ms.
    time: HumanDuration,
    /// How much of each text before a window is sent with it, up to 64KiB. Set it to the length of the longest text that
    /// the service must see as a whole. Default: 1KiB.
    overlap: ByteSize,
}

/// What happens to requests for streams.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
enum StreamRequestPolicyConfig {
    /// They get 400.
    Refuse,
}

/// What is sent to the service.
pub struct PayloadSelection {
    pub fields: Vec<String>,
    pub headers: Vec<HeaderName>,
    pub bytes_max: usize,
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
        }
    }
}

impl CalloutSettings {
    /// # Errors
    /// Settings that cannot work, or that would let a response pass unchecked.
    pub fn read(settings: &Value, context: &BuildContext<'_>) -> Result<Self, InvalidSettings> {
        let CalloutConfig {
            service,
            send,
            allow,
            on_failure,
            hold,
            streams,
        } = read_settings(settings)?;
        let hold_config = hold.as_ref();
        let overlap = hold_config.map_or(0, |hold| saturated(hold.overlap));
        Ok(Self {
            output_check: output_check(hold_config, streams, context)?,
            service,
            sent: send.build()?,
            allowed: allow.build(context.side)?,
            on_failure,
            overlap,
        })
    }
}

impl PayloadSelectionConfig {
    fn build(self) -> Result<PayloadSelection, InvalidSettings> {
        check_pointers(&self.fields, "/send/fields")?;
        Ok(PayloadSelection {
            headers: header_names(&self.headers, "/send/headers")?,
            fields: self.fields,
            bytes_max: saturated(self.max_bytes),
        })
    }
}

impl CalloutPermissionsConfig {
    fn build(self, side: ChainSide) -> Result<CalloutPermissions, InvalidSettings> {
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

/// An output check must not be skipped by streaming.
fn output_check(
    hold: Option<&StreamHoldWindowConfig>,
    streams: Option<StreamRequestPolicyConfig>,
    context: &BuildContext<'_>,
) -> Result<OutputCheckMode, InvalidSettings> {
    if context.side == ChainSide::Request {
        let misplaced = match (hold, streams) {
            (Some(_), _) => "hold",
            (None, Some(_)) => "streams",
            (None, None) => return Ok(OutputCheckMode::None),
        };
        return Err(
            InvalidSettings::new(format!("`{misplaced}` is for the response chain"))
                .at(format!("/{misplaced}")),
        );
    }
    let protocol = context.protocol;
    let streams_exist = protocol.is_none_or(|protocol| protocol.descriptor().has_streams());
    match (hold, streams) {
        (Some(_), Some(_)) => Err(InvalidSettings::new(
            "`hold` and `streams: refuse` are mutually exclusive",
        )
        .at("/streams")),
        (Some(hold), None) => hold.window().map(OutputCheckMode::Streams),
        (None, Some(StreamRequestPolicyConfig::Refuse)) => Ok(OutputCheckMode::WholeBodies),
        (None, None) if streams_exist => Err(InvalidSettings::new(
            "streams of this route would pass without a check",
        )
        .hint("add `hold: {}` to check them window by window, or `streams: refuse`")),
        (None, None) => Ok(OutputCheckMode::WholeBodies),
    }
}

impl StreamHoldWindowConfig {
    fn window(&self) -> Result<HoldWindow, InvalidSettings> {
        const MIB: u64 = 1 << 20;
        let beyond = |name: &str, most: &str| {
            let reason = format!("`{name}` must be at most {most}");
            Err(InvalidSettings::new(reason).at(format!("/hold/{name}")))
        };
        if self.bytes.bytes() > 16 * MIB {
            return beyond("bytes", "16MiB");
        }
        if self.time > HumanDuration::seconds(60) {
            return beyond("time", "1m");
        }
        if self.overlap > ByteSize::kibibytes(64) {
            return beyond("overlap", "64KiB");
        }
        Ok(HoldWindow {
            events: self.events,
            bytes: self.bytes.bytes(),
            time: self.time.duration(),
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

impl Default for StreamHoldWindowConfig {
    fn default() -> Self {
        Self {
            events: 16,
            bytes: ByteSize::kibibytes(16),
            time: HumanDuration::milliseconds(200),
            overlap: ByteSize::kibibytes(1),
        }
    }
}
