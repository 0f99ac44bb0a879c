//! The caller's side of one request, on a connection of HTTP/1.1 or a stream of HTTP/2.

use super::http1::Http1ServerSession;
use super::websocket_request::{SessionResponse, WebSocketRequestSession};
use crate::fault_from::{http1_read, http1_write, http2_read, http2_write};
use bytes::Bytes;
use headgate_protocol::fault::Fault;
use http::request::Parts;
use http::{HeaderMap, Method, StatusCode, header};
use pingora_core::protocols::http::v2::server::HttpSession as Http2Session;
use pingora_core::protocols::tls::SslDigest;
use pingora_http::{RequestHeader, ResponseHeader};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

/// A request whose head was read. Boxed, since sessions are large and move with the exchange.
pub enum CallerSession {
    Http1(Box<Http1ServerSession>),
    Http2(Box<Http2Session>),
    /// One request of a WebSocket, whose connection is elsewhere.
    WebSocket(Box<WebSocketRequestSession>),
}

impl CallerSession {
    /// The head of the request.
    pub fn head(&self) -> &Parts {
        match self {
            Self::Http1(session) => &session.request().parts,
            Self::Http2(session) => session.req_header(),
            Self::WebSocket(session) => session.head(),
        }
    }

    /// Takes the fields of the request's head. HTTP/2 keeps them, since its library reads the length of the body there.
    pub fn take_headers(&mut self) -> HeaderMap {
        match self {
            Self::Http1(session) => session.take_headers(),
            Self::Http2(session) => session.req_header().headers.clone(),
            Self::WebSocket(session) => session.take_headers(),
        }
    }

    pub fn is_http2(&self) -> bool {
        matches!(self, Self::Http2(_))
    }

    /// Whether this is a request of a WebSocket that only prepares a conversation.
    pub fn is_warm_up(&self) -> bool {
        matches!(self, Self::WebSocket(session) if session.is_warm_up())
    }

    /// Takes the response of a session that this request of a WebSocket is about.
    pub fn take_session_response(&mut self) -> Option<SessionResponse> {
        match self {
            Self::WebSocket(session) => session.take_session_response(),
            Self::Http1(_) | Self::Http2(_) => None,
        }
    }

    /// Whether this is a request of a WebSocket.
    pub fn is_websocket(&self) -> bool {
        matches!(self, Self::WebSocket(_))
    }

    /// The TLS state of the connection; `None` without TLS.
    pub fn tls(&self) -> Option<Arc<SslDigest>> {
        match self {
            Self::Http1(session) => session.stream().get_ssl_digest(),
            Self::Http2(session) => session.digest()?.ssl_digest.clone(),
            Self::WebSocket(session) => session.tls(),
        }
    }

    /// The address of the connection's peer: from the PROXY header if there is one.
    pub fn peer(&self) -> Option<SocketAddr> {
        match self {
            Self::Http1(session) => {
                let digest = session.stream().get_socket_digest()?;
                digest.peer_addr()?.as_inet().copied()
            }
            Self::Http2(session) => session.client_addr()?.as_inet().copied(),
            Self::WebSocket(session) => session.peer(),
        }
    }

    /// The status of the response; `None` before its head was written.
    pub fn response_status(&self) -> Option<StatusCode> {
        match self {
            Self::Http1(session) => session.response_status(),
            Self::Http2(session) => session.response_written().map(|head| head.status),
            Self::WebSocket(session) => session.response_status(),
        }
    }

    /// Takes the head of a request out of memory: its fields may take far more than bytes on the wire.
    pub fn drop_head(&mut self) {
        if let Self::Http2(session) = self
            && let Ok(none) = RequestHeader::build_no_case(Method::POST, b"/", None)
        {
            *session.req_header_mut() = none;
        }
    }

    /// Maximum time for a caller to take a piece of the response.
    pub fn set_write_timeout(&mut self, timeout: Duration) {
        match self {
            Self::Http1(session) => session.set_write_timeout(timeout),
            Self::Http2(session) => session.set_write_timeout(Some(timeout)),
            Self::WebSocket(session) => session.set_write_timeout(timeout),
        }
    }

    /// Closes an HTTP/1.1 connection after this response.
    pub fn close_after_response(&mut self) {
        if let Self::Http1(session) = self {
            session.close_after_response();
        }
    }

    /// Whether the request has a body. Asked once, before it is read.
    pub fn has_body(&mut self) -> bool {
        match self {
            Self::Http1(session) => session.has_unread_body(),
            Self::Http2(session) => {
                if has_empty_length(session.req_header()) {
                    // Pingora would read nothing. The end of the stream shows whether the length is true (RFC 9113,
                    // section 8.1.1).
                    session
                        .req_header_mut()
                        .remove_header(&header::CONTENT_LENGTH);
                }
                !session.is_body_empty()
            }
            Self::WebSocket(session) => session.has_unread_body(),
        }
    }

    /// Whether the end of the body was seen.
    pub fn is_body_done(&self) -> bool {
        match self {
            Self::Http1(session) => !session.has_unread_body(),
            Self::Http2(session) => session.is_body_done(),
            Self::WebSocket(session) => !session.has_unread_body(),
        }
    }

    /// The next piece of the body, as soon as it arrives; `None` after the last one.
    ///
    /// # Errors
    /// The connection failed, or the body is malformed.
    pub async fn read_body(&mut self) -> Result<Option<Bytes>, Fault> {
        match self {
            Self::Http1(session) => session.read_body().await.map_err(http1_read),
            Self::Http2(session) => session.read_body_bytes().await.map_err(http2_read),
            Self::WebSocket(session) => Ok(session.take_body()),
        }
    }

    /// Lets a client of HTTP/1.1 send its body.
    ///
    /// # Errors
    /// The connection failed.
    pub async fn write_continue(&mut self) -> Result<(), Fault> {
        match self {
            Self::Http1(session) => session.write_continue().await.map_err(http1_write),
            // Clients of HTTP/2 do not wait: the flow control window is open. The body of a message has arrived.
            Self::Http2(_) | Self::WebSocket(_) => Ok(()),
        }
    }

    /// Writes the head of the response.
    ///
    /// # Errors
    /// The connection failed, or the caller does not read.
    pub async fn write_head(
        &mut self,
        status: StatusCode,
        headers: HeaderMap,
    ) -> Result<(), Fault> {
        match self {
            Self::Http1(session) => session
                .write_head(status, &headers)
                .await
                .map_err(http1_write),
            Self::Http2(session) => {
                let (mut parts, ()) = http::Response::new(()).into_parts();
                parts.status = status;
                parts.headers = headers;
                let head = Box::new(ResponseHeader::from(parts));
                let written = session.write_response_header(head, false);
                written.map_err(http2_write)
            }
            // Boxed, so that it does not enlarge the future of every exchange.
            Self::WebSocket(session) => Box::pin(session.write_head(status, headers)).await,
        }
    }

    /// Writes a piece of the response's body, and its end after the last one.
    ///
    /// # Errors
    /// The connection failed, or the caller does not read.
    pub async fn write_body(&mut self, data: Bytes, is_end: bool) -> Result<(), Fault> {
        if data.is_empty() && !is_end {
            return Ok(());
        }
        match self {
            Self::Http1(session) => session.write_body(data, is_end).await.map_err(http1_write),
            Self::Http2(session) => session.write_body(data, is_end).await.map_err(http2_write),
            Self::WebSocket(session) => Box::pin(session.write_body(data, is_end)).await,
        }
    }

    /// Waits until the caller has closed the connection or reset the stream.
    pub async fn until_caller_leaves(&mut self) {
        match self {
            Self::Http1(session) => session.until_client_leaves().await,
            // An error is that of a caller who left.
            Self::Http2(session) => drop(session.read_body_or_idle(true).await),
            Self::WebSocket(session) => Box::pin(session.until_caller_leaves()).await,
        }
    }

    /// Closes the connection, or resets the stream.
    pub async fn shutdown(&mut self) {
        match self {
            Self::Http1(session) => session.shutdown().await,
            Self::Http2(session) => session.shutdown(),
            Self::WebSocket(session) => session.abandon(),
        }
    }
}

fn has_empty_length(head: &RequestHeader) -> bool {
    let length = head.headers.get(header::CONTENT_LENGTH);
    length.is_some_and(|length| length.as_bytes().iter().all(|digit| *digit == b'0'))
}
