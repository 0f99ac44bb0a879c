//! A batch whose requests were checked: its models and where they stand, its channels, its tokens.

use crate::request_place::RequestPlace;
use headgate_core::catalog::batch_work::{BatchDemand, BatchModelDemand, BatchWork};
use headgate_core::catalog::channel::Channel;
use headgate_core::catalog::model::{Candidate, Model};
use headgate_protocol::ids::ReferencedId;
use headgate_protocol::json::edit::JsonEdits;
use std::ops::Range;
use std::sync::Arc;

/// A batch whose requests were checked.
#[derive(Default)]
pub struct CheckedBatch {
    /// The endpoint of all requests, as its path in the provider's API.
    pub url: &'static str,
    pub requests: usize,
    /// What the requests may cost, in tokens of requests of their own.
    pub tokens: u64,
    pub models: Vec<BatchModel>,
    /// The names of models in the body of the request that brings the batch.
    pub names: Vec<ModelNameSpan>,
    /// The ids of files and other resources in the requests, each once.
    pub ids: Vec<PlacedId>,
    /// The channels that serve all models, those of lower tiers first.
    pub channels: Vec<Arc<Channel>>,
}

/// A model of a batch.
pub struct BatchModel {
    pub model: Arc<Model>,
    /// The first request that names it.
    pub place: RequestPlace,
    pub candidates: Vec<Candidate>,
    /// What its requests may cost.
    pub tokens: u64,
    /// The most that they can have a provider do.
    pub work: BatchWork,
}

/// A name of a model as a JSON string.
pub struct ModelNameSpan {
    pub span: Range<usize>,
    /// The index of the model.
    pub model: usize,
}

/// An id in a request of a batch.
pub struct PlacedId {
    pub id: ReferencedId,
    pub place: RequestPlace,
}

impl CheckedBatch {
    /// Replaces each name of a model by the channel's name for it.
    pub fn rename_models(&self, channel: &Channel, edits: &mut JsonEdits) {
        let own = |model: &BatchModel| {
            let candidate = model.candidate_on(channel);
            Some(candidate?.model.as_ref()?.json.clone())
        };
        let names: Vec<_> = self.models.iter().map(own).collect();
        for ModelNameSpan { span, model } in &self.names {
            if let Some(name) = &names[*model] {
                edits.replace(span.clone(), name.clone());
            }
        }
    }

    /// What a create with its requests needs of budgets in money.
    pub fn demand(&self, price_percent: u8, param: &'static str) -> BatchDemand {
        let models = self.models.iter().map(|one| BatchModelDemand {
            model: one.model.clone(),
            work: one.work.clone(),
        });
        BatchDemand {
            models: Some(models.collect()),
            price_percent,
            param,
        }
    }

    /// Moves all spans by `offset` bytes.
    pub fn shift(&mut self, offset: usize) {
        for ModelNameSpan { span, .. } in &mut self.names {
            *span = span.start + offset..span.end + offset;
        }
    }
}

impl BatchModel {
    /// Whether a channel serves the model.
    pub fn is_on(&self, channel: &Channel) -> bool {
        self.candidate_on(channel).is_some()
    }

    /// The channel's name for the model.
    pub fn name_on(&self, channel: &Channel) -> &str {
        let model = self.candidate_on(channel).and_then(|it| it.model.as_ref());
        model.map_or(&*self.model.name, |model| &model.name)
    }

    fn candidate_on(&self, channel: &Channel) -> Option<&Candidate> {
        let mut candidates = self.candidates.iter();
        candidates.find(|candidate| candidate.channel.name == channel.name)
    }
}
