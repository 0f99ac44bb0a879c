//! `/metrics`: the metrics in Prometheus' text format.

use super::AdminApp;
use headgate_channel::clock::MonotonicTime;
use headgate_core::catalog::Catalog;
use headgate_core::serve::AppResponse;
use headgate_core::state::clock::steady_ms;
use headgate_observe::credential_metrics::CredentialSample;
use http::StatusCode;

/// The version of Prometheus' text format.
const METRICS: &str = "text/plain; version=0.0.4; charset=utf-8";

/// Updates what is computed when it is read, and returns all metrics.
pub(super) fn page(app: &AdminApp) -> AppResponse {
    let snapshot = app.reloader.current();
    let metrics = &app.metrics;
    let services = snapshot.services.iter();
    let breakers = services.map(|service| (&*service.name, service.is_open()));
    metrics.services.update(breakers);
    let catalog = &snapshot.catalog;
    let (channels, now) = (&app.channels, MonotonicTime::now());
    let of_channels = &metrics.channels;
    of_channels.usable(channels.usable_channels(catalog, now));
    of_channels.available_models(channels.available_models(catalog, now));
    of_channels.refused_credentials(channels.refused_credentials(catalog, now));
    metrics.credentials.update(issued_credentials(catalog));
    let drained = catalog.channels();
    let drained = drained.map(|channel| (&*channel.name, channels.is_drained(channel)));
    let is_folder_unreadable = app.reloader.caller_folder().error().is_some();
    let of_folder = app.reloader.directory().refused().len() + usize::from(is_folder_unreadable);
    let refused = [
        ("folder", of_folder),
        ("store", app.issuance.refused().len()),
    ];
    metrics
        .admin
        .update(drained, refused, app.event_streams.open());
    let open = metrics.open_requests.states();
    let named: Vec<_> = open
        .iter()
        .filter_map(|open| open.details.caller.as_deref())
        .map(|name| snapshot.callers.by_name(Some(name)))
        .collect();
    // Names that tokens have claimed are no labels.
    let callers = named.iter().map(|caller| {
        caller
            .as_ref()
            .map_or("other", |caller| caller.metric_name())
    });
    let all = snapshot.callers.iter().map(|caller| &*caller.name);
    metrics.callers.set_in_flight(all, callers);
    metrics.traces.update(app.reloader.traces());
    let page = metrics.render(app.access_log.dropped(), &app.reloader.state().health());
    AppResponse::full(StatusCode::OK, METRICS, page)
}

/// The credentials that servers issue for channels.
fn issued_credentials(catalog: &Catalog) -> impl Iterator<Item = CredentialSample<'_>> {
    catalog.channels().flat_map(|channel| {
        let credentials = channel.credentials.iter().enumerate();
        credentials.filter_map(|(index, credential)| {
            let report = credential.refresh_state()?.report(steady_ms());
            Some(CredentialSample {
                channel: &channel.name,
                index: index + 1,
                valid_for: report.valid_for,
                is_failing: report.error.is_some(),
            })
        })
    })
}
