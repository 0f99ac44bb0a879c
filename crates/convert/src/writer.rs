//! Writes a draft as routes.yaml, with the remarks on its source as comments.

mod body_steps;
mod channels;
mod file_routes;
mod remarks;
mod route_paths;
mod routes;

use super::channel_draft::{ChannelDraft, MaybeSecretValue};
use super::naming::reference;
use super::routes_draft::{GuardsDraft, RedisDraft, RoutesDraft};
use super::scalars;
use super::source_settings::{ConversionRemark, SourceSettingsTracker, self_and_parents};
use super::yaml_text::{comment, scalar};
use std::collections::HashMap;

/// The text of a routes.yaml.
pub fn write(routes: &RoutesDraft, settings: &SourceSettingsTracker) -> String {
    let mut text = format!(
        "# yaml-language-server: $schema=schemas/routes.schema.json\n#\n# Converted from {} by `headgate convert`.\n",
        routes.source
    );
    text.push_str("# Each comment names a setting of that file by its path. Check the result with `headgate check`. Editors complete its keys\n# by the first line, once `headgate schema > schemas/routes.schema.json` has written that file.\n\n");
    if let Some(redis) = &routes.redis {
        text.push_str(&state(redis));
    }
    if routes.has_traces {
        text.push_str(
            "tracing:\n  endpoint: ${OTEL_EXPORTER_OTLP_ENDPOINT:-http://127.0.0.1:4318}\n\n",
        );
    }
    text.push_str(&services(&routes.guards));
    text.push_str(&callers(routes));
    let (of_channels, others) = remarks_by_channel(&routes.channels, settings);
    text.push_str(&channels::write(&routes.channels, &of_channels));
    text.push_str(&models(routes));
    text.push_str(&routes::write(routes));
    if !others.is_empty() {
        text.push_str("\n# Settings that are of no channel above:\n");
        text.push_str(&remarks::write(0, &others));
    }
    text
}

/// The remarks on the sources of each channel, and the others.
fn remarks_by_channel<'s>(
    channels: &[ChannelDraft],
    settings: &'s SourceSettingsTracker,
) -> (Vec<Vec<&'s ConversionRemark>>, Vec<&'s ConversionRemark>) {
    let mut of_sources: HashMap<&str, Vec<usize>> = HashMap::new();
    for (at, channel) in channels.iter().enumerate() {
        for source in &channel.sources {
            of_sources.entry(source).or_default().push(at);
        }
    }
    let mut of_channels = vec![Vec::new(); channels.len()];
    let mut others = Vec::new();
    for remark in settings.remarks() {
        let mut found: Vec<usize> = self_and_parents(&remark.path)
            .filter_map(|path| of_sources.get(path))
            .flatten()
            .copied()
            .collect();
        found.sort_unstable();
        found.dedup();
        if found.is_empty() {
            others.push(remark);
        }
        for at in found {
            of_channels[at].push(remark);
        }
    }
    (of_channels, others)
}

fn state(redis: &RedisDraft) -> String {
    let url = format!("redis://{}:{}/0", redis.host, redis.port);
    let password = match &redis.password {
        Some(password) => format!("    password: {}\n", value(password)),
        None => String::new(),
    };
    let explained = comment(
        0,
        "The Redis server of the source file; here it also keeps limits, tasks and idempotency keys, and gateways with the same one share them. Without this section they are in a file of this machine.",
    );
    format!(
        "{explained}state:\n  redis:\n    url: {}\n{password}\n",
        scalar(&url)
    )
}

/// The section `services`, if there are any.
fn services(guards: &GuardsDraft) -> String {
    let mut text = String::new();
    for service in &guards.services {
        let headers = service.headers.iter();
        let headers = headers.map(|(name, header)| format!("{name}: {}", value(header)));
        let headers = match headers.collect::<Vec<_>>().join(", ") {
            none if none.is_empty() => none,
            all => format!(", headers: {{{all}}}"),
        };
        let (name, url) = (scalar(&service.name), scalar(&service.url));
        let timeout = scalars::duration(service.timeout_ms);
        text.push_str(&format!(
            "  {name}: {{url: {url}, timeout: {timeout}{headers}}}\n"
        ));
    }
    match text.is_empty() {
        true => text,
        false => format!("services:\n{text}\n"),
    }
}

fn callers(routes: &RoutesDraft) -> String {
    let digest = &routes.key_digest;
    let explained = format!(
        "{digest} is the SHA-256 digest of the caller's key: `headgate key digest` prints that of a key you have, `headgate key new` makes a new key."
    );
    format!(
        "callers:\n{}  - name: {}\n    key_sha256: {}\n    models: [\"*\"]\n\n",
        comment(2, &explained),
        scalar(routes.caller),
        scalar(&reference(digest)),
    )
}

/// The section `models`, if a model has fallbacks.
fn models(routes: &RoutesDraft) -> String {
    let mut text = String::new();
    for (model, causes) in routes.fallbacks.iter() {
        let causes = causes.iter().map(|(cause, targets)| {
            let targets: Vec<String> = targets.iter().map(|target| scalar(target)).collect();
            format!("{cause}: [{}]", targets.join(", "))
        });
        let causes: Vec<String> = causes.collect();
        let name = scalar(model);
        text.push_str(&format!(
            "  {name}: {{fallback: {{{}}}}}\n",
            causes.join(", ")
        ));
    }
    match text.is_empty() {
        true => text,
        false => format!("models:\n{text}\n"),
    }
}

/// A value that has been named.
fn value(value: &MaybeSecretValue) -> String {
    match value {
        MaybeSecretValue::Plain(text) => scalar(text),
        MaybeSecretValue::Variable(name) => scalar(&reference(name)),
        MaybeSecretValue::Secret { .. } => unreachable!("name_all gives every secret a variable"),
    }
}
