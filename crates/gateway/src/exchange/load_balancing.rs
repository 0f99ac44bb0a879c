//! How the candidates of an exchange are balanced, by its model.

use headgate_channel::balancing::{LoadBalancing, RequestAffinity};
use headgate_core::catalog::model::{Candidate, Model};
use headgate_core::filter::affinity_key::affinity_key;
use headgate_core::filter::view::RequestView;

/// The balancing of a request among `candidates`. Without affinity of the model it costs nothing.
pub(super) fn load_balancing(request: &RequestView, candidates: &[Candidate]) -> LoadBalancing {
    match request.model() {
        Some(model) if model.properties.affinity.is_some() && candidates.len() > 1 => {
            LoadBalancing {
                affinity: request_affinity(request, model),
            }
        }
        _ => LoadBalancing::default(),
    }
}

/// `None` if the request does not name its session.
fn request_affinity(request: &RequestView, model: &Model) -> Option<RequestAffinity> {
    let affinity = model.properties.affinity.as_ref()?;
    Some(RequestAffinity {
        key: affinity_key(affinity, &model.name, request)?,
        caller: request.caller.as_ref().map(|caller| caller.name.clone()),
        balance_factor: affinity.balance_factor,
    })
}
