//! Builds the keys of callers: the only one without a name, and named ones with times and restrictions.

use super::ProblemCollector;
use super::caller_limits::build_key_limits;
use super::router::Router;
use super::server::ServerSettings;
use crate::caller_limits::BudgetConfig;
use crate::callers::{CallerConfig, CallerKeyConfig};
use headgate_core::catalog::caller::{Caller, Callers, KeyDigest};
use headgate_core::catalog::caller_key::CallerKey;
use headgate_core::catalog::network::{NETWORK_HINT, Network};
use headgate_core::feature::section::ConfigProblemSink;
use headgate_core::scalar::model_pattern::ModelPattern;
use headgate_core::timestamp::parse_rfc3339;
use headgate_protocol::nearest::nearest;
use std::collections::HashSet;
use std::sync::Arc;
use std::time::SystemTime;

/// The label of `key_sha256` of a caller that has named keys, too.
const UNNAMED: &str = "key_sha256";

const NO_KEY: &str = "`headgate key new` prints a key and its `key_sha256`";

/// A key with its place and the caller that its requests have.
pub(crate) struct BuiltKey {
    pub at: String,
    pub digest: KeyDigest,
    pub holder: Arc<Caller>,
}

/// Builds the keys of a caller; reports those that cannot be used.
pub(super) fn build(
    config: &CallerConfig,
    caller: &Arc<Caller>,
    at: &str,
    problems: &mut dyn ConfigProblemSink,
) -> Vec<BuiltKey> {
    check_digest(config.key_sha256.as_deref(), at, problems);
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
    let keys = key_digests(config).zip(holders);
    let keys = keys.filter_map(|((place, digest), holder)| {
        let at = format!("{at}{place}");
        // Without a digest, that was reported.
        let digest = digest?;
        if digest == KeyDigest::from_key(b"") {
            problems.error(&at, "this is the digest of an empty key", None);
        }
        Some(BuiltKey { at, digest, holder })
    });
    keys.collect()
}

/// Reports a caller without keys.
pub(crate) fn check_any(config: &CallerConfig, at: &str, problems: &mut dyn ConfigProblemSink) {
    if config.key_sha256.is_none() && config.keys.is_empty() {
        let reason = format!(
            "caller `{}` has no key: it needs `key_sha256` or `keys`",
            config.name
        );
        problems.error(at, reason, Some(NO_KEY));
    }
}

/// Adds a key of a caller; reports one that was added before.
pub(super) fn add(callers: &mut Callers, key: BuiltKey, problems: &mut dyn ConfigProblemSink) {
    let BuiltKey { at, digest, holder } = key;
    let owner = callers
        .holder(digest)
        .map(|other| other.name == holder.name);
    match owner {
        Some(is_same) => problems.error(&at, describe_duplicate(is_same), None),
        None => {
            callers.insert(digest, holder);
        }
    }
}

/// Why a key is refused that the same caller has, or another one.
pub(crate) fn describe_duplicate(is_same_caller: bool) -> &'static str {
    match is_same_caller {
        true => "another key of this caller is the same",
        false => "another caller has the same key",
    }
}

/// The digests of all keys, each with its place below that of the caller; `None` for one that cannot be used.
pub(crate) fn key_digests(
    config: &CallerConfig,
) -> impl Iterator<Item = (String, Option<KeyDigest>)> + '_ {
    let only = config.key_sha256.iter();
    let only = only.map(|digest| ("/key_sha256".to_owned(), KeyDigest::from_hex(digest)));
    let named = config.keys.iter().enumerate().map(|(index, key)| {
        let (member, digest) = match (&key.key_sha256, &key.certificate) {
            (None, Some(name)) => ("certificate", Some(certificate_digest(name))),
            (digest, _) => (
                "key_sha256",
                digest.as_deref().and_then(KeyDigest::from_hex),
            ),
        };
        (format!("/keys/{index}/{member}"), digest)
    });
    only.chain(named)
}

/// Reports routes of keys that do not exist, and keys for certificates that no client is asked for.
pub(super) fn check(
    configs: &[CallerConfig],
    server: &ServerSettings,
    router: &Router,
    problems: &mut ProblemCollector<'_>,
) {
    let mut callers = configs.iter().enumerate();
    if !server.asks_certificates() {
        callers.any(|(index, caller)| {
            check_certificates(caller, &format!("/callers/{index}"), problems)
        });
    }
    let known: Vec<&str> = router.routes().iter().map(|route| &*route.name).collect();
    for (index, config) in configs.iter().enumerate() {
        check_key_routes(config, &format!("/callers/{index}"), &known, problems);
    }
}

/// Reports routes of the keys of a caller that are not among the known ones.
pub(crate) fn check_key_routes(
    caller: &CallerConfig,
    at: &str,
    known: &[&str],
    problems: &mut dyn ConfigProblemSink,
) {
    for (key, config) in caller.keys.iter().enumerate() {
        let routes = config.routes.iter().flatten().enumerate();
        for (index, name) in routes.filter(|(_, name)| !known.contains(&name.as_str())) {
            let hint = nearest(name, known.iter().copied(), 1);
            let hint = hint.first().map(|known| format!("did you mean `{known}`?"));
            problems.error(
                &format!("{at}/keys/{key}/routes/{index}"),
                format!("there is no route `{name}`"),
                hint.as_deref(),
            );
        }
    }
}

/// What stands for a name in a client certificate. Names of hosts are the same in any case.
fn certificate_digest(name: &str) -> KeyDigest {
    match name.starts_with("dns:") {
        true => KeyDigest::from_certificate_name(&name.to_ascii_lowercase()),
        false => KeyDigest::from_certificate_name(name),
    }
}

/// Reports the first key for a certificate of a client, if the listener asks for none; whether there is one.
pub(crate) fn check_certificates(
    caller: &CallerConfig,
    at: &str,
    problems: &mut dyn ConfigProblemSink,
) -> bool {
    let mut keys = caller.keys.iter();
    let key = keys.position(|key| key.certificate.is_some());
    if let Some(key) = key {
        let at = format!("{at}/keys/{key}/certificate");
        let reason = "no client sends a certificate: the listener asks for none";
        let hint = "set `server.tls.client_ca` to the authorities of these certificates";
        problems.error(&at, reason, Some(hint));
    }
    key.is_some()
}

/// Reports a member `key_sha256` of `at` that is no digest.
fn check_digest(text: Option<&str>, at: &str, problems: &mut dyn ConfigProblemSink) {
    if text.is_some_and(|text| KeyDigest::from_hex(text).is_none()) {
        let reason = "expected a SHA-256 digest of 64 hex digits";
        problems.error(&format!("{at}/key_sha256"), reason, Some(NO_KEY));
    }
}

fn build_key(
    config: &CallerKeyConfig,
    at: &str,
    problems: &mut dyn ConfigProblemSink,
) -> CallerKey {
    let CallerKeyConfig {
        label,
        key_sha256,
        certificate,
        not_before,
        not_after,
        models,
        routes,
        networks,
        budget: _,
    } = config;
    check_digest(key_sha256.as_deref(), at, problems);
    if key_sha256.is_some() == certificate.is_some() {
        let reason = format!("key `{label}` needs one of `key_sha256` and `certificate`");
        problems.error(at, reason, Some(NO_KEY));
    }
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

fn build_networks(list: &[String], at: &str, problems: &mut dyn ConfigProblemSink) -> Vec<Network> {
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

fn time(text: Option<&str>, at: &str, problems: &mut dyn ConfigProblemSink) -> Option<SystemTime> {
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
