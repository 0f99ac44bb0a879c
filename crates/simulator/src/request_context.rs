//! The context of a request for its endpoint.

use super::directive::{Directives, ResponseTextSizes};
use super::ids::IdGenerator;
use super::input_media_download::InputMediaDownloadLog;
use super::options::SimulatorDefaults;
use super::resource_store::ResourceStore;
use super::video_task::VideoTaskStore;
use bytes::Bytes;
use http::request::Parts;
use std::sync::Arc;

/// What an endpoint needs besides the request's body.
pub struct RequestContext<'c> {
    pub directives: &'c Directives,
    pub sizes: ResponseTextSizes,
    pub options: &'c SimulatorDefaults,
    pub ids: &'c IdGenerator,
    pub head: &'c Parts,
    /// The body as it was received.
    pub raw: &'c Bytes,
    pub request_id: &'c str,
    /// The credential, which identifies the account that owns responses, files, conversations, containers and tasks.
    pub account: &'c str,
    pub resources: &'c ResourceStore,
    pub tasks: &'c Arc<VideoTaskStore>,
    pub media_downloads: &'c Arc<InputMediaDownloadLog>,
}
