//! `/prompt-cache`: how much of the prompts the providers' caches had, what the rest cost more, and whether sessions stayed
//! on their channels.

use super::AdminApp;
use headgate_core::serve::AppResponse;
use headgate_observe::prompt_cache_metrics::PromptCacheUse;
use http::StatusCode;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;

pub(super) fn page(app: &AdminApp) -> AppResponse {
    let rows = app.metrics.prompt_cache.by_labels();
    let mut sums: [BTreeMap<&str, PromptCacheUse>; 3] = Default::default();
    for (labels, row) in &rows {
        for (sum, label) in sums.iter_mut().zip(labels) {
            sum.entry(&**label).or_default().merge(row);
        }
    }
    let [callers, models, channels] = sums.map(|sums| {
        let rows = sums.iter();
        rows.map(|(name, row)| entry([("name", *name)], row))
            .collect::<Vec<_>>()
    });
    let rows = rows.iter().map(|([caller, model, channel], row)| {
        let labels = [
            ("caller", &**caller),
            ("model", model),
            ("channel", channel),
        ];
        entry(labels, row)
    });
    let affinity = app.metrics.channels.affinity_results();
    let affinity = affinity.into_iter().map(|([model, channel], results)| {
        json!({"model": model, "channel": channel, "requests": results})
    });
    let page = json!({
        "callers": callers,
        "models": models,
        "channels": channels,
        "rows": rows.collect::<Vec<_>>(),
        "affinity": affinity.collect::<Vec<_>>(),
    });
    AppResponse::json(StatusCode::OK, &page)
}

fn entry<const N: usize>(labels: [(&str, &str); N], row: &PromptCacheUse) -> Map<String, Value> {
    let labels = labels.map(|(name, value)| (name.to_owned(), json!(value)));
    let costs = row.miss_costs.iter();
    let costs = costs.map(|(currency, cost)| (currency.clone(), json!(cost.to_string())));
    let figures = [
        ("cached_tokens", json!(row.cached_tokens)),
        ("missed_tokens", json!(row.missed_tokens)),
        ("cached_percent", json!(row.cached_percent().map(rounded))),
        ("miss_cost", Value::Object(costs.collect())),
    ];
    let figures = figures.map(|(name, value)| (name.to_owned(), value));
    labels.into_iter().chain(figures).collect()
}

/// With one decimal.
fn rounded(percent: f64) -> f64 {
    (percent * 10.0).round() / 10.0
}
