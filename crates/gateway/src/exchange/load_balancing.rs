//! How the candidates of an exchange are balanced, by its model.

use headgate_channel::balancing::{LoadBalancing, RequestAffinity};
use headgate_core::catalog::model::{Candidate, Model};
use headgate_core::filter::affinity_key::affinity_key;
use headgate_core::filter::view::RequestView;

/// The balancing of a request among `candidates`.
pub(super) fn load_balancing(request: &RequestView, candidates: &[Candidate]) -> LoadBalancing {
    let Some(model) = request.model() else {
        return LoadBalancing::default();
    };
    let has_choice = candidates.len() > 1;
    LoadBalancing {
        affinity: match model.properties.affinity.is_some() && has_choice {
            true => request_affinity(request, model),
            false => None,
        },
        measure: model.properties.balance,
    }
}

/// `None` if the request does not name its session.
fn request_affinity(request: &RequestView, model: &Model) -> Option<Box<RequestAffinity>> {
    let affinity = model.properties.affinity.as_ref()?;
    Some(Box::new(RequestAffinity {
        key: affinity_key(affinity, &model.name, request)?,
        caller: request.caller.as_ref().map(|caller| caller.name.clone()),
        balance_factor: affinity.balance_factor,
    }))
}
