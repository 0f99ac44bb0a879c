//! `/config`: what is in use, what is on disk, and what was refused last. No secret is part of it.

use crate::catalog::channel::Channel;
use crate::catalog::model::Model;
use crate::reload::Reloader;
use crate::snapshot::Snapshot;
use serde_json::{Value, json};
use std::time::{SystemTime, UNIX_EPOCH};

/// The page as JSON.
pub fn page(reloader: &Reloader) -> Value {
    let snapshot = reloader.current();
    let on_disk = reloader.revision_on_disk();
    let draining: Vec<Value> = reloader
        .draining()
        .into_iter()
        .map(|(revision, requests)| json!({"revision": &*revision, "requests": requests}))
        .collect();
    json!({
        "file": reloader.path().display().to_string(),
        "revision": {"in_use": &*snapshot.revision, "on_disk": on_disk},
        "loaded_at": unix_seconds(snapshot.loaded_at),
        "last_refusal": reloader.refusal().map(|refusal| json!({
            "at": unix_seconds(refusal.at),
            "report": refusal.report,
        })),
        "draining": draining,
        "server": server(&snapshot),
        "state": state(reloader),
        "callers": snapshot.callers.len(),
        "channels": snapshot.catalog.channels().map(|channel| channel_entry(channel)).collect::<Vec<_>>(),
        "models": snapshot.catalog.models().map(|model| model_entry(model)).collect::<Vec<_>>(),
        "routes": snapshot.router.routes().iter().map(|route| json!({
            "name": &*route.name,
            "match": route.pattern.to_string(),
            "protocol": route.protocol.map(|protocol| protocol.name()),
        })).collect::<Vec<_>>(),
    })
}

fn server(snapshot: &Snapshot) -> Value {
    let server = &snapshot.server;
    json!({
        "listen": server.listen,
        "admin": server.admin,
        "tls": server.tls.is_some(),
        "workers": server.workers,
        "connections_max": server.limits.connections,
    })
}

/// The store that was opened; the file may name another by now.
fn state(reloader: &Reloader) -> Value {
    let health = reloader.state().health();
    json!({"store": health.store, "up": health.up})
}

fn channel_entry(channel: &Channel) -> Value {
    let origin = &channel.origin;
    let scheme = origin.scheme();
    json!({
        "name": &*channel.name,
        "base_url": format!("{scheme}://{}{}", origin.authority.to_str().unwrap_or_default(), origin.base_path),
        "credentials": channel.credentials.iter().map(|credential| format!("{}: [secret]", credential.name)).collect::<Vec<_>>(),
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
            json!({"channel": &*candidate.channel.name, "channel_model": name})
        })
        .collect();
    json!({"name": &*model.name, "channels": channels})
}

fn unix_seconds(time: SystemTime) -> u64 {
    time.duration_since(UNIX_EPOCH)
        .unwrap_or_default()
        .as_secs()
}
