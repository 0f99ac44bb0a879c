//! What providers did in attempts that failed, which may have cost although another channel served the request.

use crate::catalog::model::Candidate;
use crate::catalog::price::ModelPrice;
use headgate_protocol::usage::TokenUsage;
use std::sync::Arc;

/// The attempts of an exchange that failed and may have cost; in
/// [`RequestFilterValues`](super::state::RequestFilterValues), as few exchanges have one.
#[derive(Default)]
pub struct FailedAttemptUsages(Vec<FailedAttemptUsage>);

/// What the provider of an attempt that failed may have done.
#[derive(Clone, Debug)]
pub struct FailedAttemptUsage {
    /// The number of the attempt, from 1.
    pub attempt: u32,
    /// The platform model.
    pub model: Option<Arc<str>>,
    /// The prices on the channel.
    pub price: Option<Arc<ModelPrice>>,
    /// The usage that it reported.
    pub usage: Option<TokenUsage>,
}

impl FailedAttemptUsages {
    /// Notes an attempt; keeps the usage that is noted of it.
    pub fn note(
        &mut self,
        attempt: u32,
        model: Option<&Arc<str>>,
        candidate: &Candidate,
        usage: Option<TokenUsage>,
    ) {
        if let Some(known) = self.0.iter_mut().find(|work| work.attempt == attempt) {
            known.usage = known.usage.or(usage);
            return;
        }
        let channel_model = candidate.model.as_ref();
        self.0.push(FailedAttemptUsage {
            attempt,
            model: model.cloned(),
            price: channel_model.and_then(|model| model.price.clone()),
            usage,
        });
    }

    /// Those before the attempt of this number.
    pub fn before(&self, attempt: u32) -> impl Iterator<Item = &FailedAttemptUsage> {
        self.0.iter().filter(move |work| work.attempt < attempt)
    }

    /// The attempt of this number.
    pub fn find(&self, attempt: u32) -> Option<&FailedAttemptUsage> {
        self.0.iter().find(|work| work.attempt == attempt)
    }

    /// The usage that the attempt of this number reported although it failed.
    pub fn usage(&self, attempt: u32) -> Option<&TokenUsage> {
        let found = self.find(attempt);
        found.and_then(|work| work.usage.as_ref())
    }
}
