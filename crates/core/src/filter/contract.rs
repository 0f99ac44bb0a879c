//! What the filters of a route determine of its HTTP API, for the description of the API.

use headgate_schema::CompiledSchema;
use http::HeaderName;
use std::sync::Arc;

/// What callers of a route must send, and what they get.
#[derive(Default)]
pub struct RouteApiDescription {
    /// The schema of the request's body.
    pub body: Option<Arc<CompiledSchema>>,
    /// Whether the body may be a form instead of JSON.
    pub accepts_form: bool,
    /// Whether it must be a form.
    pub requires_form: bool,
    /// Whether a request with another content type is refused.
    pub checks_content_type: bool,
    /// The headers in which callers may send the key, besides `Authorization`.
    pub key_headers: Vec<HeaderName>,
    /// The header with a date that callers must send.
    pub version_header: Option<String>,
    /// What the gateway makes of a success; `None` if it forwards what the provider sends.
    pub content: Option<GatewayResponseContent>,
    /// Whether the gateway refuses every request, as if there were no route.
    pub is_refused: bool,
}

/// The content of a response that the gateway makes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GatewayResponseContent {
    /// The models of the caller, or one of them if the path has a parameter.
    Models,
    /// The status of a video task in the generic protocol.
    VideoTask,
    /// A video task as OpenAI's object `video`.
    OpenAiVideo,
    /// The confirmation that a video was deleted, in OpenAI's format.
    DeletedVideo,
    /// The file of a video.
    VideoFile,
}
