//! `litellm_settings`, `router_settings` and `general_settings` of a LiteLLM configuration.

use super::fallbacks::LitellmFallback;
use super::{digest_variable, secret, url_part};
use crate::channel_draft::MaybeSecretValue;
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
/// Longest time of a response cache, a week in milliseconds.
const CACHE_MS_MAX: u64 = 168 * 3600 * 1000;

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
    pub key_digest: String,
}

/// Reads sections, and marks what it has read.
struct SectionReader<'a> {
    config: &'a Value,
    settings: &'a mut SourceSettingsTracker,
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
            key_digest: digest_variable(master_key.as_str()),
        }
    }
}

impl SectionReader<'_> {
    fn value(&self, path: &str) -> &Value {
        path.split('.').fold(self.config, |value, key| &value[key])
    }

    /// The first setting of `paths` that is set; later ones have no effect in LiteLLM either.
    fn first<T>(
        &mut self,
        paths: &[&str],
        parse: fn(&Value) -> Option<T>,
        note: Option<&str>,
    ) -> Option<T> {
        let mut found = None;
        for path in paths {
            let Some(value) = parse(self.value(path)) else {
                continue;
            };
            match note {
                Some(note) => self.settings.converted_with_note(path, note),
                None => self.settings.converted(path),
            }
            if found.is_none() {
                found = Some(value);
            }
        }
        found
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

    /// The response cache, and the Redis server that it is in.
    fn cache(&mut self) -> (Option<CacheDraft>, Option<RedisDraft>) {
        let section = "litellm_settings.cache_params";
        let is_on = self.first(&["litellm_settings.cache"], scalars::boolean, None);
        if is_on != Some(true) {
            return (None, None);
        }
        let params = &self.config["litellm_settings"]["cache_params"];
        // LiteLLM's default is Redis, at the address of its variables.
        let (in_state, redis) = match params["type"].as_str() {
            Some("local") => (false, None),
            None | Some("redis") => {
                let redis = self.redis(section, "host", "port", "password");
                let redis = redis.unwrap_or_else(|| {
                    self.settings.note(
                        "litellm_settings.cache",
                        "LiteLLM caches in Redis unless `cache_params` says otherwise, at REDIS_HOST and REDIS_PORT; set both variables here, too",
                    );
                    RedisDraft {
                        host: url_part(&Value::Null, "REDIS_HOST"),
                        port: url_part(&Value::Null, "REDIS_PORT"),
                        password: None,
                    }
                });
                (true, Some(redis))
            }
            Some(_) => {
                self.settings.unconverted(
                    "litellm_settings.cache",
                    "a response cache is in memory or in the `state` store, and finds equal requests only",
                    "add a response cache to the route, see docs/filters/cache.md",
                );
                self.settings.unconverted(
                    section,
                    "a response cache is in memory or in the `state` store, and finds equal requests only",
                    "add a response cache to the route, see docs/filters/cache.md",
                );
                return (None, None);
            }
        };
        self.settings.note(
            "litellm_settings.cache",
            "callers share responses, as in LiteLLM; remove `shared: true` where they must not",
        );
        self.settings.converted(&format!("{section}.type"));
        let ttl =
            scalars::milliseconds(&params["ttl"]).filter(|ttl| (1000..=CACHE_MS_MAX).contains(ttl));
        if ttl.is_some() {
            self.settings.converted(&format!("{section}.ttl"));
        }
        (
            Some(CacheDraft {
                ttl_ms: ttl,
                in_state,
            }),
            redis,
        )
    }

    /// The Redis server for state: that of the cache, or else that of the router. What one of them leaves out is taken
    /// from the other.
    fn state(&mut self, cache: Option<RedisDraft>) -> Option<RedisDraft> {
        let section = "router_settings";
        let router = self.redis(section, "redis_host", "redis_port", "redis_password");
        let names_host = scalars::text(self.value("litellm_settings.cache_params.host")).is_some();
        match (cache, router) {
            (Some(cache), Some(router)) if names_host => {
                if (&cache.host, &cache.port) == (&router.host, &router.port) {
                    let password = cache.password.or(router.password);
                    return Some(RedisDraft { password, ..cache });
                }
                for key in ["redis_host", "redis_port", "redis_password"] {
                    let path = format!("{section}.{key}");
                    if self.value(&path).is_null() {
                        continue;
                    }
                    self.settings.unconverted(
                        &path,
                        "a gateway has one Redis server, here that of `cache_params`",
                        "set `state.redis` to the server that is to be used",
                    );
                }
                Some(cache)
            }
            (_, Some(router)) => Some(router),
            (Some(cache), None) if cache.password.is_none() => {
                let path = format!("{section}.redis_password");
                let password = self.password(&path);
                if password.is_some() {
                    self.settings.converted(&path);
                }
                Some(RedisDraft { password, ..cache })
            }
            (cache, None) => cache,
        }
    }

    /// The Redis server of a section, if it names a host.
    fn redis(
        &mut self,
        section: &str,
        host: &str,
        port: &str,
        password: &str,
    ) -> Option<RedisDraft> {
        let values = self.value(section).clone();
        scalars::text(&values[host])?;
        for key in [host, port, password] {
            self.settings.converted(&format!("{section}.{key}"));
        }
        let path = format!("{section}.{password}");
        let port = match &values[port] {
            Value::Null => "6379".to_owned(),
            port => url_part(port, "REDIS_PORT"),
        };
        Some(RedisDraft {
            host: url_part(&values[host], "REDIS_HOST"),
            port,
            password: self.password(&path),
        })
    }

    /// The password of a Redis server at this path.
    fn password(&mut self, path: &str) -> Option<MaybeSecretValue> {
        let text = scalars::text(self.value(path))?;
        Some(match secret(&text, path) {
            MaybeSecretValue::Secret { .. } => {
                self.settings.note(
                    path,
                    "the secret is not copied; set the variable REDIS_PASSWORD to it",
                );
                MaybeSecretValue::Variable("REDIS_PASSWORD".into())
            }
            value => value,
        })
    }

    /// Settings whose value is what Headgate does anyway.
    fn read_what_is_always_so(&mut self) {
        for (path, value) in [
            ("litellm_settings.drop_params", false),
            ("litellm_settings.telemetry", false),
            ("litellm_settings.set_verbose", false),
            ("litellm_settings.json_logs", true),
            ("litellm_settings.cache", false),
            ("router_settings.set_verbose", false),
            ("general_settings.store_model_in_db", false),
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
        for key in [
            "callbacks",
            "success_callback",
            "failure_callback",
            "service_callback",
        ] {
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
