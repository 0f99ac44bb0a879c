//! Serves an [`HttpApp`], such as the admin pages, on Pingora.

use super::drain_state::{DrainState, until_set};
use crate::filter::LocalReply;
use crate::gateway::deadline::DeadlineElapsed;
use crate::gateway::downstream::Downstream;
use crate::gateway::downstream::early_reply::PendingRefusalCount;
use crate::protocol::fault::Fault;
use crate::serve::{AppBody, AppBodyStream, AppClient, AppResponse, HttpApp};
use async_trait::async_trait;
use bytes::Bytes;
use http::{HeaderMap, Request, StatusCode, header};
use pingora_core::apps::{HttpServerApp, HttpServerOptions, ReusedHttpStream};
use pingora_core::protocols::http::ServerSession;
use pingora_core::server::ShutdownWatch;
use pingora_timeout::fast_timeout::fast_timeout;
use std::sync::Arc;
use std::time::Duration;

const KEEP_ALIVE_SECONDS: u64 = 60;
/// For the head of a request; also the longest time that a connection is idle.
const HEAD_DEADLINE: Duration = Duration::from_secs(KEEP_ALIVE_SECONDS);
const BODY_DEADLINE: Duration = Duration::from_secs(60);
/// For a client to read a piece of a response.
const WRITE_DEADLINE: Duration = Duration::from_secs(30);
/// Far longer than any response takes; the client ends the wait by disconnecting.
const ANSWER_DEADLINE: Duration = Duration::from_secs(24 * 3600);

/// Adapts an [`HttpApp`] to Pingora's HTTP application.
pub struct HttpAppAdapter<A> {
    app: A,
    body_bytes_max: u64,
    is_tls: bool,
    options: HttpServerOptions,
    drain_state: Arc<DrainState>,
}

impl<A> HttpAppAdapter<A> {
    /// Requests with bodies above `body_bytes_max` bytes get 413.
    pub fn new(app: A, body_bytes_max: u64, is_tls: bool, drain_state: Arc<DrainState>) -> Self {
        let mut options = HttpServerOptions::default();
        options.h2c = true;
        Self {
            app,
            body_bytes_max,
            is_tls,
            options,
            drain_state,
        }
    }
}

#[async_trait]
impl<A: HttpApp> HttpServerApp for HttpAppAdapter<A> {
    async fn process_new_http(
        self: &Arc<Self>,
        mut session: ServerSession,
        _: &ShutdownWatch,
    ) -> Option<ReusedHttpStream> {
        session.set_keepalive(Some(KEEP_ALIVE_SECONDS));
        session.set_write_timeout(Some(WRITE_DEADLINE));
        // Boxed: the future is large.
        let reading = Box::pin(session.read_request());
        if !matches!(fast_timeout(HEAD_DEADLINE, reading).await, Ok(Ok(true))) {
            return None;
        }
        if session.get_keepalive().is_some() {
            session.set_keepalive(Some(KEEP_ALIVE_SECONDS));
        }
        let mut downstream = Downstream::new(Box::new(session), self.drain_state.clone());
        let remainder = match self.respond(&mut downstream).await {
            Ok(()) => downstream.finish().await,
            Err(_) => downstream.abort().await,
        };
        remainder.finish(&PendingRefusalCount::default()).await
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

impl<A: HttpApp> HttpAppAdapter<A> {
    async fn respond(&self, downstream: &mut Downstream) -> Result<(), ClientGoneError> {
        let body = match downstream
            .read_body(self.body_bytes_max, BODY_DEADLINE, None)
            .await
        {
            Ok(body) => body,
            Err(fault) => {
                let status =
                    StatusCode::from_u16(fault.kind.status()).map_err(|_| ClientGoneError)?;
                let refused = AppResponse::full(status, "text/plain", fault.message.clone());
                return self.send(downstream, refused).await;
            }
        };
        let session = downstream.session();
        let client = AppClient {
            address: session
                .client_addr()
                .and_then(|address| address.as_inet())
                .copied(),
            is_tls: self.is_tls,
        };
        let head = session.req_header();
        let mut request = Request::new(body);
        *request.method_mut() = head.method.clone();
        *request.uri_mut() = head.uri.clone();
        *request.headers_mut() = head.headers.clone();
        let answering = self.app.respond(request, client);
        match downstream
            .until_client_gone_within(ANSWER_DEADLINE, answering)
            .await
        {
            Ok(Ok(answer)) => self.send(downstream, answer).await,
            Ok(Err(DeadlineElapsed)) | Err(_) => Err(ClientGoneError),
        }
    }

    async fn send(
        &self,
        downstream: &mut Downstream,
        answer: AppResponse,
    ) -> Result<(), ClientGoneError> {
        let AppResponse {
            status,
            mut headers,
            body,
        } = answer;
        if closes_connection(&headers) {
            // HTTP/2 has no such header; Pingora writes that of HTTP/1.1.
            headers.remove(header::CONNECTION);
            downstream.close_after_response();
        }
        match body {
            AppBody::Full(body) => {
                let reply = LocalReply {
                    status,
                    headers,
                    body,
                };
                Ok(downstream.reply(reply).await?)
            }
            AppBody::Streamed(mut stream) => {
                downstream.write_head(status, headers).await?;
                self.send_pieces(downstream, &mut *stream).await
            }
        }
    }

    /// Sends a body until it ends or the listener closes; the response ends complete in both cases.
    async fn send_pieces(
        &self,
        downstream: &mut Downstream,
        stream: &mut dyn AppBodyStream,
    ) -> Result<(), ClientGoneError> {
        loop {
            let closing = until_set(self.drain_state.admin());
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

fn closes_connection(headers: &HeaderMap) -> bool {
    let connection = headers.get(header::CONNECTION);
    connection.is_some_and(|value| value.as_bytes().eq_ignore_ascii_case(b"close"))
}
