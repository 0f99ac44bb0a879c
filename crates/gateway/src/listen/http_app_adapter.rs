//! Serves an [`HttpApp`], such as the admin pages, on Pingora, with the limits and the head check of the gateway.

use super::client_stream::PREFACE;
use super::drain_state::{DrainState, until_set};
use super::evictable_connections::{EvictableConnection, EvictableConnections};
use super::http_app_limits::HttpAppServerLimits;
use super::http2::{Http2Reader, InspectedConnection};
use crate::deadline::{DeadlineElapsed, in_time};
use crate::downstream::DownstreamSession;
use crate::downstream::early_reply::send_last_reply_h1;
use crate::downstream::http1::Http1ServerSession;
use crate::downstream::http1::connection::{Http1ConnectionLimits, Http1Service, serve_connection};
use crate::downstream::http1::read_error::Http1ReadError;
use crate::downstream::session::CallerSession;
use crate::timers::fast_sleep;
use crate::{fault_from, head};
use async_trait::async_trait;
use bytes::Bytes;
use headgate_core::filter::LocalReply;
use headgate_core::serve::{
    AppClientConnection, AppResponse, AppResponseBody, AppResponseBodyStream, HttpApp,
};
use headgate_protocol::fault::{Fault, FaultKind};
use http::{HeaderMap, HeaderValue, Request, StatusCode, header};
use pingora_core::apps::{HttpServerApp, HttpServerOptions, ReusedHttpStream, ServerApp};
use pingora_core::protocols::http::ServerSession;
use pingora_core::protocols::{ALPN, Stream};
use pingora_core::server::ShutdownWatch;
use std::future::pending;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Far longer than any response takes; the client ends the wait by disconnecting.
const RESPONSE_DEADLINE: Duration = Duration::from_secs(24 * 3600);

/// Adapts an [`HttpApp`] to Pingora's server.
pub struct HttpAppAdapter<A> {
    app: A,
    limits: HttpAppServerLimits,
    is_tls: bool,
    drain_state: Arc<DrainState>,
    connections: Arc<EvictableConnections>,
}

/// The application, as seen by one client connection.
struct HttpAppClientConnection<A> {
    adapter: Arc<HttpAppAdapter<A>>,
    options: HttpServerOptions,
    connection: Arc<EvictableConnection>,
    has_begun: AtomicBool,
}

impl<A> HttpAppAdapter<A> {
    /// Connections that wait for their clients are added to `connections`.
    pub(super) fn new(
        app: A,
        limits: HttpAppServerLimits,
        is_tls: bool,
        drain_state: Arc<DrainState>,
        connections: Arc<EvictableConnections>,
    ) -> Self {
        Self {
            app,
            limits,
            is_tls,
            drain_state,
            connections,
        }
    }

    /// Whether the client uses HTTP/2: by ALPN, or without TLS by the preface. `None` if it sends nothing in time.
    async fn uses_http2(&self, stream: &mut Stream) -> Option<bool> {
        if self.is_tls {
            return Some(matches!(stream.selected_alpn_proto(), Some(ALPN::H2)));
        }
        let mut begin = [0; PREFACE.len()];
        let peeking = stream.try_peek(&mut begin);
        match in_time(self.limits.keep_alive_timeout, peeking).await {
            Ok(Ok(has_peeked)) => Some(has_peeked && begin == PREFACE),
            Ok(Err(_)) | Err(DeadlineElapsed) => None,
        }
    }
}

#[async_trait]
impl<A: HttpApp> ServerApp for HttpAppAdapter<A> {
    async fn process_new(
        self: &Arc<Self>,
        mut stream: Stream,
        shutdown: &ShutdownWatch,
    ) -> Option<Stream> {
        let connection = Arc::new(self.connections.add());
        let serving = async {
            let is_http2 = self.uses_http2(&mut stream).await?;
            let app = HttpAppClientConnection::new(self.clone(), connection.clone());
            if !is_http2 {
                serve_connection(app, stream, shutdown).await;
                return None;
            }
            let limits = &self.limits;
            let reader = Http2Reader::new(limits.header_bytes, limits.header_timeout, || {});
            let stream = InspectedConnection::boxed(stream, reader);
            let app = Arc::new(app);
            tokio::select! {
                biased;
                over = app.process_new(stream, shutdown) => over,
                () = app.unused() => None,
            }
        };
        tokio::select! {
            biased;
            over = serving => over,
            () = connection.evicted() => None,
        }
    }
}

impl<A> HttpAppClientConnection<A> {
    fn new(adapter: Arc<HttpAppAdapter<A>>, connection: Arc<EvictableConnection>) -> Self {
        let mut options = HttpServerOptions::default();
        options.h2c = true;
        options.h2_idle_timeout = Some(adapter.limits.keep_alive_timeout);
        Self {
            adapter,
            options,
            connection,
            has_begun: AtomicBool::new(false),
        }
    }

    /// Waits until the connection was open for the idle timeout without a request, for which Pingora sets no timeout.
    async fn unused(&self) {
        fast_sleep(self.adapter.limits.keep_alive_timeout).await;
        if self.has_begun.load(Ordering::Relaxed) {
            pending::<()>().await;
        }
    }
}

#[async_trait]
impl<A: HttpApp> HttpServerApp for HttpAppClientConnection<A> {
    async fn process_new_http(
        self: &Arc<Self>,
        session: ServerSession,
        _shutdown: &ShutdownWatch,
    ) -> Option<ReusedHttpStream> {
        self.has_begun.store(true, Ordering::Relaxed);
        // Connections of HTTP/1.1 never reach Pingora's server.
        if let ServerSession::H2(session) = session {
            self.serve(CallerSession::Http2(Box::new(session))).await;
        }
        None
    }

    fn server_options(&self) -> Option<&HttpServerOptions> {
        Some(&self.options)
    }
}

/// The connection cannot be reused, because the client disconnected.
struct ClientGoneError;

impl From<Fault> for ClientGoneError {
    fn from(_: Fault) -> Self {
        Self
    }
}

impl<A: HttpApp> Http1Service for HttpAppClientConnection<A> {
    fn limits(&self) -> Http1ConnectionLimits {
        let limits = &self.adapter.limits;
        Http1ConnectionLimits {
            head_bytes_max: limits.header_bytes,
            idle_timeout: limits.keep_alive_timeout,
            head_timeout: limits.header_timeout,
            write_timeout: limits.write_timeout,
        }
    }

    async fn respond(
        &mut self,
        session: Box<Http1ServerSession>,
    ) -> Option<Box<Http1ServerSession>> {
        self.serve(CallerSession::Http1(session)).await
    }

    async fn refuse(&self, mut session: Box<Http1ServerSession>, error: Http1ReadError) {
        let fault = fault_from::http1_read(error);
        if fault.kind == FaultKind::ClientGone {
            return;
        }
        send_last_reply_h1(&mut session, refusal(&fault)).await;
    }
}

impl<A: HttpApp> HttpAppClientConnection<A> {
    /// Serves a request whose head was read; returns its connection if that can carry another one.
    async fn serve(&self, mut session: CallerSession) -> Option<Box<Http1ServerSession>> {
        session.set_write_timeout(self.adapter.limits.write_timeout);
        let checked = head::check(&mut session);
        let drain_state = self.adapter.drain_state.clone();
        let (mut downstream, headers) = DownstreamSession::new(session, drain_state);
        let sent = match &checked {
            Ok(_) => self.respond_to(headers, &mut downstream).await,
            Err(fault) => {
                downstream.close_after_response();
                let sent = downstream.reply(refusal(fault)).await;
                sent.map_err(ClientGoneError::from)
            }
        };
        let remainder = match (checked, sent) {
            (Ok(_), Ok(())) => downstream.finish().await,
            // After an ambiguous head, the following bytes cannot be trusted either.
            (Err(_), _) | (_, Err(_)) => downstream.abort().await,
        };
        remainder.finish().await
    }

    async fn respond_to(
        &self,
        headers: HeaderMap,
        downstream: &mut DownstreamSession,
    ) -> Result<(), ClientGoneError> {
        let limits = &self.adapter.limits;
        let reading = downstream.read_body(limits.body_bytes_max, limits.body_timeout, None);
        let body = match reading.await {
            Ok(body) => body,
            Err(fault) => return Ok(downstream.reply(refusal(&fault)).await?),
        };
        let session = downstream.session();
        let client = AppClientConnection {
            address: session.peer(),
            is_tls: self.adapter.is_tls,
        };
        let head = session.head();
        let mut request = Request::new(body);
        *request.method_mut() = head.method.clone();
        *request.uri_mut() = head.uri.clone();
        *request.headers_mut() = headers;
        let served = self.connection.serve();
        let responding = self.adapter.app.respond(request, client);
        let response = downstream
            .until_client_gone_within(RESPONSE_DEADLINE, responding)
            .await;
        drop(served);
        match response {
            Ok(Ok(response)) => self.send(downstream, response).await,
            Ok(Err(DeadlineElapsed)) | Err(_) => Err(ClientGoneError),
        }
    }

    async fn send(
        &self,
        downstream: &mut DownstreamSession,
        response: AppResponse,
    ) -> Result<(), ClientGoneError> {
        let AppResponse {
            status,
            headers,
            body,
        } = response;
        if closes_connection(&headers) {
            downstream.close_after_response();
        }
        match body {
            AppResponseBody::Full(body) => {
                let reply = LocalReply {
                    status,
                    headers,
                    body,
                };
                Ok(downstream.reply(reply).await?)
            }
            AppResponseBody::Streamed(mut stream) => {
                // The number of streams is bounded, so that they need not make room.
                let _served = self.connection.serve();
                downstream.write_head(status, headers).await?;
                self.send_pieces(downstream, &mut *stream).await
            }
        }
    }

    /// Sends a body until it ends or the listener closes; the response ends complete in both cases.
    async fn send_pieces(
        &self,
        downstream: &mut DownstreamSession,
        stream: &mut dyn AppResponseBodyStream,
    ) -> Result<(), ClientGoneError> {
        loop {
            let closing = until_set(self.adapter.drain_state.admin());
            let next = async {
                tokio::select! {
                    () = closing => None,
                    piece = stream.next_piece() => piece,
                }
            };
            match downstream.until_client_gone(next).await {
                Ok(Some(piece)) => downstream.write(piece, false).await?,
                Ok(None) => break,
                Err(_) => return Err(ClientGoneError),
            }
        }
        downstream.close_after_response();
        Ok(downstream.write(Bytes::new(), true).await?)
    }
}

/// The response to a request that the server refuses.
fn refusal(fault: &Fault) -> LocalReply {
    let text = HeaderValue::from_static("text/plain; charset=utf-8");
    LocalReply {
        status: StatusCode::from_u16(fault.kind.status()).unwrap_or(StatusCode::BAD_REQUEST),
        headers: [(header::CONTENT_TYPE, text)].into_iter().collect(),
        body: format!("{}\n", fault.message).into(),
    }
}

fn closes_connection(headers: &HeaderMap) -> bool {
    let connection = headers.get(header::CONNECTION);
    connection.is_some_and(|value| value.as_bytes().eq_ignore_ascii_case(b"close"))
}
