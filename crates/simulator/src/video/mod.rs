//! Video tasks in the formats of families A and B: created, queued, run, ended, and queried.

mod clip;
mod family_a;
mod family_b;

use super::api_error::ApiError;
use crate::endpoint_result::SuccessfulResponse;
use crate::request_context::RequestContext;
use crate::video_operation::{SimulatedFamily, VideoOperation};
use serde_json::Value;

/// Performs an operation on the tasks of the account; `body` is read only for creates.
///
/// # Errors
/// The family's error response.
pub fn respond(
    family: SimulatedFamily,
    operation: VideoOperation,
    body: impl FnOnce() -> Result<Value, ApiError>,
    call: &RequestContext,
) -> Result<SuccessfulResponse, ApiError> {
    match (family, operation) {
        (family, VideoOperation::Create) => {
            let body = body()?;
            let created = match family {
                SimulatedFamily::A => family_a::create(&body, call),
                SimulatedFamily::B => family_b::create(&body, call),
            }?;
            call.media_downloads.start(&body);
            Ok(created)
        }
        (SimulatedFamily::A, VideoOperation::List) => Ok(family_a::list(call)),
        (SimulatedFamily::A, VideoOperation::Query(id)) => family_a::query(id, call),
        (SimulatedFamily::A, VideoOperation::Cancel(id)) => family_a::delete(id, call),
        (SimulatedFamily::B, VideoOperation::List) => Ok(family_b::list(call)),
        (SimulatedFamily::B, VideoOperation::Query(id)) => Ok(family_b::query(id, call)),
        (SimulatedFamily::B, VideoOperation::Cancel(id)) => family_b::cancel(id, call),
    }
}
