//! The attempt on a channel of a cloud: the request of the protocol in the form that the cloud takes.

use crate::upstream::request::PreparedBody;
use headgate_core::catalog::model::Candidate;
use headgate_protocol::ProviderCloud;
use headgate_protocol::fault::{Fault, FaultKind};
use headgate_protocol::json::{JsonDocument, JsonLimits};

/// The path below the base URL, and the body, of a request that is of the protocol until then.
///
/// # Errors
/// [`FaultKind::NoChannel`]: the cloud has no such endpoint, so that another channel may serve it.
pub(super) fn in_cloud(
    cloud: ProviderCloud,
    candidate: &Candidate,
    path: &str,
    body: PreparedBody,
) -> Result<(String, PreparedBody), Fault> {
    let format = candidate
        .protocol
        .and_then(|protocol| protocol.descriptor().clouds);
    let (Some(format), Some(model), PreparedBody::Whole(body)) = (format, &candidate.model, body)
    else {
        return Err(not_here());
    };
    let document = JsonDocument::parse(body.to_bytes(), &JsonLimits::default())?;
    let converted = cloud.convert(format, path, &document, &model.name);
    let converted = converted.ok_or_else(not_here)?;
    Ok((converted.path, PreparedBody::Whole(converted.body)))
}

fn not_here() -> Fault {
    Fault::new(
        FaultKind::NoChannel,
        "the channel for this model does not serve this path; ask the operator of this gateway for one that does",
    )
}
