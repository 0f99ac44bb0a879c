//! `litellm_settings`, `router_settings` and `general_settings` of a LiteLLM configuration.

use super::digest_variable;
use super::fallbacks::LitellmFallback;
use super::section_reader::SectionReader;
use crate::naming::is_literal_model_name;
use crate::routes_draft::{CacheDraft, RedisDraft};
use crate::scalars;
use crate::source_settings::SourceSettingsTracker;
use serde_json::Value;

/// Most attempts of a route.
const ATTEMPTS_MAX: u64 = 32;
/// The lists of fallbacks, each with the key of `fallback` in routes.yaml.
const FALLBACKS: [(&str, &str); 3] = [
    ("fallbacks", "any"),
    ("context_window_fallbacks", "context_too_long"),
    ("content_policy_fallbacks", "content_policy"),
];
/// Callbacks that export traces.
const TRACE_CALLBACKS: [&str; 2] = ["otel", "opentelemetry"];
/// Settings that are lists of callbacks.
const CALLBACKS: [&str; 4] = [
    "callbacks",
    "success_callback",
    "failure_callback",
    "service_callback",
];

/// What applies to all models.
pub struct GlobalSettings {
    pub timeout_ms: Option<u64>,
    pub cool_down_ms: Option<u64>,
    pub consecutive_failures: Option<u64>,
    pub probe_ms: Option<u64>,
    pub max_attempts: Option<u64>,
    pub fallbacks: Vec<LitellmFallback>,
    pub cache: Option<CacheDraft>,
    pub redis: Option<RedisDraft>,
    /// Whether traces are exported.
    pub has_traces: bool,
    /// Whether fields that a provider does not take are removed from requests.
    pub drops_params: bool,
    /// Whether deployments are selected by tags of the request.
    pub has_tags: bool,
    /// Whether tags in the body of a request are refused.
    pub refuses_tags: bool,
    pub key_digest: String,
}

impl GlobalSettings {
    pub fn read(config: &Value, settings: &mut SourceSettingsTracker) -> Self {
        let master_key = &config["general_settings"]["master_key"];
        if scalars::text(master_key).is_some() {
            settings.converted_with_note(
                "general_settings.master_key",
                "the key becomes that of the one caller, who may call every model. It opens no admin page: see server.admin_keys in docs/routes.md",
            );
        }
        let mut reader = SectionReader { config, settings };
        reader.read_what_is_always_so();
        let (cache, cache_redis) = reader.cache();
        let redis = reader.state(cache_redis);
        Self {
            timeout_ms: reader.timeout(),
            cool_down_ms: reader.first(
                &[
                    "router_settings.cooldown_time",
                    "litellm_settings.cooldown_time",
                ],
                scalars::milliseconds,
                None,
            ),
            consecutive_failures: reader.consecutive_failures(),
            probe_ms: reader.probe_interval(),
            max_attempts: reader.max_attempts(),
            fallbacks: reader.fallbacks(),
            cache,
            redis,
            has_traces: reader.has_traces(),
            drops_params: reader.is_on("litellm_settings.drop_params"),
            has_tags: reader.is_on("router_settings.enable_tag_filtering"),
            refuses_tags: reader.is_on("general_settings.reject_clientside_metadata_tags"),
            key_digest: digest_variable(master_key.as_str()),
        }
    }
}

impl SectionReader<'_> {
    /// Whether a setting is on. It is marked as converted, whichever value it has.
    fn is_on(&mut self, path: &str) -> bool {
        self.first(&[path], scalars::boolean, None) == Some(true)
    }

    fn has_traces(&mut self) -> bool {
        const NOTE: &str = "traces go to the collector at OTEL_EXPORTER_OTLP_ENDPOINT, by OTLP over HTTP; without the variable, LiteLLM prints them";
        let otel = "general_settings.otel";
        let mut has_traces = self.first(&[otel], scalars::boolean, Some(NOTE)) == Some(true);
        for key in CALLBACKS {
            let path = format!("litellm_settings.{key}");
            let names = self.value(&path).as_array().cloned().unwrap_or_default();
            for (at, name) in names.iter().enumerate() {
                if name
                    .as_str()
                    .is_some_and(|name| TRACE_CALLBACKS.contains(&name))
                {
                    let path = format!("{path}[{at}]");
                    self.settings.converted_with_note(&path, NOTE);
                    has_traces = true;
                }
            }
        }
        has_traces
    }

    fn timeout(&mut self) -> Option<u64> {
        self.first(
            &[
                "router_settings.timeout",
                "litellm_settings.request_timeout",
            ],
            scalars::milliseconds,
            Some("it is the time to the first byte, and between two reads of a stream"),
        )
    }

    fn consecutive_failures(&mut self) -> Option<u64> {
        let is_disabled = self.first(
            &["router_settings.disable_cooldowns"],
            scalars::boolean,
            None,
        );
        let parse =
            |value: &Value| scalars::number(value).filter(|count| (0.0..1000.0).contains(count));
        let allowed = self.first(
            &["router_settings.allowed_fails", "litellm_settings.allowed_fails"],
            parse,
            Some("LiteLLM counts failures in a minute; Headgate counts consecutive ones, and starts a cool-down at one more than were allowed"),
        );
        match is_disabled {
            Some(true) => Some(0),
            _ => allowed.map(|allowed| allowed as u64 + 1),
        }
    }

    fn probe_interval(&mut self) -> Option<u64> {
        let on = self.first(
            &["general_settings.background_health_checks"],
            scalars::boolean,
            Some("Headgate probes with GET /models, which costs nothing, instead of a call of the model"),
        )?;
        let interval = self.first(
            &["general_settings.health_check_interval"],
            scalars::milliseconds,
            None,
        );
        on.then(|| interval.unwrap_or(300_000).max(100))
    }

    fn max_attempts(&mut self) -> Option<u64> {
        let parse = |value: &Value| {
            scalars::number(value).filter(|count| *count >= 0.0 && *count < ATTEMPTS_MAX as f64)
        };
        let retries = self.first(
            &["router_settings.num_retries", "litellm_settings.num_retries"],
            parse,
            Some("Headgate retries on other credentials and channels only, which makes one attempt more than retries"),
        )?;
        Some(retries as u64 + 1)
    }

    fn fallbacks(&mut self) -> Vec<LitellmFallback> {
        let mut fallbacks = Vec::new();
        for section in ["router_settings", "litellm_settings"] {
            for (key, cause) in FALLBACKS {
                let list = self.config[section][key].as_array();
                for (at, entry) in list.into_iter().flatten().enumerate() {
                    for (model, targets) in entry.as_object().into_iter().flatten() {
                        let path = format!("{section}.{key}[{at}].{model}");
                        let model = (model != "*").then(|| model.clone());
                        fallbacks.push(fallback(path, cause, model, targets));
                    }
                }
            }
            let path = format!("{section}.default_fallbacks");
            let targets = &self.config[section]["default_fallbacks"];
            if targets.is_array() {
                fallbacks.push(fallback(path, "any", None, targets));
            }
        }
        fallbacks
    }

    /// Settings whose value is what Headgate does anyway.
    fn read_what_is_always_so(&mut self) {
        for (path, value) in [
            ("litellm_settings.telemetry", false),
            ("litellm_settings.set_verbose", false),
            ("litellm_settings.json_logs", true),
            ("litellm_settings.cache", false),
            ("router_settings.set_verbose", false),
            ("general_settings.store_model_in_db", false),
            // There is no database whose schema could change.
            ("general_settings.disable_prisma_schema_update", true),
            // Metrics have no end users, and need no key unless `server.admin_keys` has one.
            (
                "litellm_settings.disable_end_user_cost_tracking_prometheus_only",
                true,
            ),
            ("litellm_settings.disable_end_user_cost_tracking", true),
            ("litellm_settings.require_auth_for_metrics_endpoint", false),
        ] {
            if scalars::boolean(self.value(path)) == Some(value) {
                self.settings.converted(path);
            }
        }
        let strategy = "router_settings.routing_strategy";
        if let Some("simple-shuffle" | "least-busy") = self.value(strategy).as_str() {
            self.settings
                .converted_with_note(strategy, "Headgate picks by weight and load");
        }
        for key in CALLBACKS {
            let path = format!("litellm_settings.{key}");
            let names = self.value(&path).as_array().cloned().unwrap_or_default();
            for (at, name) in names.iter().enumerate() {
                if matches!(name.as_str(), Some("prometheus" | "prometheus_system")) {
                    let path = format!("{path}[{at}]");
                    self.settings.converted_with_note(&path, "metrics are always at /metrics of server.admin; their names differ, see docs/metrics.md");
                }
            }
        }
    }
}

fn fallback(
    path: String,
    cause: &'static str,
    model: Option<String>,
    targets: &Value,
) -> LitellmFallback {
    let targets = targets.as_array().map_or(&[][..], Vec::as_slice);
    let targets = targets.iter().enumerate().map(|(at, target)| {
        let target = target
            .as_str()
            .filter(|target| is_literal_model_name(target));
        (format!("{path}[{at}]"), target.map(str::to_owned))
    });
    let targets = targets.collect();
    LitellmFallback {
        path,
        cause,
        model,
        targets,
    }
}
