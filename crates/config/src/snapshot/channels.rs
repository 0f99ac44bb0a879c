//! Builds channels from their configuration.

use super::VariableLookup;
use super::base_urls::{self, ChannelBaseUrl};
use super::caller_limits::build_channel_budgets;
use super::channel_models::ChannelWithModels;
use super::credentials::credential_context::CredentialBuildContext;
use super::dialects::DialectLookup;
use super::families::VideoFamilyLookup;
use super::{
    ProblemCollector, callback_keys, channel_errors, channel_models, channel_protocols,
    credentials, failover, outbound_proxies, upstream_tls,
};
use crate::channels::{
    AttemptTimeoutsConfig, ChannelConfig, ClientAddressForwardingConfig, HttpVersionConfig,
    UpstreamTlsConfig,
};
use crate::images::{ImageEditBodyFormatConfig, ImageEditConfig, ResponseFormatHandlingConfig};
use headgate_core::catalog::channel::{
    Channel, HttpVersion, Origin, OriginTls, TimeoutOverrides, Timeouts,
};
use headgate_core::catalog::client_address::ForwardedPolicy;
use headgate_core::catalog::images::{
    ImageEditBodyFormat, ImageEditPolicy, ResponseFormatHandling,
};
use headgate_core::catalog::outbound_proxy::OutboundProxy;
use headgate_core::credentials::credential_registry::CredentialRegistry;
use headgate_core::filter::expression::FilterExpression;
use headgate_core::filter::header_name::header_name;
use headgate_core::pointer::child;
use headgate_core::scalar::HumanDuration;
use headgate_expression::{EvaluationPhase, Expression};
use headgate_protocol::shown_headers::ShownResponseHeaders;
use headgate_protocol::{GenerationMedium, Protocol, ProtocolTable};
use http::{HeaderName, HeaderValue};
use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::Path;
use std::sync::Arc;

/// What channels are built with besides their configuration.
#[derive(Clone, Copy)]
pub(crate) struct ChannelBuildContext<'a> {
    pub families: &'a VideoFamilyLookup<'a>,
    pub known_protocols: &'a ProtocolTable,
    pub dialects: &'a DialectLookup<'a>,
    /// The folder of `routes.yaml`.
    pub folder: &'a Path,
    pub variables: &'a VariableLookup,
    pub credentials: &'a CredentialRegistry,
}

/// Builds every channel; one with problems is omitted, and its problems are reported.
pub(crate) fn build(
    configs: &BTreeMap<String, ChannelConfig>,
    context: ChannelBuildContext<'_>,
    problems: &mut ProblemCollector<'_>,
) -> Vec<ChannelWithModels> {
    configs
        .iter()
        .filter_map(|(name, config)| {
            let at = format!("/channels/{}", name.replace('~', "~0").replace('/', "~1"));
            // The schema refuses unknown names: a protocol that is missing here was reported already.
            let protocols = config.protocols.iter();
            let protocols: Option<_> = protocols
                .map(|name| context.known_protocols.get(&name.0))
                .collect();
            build_one(name, config, protocols?, context, &at, problems)
        })
        .collect()
}

fn build_one(
    name: &str,
    config: &ChannelConfig,
    protocols: Vec<Protocol>,
    context: ChannelBuildContext<'_>,
    at: &str,
    problems: &mut ProblemCollector<'_>,
) -> Option<ChannelWithModels> {
    let ChannelBuildContext {
        families,
        known_protocols: _,
        dialects,
        folder,
        variables,
        credentials: registry,
    } = context;
    let ChannelConfig {
        base_url,
        query: _,
        credential: _,
        credentials: _,
        protocols: _,
        family,
        callback_secrets,
        dialect,
        cloud,
        image_edit,
        models,
        prices: _,
        unpriced: _,
        r#if,
        retired,
        weight,
        tier,
        timeouts,
        tls,
        proxy,
        http,
        headers,
        response_headers,
        idempotency_header,
        forwarded,
        limits,
        budget,
        health,
        errors,
    } = config;
    let base = base_urls::build(config, &protocols, at, problems);
    let texts = headers.iter().map(|(name, value)| (name, &**value));
    let headers = build_headers(texts, at, problems);
    let response_headers = build_response_headers(response_headers, at, problems);
    let idempotency_header = idempotency_header.as_ref().and_then(|name| {
        let pointer = format!("{at}/idempotency_header");
        header_name(name)
            .map_err(|invalid| problems.error(&pointer, invalid.reason, None))
            .ok()
    });
    let family = families.for_channel(family.as_deref(), &protocols, at, problems);
    let callback_keys = callback_keys::build(callback_secrets, family.as_deref(), at, problems);
    let dialect = dialects.for_channel(dialect.as_ref(), &protocols, at, problems);
    let dialect = Arc::new(dialect.with_models(models.values().map(String::as_str)));
    check_image_edits(*image_edit, &protocols, at, problems);
    channel_protocols::check(&protocols, at, problems);
    if cloud.is_some() {
        channel_protocols::check_cloud(&protocols, at, problems);
    }
    let condition = r#if
        .as_deref()
        .and_then(|text| condition(text, at, problems));
    let tls_given = UpstreamTlsConfig::default() != *tls;
    let ChannelBaseUrl {
        url: base,
        path: base_path,
        query,
    } = base?;
    if tls_given && !base.tls {
        problems.error(
            &format!("{at}/tls"),
            "`tls` requires a `base_url` with https",
            None,
        );
    }
    let tls = match base.tls {
        true => Some(upstream_tls::build(tls, &base, folder, at, problems)?),
        false => None,
    };
    let http = http_version(*http);
    let proxy_at = format!("{at}/proxy");
    let proxy =
        outbound_proxies::for_channel(proxy.as_ref(), &base, variables, &proxy_at, problems);
    let fingerprint = fingerprint(name, base_url, http, tls.as_ref(), proxy.as_deref());
    let context = CredentialBuildContext {
        base_url,
        channel_fingerprint: fingerprint,
        proxy: proxy.as_ref(),
        folder,
        variables,
        registry,
    };
    let credentials = credentials::build(config, context, at, problems)?;
    let mask = Arc::new(credentials::mask(&credentials, &headers, &query));
    if models.is_empty() && !retired {
        let hint = "add them as `platform model: provider's model`, or write `retired: true`";
        problems.error(at, "the channel has no `models`", Some(hint));
    }
    let channel = Arc::new(Channel {
        name: name.into(),
        origin: Origin {
            host: base.host,
            port: base.port,
            base_path,
            authority: base.authority,
            http,
            tls,
            proxy,
        },
        credentials,
        mask,
        protocols,
        dialect,
        cloud: cloud.map(Into::into),
        retired: *retired,
        family,
        callback_keys,
        image_edits: image_edits(*image_edit),
        weight: *weight,
        tier: *tier,
        timeouts: self::timeouts(timeouts).over(Timeouts::default()),
        headers,
        query,
        response_headers,
        idempotency_header,
        forwarded: match forwarded {
            ClientAddressForwardingConfig::Off => ForwardedPolicy::Off,
            ClientAddressForwardingConfig::Append => ForwardedPolicy::Append,
            ClientAddressForwardingConfig::Replace => ForwardedPolicy::Replace,
        },
        limits: failover::limits(limits),
        budgets: build_channel_budgets(name, *budget),
        health: failover::health(health, &format!("{at}/health"), problems),
        errors: channel_errors::build(errors, &format!("{at}/errors"), problems),
        condition,
        fingerprint,
    });
    let mut served = ChannelWithModels {
        channel,
        models: BTreeMap::new(),
        patterns: Vec::new(),
    };
    if !retired {
        channel_models::add(&mut served, models, &format!("{at}/models"), problems);
    }
    Some(served)
}

/// Which requests a channel accepts.
fn condition(text: &str, at: &str, problems: &mut ProblemCollector<'_>) -> Option<Expression> {
    match FilterExpression::compile_condition(text, EvaluationPhase::Body) {
        Ok(expression) => Some(expression.into_expression()),
        Err(invalid) => {
            problems.error(&format!("{at}/if"), invalid.reason, invalid.hint.as_deref());
            None
        }
    }
}

/// The timeouts that a channel or a route sets.
pub(super) fn timeouts(config: &AttemptTimeoutsConfig) -> TimeoutOverrides {
    let AttemptTimeoutsConfig {
        connect,
        first_byte,
        idle,
        total,
    } = config;
    let duration = |span: Option<HumanDuration>| span.map(HumanDuration::duration);
    TimeoutOverrides {
        connect: duration(*connect),
        first_byte: duration(*first_byte),
        idle: duration(*idle),
        total: duration(*total),
    }
}

/// The headers that the operator adds to requests, of a channel or a service.
pub(super) fn build_headers<'c>(
    configs: impl IntoIterator<Item = (&'c String, &'c str)>,
    at: &str,
    problems: &mut ProblemCollector<'_>,
) -> Vec<(HeaderName, HeaderValue)> {
    let mut headers = Vec::new();
    for (name, value) in configs {
        let pointer = child(&format!("{at}/headers"), name);
        match (header_name(name), HeaderValue::from_str(value)) {
            (Ok(name), Ok(mut value)) => {
                // Some providers take their keys in other headers.
                value.set_sensitive(true);
                headers.push((name, value));
            }
            (Err(invalid), _) => problems.error(&pointer, invalid.reason, None),
            (_, Err(_)) => problems.error(
                &pointer,
                "not a valid header value: use visible ASCII characters, spaces and tabs",
                None,
            ),
        }
    }
    headers
}

/// The headers of responses that the operator shows to callers.
fn build_response_headers(
    patterns: &[String],
    at: &str,
    problems: &mut ProblemCollector<'_>,
) -> ShownResponseHeaders {
    let mut shown = ShownResponseHeaders::default();
    for (index, pattern) in patterns.iter().enumerate() {
        if let Err(error) = shown.add(pattern) {
            let at = format!("{at}/response_headers/{index}");
            problems.error(&at, format!("`{pattern}`: {error}"), None);
        }
    }
    shown
}

/// Reports settings of image edits on a channel without image edits, where they would have no effect.
fn check_image_edits(
    config: ImageEditConfig,
    protocols: &[Protocol],
    at: &str,
    problems: &mut ProblemCollector<'_>,
) {
    let mut media = protocols
        .iter()
        .map(|protocol| protocol.descriptor().medium);
    let has_images = media.any(|medium| medium == GenerationMedium::Image);
    if config != ImageEditConfig::default() && !has_images {
        problems.error(
            &format!("{at}/image_edit"),
            "`image_edit` requires `image_edit` in the `protocols` of the channel",
            None,
        );
    }
}

fn image_edits(config: ImageEditConfig) -> ImageEditPolicy {
    ImageEditPolicy {
        body: match config.body {
            ImageEditBodyFormatConfig::Unchanged => ImageEditBodyFormat::Unchanged,
            ImageEditBodyFormatConfig::Json => ImageEditBodyFormat::Json,
            ImageEditBodyFormatConfig::JsonWithUrls => ImageEditBodyFormat::JsonWithUrls,
            ImageEditBodyFormatConfig::Multipart => ImageEditBodyFormat::Multipart,
        },
        response_format: match config.response_format {
            ResponseFormatHandlingConfig::Convert => ResponseFormatHandling::Convert,
            ResponseFormatHandlingConfig::Forward => ResponseFormatHandling::Forward,
        },
    }
}

fn http_version(config: HttpVersionConfig) -> HttpVersion {
    match config {
        HttpVersionConfig::Auto => HttpVersion::Negotiated,
        HttpVersionConfig::Http1 => HttpVersion::Http1,
        HttpVersionConfig::Http2 => HttpVersion::Http2,
    }
}

fn fingerprint(
    name: &str,
    base_url: &str,
    http: HttpVersion,
    tls: Option<&OriginTls>,
    proxy: Option<&OutboundProxy>,
) -> u64 {
    let mut hasher = DefaultHasher::new();
    (name, base_url, http, tls).hash(&mut hasher);
    // Without a proxy, the fingerprint is what it was: tasks and health are stored by it.
    if let Some(proxy) = proxy {
        proxy.hash(&mut hasher);
    }
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::{AttemptTimeoutsConfig, TimeoutOverrides, Timeouts};
    use headgate_core::scalar::HumanDuration;

    #[test]
    fn the_timeouts_that_the_schema_states_are_those_that_hold() {
        let schema = serde_json::to_value(schemars::schema_for!(AttemptTimeoutsConfig)).unwrap();
        let stated = |member: &str| {
            let text = schema["properties"][member]["description"].as_str();
            let text = text.unwrap_or_else(|| panic!("{member} has a description"));
            let before = text.trim_end_matches('.');
            let span: HumanDuration = before.rsplit(' ').next().unwrap().parse().unwrap();
            Some(span.duration())
        };
        let stated = TimeoutOverrides {
            connect: stated("connect"),
            first_byte: stated("first_byte"),
            idle: stated("idle"),
            total: stated("total"),
        };
        let none = std::time::Duration::ZERO;
        let base = Timeouts {
            connect: none,
            first_byte: none,
            idle: none,
            total: none,
        };
        assert_eq!(stated.over(base), Timeouts::default());
        assert_eq!(
            super::timeouts(&AttemptTimeoutsConfig::default()).over(Timeouts::default()),
            Timeouts::default()
        );
    }
}
