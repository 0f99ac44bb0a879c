//! Decodes compressed request bodies, bounded by the limit of the route and by their ratio.

use super::SpoolPolicyWithMetrics;
use super::body_buffer::SpoolingBodyBuffer;
use bytes::Bytes;
use headgate_core::filter::body_limit::too_large;
use headgate_http_body::content_decoder::{
    ContentCoding, ContentDecoder, ContentDecodingError, RATIO_MAX,
};
use headgate_protocol::fault::{Fault, FaultKind};
use headgate_protocol::request_coding::{self, RequestCoding};
use tokio::task::yield_now;

/// What is decoded at once, in bytes; in between, the worker serves other connections.
const PIECE_BYTES: usize = 16 << 10;

/// Decodes a whole body. Without `spooling`, it stays in memory.
///
/// # Errors
/// The decoded body exceeds `bytes_max`, or is much larger than its encoded form (413); the body is not of the coding (400);
/// or it cannot be stored (503).
pub async fn decode(
    body: &[u8],
    coding: RequestCoding,
    bytes_max: u64,
    spooling: Option<SpoolPolicyWithMetrics<'_>>,
) -> Result<Bytes, Fault> {
    let decoded_bytes_max = usize::try_from(bytes_max).unwrap_or(usize::MAX);
    let mut decoder = ContentDecoder::new(content_coding(coding), decoded_bytes_max);
    let mut buffer = SpoolingBodyBuffer::new(bytes_max, None, spooling);
    let fault = |error| fault_from(error, coding, bytes_max);
    for piece in body.chunks(PIECE_BYTES) {
        let decoded = decoder.decode(piece).map_err(fault)?;
        if !decoded.is_empty() {
            buffer.push(decoded).await?;
        }
        yield_now().await;
    }
    let rest = decoder.finish().map_err(fault)?;
    if !rest.is_empty() {
        buffer.push(rest).await?;
    }
    buffer.finish().await
}

fn content_coding(coding: RequestCoding) -> ContentCoding {
    match coding {
        RequestCoding::Gzip => ContentCoding::Gzip,
        RequestCoding::Zstd => ContentCoding::Zstd,
        RequestCoding::Deflate => ContentCoding::Deflate,
    }
}

fn fault_from(error: ContentDecodingError, coding: RequestCoding, bytes_max: u64) -> Fault {
    match error {
        ContentDecodingError::TooLarge {
            is_by_ratio: false, ..
        } => too_large(None, bytes_max),
        ContentDecodingError::TooLarge {
            is_by_ratio: true, ..
        } => Fault::new(
            FaultKind::TooLarge,
            format!(
                "the request body is more than {RATIO_MAX} times larger when it is decoded; send it uncompressed"
            ),
        ),
        ContentDecodingError::Malformed(error) => Fault::new(
            FaultKind::Invalid,
            format!(
                "the request body is not valid {}, or not complete; send the whole body in the coding that `content-encoding` names, or send it uncompressed without this header",
                name(coding)
            ),
        )
        .param(request_coding::PARAMETER)
        .detail(error.to_string()),
    }
}

fn name(coding: RequestCoding) -> &'static str {
    match coding {
        RequestCoding::Gzip => "gzip",
        RequestCoding::Zstd => "zstd",
        RequestCoding::Deflate => "deflate",
    }
}
