//! The models of a batch: which ones the caller may use, and the channels that serve all of them.

use super::RequestChecker;
use crate::checked_batch::BatchModel;
use crate::request_place::RequestPlace;
use crate::rules::BatchEndpoint;
use headgate_core::catalog::batch_work::BatchWork;
use headgate_core::catalog::channel::Channel;
use headgate_core::catalog::model::{Candidate, Model};
use headgate_protocol::fault::Fault;
use headgate_protocol::nearest::nearest;
use std::sync::Arc;

/// Nearest names in the error for an unknown model.
const NEAREST_MAX: usize = 3;
/// The maximum number of models of a batch.
const MODELS_MAX: usize = 64;

impl RequestChecker<'_> {
    /// The index of the model that a request names.
    pub(super) fn model_index(
        &mut self,
        place: RequestPlace,
        endpoint: &BatchEndpoint,
        name: &str,
    ) -> Result<usize, Fault> {
        if let Some(index) = self.models.get(name) {
            return Ok(*index);
        }
        if self.batch.models.len() == MODELS_MAX {
            return Err(place.fault(format_args!(
                "the batch has more than {MODELS_MAX} models; send several batches"
            )));
        }
        let model = self.usable_model(place, endpoint, name)?;
        let candidates = self.candidates(place, endpoint, &model)?;
        let model = BatchModel {
            model,
            place,
            candidates,
            tokens: 0,
            work: BatchWork::default(),
        };
        self.batch.channels = self.common_channels(&model)?;
        self.models.insert(name.to_owned(), self.batch.models.len());
        self.batch.models.push(model);
        Ok(self.batch.models.len() - 1)
    }

    fn usable_model(
        &self,
        place: RequestPlace,
        endpoint: &BatchEndpoint,
        name: &str,
    ) -> Result<Arc<Model>, Fault> {
        let catalog = &self.rules.catalog;
        catalog.usable_model(name, self.caller).map_err(|refusal| {
            let hint = || {
                let usable = catalog.usable_models(self.caller);
                let usable = usable.filter(|model| model.supports(endpoint.protocol));
                let nearest = nearest(name, usable.map(|model| &*model.name), NEAREST_MAX);
                let nearest: Vec<String> = nearest.iter().map(|name| format!("`{name}`")).collect();
                match nearest.as_slice() {
                    [] => "GET /v1/models lists the models you can use".to_owned(),
                    names => format!("did you mean {}?", names.join(", ")),
                }
            };
            let fault = place.fault(refusal.sentence(name, hint));
            match refusal.detail(name) {
                Some(detail) => fault.detail(detail),
                None => fault,
            }
        })
    }

    /// The candidates of a model on channels that take batches.
    fn candidates(
        &self,
        place: RequestPlace,
        endpoint: &BatchEndpoint,
        model: &Model,
    ) -> Result<Vec<Candidate>, Fault> {
        let all = model.candidates(endpoint.protocol);
        let taking = all
            .iter()
            .filter(|candidate| self.rules.takes_batches(&candidate.channel));
        let taking: Vec<Candidate> = taking.cloned().collect();
        match (taking.is_empty(), all.is_empty()) {
            (false, _) => Ok(taking),
            (true, true) => Err(place.fault(format_args!(
                "model `{}` does not support {} requests",
                model.name,
                endpoint.protocol.name()
            ))),
            (true, false) => Err(place.fault(format_args!(
                "model `{}` is on no provider account that takes batches; send its requests one by one",
                model.name
            ))),
        }
    }

    /// The channels that serve all models so far, and `new`.
    fn common_channels(&self, new: &BatchModel) -> Result<Vec<Arc<Channel>>, Fault> {
        if self.batch.models.is_empty() {
            let channels = new.candidates.iter();
            return Ok(channels.map(|one| one.channel.clone()).collect());
        }
        let channels = self.batch.channels.iter();
        let common: Vec<_> = channels
            .filter(|channel| new.is_on(channel))
            .cloned()
            .collect();
        if !common.is_empty() {
            return Ok(common);
        }
        let is_apart = |other: &&BatchModel| {
            let mut channels = other.candidates.iter().map(|one| &one.channel);
            !channels.any(|channel| new.is_on(channel))
        };
        let (name, place) = (&new.model.name, new.place);
        Err(match self.batch.models.iter().find(is_apart) {
            Some(other) => place.fault(format_args!(
                "no provider account serves both model `{name}` and model `{}` of {}; put them into different batches",
                other.model.name, other.place
            )),
            None => place.fault(format_args!(
                "no provider account serves model `{name}` together with all models before it; put it into another batch"
            )),
        })
    }
}
