//! A create of the generic protocol in the words of each family that it may go to.

use crate::catalog::model::Candidate;
use crate::filter::view::RequestView;
use bytes::Bytes;
use http::HeaderValue;
use std::sync::Arc;

/// What the filter keeps of a create until it is sent and answered.
#[derive(Default)]
pub(super) struct MappedCreates(Vec<MappedCreate>);

/// A create in the words of a family.
pub(super) struct MappedCreate {
    pub family: Arc<str>,
    /// The channel's name of the model.
    pub model: Arc<str>,
    pub body: Bytes,
    /// Appended to the channel's `base_url`.
    pub path: String,
    /// Width to height as asked for, which not every family repeats.
    pub ratio: Option<String>,
    /// Names what the family leaves out.
    pub ignored: Option<HeaderValue>,
}

/// The create as it goes to `candidate`.
pub(super) fn create_for<'r>(
    request: &'r RequestView,
    candidate: &Candidate,
) -> Option<&'r MappedCreate> {
    let family = &candidate.channel.family.as_ref()?.name;
    let model = &candidate.model.as_ref()?.name;
    let MappedCreates(creates) = request.state.get()?;
    let mut creates = creates.iter();
    creates.find(|create| create.family == *family && create.model == *model)
}

pub(super) fn store_create(request: &mut RequestView, create: MappedCreate) {
    let MappedCreates(creates) = request.state.get_or_default();
    creates.push(create);
}
