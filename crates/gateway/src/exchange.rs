//! One exchange: request chain, body, attempts, response, settlement.

mod attempt_record;
mod attempt_tracing;
mod attempt_verdict;
pub(super) mod attempts;
pub(super) mod capture;
mod cloud_attempt;
mod credential_renewal;
mod decode_body;
pub(super) mod evaluate;
mod examine_body;
mod failed_attempt_usage;
mod first_events;
mod keep_alive;
mod model_fallback;
mod model_queue;
pub(crate) mod no_channel;
mod parse_body;
mod peeked_body;
pub(super) mod prepare;
pub(super) mod record;
pub(super) mod relay;
mod relay_straight;
mod relay_stream;
mod reply_plan;
pub(super) mod response_fault;
mod response_transcoder;
mod session_attempt;
mod session_handshake;
mod session_response;
mod settled_batches;
mod settlement;
#[cfg(test)]
#[path = "exchange/tests/sizes.rs"]
pub(super) mod sizes;
mod suspect_request;
mod take_body;
pub(super) mod token_count;
mod tracing_record;
pub(super) mod translation;
mod translation_summary;
mod websocket_exchange;

use super::downstream::DownstreamSession;
use super::downstream::upload::StreamingUpload;
use super::listen::caller_connections::CallerConnectionGuard;
use super::{Gateway, reply};
use attempt_verdict::LeasedResponse;
use bytes::Bytes;
use headgate_channel::permit::ChannelPermit;
use headgate_channel::retry_policy::{RetryPolicy, RetrySafety};
use headgate_config::snapshot::Snapshot;
use headgate_config::snapshot::router::Route;
use headgate_core::filter::settlement::ExchangeSettlement;
use headgate_core::filter::view::RequestView;
use headgate_core::filter::{FilterAction, LocalReply};
use headgate_observe::open_requests::OpenRequestGuard;
use headgate_protocol::Protocol;
use headgate_protocol::fault::{Fault, FaultKind};
use record::ExchangeRecord;
use reply_plan::ReplyPlan;
use response_transcoder::ResponseTranscoder;
use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;
use token_count::count_locally;

/// Suggested in `retry-after`: when a client will close a connection is unknown.
const CONNECTION_RETRY: Duration = Duration::from_secs(1);

/// One exchange, from the request head to the settlement.
pub(super) struct Exchange<'g> {
    pub gateway: &'g Gateway,
    /// Loaded once, so that the whole exchange sees one configuration.
    pub snapshot: Arc<Snapshot>,
    pub route: Arc<Route>,
    pub request: RequestView,
    pub downstream: DownstreamSession,
    pub record: ExchangeRecord,
    /// Lists the request among those in flight.
    pub open: OpenRequestGuard<'g>,
    /// Computed once the body is known, before anything is sent to a provider.
    pub retry_policy: RetryPolicy,
    /// The body, if it streams and no part of it was sent yet.
    pub upload: Option<Box<StreamingUpload>>,
    /// The permit of the attempt whose response is passed on.
    pub channel_permit: Option<ChannelPermit>,
    /// Counts the client's connection against its caller's quota.
    pub connection_quota: &'g CallerConnectionGuard,
}

impl Exchange<'_> {
    /// Runs the exchange to its end and settles it.
    pub async fn run(&mut self) {
        let ended = self.serve().await;
        let settlement = match ended {
            Ok(settlement) => settlement,
            Err(fault) => self.fail(self.request.with_callers_names(fault)).await,
        };
        let settlement = match self.downstream.has_caller_left {
            false => settlement,
            true => self.leave_caller(),
        };
        self.settle(settlement);
    }

    async fn serve(&mut self) -> Result<ExchangeSettlement, Fault> {
        let route = self.route.clone();
        let flow = self.run_on_head().await?;
        if let Some(settlement) = self.send_filter_reply(flow).await? {
            return Ok(settlement);
        }
        self.take_body().await?;
        route.response.output_checks().admit(&self.request)?;
        let flow = self.run_on_body(&route).await?;
        if let Some(settlement) = self.send_filter_reply(flow).await? {
            return Ok(settlement);
        }
        if let Some(reply) = count_locally(&route, &mut self.request)? {
            return self.reply(reply).await;
        }
        if self.downstream.session().is_warm_up() {
            return self.reply(self.warm_up()?).await;
        }
        if let Some(response) = self.downstream.session_mut().take_session_response() {
            // Boxed, so that this rare case does not enlarge the future of every exchange.
            return Box::pin(self.follow_session(response)).await;
        }
        let leased = self.attempt().await?;
        self.pass_on(leased).await
    }

    /// Tries the channels of the model until a response is kept.
    ///
    /// # Errors
    /// Of the last attempt, or that no channel was available.
    async fn attempt(&mut self) -> Result<Box<LeasedResponse>, Fault> {
        self.open.request().update(|details| {
            details.model = self.request.model().map(|model| model.name.clone());
        });
        let candidates = match &self.request.destination {
            Some(destination) => destination.candidates.clone(),
            None => Arc::from([]),
        };
        self.retry_policy = RetryPolicy {
            safety: RetrySafety::for_candidates(&self.request, &candidates),
            on_timeout: self.route.failover.on_timeout,
        };
        self.attempt_each(candidates).await
    }

    /// Passes a response on to the caller.
    ///
    /// # Errors
    /// It broke off, or the caller did not take it.
    async fn pass_on(&mut self, leased: Box<LeasedResponse>) -> Result<ExchangeSettlement, Fault> {
        let LeasedResponse {
            response,
            mut lease,
            plan,
            translation,
            ..
        } = *leased;
        let status = response.status;
        self.channel_permit = lease.take_permit();
        let is_outcome_open = matches!(plan, ReplyPlan::Response);
        let mut transcoder = ResponseTranscoder::new(translation);
        let relayed = self.relay(response, &lease, plan, &mut transcoder).await;
        transcoder.note_losses(&mut self.request);
        if is_outcome_open {
            self.record_outcome(&mut lease, status, &relayed);
        }
        // Usage that a stream reported before it broke off counts too.
        self.route.response.on_response_end(&mut self.request);
        if let Some(usage) = self.request.info.usage.counted() {
            lease.count_tokens(usage.total());
        }
        relayed?;
        Ok(self.settlement_for(status))
    }

    /// Runs `on_head`, and notes the caller that it has authenticated.
    async fn run_on_head(&mut self) -> Result<FilterAction, Fault> {
        let route = self.route.clone();
        let flow = route.request.on_head(&mut self.request).await?;
        self.count_connection()?;
        if let Some(caller) = &self.request.caller {
            let caller = caller.name.clone();
            let open = self.open.request();
            open.update(|details| details.caller = Some(caller));
            if self.gateway.metrics.captures.is_on() {
                self.begin_capture();
            }
        }
        Ok(flow)
    }

    /// Counts the client's connection against the caller's quota, as soon as the caller is authenticated.
    fn count_connection(&mut self) -> Result<(), Fault> {
        let Some(caller) = &self.request.caller else {
            return Ok(());
        };
        let Some(most) = caller.limits.connections else {
            return Ok(());
        };
        if self.connection_quota.admit(&caller.name, most) {
            return Ok(());
        }
        self.gateway
            .metrics
            .rate_limited(caller.metric_name(), "connections");
        self.downstream.close_after_response();
        Err(Fault::new(
            FaultKind::TooManyRequests,
            format!("rate limit reached: this API key may have {most} open connections; reuse connections, or try again when one is closed"),
        )
        .retry_after(CONNECTION_RETRY))
    }

    /// Runs `on_body`. If the caller leaves, the wait for the filters is cancelled.
    async fn run_on_body(&mut self, route: &Route) -> Result<FilterAction, Fault> {
        let mut work = pin!(route.request.on_body(&mut self.request));
        let at_once = poll_fn(|context| Poll::Ready(work.as_mut().poll(context))).await;
        if let Poll::Ready(done) = at_once {
            return done;
        }
        self.downstream.until_client_gone(work).await?
    }

    /// Sends the local reply of a filter, if it made one.
    async fn send_filter_reply(
        &mut self,
        flow: FilterAction,
    ) -> Result<Option<ExchangeSettlement>, Fault> {
        match flow {
            FilterAction::Continue => Ok(None),
            FilterAction::LocalReply(reply) => self.reply(*reply).await.map(Some),
            FilterAction::StreamedReply(mut reply) => {
                reply::complete_head(&mut reply.headers, self.request.protocol, &self.request);
                self.record.status = Some(reply.status);
                self.downstream.reply_streamed(*reply).await?;
                Ok(Some(ExchangeSettlement::GatewayReply))
            }
        }
    }

    /// Ends what the request occupies of `concurrent` limits. Called before the end of a response is sent, so that the
    /// caller's next request finds room.
    fn release_permits(&mut self) {
        self.request.caller_permit = None;
        self.channel_permit = None;
    }

    /// Ends a response with the last bytes of its body; the caller's next request finds room as soon as it has them.
    async fn end_response(&mut self, last: Bytes) -> Result<(), Fault> {
        self.release_permits();
        self.downstream.write(last, true).await
    }

    async fn reply(&mut self, mut reply: LocalReply) -> Result<ExchangeSettlement, Fault> {
        self.release_permits();
        reply::complete_head(&mut reply.headers, self.request.protocol, &self.request);
        self.record.status = Some(reply.status);
        self.downstream.reply(reply).await?;
        Ok(ExchangeSettlement::GatewayReply)
    }

    /// Ends the exchange with an error, and sends the error to the caller if a response can still be sent.
    async fn fail(&mut self, fault: Fault) -> ExchangeSettlement {
        self.release_permits();
        self.note_denial(&fault);
        let settlement = match fault.kind {
            FaultKind::ClientGone => ExchangeSettlement::ClientCancelled,
            FaultKind::WriteTimeout => ExchangeSettlement::WriteTimeout,
            FaultKind::Connect
            | FaultKind::NoCredential
            | FaultKind::Upstream
            | FaultKind::UnreadableResponse
            | FaultKind::OutcomeUnknown
            | FaultKind::UpstreamTimeout
                if self.downstream.is_committed() =>
            {
                ExchangeSettlement::UpstreamCut
            }
            FaultKind::Connect
            | FaultKind::NoCredential
            | FaultKind::Upstream
            | FaultKind::UnreadableResponse
            | FaultKind::OutcomeUnknown
            | FaultKind::UpstreamTimeout => ExchangeSettlement::UpstreamError,
            FaultKind::Denied(_) | FaultKind::CheckUnavailable
                if self.downstream.is_committed() =>
            {
                ExchangeSettlement::Denied
            }
            FaultKind::OverBudget if self.downstream.is_committed() => {
                ExchangeSettlement::BudgetCut
            }
            // What the caller has is no whole reply of the gateway.
            _ if self.downstream.is_committed() => ExchangeSettlement::UpstreamCut,
            _ => ExchangeSettlement::GatewayReply,
        };
        let is_unread = matches!(fault.kind, FaultKind::ClientGone | FaultKind::WriteTimeout);
        if is_unread || self.downstream.is_committed() {
            self.record.broken = true;
        } else {
            let guessed = || Protocol::detect(&self.request.headers);
            let protocol = self.request.protocol.or_else(guessed);
            let mut local_reply = reply::from_fault(protocol, &fault, &self.request.id);
            reply::complete_head(&mut local_reply.headers, protocol, &self.request);
            self.record.status = Some(local_reply.status);
            if fault.kind == FaultKind::BadHead {
                self.downstream.close_after_response();
            }
            // If the end of a request body is in doubt, the bytes after it cannot be trusted either.
            let sent = match self.request.caller {
                Some(_) => self.downstream.reply(local_reply).await,
                None => self.downstream.refuse(local_reply).await,
            };
            self.record.broken = sent.is_err() || fault.kind == FaultKind::BadHead;
        }
        if matches!(fault.kind, FaultKind::Invalid | FaultKind::Missing) {
            self.gateway.metrics.validation_failure(&self.route.name);
        }
        self.record.fault = Some(fault);
        settlement
    }
}
