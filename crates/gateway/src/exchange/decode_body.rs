//! Removes the content coding of a request body that filters read.

use super::Exchange;
use crate::downstream::{SpoolPolicyWithMetrics, compressed_body};
use bytes::Bytes;
use headgate_core::filter::RequestBodyNeed;
use headgate_protocol::fault::Fault;
use headgate_protocol::request_coding;
use http::header;

impl Exchange<'_> {
    /// The body without its content coding, which the head then does not name any more. A body that no filter reads
    /// keeps its coding, as one that streams does: the provider reads it.
    ///
    /// # Errors
    /// The coding is not known (415), or the body cannot be decoded within its limit.
    pub(super) async fn decode_body(&mut self, body: Bytes) -> Result<Bytes, Fault> {
        let is_read = self.route.request.body_need() != RequestBodyNeed::Untouched;
        if body.is_empty() || !is_read {
            return Ok(body);
        }
        let Some(coding) = request_coding::from_headers(&self.request.headers)? else {
            return Ok(body);
        };
        let spooling = SpoolPolicyWithMetrics {
            policy: &self.snapshot.spooling,
            metrics: &self.gateway.metrics.spool,
        };
        let bytes_max = self.request.body_limit;
        let decoded = compressed_body::decode(&body, coding, bytes_max, Some(spooling)).await?;
        self.request.headers.remove(header::CONTENT_ENCODING);
        Ok(decoded)
    }
}
