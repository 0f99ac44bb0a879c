//! The response cache and the Redis server of a LiteLLM configuration.

use super::section_reader::SectionReader;
use super::{secret, url_part};
use crate::channel_draft::MaybeSecretValue;
use crate::routes_draft::{CacheDraft, RedisDraft};
use crate::scalars;
use serde_json::Value;

/// Longest time of a response cache, a week in milliseconds.
const CACHE_MS_MAX: u64 = 168 * 3600 * 1000;
/// Sections that name a Redis server, with the keys of its host, port and password.
const ROUTER: [&str; 4] = [
    "router_settings",
    "redis_host",
    "redis_port",
    "redis_password",
];
const COORDINATION: [&str; 4] = [
    "general_settings.coordination_redis",
    "host",
    "port",
    "password",
];

/// Variables that LiteLLM sets for its process.
const ENVIRONMENT: [&str; 4] = [
    "environment_variables",
    "REDIS_HOST",
    "REDIS_PORT",
    "REDIS_PASSWORD",
];

impl SectionReader<'_> {
    /// The response cache, and the Redis server that it is in.
    pub fn cache(&mut self) -> (Option<CacheDraft>, Option<RedisDraft>) {
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

    /// The Redis server for state: that of the cache, or else that of the router, of the coordination or of the variables. What
    /// one of them leaves out is taken from the other.
    pub fn state(&mut self, cache: Option<RedisDraft>) -> Option<RedisDraft> {
        let router_names_host = scalars::text(self.value("router_settings.redis_host")).is_some();
        let coordination = self.value(COORDINATION[0])[COORDINATION[1]].clone();
        let [section, host, port, password] = match scalars::text(&coordination) {
            _ if router_names_host => ROUTER,
            Some(_) => COORDINATION,
            None => ENVIRONMENT,
        };
        let router = self.redis(section, host, port, password);
        let names_host = scalars::text(self.value("litellm_settings.cache_params.host")).is_some();
        match (cache, router) {
            (Some(cache), Some(router)) if names_host => {
                if (&cache.host, &cache.port) == (&router.host, &router.port) {
                    let password = cache.password.or(router.password);
                    return Some(RedisDraft { password, ..cache });
                }
                for key in [host, port, password] {
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
                let path = format!("{}.{}", ROUTER[0], ROUTER[3]);
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
}
