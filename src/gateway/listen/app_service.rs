//! Runs an [`App`] of the gateway's own (the admin pages) on Pingora.

use super::stages::Stages;
use crate::filter::Reply;
use crate::gateway::deadline::Elapsed;
use crate::gateway::downstream::Downstream;
use crate::gateway::downstream::early_reply::BlockedReplies;
use crate::protocol::fault::Fault;
use crate::serve::{Answer, App};
use async_trait::async_trait;
use http::{Request, StatusCode};
use pingora_core::apps::{HttpServerApp, HttpServerOptions, ReusedHttpStream};
use pingora_core::protocols::http::ServerSession;
use pingora_core::server::ShutdownWatch;
use std::sync::Arc;
use std::time::Duration;

const KEEP_ALIVE_SECONDS: u64 = 60;
const BODY_DEADLINE: Duration = Duration::from_secs(60);
/// An answer may take its time; the client's leaving ends it sooner.
const ANSWER_DEADLINE: Duration = Duration::from_secs(24 * 3600);

/// An application of ours as Pingora's HTTP application.
pub struct AppService<A> {
    app: A,
    body_bytes_max: u64,
    options: HttpServerOptions,
    stages: Arc<Stages>,
}

impl<A> AppService<A> {
    /// Bodies above `body_bytes_max` get a 413.
    pub fn new(app: A, body_bytes_max: u64, stages: Arc<Stages>) -> Self {
        let mut options = HttpServerOptions::default();
        options.h2c = true;
        Self {
            app,
            body_bytes_max,
            options,
            stages,
        }
    }
}

#[async_trait]
impl<A: App> HttpServerApp for AppService<A> {
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
        let mut downstream = Downstream::new(Box::new(session), self.stages.clone());
        let remainder = match self.answer(&mut downstream).await {
            Ok(()) => downstream.finish().await,
            Err(_) => downstream.abort().await,
        };
        remainder.finish(&BlockedReplies::default()).await
    }

    fn server_options(&self) -> Option<&HttpServerOptions> {
        Some(&self.options)
    }
}

/// The connection cannot be used on: the client left.
struct Over;

impl From<Fault> for Over {
    fn from(_: Fault) -> Self {
        Self
    }
}

impl<A: App> AppService<A> {
    async fn answer(&self, downstream: &mut Downstream) -> Result<(), Over> {
        let body = match downstream
            .read_body(self.body_bytes_max, BODY_DEADLINE, None)
            .await
        {
            Ok(body) => body,
            Err(fault) => {
                let status = StatusCode::from_u16(fault.kind.status()).map_err(|_| Over)?;
                return send(
                    downstream,
                    Answer::full(status, "text/plain", fault.message),
                )
                .await;
            }
        };
        let head = downstream.session().req_header();
        let mut request = Request::new(body);
        *request.method_mut() = head.method.clone();
        *request.uri_mut() = head.uri.clone();
        *request.headers_mut() = head.headers.clone();
        let answering = self.app.answer(request);
        match downstream
            .unless_gone_within(ANSWER_DEADLINE, answering)
            .await
        {
            Ok(Ok(answer)) => send(downstream, answer).await,
            Ok(Err(Elapsed)) | Err(_) => Err(Over),
        }
    }
}

async fn send(downstream: &mut Downstream, answer: Answer) -> Result<(), Over> {
    let Answer {
        status,
        headers,
        body,
    } = answer;
    let reply = Reply {
        status,
        headers,
        body,
    };
    Ok(downstream.reply(reply).await?)
}
