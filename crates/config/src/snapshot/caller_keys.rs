//! Builds the keys of callers: the only one without a name, and named ones with times and restrictions.

use super::ProblemCollector;
use super::caller_limits::build_key_limits;
use super::router::Router;
use crate::caller_limits::BudgetConfig;
use crate::callers::{CallerConfig, CallerKeyConfig};
use headgate_core::catalog::caller::{Caller, Callers, KeyDigest};
use headgate_core::catalog::caller_key::CallerKey;
use headgate_core::catalog::network::{NETWORK_HINT, Network};
use headgate_core::scalar::model_pattern::ModelPattern;
use headgate_core::timestamp::parse_rfc3339;
use headgate_protocol::nearest::nearest;
use std::collections::HashSet;
use std::sync::Arc;
use std::time::SystemTime;

/// The label of `key_sha256` of a caller that has named keys, too.
const UNNAMED: &str = "key_sha256";

const NO_KEY: &str = "`headgate key new` prints a key and its `key_sha256`";

/// Adds the keys of a caller; reports those that cannot be used, and those that two callers share.
pub(super) fn build(
    config: &CallerConfig,
    caller: &Arc<Caller>,
    at: &str,
    callers: &mut Callers,
    problems: &mut ProblemCollector<'_>,
) {
    if config.key_sha256.is_none() && config.keys.is_empty() {
        let reason = format!(
            "caller `{}` has no key: it needs `key_sha256` or `keys`",
            config.name
        );
        problems.error(at, reason, Some(NO_KEY));
    }
    let only = config
        .key_sha256
        .as_ref()
        .map(|_| match config.keys.is_empty() {
            true => caller.clone(),
            false => Arc::new(caller.with_key(Arc::new(CallerKey {
                label: UNNAMED.into(),
                ..CallerKey::default()
            }))),
        });
    let mut labels = HashSet::from([UNNAMED]);
    let named = config.keys.iter().enumerate().map(|(index, key)| {
        let at = format!("{at}/keys/{index}");
        if !labels.insert(&key.label) {
            let reason = format!("duplicate key `{}` of caller `{}`", key.label, config.name);
            problems.error(&format!("{at}/label"), reason, None);
        }
        let mut holder = caller.with_key(Arc::new(build_key(key, &at, problems)));
        if key.budget != BudgetConfig::default() {
            holder.limits = build_key_limits(caller, &key.label, key.budget);
        }
        Arc::new(holder)
    });
    let holders: Vec<_> = only.into_iter().chain(named).collect();
    for ((place, digest), holder) in key_digests(config).zip(holders) {
        add(callers, digest, holder, &format!("{at}{place}"), problems);
    }
}

/// The digests of all keys as they are written, each with its place below that of the caller.
pub(super) fn key_digests(config: &CallerConfig) -> impl Iterator<Item = (String, &str)> {
    let only = config.key_sha256.iter();
    let only = only.map(|digest| ("/key_sha256".to_owned(), &**digest));
    let named = config.keys.iter().enumerate();
    let named = named.map(|(index, key)| (format!("/keys/{index}/key_sha256"), &*key.key_sha256));
    only.chain(named)
}

/// Reports routes of keys that do not exist.
pub(super) fn check_routes(
    configs: &[CallerConfig],
    router: &Router,
    problems: &mut ProblemCollector<'_>,
) {
    let known: Vec<&str> = router.routes().iter().map(|route| &*route.name).collect();
    for (caller, config) in configs.iter().enumerate() {
        for (key, config) in config.keys.iter().enumerate() {
            let routes = config.routes.iter().flatten().enumerate();
            for (index, name) in routes.filter(|(_, name)| !known.contains(&name.as_str())) {
                let hint = nearest(name, known.iter().copied(), 1);
                let hint = hint.first().map(|known| format!("did you mean `{known}`?"));
                problems.error(
                    &format!("/callers/{caller}/keys/{key}/routes/{index}"),
                    format!("there is no route `{name}`"),
                    hint.as_deref(),
                );
            }
        }
    }
}

fn add(
    callers: &mut Callers,
    digest: &str,
    holder: Arc<Caller>,
    at: &str,
    problems: &mut ProblemCollector<'_>,
) {
    let Some(digest) = KeyDigest::from_hex(digest) else {
        let reason = "expected a SHA-256 digest of 64 hex digits";
        return problems.error(at, reason, Some(NO_KEY));
    };
    if digest == KeyDigest::from_key(b"") {
        problems.error(at, "this is the digest of an empty key", None);
    }
    let owner = callers
        .holder(digest)
        .map(|other| other.name == holder.name);
    let reason = match owner {
        Some(true) => "another key of this caller is the same",
        Some(false) => "another caller has the same key",
        None => {
            callers.insert(digest, holder);
            return;
        }
    };
    problems.error(at, reason, None);
}

fn build_key(config: &CallerKeyConfig, at: &str, problems: &mut ProblemCollector<'_>) -> CallerKey {
    let CallerKeyConfig {
        label,
        key_sha256: _,
        not_before,
        not_after,
        models,
        routes,
        networks,
        budget: _,
    } = config;
    for (name, list) in [
        ("models", models),
        ("routes", routes),
        ("networks", networks),
    ] {
        if list.as_ref().is_some_and(Vec::is_empty) {
            problems.error(
                &format!("{at}/{name}"),
                format!("`{name}` is empty: the key could not be used"),
                Some("leave it out, or remove the key"),
            );
        }
    }
    let begin = time(not_before.as_deref(), &format!("{at}/not_before"), problems);
    let end_at = format!("{at}/not_after");
    let end = time(not_after.as_deref(), &end_at, problems);
    if let (Some(begin), Some(end)) = (begin, end)
        && end <= begin
    {
        problems.error(&end_at, "`not_after` is not later than `not_before`", None);
    } else if end.is_some_and(|end| end <= SystemTime::now()) {
        let reason = format!("key `{label}` has expired");
        problems.warning(
            &end_at,
            reason,
            Some("remove it when its caller has another one"),
        );
    }
    let patterns = |models: &Vec<String>| {
        models
            .iter()
            .map(|model| ModelPattern::new(model))
            .collect()
    };
    CallerKey {
        label: label.as_str().into(),
        not_before: begin,
        not_after: end,
        models: models.as_ref().map(patterns),
        routes: routes
            .as_ref()
            .map(|routes| routes.iter().map(|name| name.as_str().into()).collect()),
        networks: networks
            .as_ref()
            .map(|list| build_networks(list, at, problems)),
    }
}

fn build_networks(list: &[String], at: &str, problems: &mut ProblemCollector<'_>) -> Vec<Network> {
    let networks = list.iter().enumerate().filter_map(|(index, text)| {
        let network = Network::parse(text);
        if network.is_none() {
            problems.error(
                &format!("{at}/networks/{index}"),
                format!("`{text}` is not an IP address or network"),
                Some(NETWORK_HINT),
            );
        }
        network
    });
    networks.collect()
}

fn time(text: Option<&str>, at: &str, problems: &mut ProblemCollector<'_>) -> Option<SystemTime> {
    let text = text?;
    let time = parse_rfc3339(text);
    if time.is_none() {
        problems.error(
            at,
            format!("`{text}` is not a time"),
            Some("write date, time and zone, such as `2027-03-01T00:00:00Z`"),
        );
    }
    time
}
