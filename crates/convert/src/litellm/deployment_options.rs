//! Settings of an entry of `model_list` besides its model, URL and key.

use super::deployment::Deployment;
use super::secret;
use crate::channel_draft::MaybeSecretValue;
use crate::naming::literal;
use crate::scalars;
use crate::source_settings::SourceSettingsTracker;
use headgate_core::filter::header_name::header_name;
use serde_json::Value;

/// Parts of the names of headers whose values are secrets.
const SECRET_PARTS: [&str; 13] = [
    "auth",
    "key",
    "token",
    "secret",
    "password",
    "credential",
    "cookie",
    "jwt",
    "passwd",
    "pwd",
    "passphrase",
    "cert",
    "oidc",
];
const STREAM_NOTE: &str = "it is `timeouts.idle`, the time between two reads of a response; the first byte of a stream may take `timeouts.first_byte`, as that of any response";
/// Costs of a token, and the prices of a million that they are.
const PRICES: [(&str, &str); 4] = [
    ("input_cost_per_token", "input"),
    ("output_cost_per_token", "output"),
    ("cache_read_input_token_cost", "cached_input"),
    ("cache_creation_input_token_cost", "cache_write"),
];

/// What all weights of a list are multiplied with, so that they are integers.
pub fn weight_scale(entries: &[Value]) -> f64 {
    let mut weights = entries
        .iter()
        .filter_map(|entry| scalars::number(&entry["litellm_params"]["weight"]));
    match weights.any(|weight| weight.fract() != 0.0) {
        true => 100.0,
        false => 1.0,
    }
}

/// Maximum attempts of a route, from the retries of its deployments.
pub fn max_attempts(entries: &Value, settings: &mut SourceSettingsTracker) -> Option<u64> {
    const NOTE: &str = "attempts are counted for a route: the largest of these numbers, and one more, on other credentials and channels only";
    let mut most = None;
    for (at, entry) in entries.as_array().into_iter().flatten().enumerate() {
        for key in ["max_retries", "num_retries"] {
            let retries = scalars::number(&entry["litellm_params"][key]);
            let Some(retries) = retries.filter(|count| (0.0..31.0).contains(count)) else {
                continue;
            };
            let path = format!("model_list[{at}].litellm_params.{key}");
            settings.converted_with_note(&path, NOTE);
            most = most.max(Some(retries as u64 + 1));
        }
    }
    most
}

/// Reads limits, timeouts, weights, headers and prices of an entry.
pub fn read(
    entry: &Value,
    scale: f64,
    deployment: &mut Deployment,
    settings: &mut SourceSettingsTracker,
) {
    let params = &entry["litellm_params"];
    let path = deployment.path.clone();
    let at = |key: &str| format!("{path}.litellm_params.{key}");
    let channel = &mut deployment.settings;
    for (key, limit) in [
        ("rpm", &mut channel.requests_per_minute),
        ("tpm", &mut channel.tokens_per_minute),
        ("max_parallel_requests", &mut channel.concurrent),
    ] {
        for (value, path) in [
            (&entry[key], format!("{path}.{key}")),
            (&params[key], at(key)),
        ] {
            let within =
                |count: &u64| key != "max_parallel_requests" || *count <= u64::from(u32::MAX);
            if let Some(count) = scalars::count(value).filter(within) {
                *limit = Some(count);
                settings.converted(&path);
            }
        }
    }
    if let Some(timeout) = scalars::milliseconds(&params["timeout"]) {
        channel.timeout_ms = Some(timeout);
        settings.converted(&at("timeout"));
    }
    if let Some(timeout) = scalars::milliseconds(&params["stream_timeout"]) {
        channel.stream_timeout_ms = Some(timeout);
        settings.converted_with_note(&at("stream_timeout"), STREAM_NOTE);
    }
    if let Some(time) = scalars::milliseconds(&params["cooldown_time"]) {
        channel.health.cool_down_ms = Some(time);
        settings.converted(&at("cooldown_time"));
    }
    if let Some(weight) = scalars::number(&params["weight"]) {
        let scaled = (weight * scale).round();
        match (1.0..=1000.0).contains(&scaled) {
            true => {
                channel.weight = Some(scaled as u64);
                settings.converted(&at("weight"));
            }
            false => settings.unconverted(
                &at("weight"),
                "a weight is 1 to 1000",
                "scale all weights, or remove a channel that must get no requests",
            ),
        }
    }
    if let Some(order) = scalars::number(&params["order"]).filter(|order| *order >= 0.0) {
        deployment.order = Some(order as u64);
        settings.converted(&at("order"));
    }
    if let Some(id) = scalars::text(&entry["model_info"]["id"]) {
        channel.id = Some(id);
        let path = format!("{path}.model_info.id");
        settings.converted_with_note(&path, "logs and metrics have it as the name of the channel");
    }
    read_headers(params, &at, deployment, settings);
    read_prices(entry, deployment, settings);
}

fn read_headers(
    params: &Value,
    at: &dyn Fn(&str) -> String,
    deployment: &mut Deployment,
    settings: &mut SourceSettingsTracker,
) {
    let mut headers = Vec::new();
    if let Some(organization) = scalars::text(&params["organization"]) {
        headers.push((
            "openai-organization".to_owned(),
            organization,
            at("organization"),
        ));
    }
    for key in ["extra_headers", "headers"] {
        for (name, value) in params[key].as_object().into_iter().flatten() {
            if let Some(value) = scalars::text(value) {
                headers.push((name.clone(), value, at(&format!("{key}.{name}"))));
            }
        }
    }
    for (name, value, path) in headers {
        if let Some(header) = header(&name, &value, &path) {
            deployment.settings.headers.push((name, header));
            settings.converted(&path);
        }
    }
}

/// The value of a header that a channel can set; `None` if it cannot.
pub fn header(name: &str, value: &str, path: &str) -> Option<MaybeSecretValue> {
    header_name(name).ok()?;
    let is_visible = |c: char| c.is_ascii_graphic() || c == ' ' || c == '\t';
    if !value.chars().all(is_visible) {
        return None;
    }
    match secret(value, path) {
        MaybeSecretValue::Secret { .. } if !names_secret(name) => {
            Some(MaybeSecretValue::Plain(literal(value)))
        }
        value => Some(value),
    }
}

/// Whether a value of this name may be a secret.
pub fn names_secret(name: &str) -> bool {
    let lower = name.to_ascii_lowercase();
    SECRET_PARTS.iter().any(|part| lower.contains(part))
}

fn read_prices(entry: &Value, deployment: &mut Deployment, settings: &mut SourceSettingsTracker) {
    for (key, price_key) in PRICES {
        for section in ["model_info", "litellm_params"] {
            let Some(price) = scalars::number(&entry[section][key]).and_then(price) else {
                continue;
            };
            deployment.prices.retain(|(key, _)| *key != price_key);
            deployment.prices.push((price_key, price));
            settings.converted(&format!("{}.{section}.{key}", deployment.path));
        }
    }
}

/// The price of a million tokens from that of one.
fn price(of_token: f64) -> Option<String> {
    let price = of_token * 1e6;
    if !(0.0..=999_999_999.0).contains(&price) {
        return None;
    }
    let text = format!("{price:.9}");
    // What is too small for a billionth is not free.
    if price > 0.0 && text.parse() == Ok(0.0) {
        return None;
    }
    Some(text.trim_end_matches('0').trim_end_matches('.').to_owned())
}
