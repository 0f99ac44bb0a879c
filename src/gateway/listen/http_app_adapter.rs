//! Serves an [`HttpApp`], such as the admin pages, on Pingora.

use super::drain_state::DrainState;
use crate::filter::LocalReply;
use crate::gateway::deadline::DeadlineElapsed;
use crate::gateway::downstream::Downstream;
use crate::gateway::downstream::early_reply::PendingRefusalCount;
use crate::protocol::fault::Fault;
use crate::serve::{AppResponse, HttpApp};
use async_trait::async_trait;
use http::{Request, StatusCode};
use pingora_core::apps::{HttpServerApp, HttpServerOptions, ReusedHttpStream};
use pingora_core::protocols::http::ServerSession;
use pingora_core::server::ShutdownWatch;
use std::sync::Arc;
use std::time::Duration;

const KEEP_ALIVE_SECONDS: u64 = 60;
const BODY_DEADLINE: Duration = Duration::from_secs(60);
/// Far longer than any response takes; the client ends the wait by disconnecting.
const ANSWER_DEADLINE: Duration = Duration::from_secs(24 * 3600);

/// Adapts an [`HttpApp`] to Pingora's HTTP application.
pub struct HttpAppAdapter<A> {
    app: A,
    body_bytes_max: u64,
    options: HttpServerOptions,
    drain_state: Arc<DrainState>,
}

impl<A> HttpAppAdapter<A> {
    /// Requests with bodies above `body_bytes_max` bytes get 413.
    pub fn new(app: A, body_bytes_max: u64, drain_state: Arc<DrainState>) -> Self {
        let mut options = HttpServerOptions::default();
        options.h2c = true;
        Self {
            app,
            body_bytes_max,
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
        if !matches!(session.read_request().await, Ok(true)) {
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
                return send(
                    downstream,
                    AppResponse::full(status, "text/plain", fault.message),
                )
                .await;
            }
        };
        let head = downstream.session().req_header();
        let mut request = Request::new(body);
        *request.method_mut() = head.method.clone();
        *request.uri_mut() = head.uri.clone();
        *request.headers_mut() = head.headers.clone();
        let answering = self.app.respond(request);
        match downstream
            .until_client_gone_within(ANSWER_DEADLINE, answering)
            .await
        {
            Ok(Ok(answer)) => send(downstream, answer).await,
            Ok(Err(DeadlineElapsed)) | Err(_) => Err(ClientGoneError),
        }
    }
}

async fn send(downstream: &mut Downstream, answer: AppResponse) -> Result<(), ClientGoneError> {
    let AppResponse {
        status,
        headers,
        body,
    } = answer;
    let reply = LocalReply {
        status,
        headers,
        body,
    };
    Ok(downstream.reply(reply).await?)
}
