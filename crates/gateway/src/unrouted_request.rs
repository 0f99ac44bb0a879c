//! Requests that match no route: sends the error, counts and logs them.

use super::downstream::DownstreamSession;
use super::downstream::early_reply::{ConnectionAfterExchange, send_last_reply_h1};
use super::downstream::http1::Http1ServerSession;
use super::downstream::session::CallerSession;
use super::{Gateway, reply, request_id};
use headgate_config::snapshot::Snapshot;
use headgate_core::catalog::client_address::DownstreamClient;
use headgate_core::filter::settlement::ExchangeSettlement;
use headgate_core::request_id::RequestId;
use headgate_http2_inspection::FIELDS_MAX;
use headgate_observe::access_log::AccessLogEntry;
use headgate_protocol::fault::{Fault, FaultKind};
use headgate_protocol::{Protocol, TaskApiFormat};
use http::request::Parts;
use http::{HeaderMap, header};

/// Value of the log fields `route`, `method` and `path` if they are unknown.
const NONE: &str = "-";

/// A request that matches no route.
pub(super) struct UnroutedRequest<'a> {
    pub gateway: &'a Gateway,
    pub snapshot: &'a Snapshot,
    pub id: RequestId,
    pub client: Option<DownstreamClient>,
}

impl<'a> UnroutedRequest<'a> {
    /// A request whose head could not be read; assigns the request id.
    pub fn for_unreadable_head(
        gateway: &'a Gateway,
        snapshot: &'a Snapshot,
        client: Option<DownstreamClient>,
    ) -> Self {
        Self {
            gateway,
            snapshot,
            id: request_id::new(),
            client,
        }
    }

    /// Sends the error, and returns the connection if it can be reused.
    pub async fn send(
        self,
        session: CallerSession,
        fault: Fault,
        headers: HeaderMap,
    ) -> ConnectionAfterExchange {
        let request = session.head();
        let protocol = self.guess_protocol(request);
        let mut local_reply = reply::from_fault(protocol, &fault, &self.id);
        local_reply.headers.extend(headers);
        reply::add_request_id(&mut local_reply.headers, protocol, &self.id);
        let (status, bytes) = (local_reply.status.as_u16(), local_reply.body.len() as u64);
        self.log_and_count(protocol, Some(request), status, bytes, &fault);
        let (mut downstream, _) = DownstreamSession::new(session, self.gateway.drain_state.clone());
        if fault.kind == FaultKind::BadHead {
            downstream.close_after_response();
        }
        if downstream.refuse(local_reply).await.is_err() {
            return ConnectionAfterExchange::Nothing;
        }
        match fault.kind {
            // After an ambiguous head, the following bytes cannot be trusted either.
            FaultKind::BadHead => downstream.abort().await,
            _ => downstream.finish().await,
        }
    }

    /// Sends an error for a head that could not be read, and closes the connection.
    pub async fn send_unread(self, mut session: Box<Http1ServerSession>, fault: &Fault) {
        if fault.kind == FaultKind::ClientGone {
            return;
        }
        let mut local_reply = reply::from_fault(None, fault, &self.id);
        reply::add_request_id(&mut local_reply.headers, None, &self.id);
        let (status, bytes) = (local_reply.status.as_u16(), local_reply.body.len() as u64);
        self.log_and_count(None, None, status, bytes, fault);
        send_last_reply_h1(&mut session, local_reply).await;
    }

    /// The protocol that the caller probably uses: that of a video family's paths, of the headers, or of other paths.
    pub(super) fn guess_protocol(&self, request: &Parts) -> Option<Protocol> {
        let near = self.snapshot.router.protocol_near(request.uri.path());
        let is_family =
            |protocol: &Protocol| protocol.descriptor().tasks == Some(TaskApiFormat::Native);
        let family = near.filter(is_family);
        family
            .or_else(|| Protocol::detect(&request.headers))
            .or(near)
    }

    /// Logs a request that the HTTP/2 library rejected for the size of its header list.
    pub fn log_large_head(gateway: &Gateway, client: Option<DownstreamClient>) {
        let snapshot = gateway.reloader.current();
        let message = format!(
            "the header list is larger than `server.limits.header_size`, or has more than {FIELDS_MAX} fields"
        );
        let fault = Fault::new(FaultKind::HeadTooLarge, message);
        let refusal = UnroutedRequest::for_unreadable_head(gateway, &snapshot, client);
        refusal.log_and_count(None, None, fault.kind.status(), 0, &fault);
    }

    pub(super) fn log_and_count(
        &self,
        protocol: Option<Protocol>,
        head: Option<&Parts>,
        status: u16,
        bytes_out: u64,
        fault: &Fault,
    ) {
        self.gateway.metrics.count_unrouted(status);
        self.gateway.access_log.write(&AccessLogEntry {
            id: &self.id,
            revision: &self.snapshot.revision,
            client: self.client,
            user_agent: head.and_then(|head| head.headers.get(header::USER_AGENT)),
            route: NONE,
            protocol: protocol.map(Protocol::name),
            method: head.map_or(NONE, |head| head.method.as_str()),
            path: head.map_or(NONE, |head| head.uri.path()),
            status,
            settlement: ExchangeSettlement::GatewayReply.name(),
            bytes_out,
            fault: Some(fault),
            ..AccessLogEntry::default()
        });
    }
}
