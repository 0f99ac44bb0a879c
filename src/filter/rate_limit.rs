//! `rate_limit`: admits a request on its caller's limits, and settles them on what was really used.

mod reservation;
mod told;

use super::kind::{
    FilterKind, Need, Place, Provision, Side, read_settings_or_default, settings_schema,
};
use super::settlement::Settlement;
use super::stream_info::QuotaDecision;
use super::view::RequestView;
use super::{Declaration, Filter, Flow, Step};
use crate::catalog::caller::Caller;
use crate::protocol::estimate::Estimate;
use crate::protocol::fault::{Fault, FaultKind};
use crate::state::calendar::unix_ms;
use crate::state::demand::{Admission, Demand, Limit, Measure, Verdict};
use crate::state::{Store, Unavailable, WhenAway};
use reservation::Reservation;
use schemars::JsonSchema;
use serde::Deserialize;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

pub const KIND: FilterKind = FilterKind {
    name: "rate_limit",
    summary: "Keeps callers to their `limits`: 429 beyond, and headers that tell where they stand.",
    side: Side::Request,
    place: Place {
        needs: &[Need::Model],
        provides: &[Provision::Limits],
        reason: ", since models have limits too",
        hint: Some("put `rate_limit` last, so that requests which are refused count for nothing"),
        ..Place::ANYWHERE
    },
    settings: Some(settings_schema::<RateLimitConfig>),
    bare: true,
    build: |settings, parts| {
        let RateLimitConfig { output_tokens } = read_settings_or_default(settings)?;
        Ok(Arc::new(RateLimit {
            state: parts.state.clone(),
            output_tokens,
            estimates_tokens: parts.protocol.is_some(),
        }))
    },
};

/// Settings of `rate_limit`.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
struct RateLimitConfig {
    /// Tokens that an answer is expected to have where the request sets no bound. 1024 if absent.
    #[schemars(range(min = 1))]
    output_tokens: u64,
}

impl Default for RateLimitConfig {
    fn default() -> Self {
        Self {
            output_tokens: 1024,
        }
    }
}

struct RateLimit {
    state: Arc<dyn Store>,
    output_tokens: u64,
    /// Whether the route's bodies tell how many tokens they may use.
    estimates_tokens: bool,
}

impl Filter for RateLimit {
    fn declare(&self) -> Declaration {
        Declaration {
            reads_body: self.estimates_tokens,
            ..Declaration::default()
        }
    }

    fn on_body<'a>(&'a self, request: &'a mut RequestView) -> Step<'a> {
        let limited = |caller: &&Arc<Caller>| !caller.limits.is_empty();
        let Some(caller) = request.caller.as_ref().filter(limited) else {
            return Step::next();
        };
        let caller = caller.clone();
        Step::later(async move { self.admit(request, &caller).await })
    }

    fn on_done(&self, request: &mut RequestView, settlement: Settlement) {
        if let Some(reservation) = request.state.take::<Reservation>() {
            reservation.settle(&request.info, request.protocol, settlement);
        }
    }
}

impl RateLimit {
    async fn admit(&self, request: &mut RequestView, caller: &Caller) -> Result<Flow, Fault> {
        let model = request.model().map(|model| model.name.clone());
        let limits = caller.limits.of(model.as_deref());
        if limits.is_empty() || request.state.get::<Reservation>().is_some() {
            return Ok(Flow::Next);
        }
        let estimate = self.estimate(request, limits);
        let demand = Demand {
            limits,
            tokens: estimate.total(),
        };
        let Admission { standings, verdict } = match self.state.admit(&demand).get().await {
            Ok(admission) => admission,
            Err(unavailable) => return self.without(request, unavailable),
        };
        told::add_headers(request, limits, &standings, unix_ms());
        match verdict {
            Verdict::Granted(ticket) => {
                let reservation = Reservation::new(self.state.clone(), ticket, estimate);
                request.state.set(reservation);
                Ok(Flow::Next)
            }
            Verdict::Refused { limit, retry_after } => {
                request.info.quota = QuotaDecision::Refused(limits[limit].measure);
                let left = standings[limit].remaining;
                Err(told::refusal(
                    &limits[limit],
                    demand.tokens,
                    left,
                    retry_after,
                ))
            }
        }
    }

    /// Nothing where only requests are counted: the look at the body is saved.
    fn estimate(&self, request: &RequestView, limits: &[Limit]) -> Estimate {
        let counts_tokens = |limit: &Limit| match limit.measure {
            Measure::TokensPerMinute | Measure::TokensPerDay | Measure::TokensPerMonth => true,
            Measure::RequestsPerMinute | Measure::Concurrent => false,
        };
        match request.body.document() {
            Some(body) if limits.iter().any(counts_tokens) => {
                Estimate::of(body, self.output_tokens)
            }
            _ => Estimate::default(),
        }
    }

    /// What the operator chose for requests whose limits cannot be looked at.
    fn without(&self, request: &mut RequestView, why: Unavailable) -> Result<Flow, Fault> {
        let when_away = self.state.when_away();
        if may_warn() {
            tracing::warn!(%why, ?when_away, "limits cannot be looked at");
        }
        match when_away {
            WhenAway::Open => {
                request.info.quota = QuotaDecision::Unchecked;
                Ok(Flow::Next)
            }
            WhenAway::Closed => Err(Fault::new(
                FaultKind::Overloaded,
                "the gateway cannot look at this key's limits now; try again",
            )
            .source(why)),
        }
    }
}

/// Once a second: a store that is away would fill the log otherwise.
fn may_warn() -> bool {
    static LAST: AtomicU64 = AtomicU64::new(0);
    let second = unix_ms() / 1000;
    LAST.swap(second, Ordering::Relaxed) != second
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalog::limits::CallerLimits;
    use crate::protocol::Protocol;
    use crate::state::Pending;
    use crate::state::demand::Ticket;
    use crate::state::health::Health;
    use crate::state::paces::Pace;
    use bytes::Bytes;
    use http::{HeaderMap, Method};

    /// A store that nobody reaches.
    struct Away(WhenAway);

    impl Store for Away {
        fn when_away(&self) -> WhenAway {
            self.0
        }

        fn health(&self) -> Health {
            Health::away("redis")
        }

        fn remember(&self, _: &Arc<str>, _: &str, _: &Arc<str>) {}

        fn channel_of<'a>(&'a self, _: &'a Arc<str>, _: &'a str) -> Pending<'a, Option<Arc<str>>> {
            Pending::Ready(Err(Unavailable("gone".into())))
        }

        fn forget(&self, _: &Arc<str>, _: &str) {}

        fn admit<'a>(&'a self, _: &'a Demand<'a>) -> Pending<'a, Admission> {
            Pending::Later(Box::pin(async { Err(Unavailable("gone".into())) }))
        }

        fn settle(&self, _: Ticket, _: u64) {
            panic!("nothing was taken");
        }

        fn pace<'a>(&'a self, _: &'a str, _: u16) -> Pending<'a, Pace> {
            Pending::Ready(Err(Unavailable("gone".into())))
        }

        fn note(&self, _: &str, _: &Bytes) {}

        fn noted<'a>(&'a self, _: &'a str) -> Pending<'a, Option<Bytes>> {
            Pending::Ready(Err(Unavailable("gone".into())))
        }
    }

    fn request() -> RequestView {
        let mut request = RequestView::new(
            "req_1".into(),
            Method::POST,
            "/v1/chat/completions".into(),
            None,
            HeaderMap::new(),
            Vec::new(),
            Some(Protocol::Chat),
        );
        let amounts = [(Measure::RequestsPerMinute, Some(1))];
        let limits = CallerLimits::new(&"ann".into(), &amounts);
        request.caller = Some(Arc::new(Caller::new("ann", &[]).with_limits(limits)));
        request
    }

    #[tokio::test]
    async fn while_the_store_is_away_requests_go_on_unlimited_or_not_at_all() {
        for when_away in [WhenAway::Open, WhenAway::Closed] {
            let filter = RateLimit {
                state: Arc::new(Away(when_away)),
                output_tokens: 1,
                estimates_tokens: true,
            };
            let mut request = request();
            let went_on = match filter.on_body(&mut request).decided().await {
                Ok(Flow::Next) => request.info.quota == QuotaDecision::Unchecked,
                Ok(Flow::Reply(_)) => panic!("a fault is no reply"),
                Err(fault) => {
                    assert_eq!(fault.kind, FaultKind::Overloaded);
                    false
                }
            };
            assert_eq!(went_on, when_away == WhenAway::Open);
            assert!(request.answer_headers.is_empty());
        }
    }
}
