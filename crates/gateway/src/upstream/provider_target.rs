//! Paths and queries of requests to a provider: below the base URL of the channel, and with the query that the operator set.

use headgate_core::catalog::base_path::BasePathError;
use headgate_core::catalog::channel::Channel;
use headgate_core::catalog::model::Candidate;
use headgate_core::catalog::path_segment::refused_part;
use headgate_protocol::fault::{Fault, FaultKind};

/// The path and query below the base URL of the candidate's channel.
///
/// # Errors
/// [`FaultKind::Invalid`]: the base URL has a model in it, and the request has none that can stand there.
pub(crate) fn below_base_url(candidate: &Candidate, path: &str) -> Result<String, Fault> {
    let model = candidate.model.as_ref();
    join(&candidate.channel, model.map(|model| &*model.name), path)
}

/// Like [`below_base_url`], for a request that has no model.
///
/// # Errors
/// [`FaultKind::Invalid`]: the base URL has a model in it.
pub(crate) fn below_base_url_without_model(channel: &Channel, path: &str) -> Result<String, Fault> {
    join(channel, None, path)
}

/// Refuses a model whose name could lead to another path of the provider, if the channel has it in a path.
///
/// # Errors
/// [`FaultKind::Invalid`].
pub(crate) fn check_model_in_path(candidate: &Candidate) -> Result<(), Fault> {
    let Candidate { channel, model, .. } = candidate;
    // A filter checks the path that a caller names itself.
    let protocol = candidate.protocol.filter(|_| candidate.is_translated);
    let has_own_path = protocol.is_some_and(|own| own.descriptor().names_model_in_path());
    if !has_own_path && !channel.puts_model_in_path() && channel.cloud.is_none() {
        return Ok(());
    }
    match model.as_ref().and_then(|model| refused_part(&model.name)) {
        None => Ok(()),
        Some(refused) => Err(model_fault(channel, refused)),
    }
}

fn join(channel: &Channel, model: Option<&str>, path: &str) -> Result<String, Fault> {
    let base = channel.origin.base_path.with_model(model);
    let base = base.map_err(|error| match error {
        BasePathError::NoModel => modelless_fault(channel),
        BasePathError::RefusedModel(refused) => model_fault(channel, refused),
    })?;
    let mut target = [&*base, path].concat();
    channel.query.set_in(&mut target);
    Ok(target)
}

fn model_fault(channel: &Channel, refused: &str) -> Fault {
    Fault::new(
        FaultKind::Invalid,
        format!("`model` must not {refused}, since the provider of this model has it in its paths; check the name"),
    )
    .param("model")
    .detail(format!("channel `{}` has the model in its paths", channel.name))
}

fn modelless_fault(channel: &Channel) -> Fault {
    Fault::new(
        FaultKind::Invalid,
        "the provider takes only requests with a model, and this request has none; send a request that names a model",
    )
    .detail(format!("`base_url` of channel `{}` has `{{model}}`", channel.name))
}
