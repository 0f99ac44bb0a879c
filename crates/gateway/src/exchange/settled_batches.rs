//! What an exchange records of batches whose end it was the first to show: their tokens and costs, by model.

use crate::Gateway;
use headgate_config::snapshot::Snapshot;
use headgate_core::catalog::caller::Caller;
use headgate_core::catalog::pattern_models::OTHER_MODEL;
use headgate_core::catalog::price::{Cost, ExchangeCost};
use headgate_core::filter::stream_info::{SettledUsage, SettledUsages};
use headgate_core::filter::view::RequestView;
use headgate_observe::cost_metrics::CostLabels;

/// The usage of batches that the exchange has settled. A request with a model has none.
pub(super) fn settled_batches(request: &RequestView) -> &[SettledUsage] {
    if request.model().is_some() {
        return &[];
    }
    let settled = request.state.get::<SettledUsages>();
    settled.map_or(&[], |SettledUsages(all)| all)
}

/// Counts tokens and costs of batches by the prices of their models; returns the cost of all of them, and its currency.
pub(super) fn count_batches<'b>(
    gateway: &Gateway,
    snapshot: &Snapshot,
    request: &RequestView,
    batches: &'b [SettledUsage],
) -> Option<(Cost, &'b str)> {
    let caller = request.caller.as_deref();
    let mut all: Option<(Cost, &str)> = None;
    for batch in batches {
        let model = batch.model.as_deref();
        let model = model.map(|model| snapshot.catalog.metric_label(model, true));
        let candidate = &batch.candidate;
        let price = batch.price.as_deref();
        let labels = CostLabels {
            caller: caller.map(Caller::metric_name),
            model: model.unwrap_or(OTHER_MODEL),
            channel: &candidate.channel.name,
            currency: price.map_or("", |price| &price.currency),
        };
        let cost = batch.cost().filter(|_| model.is_some());
        let (metrics, protocol) = (&gateway.metrics, candidate.protocol);
        metrics.count_batch(
            caller.map(|caller| &*caller.name),
            labels,
            protocol,
            &batch.usage,
            cost,
        );
        if let (Some(ExchangeCost::Priced(Cost(nanos))), Some(price)) = (cost, price) {
            let (Cost(sum), currency) = all.unwrap_or((Cost(0), &price.currency));
            all = Some((Cost(sum.saturating_add(nanos)), currency));
        }
    }
    all
}
