//! 426 for WebSocket handshakes on paths without GET (RFC 9110, section 15.5.22).

use super::downstream::early_reply::ConnectionAfterExchange;
use super::reply;
use super::unrouted_request::UnroutedRequest;
use bytes::{BufMut, BytesMut};
use headgate_core::filter::LocalReply;
use headgate_protocol::fault::{Fault, FaultKind};
use http::{HeaderValue, Method, Version, header};
use pingora_core::protocols::http::{ServerSession, date};
use pingora_timeout::fast_timeout::fast_timeout;
use std::io;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

/// Time for the client to read the response and to close the connection.
const REPLY_DEADLINE: Duration = Duration::from_secs(5);
/// Maximum number of bytes that are read and discarded after the handshake.
const DRAINED_BYTES_MAX: usize = 256 << 10;

/// Whether a request with an unsupported method is a WebSocket handshake. HTTP/2 has no upgrades.
pub(super) fn is_due(session: &ServerSession) -> bool {
    let request = session.req_header();
    let is_websocket = |protocol: &str| {
        let name = protocol.split('/').next().unwrap_or_default();
        name.trim().eq_ignore_ascii_case("websocket")
    };
    let mut requested = request.headers.get_all(header::UPGRADE).iter();
    request.method == Method::GET
        && request.version == Version::HTTP_11
        && requested.any(|value| {
            value
                .to_str()
                .is_ok_and(|list| list.split(',').any(is_websocket))
        })
}

impl UnroutedRequest<'_> {
    /// Sends 426, and closes the connection.
    pub async fn send_upgrade_required(
        self,
        session: Box<ServerSession>,
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
        let request = session.req_header();
        let protocol = self.guess_protocol(request);
        let mut local_reply = reply::from_fault(protocol, &fault, &self.id);
        reply::add_request_id(&mut local_reply.headers, protocol, &self.id);
        let headers = &mut local_reply.headers;
        headers.insert(header::ALLOW, allow);
        headers.insert(header::DATE, date::get_cached_date());
        headers.insert(header::CONTENT_LENGTH, local_reply.body.len().into());
        // RFC 9110, section 15.5.22, requires `Upgrade`; `HTTP/1.1` is the version in use.
        headers.insert(header::UPGRADE, HeaderValue::from_static("HTTP/1.1"));
        let connection = HeaderValue::from_static("upgrade, close");
        headers.insert(header::CONNECTION, connection);
        let (status, bytes) = (local_reply.status.as_u16(), local_reply.body.len() as u64);
        self.log_and_count(protocol, Some(request), status, bytes, &fault);
        // The client may already have disconnected.
        let _ = fast_timeout(REPLY_DEADLINE, write_and_close(*session, &local_reply)).await;
        ConnectionAfterExchange::Nothing
    }
}

/// Writes the response directly, since Pingora replaces `Connection` by a value without `upgrade`.
async fn write_and_close(session: ServerSession, local_reply: &LocalReply) -> io::Result<()> {
    let ServerSession::H1(session) = session else {
        return Ok(());
    };
    let mut stream = session.into_inner();
    stream.write_all(&wire(local_reply)).await?;
    stream.flush().await?;
    stream.shutdown().await?;
    // If the connection closed with unread input, the kernel would send a reset and the client could lose the response.
    let mut unread = vec![0; 4096];
    let mut drained = 0;
    while drained < DRAINED_BYTES_MAX {
        match stream.read(&mut unread).await? {
            0 => break,
            bytes => drained += bytes,
        }
    }
    Ok(())
}

fn wire(local_reply: &LocalReply) -> BytesMut {
    let mut bytes = BytesMut::with_capacity(1024);
    let reason = local_reply.status.canonical_reason().unwrap_or_default();
    bytes.put_slice(format!("HTTP/1.1 {} {reason}\r\n", local_reply.status.as_str()).as_bytes());
    for (name, value) in &local_reply.headers {
        for piece in [name.as_str().as_bytes(), b": ", value.as_bytes(), b"\r\n"] {
            bytes.put_slice(piece);
        }
    }
    bytes.put_slice(b"\r\n");
    bytes.put_slice(&local_reply.body);
    bytes
}
