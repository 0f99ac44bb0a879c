//! Actions on a channel: drain, undrain, reset of its health.

use super::AdminApp;
use super::page::AdminRequest;
use headgate_channel::clock::MonotonicTime;
use headgate_core::catalog::Catalog;
use headgate_core::catalog::channel::Channel;
use headgate_core::feature::pages::PageQueryParameter;
use headgate_core::serve::AppResponse;
use headgate_protocol::nearest::nearest;
use http::StatusCode;
use serde_json::{Value, json};
use std::sync::Arc;

/// Parameters of the query.
pub(super) const PARAMETERS: &[PageQueryParameter] = &[PageQueryParameter::required(
    "channel",
    "Name of a channel.",
)];

/// Keeps new requests from the channel.
pub(super) fn drain(app: &AdminApp, request: &AdminRequest) -> AppResponse {
    on_channel(app, request, |channel, _| {
        app.channels.drain(channel);
    })
}

/// Lets new requests go to the channel again.
pub(super) fn undrain(app: &AdminApp, request: &AdminRequest) -> AppResponse {
    on_channel(app, request, |channel, _| {
        app.channels.undrain(channel);
    })
}

/// Ends all cool-downs of the channel.
pub(super) fn reset(app: &AdminApp, request: &AdminRequest) -> AppResponse {
    on_channel(app, request, |channel, catalog| {
        app.channels.reset_health(channel, catalog);
    })
}

/// Acts on the channel that the query names, and responds with what holds afterwards.
fn on_channel(
    app: &AdminApp,
    request: &AdminRequest,
    act: impl FnOnce(&Channel, &Catalog),
) -> AppResponse {
    let snapshot = app.reloader.current();
    let catalog = &snapshot.catalog;
    let Some(name) = request.parameter("channel") else {
        let error = "expected the query `channel=NAME` with the name of a channel";
        return AppResponse::json(StatusCode::BAD_REQUEST, &json!({"error": error}));
    };
    let Some(channel) = catalog.channel(&name) else {
        return unknown(&name, catalog);
    };
    act(channel, catalog);
    AppResponse::json(StatusCode::OK, &state(app, channel, catalog))
}

fn state(app: &AdminApp, channel: &Channel, catalog: &Catalog) -> Value {
    let (channels, now) = (&app.channels, MonotonicTime::now());
    let available = channels.available_models(catalog, now);
    let is_of_channel = |name: &Arc<str>| {
        let model = catalog.get(name);
        let mut candidates = model.iter().flat_map(|model| model.all_candidates.iter());
        candidates.any(|candidate| candidate.channel.name == channel.name)
    };
    let unavailable = available.iter().filter(|(_, is_available)| !**is_available);
    let unavailable = unavailable.map(|(name, _)| name);
    let unavailable = unavailable.filter(|name| is_of_channel(name));
    json!({
        "channel": &*channel.name,
        "drained": channels.is_drained(channel),
        "usable": channels.usable_channels(catalog, now).get(&channel.name),
        "in_flight": channels.load(channel).in_flight(),
        "unavailable_models": unavailable.map(|name| &**name).collect::<Vec<_>>(),
    })
}

fn unknown(name: &str, catalog: &Catalog) -> AppResponse {
    let names: Vec<&str> = catalog.channels().map(|channel| &*channel.name).collect();
    let error = match nearest(name, names.iter().copied(), 1).first() {
        Some(meant) => format!("unknown channel; did you mean `{meant}`?"),
        None => format!("unknown channel; the channels are {}", names.join(", ")),
    };
    AppResponse::json(StatusCode::NOT_FOUND, &json!({"error": error}))
}
