//! Steps of a route that change bodies, for the channels that want it.

use crate::routes_draft::RoutesDraft;
use crate::yaml_text::scalar;
use std::collections::BTreeMap;

/// Channels that one condition names.
const CHANNELS_MAX: usize = 32;

/// The steps of the route of a protocol.
pub fn body_steps(routes: &RoutesDraft, protocol: &str) -> Vec<String> {
    // Settings of `edit_json`, with the beginnings of names of models, and the channels that want them.
    let mut wanted: BTreeMap<(String, &[&str]), Vec<&str>> = BTreeMap::new();
    for channel in &routes.channels {
        let settings = &channel.settings;
        if !settings.protocols.contains(&protocol) {
            continue;
        }
        let mut want = |edit: String, models: &'static [&'static str]| {
            let channels = wanted.entry((edit, models)).or_default();
            channels.push(&channel.name);
        };
        for removal in &settings.removals {
            let fields = removal.fields.iter().map(|field| scalar(field));
            let fields = fields.collect::<Vec<_>>().join(", ");
            want(format!("remove: [{fields}]"), removal.models);
        }
        if !settings.defaults.is_empty() {
            let defaults = settings.defaults.iter();
            let defaults = defaults.map(|(at, value)| format!("{}: {value}", scalar(at)));
            let defaults = defaults.collect::<Vec<_>>().join(", ");
            want(format!("default: {{{defaults}}}"), &[]);
        }
    }
    let mut steps = Vec::new();
    for ((edit, models), channels) in wanted {
        for channels in channels.chunks(CHANNELS_MAX) {
            let condition = scalar(&condition(channels, models));
            steps.push(format!("{{if: {condition}, edit_json: {{{edit}}}}}"));
        }
    }
    steps
}

fn condition(channels: &[&str], models: &[&str]) -> String {
    let names: Vec<String> = channels.iter().map(|name| format!("\"{name}\"")).collect();
    let of_channels = match names.as_slice() {
        [one] => format!("channel == {one}"),
        several => format!("channel in [{}]", several.join(", ")),
    };
    let begins = models.iter();
    let begins = begins.map(|prefix| format!("channel_model.startsWith(\"{prefix}\")"));
    match begins.collect::<Vec<_>>().as_slice() {
        [] => of_channels,
        [one] => format!("{of_channels} && {one}"),
        several => format!("{of_channels} && ({})", several.join(" || ")),
    }
}
