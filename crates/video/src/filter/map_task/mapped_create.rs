//! Create requests of the generic protocol, translated for each family that they may be sent to.

use bytes::Bytes;
use headgate_core::catalog::model::Candidate;
use headgate_core::filter::view::RequestView;
use http::HeaderValue;
use std::sync::Arc;

/// Translated creates, stored from `on_body` until the response.
#[derive(Default)]
pub(super) struct MappedCreateRequests(Vec<MappedCreateRequest>);

/// A create, translated for one family and model.
pub(super) struct MappedCreateRequest {
    pub family: Arc<str>,
    /// The channel's name for the model.
    pub model: Arc<str>,
    pub body: Bytes,
    /// Appended to the channel's `base_url`.
    pub path: String,
    /// The resolution that the model has in place of the requested one.
    pub resolution: Option<String>,
    /// The requested aspect ratio. Not every family repeats it in its responses.
    pub ratio: Option<String>,
    /// How many media are uploaded before the create; until then 0 stands for their ids.
    pub uploads: usize,
    /// Lists the fields that the family does not support.
    pub ignored: Option<HeaderValue>,
}

/// The translated create for `candidate`.
pub(super) fn create_for<'r>(
    request: &'r RequestView,
    candidate: &Candidate,
) -> Option<&'r MappedCreateRequest> {
    let family = &candidate.channel.family.as_ref()?.name;
    let model = &candidate.model.as_ref()?.name;
    let MappedCreateRequests(creates) = request.state.get()?;
    let mut creates = creates.iter();
    creates.find(|create| create.family == *family && create.model == *model)
}

pub(super) fn store_create(request: &mut RequestView, create: MappedCreateRequest) {
    let MappedCreateRequests(creates) = request.state.get_or_default();
    creates.push(create);
}
