//! Relays a response body as it arrives, and shows it to the filters that only read it.

use super::Exchange;
use super::examine_body::{examined_protocol, late_failure};
use crate::upstream::response::{BodyKindByExamination, UpstreamResponse};
use bytes::{Bytes, BytesMut};
use headgate_core::catalog::model::Candidate;
use headgate_core::filter::ResponseBodyAccess;
use headgate_core::filter::response_pieces::ResponsePieces;
use headgate_core::filter::view::{ResponseBodyKind, ResponseView};
use headgate_protocol::fault::Fault;
use headgate_protocol::upstream_request_id;
use http::{HeaderMap, StatusCode};
use std::pin::pin;

/// Responses above this many bytes are not parsed for usage.
const OBSERVED_BYTES_MAX: usize = 16 << 20;

impl Exchange<'_> {
    /// Relays a body as it arrives. Filters that only read the body see it before its last chunk is sent: the caller's next
    /// request may name what they record.
    pub(super) async fn relay_straight(
        &mut self,
        response: &mut UpstreamResponse,
        headers: HeaderMap,
        kind: ResponseBodyKind,
        candidate: &Candidate,
    ) -> Result<(), Fault> {
        if candidate.protocol.is_none()
            && let Some(pieces) = self.request.state.take()
        {
            return Box::pin(self.relay_pieces(response, headers, pieces)).await;
        }
        let observed = kind == ResponseBodyKind::Json
            && self.route.response.body_access() == ResponseBodyAccess::Observe;
        // What was too large or too slow to be examined before the commit is examined after it.
        let is_unknown =
            kind == ResponseBodyKind::Json && response.examined == BodyKindByExamination::Unknown;
        let examined = is_unknown
            .then(|| examined_protocol(&self.request, candidate.protocol))
            .flatten();
        let status = self.caller_status(response);
        self.downstream.write_head(status, headers).await?;
        // Copied, since keeping many small pieces would hold their larger buffers.
        let mut seen = BytesMut::new();
        let mut whole = observed || examined.is_some();
        let forwarding = self.forward_start(response, |chunk| {
            whole &= seen.len() + chunk.len() <= OBSERVED_BYTES_MAX;
            match whole {
                true => seen.extend_from_slice(chunk),
                false => seen = BytesMut::new(),
            }
        });
        let last = forwarding.await?;
        let seen = seen.freeze();
        if let Some(protocol) = examined.filter(|_| whole) {
            let errors = &candidate.channel.errors;
            self.request.info.stream_error = late_failure(protocol, response.status, &seen, errors);
        }
        if observed && whole {
            self.observe(response.status, candidate, seen.clone(), seen);
        }
        self.end_response(last).await
    }

    /// Relays a body up to its last chunk, which is returned. It is empty where the end was not known before.
    pub(super) async fn forward_start(
        &mut self,
        response: &mut UpstreamResponse,
        mut look: impl FnMut(&Bytes),
    ) -> Result<Bytes, Fault> {
        let mut missing = response.declared_bytes();
        while let Some(chunk) = self.next_chunk(response).await? {
            look(&chunk);
            // Over HTTP/2 the end comes behind the last byte that was declared.
            let is_declared_end = missing == chunk.len() && !response.is_at_end();
            missing = missing.saturating_sub(chunk.len());
            if is_declared_end {
                let peeking = response.peek_chunk();
                self.downstream.until_client_gone(pin!(peeking)).await??;
            }
            if response.is_at_end() {
                return Ok(chunk);
            }
            self.downstream.write(chunk, false).await?;
        }
        Ok(Bytes::new())
    }

    /// Relays a body that a filter changes piece by piece.
    async fn relay_pieces(
        &mut self,
        response: &mut UpstreamResponse,
        headers: HeaderMap,
        ResponsePieces(mut mapper): ResponsePieces,
    ) -> Result<(), Fault> {
        let status = self.caller_status(response);
        self.downstream.write_head(status, headers).await?;
        loop {
            let chunk = self.next_chunk(response).await?;
            let is_last = chunk.is_none() || response.is_at_end();
            let piece = mapper.map(chunk.unwrap_or_default(), is_last);
            if is_last {
                mapper.end(&mut self.request).await;
                return self.end_response(piece).await;
            }
            if !piece.is_empty() {
                self.downstream.write(piece, false).await?;
            }
        }
    }

    /// Shows a body to the filters that only read it. They see no headers, which belong to the connection once they are
    /// sent.
    pub(super) fn observe(
        &mut self,
        status: StatusCode,
        candidate: &Candidate,
        body: Bytes,
        caller_body: Bytes,
    ) {
        self.record_upstream_id_in_body(candidate, &body);
        let mut view = ResponseView {
            request: &mut self.request,
            candidate: Some(candidate),
            status,
            headers: &mut HeaderMap::new(),
            kind: ResponseBodyKind::Json,
        };
        self.route
            .response
            .observe_body(&mut view, body, caller_body);
    }

    /// Records the request id from the body of a provider that puts it there and not into a header.
    fn record_upstream_id_in_body(&mut self, candidate: &Candidate, body: &[u8]) {
        let is_named = candidate
            .protocol
            .is_some_and(|it| it.descriptor().has_request_id_in_body);
        let recorded = &mut self.request.info.upstream_request_id;
        if is_named && recorded.is_none() {
            *recorded = upstream_request_id::from_body(body);
        }
    }
}
