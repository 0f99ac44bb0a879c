//! Bounds and errors of responses that a provider compresses.

use headgate_http_body::content_decoder::{ContentCoding, ContentDecoder, ContentDecodingError};
use headgate_protocol::fault::{Fault, FaultKind};

/// Largest decoded response, in bytes.
const DECODED_BYTES_MAX: usize = 512 << 20;

/// A decoder of a provider's response.
pub(super) fn response_decoder(coding: ContentCoding) -> Box<ContentDecoder> {
    Box::new(ContentDecoder::new(coding, DECODED_BYTES_MAX))
}

/// The fault of a response that cannot be decoded.
pub(super) fn undecodable(error: &ContentDecodingError) -> Fault {
    Fault::new(
        FaultKind::UnreadableResponse,
        "the provider's response cannot be decoded; try again, and tell the operator of this gateway if the error persists",
    )
    .detail(format!("content coding: {error}"))
}
