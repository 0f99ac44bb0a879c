//! 426 for WebSocket handshakes at paths whose route takes none (RFC 9110, section 15.5.22).

use super::downstream::early_reply::{ConnectionAfterExchange, send_last_reply_h1};
use super::downstream::session::CallerSession;
use super::reply;
use super::unrouted_request::UnroutedRequest;
use headgate_protocol::fault::{Fault, FaultKind};
use http::{HeaderValue, Method, header};

impl UnroutedRequest<'_> {
    /// Sends 426, and closes the connection.
    pub async fn send_upgrade_required(
        self,
        mut session: CallerSession,
        methods: &[Method],
    ) -> ConnectionAfterExchange {
        let allow = reply::allow(methods);
        let names = allow.to_str().unwrap_or_default();
        let fault = Fault::new(
            FaultKind::UpgradeRequired,
            format!(
                "WebSockets are not supported on this path; send {names} over HTTP, the response can stream as server-sent events"
            ),
        );
        let request = session.head();
        let protocol = self.guess_protocol(request);
        let mut local_reply = reply::from_fault(protocol, &fault, &self.id);
        reply::add_request_id(&mut local_reply.headers, protocol, &self.id);
        let headers = &mut local_reply.headers;
        headers.insert(header::ALLOW, allow);
        // RFC 9110, section 15.5.22, requires `Upgrade`; `HTTP/1.1` is the version in use.
        headers.insert(header::UPGRADE, HeaderValue::from_static("HTTP/1.1"));
        let (status, bytes) = (local_reply.status.as_u16(), local_reply.body.len() as u64);
        self.log_and_count(protocol, Some(request), status, bytes, &fault);
        if let CallerSession::Http1(session) = &mut session {
            send_last_reply_h1(session, local_reply).await;
        }
        ConnectionAfterExchange::Nothing
    }
}
