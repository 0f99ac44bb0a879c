//! Builds the sinks of the log of prompts. Connects to nothing.

use crate::config::{PromptCollectorConfig, PromptSinkConfig};
use crate::otlp::PromptCollector;
use crate::sink::{PromptSink, PromptSinkTarget, PromptSinks};
use headgate_bucket::{BucketClientSlot, BucketConfig};
use headgate_core::catalog::base_url;
use headgate_core::catalog::egress::{EgressException, EgressPolicy};
use headgate_core::feature::section::{ConfigProblemSink, SectionBuildContext};
use headgate_core::pointer;
use headgate_core::scalar::ByteSize;
use http::{HeaderMap, HeaderName, HeaderValue};
use object_store::path::Path;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

/// The bounds of `max_bytes`, `max_body` and `flush`.
const MAX_BYTES_RANGE: [u64; 2] = [1 << 20, 16 << 30];
const MAX_BODY_RANGE: [u64; 2] = [1 << 10, 16 << 20];
const FLUSH_RANGE: [Duration; 2] = [Duration::from_millis(100), Duration::from_secs(60 * 60)];
/// The path of a collector whose URL has none.
const LOGS_PATH: &str = "/v1/logs";

pub(crate) fn build(
    declared: &BTreeMap<String, PromptSinkConfig>,
    context: &SectionBuildContext<'_>,
    client: &Arc<BucketClientSlot>,
    problems: &mut dyn ConfigProblemSink,
) -> PromptSinks {
    let built = declared.iter().filter_map(|(name, config)| {
        let at = pointer::child("/prompt_logs", name);
        if !is_name(name) {
            let hint = "use letters, digits, `-` and `_`, at most 64 of them";
            problems.error(&at, "is no name of a sink", Some(hint));
            return None;
        }
        check_limits(&at, config, problems);
        let size = |size: ByteSize| usize::try_from(size.bytes()).unwrap_or(usize::MAX);
        let sink = PromptSink {
            target: target(&at, config, client, problems)?,
            gateway: match context.gateway_name {
                "" => "gateway".into(),
                name => name.into(),
            },
            bytes_max: size(config.max_bytes),
            body_bytes_max: size(config.max_body),
            flush: config.flush.duration(),
            is_used: false.into(),
        };
        Some((name.clone(), Arc::new(sink)))
    });
    PromptSinks {
        by_name: built.collect(),
        declared: declared.keys().cloned().collect(),
    }
}

fn check_limits(at: &str, config: &PromptSinkConfig, problems: &mut dyn ConfigProblemSink) {
    let in_range = |[least, most]: [u64; 2], size: ByteSize| (least..=most).contains(&size.bytes());
    let mut refuse = |key: &str, reason: &str, hint: Option<&str>| {
        problems.error(&pointer::child(at, key), reason, hint);
    };
    if !in_range(MAX_BYTES_RANGE, config.max_bytes) {
        refuse("max_bytes", "`max_bytes` must be 1MiB to 16GiB", None);
    }
    if !in_range(MAX_BODY_RANGE, config.max_body) {
        refuse("max_body", "`max_body` must be 1KiB to 16MiB", None);
    } else if config.max_body.bytes() * 4 > config.max_bytes.bytes() {
        let reason = "`max_body` must be at most a quarter of `max_bytes`: a record has two bodies";
        let hint = "lower `max_body`, or raise `max_bytes`";
        refuse("max_body", reason, Some(hint));
    }
    let [flush_min, flush_max] = FLUSH_RANGE;
    if !(flush_min..=flush_max).contains(&config.flush.duration()) {
        refuse("flush", "`flush` must be 100ms to 1h", None);
    }
}

fn target(
    at: &str,
    config: &PromptSinkConfig,
    client: &Arc<BucketClientSlot>,
    problems: &mut dyn ConfigProblemSink,
) -> Option<PromptSinkTarget> {
    match (&config.bucket, &config.otlp) {
        (Some(config), None) => bucket(&pointer::child(at, "bucket"), config, client, problems),
        (None, Some(config)) => collector(&pointer::child(at, "otlp"), config, problems)
            .map(PromptSinkTarget::Collector),
        _ => {
            let reason = "a sink has either `bucket` or `otlp`";
            problems.error(at, reason, None);
            None
        }
    }
}

fn bucket(
    at: &str,
    config: &BucketConfig,
    client: &Arc<BucketClientSlot>,
    problems: &mut dyn ConfigProblemSink,
) -> Option<PromptSinkTarget> {
    let settings = config.build(at, problems)?;
    let prefix = Path::parse(&settings.prefix)
        .map_err(|error| problems.error(&pointer::child(at, "prefix"), error.to_string(), None));
    let store = settings
        .open(client)
        .map_err(|error| problems.error(at, error.to_string(), None));
    Some(PromptSinkTarget::Bucket {
        store: store.ok()?,
        prefix: prefix.ok()?,
    })
}

fn collector(
    at: &str,
    config: &PromptCollectorConfig,
    problems: &mut dyn ConfigProblemSink,
) -> Option<PromptCollector> {
    let server = base_url::parse(&config.endpoint)
        .map_err(|reason| problems.error(&pointer::child(at, "endpoint"), reason, None))
        .ok()?;
    let mut headers = HeaderMap::new();
    for (name, value) in &config.headers {
        let parsed = HeaderName::try_from(name).ok();
        let value = HeaderValue::try_from(value.expose()).ok();
        let Some((name, mut value)) = parsed.zip(value) else {
            let at = pointer::child(&pointer::child(at, "headers"), name);
            problems.error(&at, "is no header", None);
            continue;
        };
        value.set_sensitive(true);
        headers.insert(name, value);
    }
    let url = config.endpoint.trim_end_matches('/');
    Some(PromptCollector {
        url: match server.path.is_empty() {
            true => format!("{url}{LOGS_PATH}"),
            false => url.to_owned(),
        },
        headers,
        // The operator names the collector.
        egress: EgressPolicy {
            allowed: vec![EgressException::Host {
                host: server.host,
                port: Some(server.port),
            }],
            proxy: None,
        },
    })
}

fn is_name(name: &str) -> bool {
    let is_part = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
    (1..=64).contains(&name.len()) && name.bytes().all(is_part)
}
