//! The models of a batch: which ones the caller may use, and the channels that serve all of them.

use super::RequestChecker;
use crate::checked_batch::BatchModel;
use crate::request_place::RequestPlace;
use crate::rules::BatchEndpoint;
use headgate_core::catalog::channel::Channel;
use headgate_core::catalog::model::{Candidate, Model};
use headgate_protocol::fault::Fault;
use headgate_protocol::nearest::nearest;
use std::sync::Arc;

/// Nearest names in the error for an unknown model.
const NEAREST_MAX: usize = 3;
/// The maximum number of models of a batch.
const MODELS_MAX: usize = 64;
/// The maximum length of a name in an error, in characters.
const NAME_CHARS_MAX: usize = 128;

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
        let may_use = |name: &str| self.caller.is_none_or(|caller| caller.may_use_model(name));
        let Some(model) = catalog.get(name) else {
            let name: String = name.chars().take(NAME_CHARS_MAX).collect();
            if may_use(&name) && catalog.by_pattern().lacks_price(&name) {
                return Err(place.fault(format_args!(
                    "model `{name}` has no price on this gateway and is not served; ask the operator of this gateway to add it"
                )));
            }
            let usable = catalog.models().filter(|model| may_use(&model.name));
            let usable = usable.filter(|model| model.supports(endpoint.protocol));
            let nearest = nearest(&name, usable.map(|model| &*model.name), NEAREST_MAX);
            let nearest: Vec<String> = nearest.iter().map(|name| format!("`{name}`")).collect();
            let hint = match nearest.as_slice() {
                [] => "GET /v1/models lists the models you can use".to_owned(),
                names => format!("did you mean {}?", names.join(", ")),
            };
            return Err(place.fault(format_args!("model `{name}` does not exist; {hint}")));
        };
        match may_use(&model.name) {
            true => Ok(model),
            false => Err(place.fault(format_args!(
                "this API key has no access to model `{}`; ask the operator of this gateway for access",
                model.name
            ))),
        }
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
