//! What the gateway knows of a protocol.

use super::Protocol;
use super::cloud_requests::CloudRequestFormat;
use crate::batch::BatchFormat;
use crate::conversation::{ConversationShape, ProviderFormat};
use crate::error_body::ErrorShape;
use crate::fault::Fault;
use crate::form::{MultipartForm, describe_fields};
use crate::ids::IdEvent;
use crate::json::JsonDocument;
use crate::json::edit::JsonEdits;
use crate::model_list::ModelListFormat;
use crate::rate_limit_headers::CallerRateLimitHeaderFormat;
use crate::response_text::TextPlaces;
use crate::response_verdict::SuccessShape;
use crate::sealed_content::SealedContentPlaces;
use crate::stream::{StreamFraming, StreamShape};
use crate::usage::{UsageCount, UsageShape};
use bytes::Bytes;
use http::{HeaderMap, HeaderName};

/// What differs between protocols.
#[derive(Clone, Copy, Debug)]
pub struct ProtocolDescriptor {
    /// The name in configuration, metrics and logs.
    pub name: &'static str,
    /// The path to which callers send requests in the provider's own API; with `{model}` or `{+model}` if it has the model.
    pub path: &'static str,
    /// The path of requests for streams, if it is another one.
    pub stream_path: Option<&'static str>,
    /// What the messages of its WebSockets are; `None` if it has no WebSockets.
    pub websocket: Option<WebSocketMessages>,
    /// The paths of other requests that have the model there, such as those which count tokens.
    pub further_paths: &'static [&'static str],
    /// How clouds take its requests; `None` if none does under paths of its own.
    pub clouds: Option<&'static CloudRequestFormat>,
    pub medium: GenerationMedium,
    pub cost: DuplicateRequestCost,
    /// How a video task is created and queried; `None` if the protocol has no tasks.
    pub tasks: Option<TaskApiFormat>,
    /// The protocol of the channels that serve its callers; `None` if it is the same. A filter converts the requests.
    pub served_by: Option<Protocol>,
    /// How a form in place of JSON is read; `None` if callers send none.
    pub forms: Option<FormReading>,
    /// Whether providers take no JSON in place of a form.
    pub is_form_only: bool,
    /// The member of requests that names the model, with the objects around it; in a form, the field of this name.
    pub model_member: &'static [&'static str],
    /// Whether providers have a list of the models that they serve under this protocol.
    pub has_model_list: bool,
    /// Whether providers put the request id into the body instead of a header.
    pub has_request_id_in_body: bool,
    pub headers: &'static ProtocolHeaders,
    pub rate_limits: &'static CallerRateLimitHeaderFormat,
    pub errors: ErrorShape,
    pub(crate) success: SuccessShape,
    pub streams: StreamShape,
    pub(crate) usage: UsageShape,
    pub models: ModelListFormat,
    /// The events that have ids; none if ids of the protocol cannot be used again.
    pub id_events: &'static [IdEvent],
    pub sealed_content: Option<SealedContentPlaces>,
    /// `None` if requests and responses have no messages.
    pub conversation: Option<ConversationShape>,
    /// What requests and responses are translated to and from; `None` if they cannot be translated. Those of callers are
    /// translated if callers have the format, too.
    pub translation: Option<ProviderFormat>,
    pub texts: TextPlaces,
    /// Replaces spellings that only some providers accept.
    pub normalise: fn(&JsonDocument, &mut JsonEdits),
    /// `None` unless requests create batches of other requests.
    pub batch: Option<BatchFormat>,
    pub traces: GenAiTraceNames,
}

/// How a form is read that callers may send in place of JSON.
#[derive(Clone, Copy, Debug)]
pub enum FormReading {
    /// It stays a form, which providers take as well; filters see its fields as JSON.
    Kept(KeptForm),
    /// It becomes the same request as JSON, files included, before any filter reads it.
    Converted(fn(&MultipartForm) -> Result<Bytes, Fault>),
}

/// How filters and providers get a form that stays one.
#[derive(Clone, Copy, Debug)]
pub struct KeptForm {
    /// Writes its fields as JSON, with stand-ins for files.
    pub describe: fn(&MultipartForm) -> Result<Bytes, Fault>,
    /// Renames fields that some providers read differently.
    pub normalise: fn(&MultipartForm, &mut JsonEdits),
}

/// What the messages of a protocol's WebSockets are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WebSocketMessages {
    /// Requests that providers take over HTTP as well, and the events of their responses.
    Requests,
    /// Events of one session with a provider's own WebSocket; the query of the handshake names the model.
    SessionEvents,
}

/// What a protocol generates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GenerationMedium {
    Text,
    Image,
    Video,
    Audio,
    /// Text of sound, which may also come as plain text or subtitles.
    Transcript,
    /// What programs read, such as vectors and scores.
    Data,
}

/// What it costs to send a request twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DuplicateRequestCost {
    /// Tokens, and a second copy where the provider stores responses.
    Tokens(ProviderResponseStorage),
    /// A second image or video.
    PaidWork,
}

/// Whether the provider stores responses, by the `store` of the request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProviderResponseStorage {
    Never,
    /// With `store: true`.
    OnRequest,
    /// Unless `store` is `false`.
    ByDefault,
}

/// Whose API of video tasks a protocol is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TaskApiFormat {
    /// The gateway's, for channels of any family.
    Generic,
    /// OpenAI's, for channels of any family: `convert_videos` makes a generic request of a create.
    OpenAi,
    /// A family's own.
    Native,
}

/// Headers of a protocol, beside those that all protocols have.
#[derive(Debug)]
pub struct ProtocolHeaders {
    /// The header in which SDKs send the key; `Authorization` is always read.
    pub api_key: Option<HeaderName>,
    /// The header with the version of the protocol, and the version of requests that the gateway makes itself.
    pub version: Option<(HeaderName, &'static str)>,
    /// The response header with the request id; `x-request-id` is always sent.
    pub request_id: Option<HeaderName>,
}

/// Names of OpenTelemetry's conventions for generative AI.
#[derive(Clone, Copy, Debug)]
pub struct GenAiTraceNames {
    /// `gen_ai.operation.name`
    pub operation: &'static str,
    /// `gen_ai.output.type`
    pub output_type: Option<&'static str>,
    /// `gen_ai.provider.name` of hosts that the conventions do not know.
    pub provider: Option<&'static str>,
}

impl FormReading {
    /// Forms whose fields are read as they are.
    pub const PLAIN: Self = Self::Kept(KeptForm {
        describe: describe_fields,
        normalise: |_, _| {},
    });

    /// How forms of this protocol are read.
    pub fn for_protocol(protocol: Option<Protocol>) -> Self {
        let forms = protocol.and_then(|protocol| protocol.descriptor().forms);
        forms.unwrap_or(Self::PLAIN)
    }

    /// Adds edits that make a form unambiguous for all parsers.
    pub fn normalise(self, form: &MultipartForm, edits: &mut JsonEdits) {
        form.normalise(edits);
        if let Self::Kept(kept) = self {
            (kept.normalise)(form, edits);
        }
    }
}

impl TaskApiFormat {
    /// Whether tasks are created by a request in the generic format, at least behind `convert_videos`.
    pub fn is_generic(self) -> bool {
        match self {
            Self::Generic | Self::OpenAi => true,
            Self::Native => false,
        }
    }
}

impl ProtocolDescriptor {
    /// Whether streams report usage only to requests that ask for it.
    pub fn has_optional_stream_usage(&self) -> bool {
        self.usage.is_optional_in_streams
    }

    /// Whether responses report usage.
    pub fn has_usage(&self) -> bool {
        !self.usage.counts.is_empty() || self.usage.counts_audio()
    }

    /// Whether a request may use output tokens: unless its usage is known to have none.
    pub fn has_output_tokens(&self) -> bool {
        let mut counts = self.usage.counts.iter();
        !self.has_usage() || counts.any(|(_, _, count)| *count == UsageCount::Output)
    }

    /// Whether the path of the provider's API has the model in it.
    pub fn names_model_in_path(&self) -> bool {
        self.path.contains(['{', '}'])
    }

    /// The paths of requests that have the model there: of whole responses, of streams, and others.
    pub fn paths_with_model(&self) -> impl Iterator<Item = &'static str> {
        let generating = [Some(self.path), self.stream_path].into_iter().flatten();
        let all = generating.chain(self.further_paths.iter().copied());
        all.filter(|path| path.contains('{'))
    }

    /// Whether a request to this path asks for a stream by that alone.
    pub fn is_stream_path(&self, path: &str) -> bool {
        self.stream_path.is_some_and(|stream| stream == path)
    }

    /// Whether responses may be event streams.
    pub fn has_streams(&self) -> bool {
        self.streams.ending.is_some()
    }

    /// What separates the events of streams for a caller of this path.
    pub fn caller_framing(&self, path: &str) -> StreamFraming {
        let cloud = self.clouds.and_then(|clouds| clouds.endpoint(path));
        cloud.map_or(self.streams.framing, |endpoint| endpoint.framing)
    }

    /// Whether event streams of providers consist of frames.
    pub fn has_frames(&self) -> bool {
        self.streams.framing == StreamFraming::AmazonFrames
    }
}

impl ProtocolHeaders {
    /// Whether a request names a version of the protocol.
    pub fn has_version(&self, headers: &HeaderMap) -> bool {
        let name = self.version.as_ref().map(|(name, _)| name);
        name.is_some_and(|name| headers.contains_key(name))
    }

    /// Whether a request has a key where only callers of the protocol send it.
    pub fn has_key(&self, headers: &HeaderMap) -> bool {
        let name = self.api_key.as_ref();
        name.is_some_and(|name| headers.contains_key(name))
    }

    /// Whether the protocol has headers that only its callers send.
    pub fn can_identify(&self) -> bool {
        self.version.is_some() || self.api_key.is_some()
    }

    /// Whether a request has a header that only callers of the protocol send.
    pub fn has_any(&self, headers: &HeaderMap) -> bool {
        self.has_version(headers) || self.has_key(headers)
    }

    /// None beside those that all protocols have.
    pub const NONE: Self = Self {
        api_key: None,
        version: None,
        request_id: None,
    };
}

/// The member that names the model in almost all protocols.
pub(super) const MODEL_MEMBER: &[&str] = &["model"];

/// Leaves a request as it is.
pub(super) fn no_older_spellings(_body: &JsonDocument, _edits: &mut JsonEdits) {}
