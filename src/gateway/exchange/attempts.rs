//! The attempts of an exchange: one channel after another, until an answer is kept or none may follow.

use super::Exchange;
use super::attempt::{self, Answer, Failed};
use super::lawful::Replay;
use crate::catalog::model::Candidate;
use crate::channel::clock::Moment;
use crate::channel::lease::Lease;
use crate::channel::outcome::{Outcome, Scope, Why};
use crate::channel::select::NoneUsable;
use crate::gateway::downstream::Interrupted;
use crate::gateway::fault_from;
use crate::protocol::blame::Blame;
use crate::protocol::fault::{Fault, FaultKind};
use crate::protocol::upstream_request_id;
use http::{HeaderName, HeaderValue};
use std::sync::Arc;
use std::time::Duration;
use tokio::time::Instant;

/// Tells callers how many attempts their answer took.
const ATTEMPTS: HeaderName = HeaderName::from_static("x-headgate-attempts");

/// How often a waiting request looks whether there is room by now.
pub(in crate::gateway) const LOOK_AGAIN: Duration = Duration::from_millis(250);

/// An answer, and the use of the channel that it came from.
pub(super) struct Kept {
    pub answer: Answer,
    pub lease: Lease,
    /// Whose fault it is, if it is an error.
    pub blame: Option<Blame>,
}

/// What an attempt came to.
pub(super) enum Attempted {
    /// The caller gets this answer.
    Keep(Box<Kept>),
    /// Another channel may be tried; the caller gets this if there is none.
    Next(Ended),
}

/// An attempt that did not serve the caller.
pub(super) enum Ended {
    Answered(Box<Kept>),
    Failed(Fault),
}

/// The channels to go to, and those that were tried.
pub(super) struct Search {
    candidates: Arc<[Candidate]>,
    tried: Vec<Arc<str>>,
    pub(super) replay: Replay,
}

impl Exchange<'_> {
    /// Tries channels until one answer is kept.
    ///
    /// # Errors
    /// What the last attempt failed with, or that there was no channel to try.
    pub(super) async fn attempt_each(
        &mut self,
        candidates: Arc<[Candidate]>,
    ) -> Result<Kept, Fault> {
        let mut search = Search {
            candidates,
            tried: Vec::new(),
            replay: Replay::of(&self.request),
        };
        self.gateway.budget.earn(self.snapshot.retries.percent);
        let mut last: Option<Ended> = None;
        while let Some(lease) = self.next_lease(&search, last.is_some()).await? {
            if let Some(Ended::Answered(kept)) = last.take() {
                self.gateway
                    .upstream
                    .give_back(kept.answer.connection)
                    .await;
            }
            match self.attempt_on(lease, &mut search).await? {
                Attempted::Keep(kept) => return Ok(*kept),
                Attempted::Next(ended) => last = Some(ended),
            }
        }
        match last.expect("without an attempt there was an error") {
            Ended::Answered(kept) => Ok(*kept),
            Ended::Failed(fault) => Err(fault),
        }
    }

    /// Whether another channel could be tried if this attempt failed; it may be gone by then.
    pub(super) fn another_is_left(&self, search: &Search, lease: &Lease) -> bool {
        if search.candidates.len() <= search.tried.len() + 1 {
            return false;
        }
        let (now, gateway) = (Moment::now(), self.gateway);
        let others = search
            .candidates
            .iter()
            .filter(|other| other.channel.name != lease.candidate.channel.name);
        self.record.attempts < self.route.failover.attempts
            && gateway
                .budget
                .is_left(now, self.snapshot.retries.per_second)
            && gateway.channels.has_another(others, &search.tried, now)
    }

    /// The use of the channel to try next; none if what `last` brought must do.
    async fn next_lease(
        &mut self,
        search: &Search,
        has_last: bool,
    ) -> Result<Option<Lease>, Fault> {
        if self.record.attempts >= self.route.failover.attempts {
            return Ok(None);
        }
        if has_last && !self.may_try_again(search) {
            return Ok(None);
        }
        let until = Instant::now() + self.route.failover.wait;
        loop {
            let gateway = self.gateway;
            let freed = gateway.channels.freed.notified();
            let now = Moment::now();
            let none = match gateway
                .channels
                .choose(&search.candidates, &search.tried, now)
            {
                Ok(lease) => return Ok(Some(lease)),
                Err(_) if has_last => return Ok(None),
                Err(none) => none,
            };
            if !none.is_full() || Instant::now() >= until {
                return Err(no_channel(&none));
            }
            // Room comes when somebody leaves, or when a minute has moved on.
            let look = until.min(Instant::now() + LOOK_AGAIN);
            match self.downstream.unless_gone(look, freed).await {
                Ok(()) | Err(Interrupted::TimedOut) => {}
                Err(Interrupted::ClientGone) => return Err(fault_from::gone()),
                Err(Interrupted::Ending) => return Err(fault_from::ending()),
            }
        }
    }

    /// Takes a further attempt from the budget, if there is a channel for it.
    fn may_try_again(&self, search: &Search) -> bool {
        let gateway = self.gateway;
        let now = Moment::now();
        if !gateway
            .channels
            .has_another(search.candidates.iter(), &search.tried, now)
        {
            return false;
        }
        let taken = gateway.budget.take(now, self.snapshot.retries.per_second);
        if !taken {
            gateway.metrics.channels.retry_denied();
        }
        taken
    }

    async fn attempt_on(
        &mut self,
        mut lease: Lease,
        search: &mut Search,
    ) -> Result<Attempted, Fault> {
        self.record.attempts += 1;
        self.record.candidate = Some(lease.candidate.clone());
        self.record.key = lease.key;
        self.record.upstream_request_id = None;
        self.request.facts.key = lease.key;
        if self.route.failover.tell_attempts {
            let attempts = HeaderValue::from(self.record.attempts);
            self.request.answer_headers.insert(ATTEMPTS, attempts);
        }
        let attempted = attempt::attempt(
            &self.gateway.upstream,
            &mut self.downstream,
            &self.route,
            &self.request,
            &lease,
            search.replay,
        )
        .await;
        if let Ok(answer) = &attempted {
            let id = upstream_request_id::of_headers(&answer.head().headers);
            self.note_upstream_id(id.cloned(), &lease);
        }
        let channel = lease.candidate.channel.clone();
        self.request.facts.may_have_cost |= match &attempted {
            Ok(answer) => answer.status.is_success(),
            Err(failed) => !failed.untouched,
        };
        let attempted = match attempted {
            Ok(answer) => self.judge(answer, lease, search).await?,
            Err(failed) => {
                let fault = self.failed(failed, &mut lease, search)?;
                Attempted::Next(Ended::Failed(fault))
            }
        };
        if let Attempted::Next(ended) = &attempted {
            let why = ended.why();
            // Of several keys the others may serve; the one that was refused is left alone by now.
            let other_keys = why.is_some_and(|why| {
                let keys = channel.credentials.len();
                keys > 1 && why.scope(keys) == Scope::Credential
            });
            if !other_keys {
                search.tried.push(channel.name.clone());
            }
        }
        Ok(attempted)
    }

    /// Tells of an attempt that brought no answer.
    ///
    /// # Errors
    /// Its fault, where no other channel may be tried.
    pub(super) fn failed(
        &mut self,
        failed: Failed,
        lease: &mut Lease,
        search: &Search,
    ) -> Result<Fault, Fault> {
        let Failed { fault, untouched } = failed;
        let Some(why) = why(fault.kind) else {
            let is_cut = fault.kind == FaultKind::Ending && !untouched;
            return Err(match is_cut && search.replay == Replay::Paid {
                true => outcome_unknown(fault),
                false => fault,
            });
        };
        // Nobody was there to be silent.
        let why = match (why, untouched) {
            (Why::Silent, true) => Why::Unreachable,
            _ => why,
        };
        lease.tell(Outcome::failed(why));
        self.tell_attempt(lease, fault.kind.code(), fault.detail.as_deref());
        let on_silence = self.route.failover.on_silence;
        match search.replay.may_follow(fault.kind, untouched, on_silence) {
            true => Ok(fault),
            false if search.replay == Replay::Paid => Err(outcome_unknown(fault)),
            false => Err(fault),
        }
    }

    /// Keeps the provider's id of the request for the log, unless it repeats the channel's credential.
    pub(super) fn note_upstream_id(&mut self, id: Option<HeaderValue>, lease: &Lease) {
        self.record.upstream_request_id = id.filter(|id| !lease.shows(id.as_bytes()));
    }

    /// Counts an attempt that did not serve, and logs it.
    pub(super) fn tell_attempt(&self, lease: &Lease, outcome: &str, detail: Option<&str>) {
        let channel = &*lease.candidate.channel.name;
        self.gateway.metrics.attempt(channel, outcome);
        tracing::info!(
            channel,
            credential = lease.key.map(|key| key + 1),
            id = &*self.request.id,
            attempt = self.record.attempts,
            outcome,
            detail,
            upstream_request_id = self
                .record
                .upstream_request_id
                .as_ref()
                .map(|id| String::from_utf8_lossy(id.as_bytes()))
                .as_deref(),
            "attempt failed"
        );
    }
}

impl Ended {
    fn why(&self) -> Option<Why> {
        match self {
            Self::Failed(fault) => why(fault.kind),
            Self::Answered(kept) => match Outcome::of(kept.blame?, None) {
                Outcome::Failed { why, .. } => Some(why),
                Outcome::Well => None,
            },
        }
    }
}

/// A paid request that may have arrived is never sent again, and its caller should not do so either
/// without looking.
pub(super) fn outcome_unknown(fault: Fault) -> Fault {
    Fault {
        kind: FaultKind::OutcomeUnknown,
        message: "the provider may have taken the request, and did not say; look whether it did, by the id of this request, before you send it again".into(),
        ..fault
    }
}

/// What a fault says of the channel; none if it is not the channel's.
pub(in crate::gateway) fn why(kind: FaultKind) -> Option<Why> {
    match kind {
        FaultKind::Connect => Some(Why::Unreachable),
        FaultKind::Upstream => Some(Why::Broken),
        FaultKind::UpstreamTimeout => Some(Why::Silent),
        _ => None,
    }
}

/// The operator reads why each channel cannot be used; callers are told when to come back.
pub(in crate::gateway) fn no_channel(none: &NoneUsable) -> Fault {
    let mut fault = Fault::new(
        FaultKind::NoChannel,
        "no channel can serve this request now; try again later",
    )
    .detail(none.to_string());
    fault.retry_after = none.retry_after();
    fault
}
