//! One request of a WebSocket: the head of the handshake with a body of its own, and a response in parts.

use crate::deadline::{DeadlineElapsed, in_time};
use crate::fault_from;
use bytes::Bytes;
use headgate_channel::lease::ChannelLease;
use headgate_config::snapshot::router::RouteWebSocketSettings;
use headgate_protocol::WebSocketMessages;
use headgate_protocol::fault::Fault;
use headgate_websocket::handshake::remove_handshake_fields;
use headgate_websocket::realtime::SessionResponseEnd;
use headgate_websocket::response_parts::{ExchangePart, ExchangePartSender, NoReceiver};
use headgate_websocket::subprotocols;
use http::request::Parts;
use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header};
use pingora_core::protocols::tls::SslDigest;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::oneshot;

const OPENAI_BETA: HeaderName = HeaderName::from_static("openai-beta");

/// What all requests of a WebSocket have in common.
pub struct WebSocketOrigin {
    head: Parts,
    tls: Option<Arc<SslDigest>>,
    peer: Option<SocketAddr>,
}

/// A response of a session that its exchange follows.
pub struct SessionResponse {
    /// The channel of the session.
    pub lease: Arc<ChannelLease>,
    pub end: oneshot::Receiver<SessionResponseEnd>,
}

/// A request of a WebSocket.
pub struct WebSocketRequestSession {
    origin: Arc<WebSocketOrigin>,
    head: Parts,
    body: Bytes,
    purpose: WebSocketRequestPurpose,
    /// `None` once the response has ended.
    response: Option<ExchangePartSender>,
    status: Option<StatusCode>,
    write_timeout: Duration,
}

/// What is to be done for a request, beside the checks of any request.
pub enum WebSocketRequestPurpose {
    /// It is sent to a provider.
    Request,
    /// Nothing is to be generated.
    WarmUp,
    /// The response is one of a session; `None` once it was taken.
    SessionResponse(Option<SessionResponse>),
}

impl WebSocketOrigin {
    /// `head` is that of the handshake; the requests have the method of their route.
    pub fn new(
        mut head: Parts,
        settings: &RouteWebSocketSettings,
        tls: Option<Arc<SslDigest>>,
        peer: Option<SocketAddr>,
    ) -> Self {
        if settings.takes_key_in_subprotocol && !head.headers.contains_key(header::AUTHORIZATION) {
            let key = subprotocols::authorization(&head.headers);
            head.headers
                .extend(key.map(|key| (header::AUTHORIZATION, key)));
        }
        let beta = subprotocols::beta(&head.headers);
        remove_handshake_fields(&mut head.headers);
        match settings.messages {
            WebSocketMessages::Requests => head.method = Method::POST,
            WebSocketMessages::SessionEvents => {
                head.headers.extend(beta.map(|beta| (OPENAI_BETA, beta)));
            }
        }
        let json = HeaderValue::from_static("application/json");
        head.headers.insert(header::CONTENT_TYPE, json);
        remove_betas_of_websockets(&mut head.headers);
        Self { head, tls, peer }
    }

    /// The fields of the head that all requests have.
    pub fn headers(&self) -> &HeaderMap {
        &self.head.headers
    }
}

impl WebSocketRequestSession {
    /// The request with `body`, whose response goes to `response`.
    pub fn new(
        origin: Arc<WebSocketOrigin>,
        body: Bytes,
        purpose: WebSocketRequestPurpose,
        response: ExchangePartSender,
    ) -> Self {
        let mut head = origin.head.clone();
        let length = HeaderValue::from(body.len());
        head.headers.insert(header::CONTENT_LENGTH, length);
        Self {
            origin,
            head,
            body,
            purpose,
            response: Some(response),
            status: None,
            write_timeout: Duration::MAX,
        }
    }

    /// Whether the request only prepares a conversation.
    pub fn is_warm_up(&self) -> bool {
        matches!(self.purpose, WebSocketRequestPurpose::WarmUp)
    }

    /// Takes the response of a session that the request is about.
    pub fn take_session_response(&mut self) -> Option<SessionResponse> {
        match &mut self.purpose {
            WebSocketRequestPurpose::SessionResponse(response) => response.take(),
            WebSocketRequestPurpose::Request | WebSocketRequestPurpose::WarmUp => None,
        }
    }

    pub fn head(&self) -> &Parts {
        &self.head
    }

    pub fn take_headers(&mut self) -> HeaderMap {
        std::mem::take(&mut self.head.headers)
    }

    pub fn tls(&self) -> Option<Arc<SslDigest>> {
        self.origin.tls.clone()
    }

    pub fn peer(&self) -> Option<SocketAddr> {
        self.origin.peer
    }

    pub fn response_status(&self) -> Option<StatusCode> {
        self.status
    }

    pub fn set_write_timeout(&mut self, timeout: Duration) {
        self.write_timeout = timeout;
    }

    pub fn has_unread_body(&self) -> bool {
        !self.body.is_empty()
    }

    /// The whole body; `None` once it was taken.
    pub fn take_body(&mut self) -> Option<Bytes> {
        let body = std::mem::take(&mut self.body);
        (!body.is_empty()).then_some(body)
    }

    /// Passes the head of the response on.
    ///
    /// # Errors
    /// The connection is gone, or the caller does not read.
    pub async fn write_head(
        &mut self,
        status: StatusCode,
        headers: HeaderMap,
    ) -> Result<(), Fault> {
        self.status = Some(status);
        self.send(ExchangePart::Head(status, headers)).await
    }

    /// Passes a piece of the response's body on, and its end after the last one.
    ///
    /// # Errors
    /// The connection is gone, or the caller does not read.
    pub async fn write_body(&mut self, data: Bytes, is_end: bool) -> Result<(), Fault> {
        if !data.is_empty() {
            self.send(ExchangePart::Body(data)).await?;
        }
        match is_end {
            true => self.finish().await,
            false => Ok(()),
        }
    }

    /// Ends the response.
    ///
    /// # Errors
    /// The connection is gone, or the caller does not read.
    pub async fn finish(&mut self) -> Result<(), Fault> {
        if self.response.is_some() {
            self.send(ExchangePart::End).await?;
            self.response = None;
        }
        Ok(())
    }

    /// Breaks the response off.
    pub fn abandon(&mut self) {
        self.response = None;
    }

    /// Waits until the connection is gone.
    pub async fn until_caller_leaves(&self) {
        if let Some(response) = &self.response {
            response.until_receiver_is_gone().await;
        }
    }

    async fn send(&self, part: ExchangePart) -> Result<(), Fault> {
        let Some(response) = &self.response else {
            return Err(fault_from::gone());
        };
        match in_time(self.write_timeout, response.send(part)).await {
            Ok(Ok(())) => Ok(()),
            Ok(Err(NoReceiver)) => Err(fault_from::gone()),
            Err(DeadlineElapsed) => Err(fault_from::slow_client()),
        }
    }
}

/// Removes what clients declare about their WebSocket, such as `responses_websockets=2026-02-06`: the provider gets a request of HTTP.
fn remove_betas_of_websockets(headers: &mut HeaderMap) {
    let http::header::Entry::Occupied(mut betas) = headers.entry(OPENAI_BETA) else {
        return;
    };
    let declared = betas.get().to_str().unwrap_or_default().split(',');
    let kept: Vec<&str> = declared
        .map(str::trim)
        .filter(|beta| !beta.starts_with("responses_websockets"))
        .collect();
    match HeaderValue::from_str(&kept.join(", ")) {
        Ok(kept) if !kept.is_empty() => drop(betas.insert(kept)),
        _ => drop(betas.remove()),
    }
}
