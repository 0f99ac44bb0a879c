//! Parses request bodies, large ones on another thread.

use bytes::Bytes;
use headgate_core::filter::body::RequestBody;
use headgate_core::filter::body_reading::RequestBodyFormat;
use headgate_protocol::fault::{Fault, FaultKind};

/// Larger bodies are parsed on another thread, so that the worker serves other connections meanwhile. A body of this size
/// takes up to a millisecond if it is a conversation, a tenth of that if it is an image, and 5 ms if all its values are
/// numbers of one digit.
const INLINE_BYTES_MAX: usize = 1 << 20;

/// Parses a whole body.
///
/// # Errors
/// The body is not in its format.
pub(super) async fn parse_body(
    reading: RequestBodyFormat,
    body: Bytes,
) -> Result<RequestBody, Fault> {
    match body.len() > INLINE_BYTES_MAX {
        false => reading.read(body),
        true => tokio::task::spawn_blocking(move || reading.read(body))
            .await
            .map_err(|error| {
                Fault::new(
                    FaultKind::Internal,
                    "internal error: the request body could not be processed",
                )
                .source(error)
            })?,
    }
}
