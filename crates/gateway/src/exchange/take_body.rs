//! Takes the body of a request: as a whole, parsed as far as a filter needs it, or as a stream to the provider.

use super::Exchange;
use super::parse_body::parse_body;
use crate::downstream::SpoolPolicyWithMetrics;
use crate::downstream::upload::StreamingUpload;
use headgate_channel::retry_policy::RetrySafety;
use headgate_core::catalog::channel::Channel;
use headgate_core::filter::RequestBodyNeed;
use headgate_core::filter::body::RequestBody;
use headgate_core::filter::body_limit::too_large;
use headgate_core::filter::body_reading::RequestBodyFormat;
use headgate_core::filter::body_stream::body_stream;
use headgate_protocol::fault::Fault;
use headgate_protocol::{ChannelProtocol, Protocol};
use http::{Method, header};
use std::sync::Arc;
use std::time::Duration;

/// Bodies with a declared length up to this many bytes are buffered even if no filter needs them, so that further
/// attempts can send them again.
const HELD_BYTES_MAX: u64 = 64 << 10;

impl Exchange<'_> {
    /// Takes the body, or begins to stream it.
    ///
    /// # Errors
    /// The body is too large or malformed, or the caller left.
    pub(super) async fn take_body(&mut self) -> Result<(), Fault> {
        let deadline = self.snapshot.server.limits.body_timeout;
        if self.streams_body() {
            return self.prepare_upload(deadline);
        }
        let body = self
            .downstream
            .read_body(
                self.request.body_limit,
                deadline,
                Some(SpoolPolicyWithMetrics {
                    policy: &self.snapshot.spooling,
                    metrics: &self.gateway.metrics.spool,
                }),
            )
            .await?;
        let body = match self.request.headers.contains_key(header::CONTENT_ENCODING) {
            false => body,
            // Boxed, so that this rare case does not enlarge the future of every exchange.
            true => Box::pin(self.decode_body(body)).await?,
        };
        let reading =
            RequestBodyFormat::for_request(&self.request, &body, self.route.request.body_need());
        self.request.receive_body(parse_body(reading, body).await?);
        self.capture_body();
        Ok(())
    }

    /// Whether the body streams to the provider: no filter needs it, it is too large to be buffered for further
    /// attempts, a failed request costs no money, and no channel that may serve it signs bodies.
    fn streams_body(&self) -> bool {
        let length = self.downstream.declared_length();
        // What streams is not converted.
        let speaking = self.request.protocol.map(ChannelProtocol::for_caller);
        let needs_none = self.route.request.body_need() == RequestBodyNeed::Untouched;
        needs_none
            && self.downstream.has_unread_body()
            && [Method::POST, Method::PUT, Method::PATCH].contains(&self.request.method)
            && length.is_none_or(|bytes| bytes > HELD_BYTES_MAX)
            && RetrySafety::for_request(&self.request, [speaking]) != RetrySafety::Paid
            && self.signing_channel().is_none()
    }

    fn signing_channel(&self) -> Option<&Arc<Channel>> {
        let protocol = self.request.protocol.map(Protocol::on_channels);
        self.snapshot.catalog.body_signing_channel(protocol)
    }

    fn prepare_upload(&mut self, deadline: Duration) -> Result<(), Fault> {
        let bytes_max = self.request.body_limit;
        let length = self.downstream.declared_length();
        if length.is_some_and(|bytes| bytes > bytes_max) {
            return Err(too_large(length, bytes_max));
        }
        let (sender, stream) = body_stream(length);
        self.request.body.receive(RequestBody::Streamed(stream));
        self.upload = Some(Box::new(StreamingUpload {
            sender,
            bytes_max,
            deadline,
            open: self.open.request().clone(),
        }));
        Ok(())
    }
}
