//! `state` of `routes.yaml`: where state is kept that several gateways share or that survives a restart.

use headgate_core::scalar::{HumanDuration, Secret};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserialize, Deserializer, Error, MapAccess, Visitor};
use std::borrow::Cow;
use std::fmt;
use std::path::PathBuf;

/// How `state` may be written in one word.
const WORDS: &str =
    "expected memory, sqlite:PATH, redis://HOST:PORT/DB or rediss://HOST:PORT/DB, or a mapping";
const SQLITE: &str = "sqlite:";
/// A month: whoever goes on with an older conversation begins it anew.
const ID_TTL: HumanDuration = HumanDuration::seconds(30 * 24 * 60 * 60);

/// Where state is kept: `memory`, `sqlite:PATH`, the URL of a Redis, or a mapping with options.
#[derive(Clone, Debug, PartialEq)]
pub enum StateConfig {
    Memory,
    Sqlite(SqliteConfig),
    Redis(RedisConfig),
}

/// An SQLite file: state that survives a restart of one gateway.
#[derive(Clone, Debug, serde::Deserialize, JsonSchema, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct SqliteConfig {
    /// Path of the file on a local disk, relative to the folder of `routes.yaml`; created if it does not exist.
    /// Default: headgate-state.sqlite.
    #[serde(default = "default_path")]
    #[schemars(with = "String", length(min = 1))]
    pub path: PathBuf,
    /// How long an unused id is kept. Raise it if callers return to conversations or files after more than 30
    /// days. Default: 720h.
    #[serde(default = "default_id_ttl")]
    pub id_ttl: HumanDuration,
}

/// A Redis server: several gateways share the state.
#[derive(Clone, Debug, serde::Deserialize, JsonSchema, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct RedisConfig {
    /// `redis://HOST:PORT/DB`, or `rediss://…` for TLS; may contain user and password.
    pub url: Secret,
    /// ACL user. Default: the default user of Redis.
    pub user: Option<String>,
    /// Password. Default: none.
    pub password: Option<Secret>,
    /// PEM file with the CA certificates to trust instead; requires `rediss`. Default: those of the system.
    pub ca: Option<PathBuf>,
    /// Prefix of every key, so that several fleets can share a Redis: 1 to 64 letters, digits, `_`, `.`, `:` or
    /// `-`. Default: headgate.
    #[serde(default = "default_prefix")]
    #[schemars(regex(pattern = r"^[A-Za-z0-9_.:-]{1,64}$"))]
    #[schemars(extend("patternErrorMessage" = "expected 1 to 64 letters, digits, `_`, `.`, `:` or `-`"))]
    pub prefix: String,
    /// Timeout of an operation on Redis. Requests wait for it: raise it only for a Redis in another network.
    /// Default: 100ms.
    #[serde(default = "default_timeout")]
    pub timeout: HumanDuration,
    /// How long an unused id is kept. Raise it if callers return to conversations or files after more than 30
    /// days. Default: 720h.
    #[serde(default = "default_id_ttl")]
    pub id_ttl: HumanDuration,
    /// What happens to requests with limits while Redis is unreachable. Default: allow.
    #[serde(default)]
    pub on_store_failure: OnStoreFailureConfig,
}

/// What happens to requests with limits while their counts cannot be read.
#[derive(Clone, Copy, Debug, Default, serde::Deserialize, JsonSchema, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub enum OnStoreFailureConfig {
    /// They are admitted without a check.
    #[default]
    Allow,
    /// They are refused.
    Deny,
}

impl Default for StateConfig {
    fn default() -> Self {
        Self::Sqlite(SqliteConfig {
            path: default_path(),
            id_ttl: default_id_ttl(),
        })
    }
}

impl StateConfig {
    /// A `state` that is one word.
    fn from_word(word: &str) -> Option<Self> {
        if word == "memory" {
            return Some(Self::Memory);
        }
        if let Some(path) = word.strip_prefix(SQLITE) {
            return (!path.is_empty()).then(|| {
                Self::Sqlite(SqliteConfig {
                    path: path.into(),
                    id_ttl: default_id_ttl(),
                })
            });
        }
        let is_url = word.starts_with("redis://") || word.starts_with("rediss://");
        let url = Secret::new(word).ok().filter(|_| is_url)?;
        Some(Self::Redis(RedisConfig {
            url,
            user: None,
            password: None,
            ca: None,
            prefix: default_prefix(),
            timeout: default_timeout(),
            id_ttl: default_id_ttl(),
            on_store_failure: OnStoreFailureConfig::default(),
        }))
    }
}

impl<'de> Deserialize<'de> for StateConfig {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(StateConfigVisitor)
    }
}

impl JsonSchema for StateConfig {
    fn schema_name() -> Cow<'static, str> {
        "StateConfig".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let mut sqlite = generator.subschema_for::<SqliteConfig>();
        sqlite.insert(
            "description".into(),
            "An SQLite file: state survives a restart.".into(),
        );
        let mut redis = generator.subschema_for::<RedisConfig>();
        redis.insert(
            "description".into(),
            "A Redis server: several gateways share the state.".into(),
        );
        json_schema!({
            "description": "Where state is kept: `memory`, `sqlite:PATH`, `redis://…`, or a mapping with options.",
            "type": ["string", "object"],
            "pattern": r"^(memory|sqlite:.+|rediss?://.+)$",
            "patternErrorMessage": WORDS,
            "properties": {"sqlite": sqlite, "redis": redis},
            "additionalProperties": false,
            "minProperties": 1,
            "maxProperties": 1
        })
    }
}

struct StateConfigVisitor;

/// The mappings.
#[derive(serde::Deserialize)]
#[serde(rename_all = "snake_case")]
enum StateMappingConfig {
    Sqlite(SqliteConfig),
    Redis(RedisConfig),
}

impl<'de> Visitor<'de> for StateConfigVisitor {
    type Value = StateConfig;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(WORDS)
    }

    fn visit_str<E: Error>(self, word: &str) -> Result<StateConfig, E> {
        StateConfig::from_word(word).ok_or_else(|| E::custom(WORDS))
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<StateConfig, A::Error> {
        let written = StateMappingConfig::deserialize(MapAccessDeserializer::new(map))?;
        Ok(match written {
            StateMappingConfig::Sqlite(config) => StateConfig::Sqlite(config),
            StateMappingConfig::Redis(config) => StateConfig::Redis(config),
        })
    }
}

fn default_path() -> PathBuf {
    "headgate-state.sqlite".into()
}

fn default_prefix() -> String {
    "headgate".into()
}

fn default_id_ttl() -> HumanDuration {
    ID_TTL
}

fn default_timeout() -> HumanDuration {
    HumanDuration::milliseconds(100)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn read(written: serde_json::Value) -> Result<StateConfig, serde_json::Error> {
        serde_json::from_value(written)
    }

    #[test]
    fn state_is_a_word_or_a_mapping() {
        assert_eq!(read(json!("memory")).unwrap(), StateConfig::Memory);
        assert_eq!(
            read(json!("sqlite:headgate-state.sqlite")).unwrap(),
            StateConfig::default()
        );
        assert_eq!(read(json!({"sqlite": {}})).unwrap(), StateConfig::default());
        let url = "rediss://gate:pw@redis.test:6380/2";
        let redis = read(json!(url)).unwrap();
        assert_eq!(redis, read(json!({"redis": {"url": url}})).unwrap());
        let StateConfig::Redis(redis) = redis else {
            panic!("{redis:?}");
        };
        assert_eq!(redis.url.expose(), url);
        assert_eq!(redis.timeout, HumanDuration::milliseconds(100));
        assert!(!format!("{redis:?}").contains("pw"), "{redis:?}");
    }

    #[test]
    fn what_is_no_store_is_refused() {
        for written in [
            json!("sqlite"),
            json!("sqlite:"),
            json!("disk"),
            json!("http://redis.test"),
            json!(3),
            json!({}),
            json!({"redis": {}}),
            json!({"memory": {}}),
            json!({"sqlite": {}, "redis": {"url": "redis://redis.test"}}),
        ] {
            assert!(read(written.clone()).is_err(), "{written}");
        }
    }
}
