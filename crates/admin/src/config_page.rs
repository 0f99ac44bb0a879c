//! `/config`: the configuration in use, the one on disk, and the last one that was refused. It contains no secrets.

use headgate_config::reload::SnapshotReloader;
use headgate_config::reload::running::ListenerSummary;
use headgate_core::catalog::Catalog;
use headgate_core::catalog::channel::Channel;
use headgate_core::catalog::model::Model;
use headgate_core::catalog::price::{Cost, ModelPrice};
use headgate_core::catalog::token_prices::TokenRates;
use headgate_core::serve::AppResponse;
use headgate_core::timestamp::rfc3339;
use headgate_protocol::secret_shape;
use http::StatusCode;
use serde_json::{Value, json};

/// Reads the file on disk.
pub(super) fn page(reloader: &SnapshotReloader) -> AppResponse {
    AppResponse::json(StatusCode::OK, &content(reloader))
}

fn content(reloader: &SnapshotReloader) -> Value {
    let snapshot = reloader.current();
    let on_disk = reloader.revision_on_disk();
    let previous: Vec<Value> = reloader
        .draining()
        .into_iter()
        .map(|(revision, requests)| json!({"revision": &*revision, "requests": requests}))
        .collect();
    let running = reloader.running();
    let needing_restart = running.needing_restart(&snapshot);
    let running = running.settings();
    without_secrets(json!({
        "file": reloader.path().display().to_string(),
        "revision": {"in_use": &*snapshot.revision, "on_disk": on_disk},
        "loaded_at": rfc3339(snapshot.loaded_at),
        "last_rejection": reloader.refusal().map(|refusal| json!({
            "at": rfc3339(refusal.at),
            "report": &refusal.report,
        })),
        "previous_revisions": previous,
        "server": server_entry(&running),
        "server_configured": server_entry(&ListenerSummary::wanted_by(&snapshot)),
        "settings_needing_restart": needing_restart,
        "state": state(reloader),
        "callers": snapshot.callers.len(),
        "channels": snapshot.catalog.channels().map(|channel| channel_entry(channel)).collect::<Vec<_>>(),
        "models": snapshot.catalog.models().map(|model| model_entry(model)).collect::<Vec<_>>(),
        "model_patterns": pattern_entries(&snapshot.catalog),
        "routes": snapshot.router.routes().iter().map(|route| json!({
            "name": &*route.name,
            "match": route.pattern.to_string(),
            "protocol": route.protocol.map(|protocol| protocol.name()),
        })).collect::<Vec<_>>(),
    }))
}

/// Masks credentials that somebody typed where a name, a URL or a model belongs.
fn without_secrets(value: Value) -> Value {
    match value {
        Value::String(text) => Value::String(secret_shape::masked(&text).into_owned()),
        Value::Array(items) => Value::Array(items.into_iter().map(without_secrets).collect()),
        Value::Object(entries) => {
            let entries = entries.into_iter();
            Value::Object(
                entries
                    .map(|(key, value)| (key, without_secrets(value)))
                    .collect(),
            )
        }
        other => other,
    }
}

fn server_entry(settings: &ListenerSummary) -> Value {
    json!({
        "listen": settings.listen,
        "admin": settings.admin,
        "admin_tls": settings.admin_tls,
        "tls": settings.tls,
        "workers": settings.workers,
        "connections_max": settings.connections_max,
    })
}

/// The store that the process opened. The file on disk may name another one by now.
fn state(reloader: &SnapshotReloader) -> Value {
    let health = reloader.state().health();
    json!({
        "store": health.store,
        "up": health.up,
        "since": health.since.map(rfc3339),
        "last_error": health.last_error.map(|error| json!({
            "at": rfc3339(error.at),
            "operation": error.operation.name(),
        })),
    })
}

fn channel_entry(channel: &Channel) -> Value {
    let origin = &channel.origin;
    let scheme = origin.scheme();
    json!({
        "name": &*channel.name,
        "base_url": format!("{scheme}://{}{}", origin.authority.to_str().unwrap_or_default(), origin.base_path),
        "credentials": channel.credentials.iter().map(|credential| format!("{}: [secret]", credential.signer.header_name())).collect::<Vec<_>>(),
        "protocols": channel.protocols.iter().map(|protocol| protocol.name()).collect::<Vec<_>>(),
        "tier": channel.tier,
        "retired": channel.retired,
        "weight": channel.weight,
    })
}

fn model_entry(model: &Model) -> Value {
    let channels: Vec<Value> = model
        .all_candidates
        .iter()
        .map(|candidate| {
            let name = candidate.model.as_ref().map(|model| &*model.name);
            let price = candidate.price().and_then(token_price);
            json!({"channel": &*candidate.channel.name, "channel_model": name, "price": price})
        })
        .collect();
    json!({"name": &*model.name, "channels": channels})
}

/// The price of a million tokens; `None` if tokens have none.
fn token_price(price: &ModelPrice) -> Option<Value> {
    let tokens = price.tokens.as_ref()?;
    let mut entry = rates_entry(&tokens.base);
    entry["currency"] = json!(&*price.currency);
    let long_input = tokens.long_input.iter().map(|long| {
        let mut entry = rates_entry(&long.rates);
        entry["above"] = json!(long.above);
        entry
    });
    if !tokens.long_input.is_empty() {
        entry["long_input"] = long_input.collect();
    }
    Some(entry)
}

fn rates_entry(rates: &TokenRates) -> Value {
    json!({
        "input": Cost(rates.input).to_string(),
        "cached_input": Cost(rates.cached_input).to_string(),
        "output": Cost(rates.output).to_string(),
    })
}

fn pattern_entries(catalog: &Catalog) -> Vec<Value> {
    let patterns = catalog.by_pattern().patterns().iter();
    let entries = patterns.map(|one| {
        json!({
            "pattern": one.pattern.to_string(),
            "channel": &*one.channel.name,
            "channel_model": one.channel_name.to_string(),
        })
    });
    entries.collect()
}
