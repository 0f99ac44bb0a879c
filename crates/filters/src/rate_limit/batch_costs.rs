//! The most that the create of a batch can cost: all of its requests, at the price of batches.

use super::priced_maximum::CostMaximum;
use headgate_core::catalog::batch_work::{
    BatchDemand, BatchModelDemand, BatchModelMaximum, OpenOutput,
};
use headgate_core::catalog::channel::Channel;
use headgate_core::filter::view::RequestView;
use headgate_protocol::fault::{Fault, FaultKind};
use std::sync::Arc;

/// The bound of a batch on the dearest of its channels; `None` if nothing of it has a price.
///
/// # Errors
/// Nothing limits what it can cost.
pub fn batch_maximum(
    request: &RequestView,
    batch: &BatchDemand,
) -> Result<Option<CostMaximum>, Fault> {
    Ok(sum(&batch_bounds(request, batch)?))
}

/// The bound of a batch on a channel; `None` if nothing of it has a price there.
///
/// # Errors
/// Nothing limits what it can cost.
pub fn batch_maximum_on(
    batch: &BatchDemand,
    channel: &Arc<Channel>,
) -> Result<Option<CostMaximum>, Fault> {
    Ok(sum(&bounds_on(batch, &[channel])?))
}

/// The bound of each model of a batch on the dearest of its channels.
///
/// # Errors
/// Nothing limits what a request of it can cost.
pub fn batch_bounds(
    request: &RequestView,
    batch: &BatchDemand,
) -> Result<Vec<BatchModelMaximum>, Fault> {
    let candidates = request.destination.as_ref().map(|it| &it.candidates);
    let candidates = candidates.into_iter().flat_map(|all| all.iter());
    let channels: Vec<_> = candidates.map(|one| &one.channel).collect();
    bounds_on(batch, &channels)
}

fn bounds_on(
    batch: &BatchDemand,
    channels: &[&Arc<Channel>],
) -> Result<Vec<BatchModelMaximum>, Fault> {
    let models = batch.models.as_ref().ok_or_else(|| unknown(batch))?;
    let bounds = models.iter().map(|one| {
        one.bound(channels.iter().copied(), batch.price_percent)
            .map_err(|open| without_limit(batch, one, &open))
    });
    bounds.collect()
}

fn sum(bounds: &[BatchModelMaximum]) -> Option<CostMaximum> {
    let price = bounds.iter().find_map(|bound| bound.price.clone())?;
    let amounts = bounds.iter().map(|bound| bound.nanos);
    let nanos = amounts.fold(0, u64::saturating_add);
    Some(CostMaximum { nanos, price })
}

fn unknown(batch: &BatchDemand) -> Fault {
    Fault::new(
        FaultKind::Invalid,
        "a budget in money applies to this batch, and it is not known what the requests of its file can cost; upload the file again",
    )
    .param(batch.param)
}

fn without_limit(batch: &BatchDemand, model: &BatchModelDemand, open: &OpenOutput) -> Fault {
    let (OpenOutput(place), name) = (open, &model.model.name);
    let message = format!(
        "{place}: set a limit of output, such as `max_tokens`: a budget in money applies to this batch, and nothing else limits the output of model `{name}`"
    );
    Fault::new(FaultKind::Invalid, message).param(batch.param)
}
