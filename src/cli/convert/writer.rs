//! Writes a draft as routes.yaml, with the remarks on its source as comments.

mod channels;
mod remarks;
mod routes;

use super::channel_draft::ValueDraft;
use super::naming::reference;
use super::routes_draft::{RedisDraft, RoutesDraft};
use super::source_settings::{SourceSettings, is_within};
use super::yaml_text::{comment, scalar};

/// The text of a routes.yaml.
pub fn write(routes: &RoutesDraft, settings: &SourceSettings) -> String {
    let mut text = format!(
        "# yaml-language-server: $schema=schemas/routes.schema.json\n#\n# Converted from {} by `headgate convert`.\n",
        routes.source
    );
    text.push_str("# Each comment names a setting of that file by its path. Check the result with `headgate check`. Editors complete its keys\n# by the first line, once `headgate schema > schemas/routes.schema.json` has written that file.\n\n");
    if let Some(redis) = &routes.redis {
        text.push_str(&state(redis));
    }
    text.push_str(&callers(routes));
    let is_of_channel = |path: &str| {
        let mut sources = routes.channels.iter().flat_map(|channel| &channel.sources);
        sources.any(|source| is_within(path, source))
    };
    text.push_str(&channels::write(&routes.channels, settings));
    text.push_str(&routes::write(routes));
    let others: Vec<_> = settings
        .remarks()
        .iter()
        .filter(|remark| !is_of_channel(&remark.path))
        .collect();
    if !others.is_empty() {
        text.push_str("\n# Settings that are of no channel above:\n");
        text.push_str(&remarks::write(0, &others));
    }
    text
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

/// A value that has been named.
fn value(value: &ValueDraft) -> String {
    match value {
        ValueDraft::Plain(text) => scalar(text),
        ValueDraft::Variable(name) => scalar(&reference(name)),
        ValueDraft::Secret { .. } => unreachable!("name_all gives every secret a variable"),
    }
}
