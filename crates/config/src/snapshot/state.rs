//! Builds the settings of the state store. Opens nothing.

use super::{ProblemCollector, pem};
use crate::state::{OnStoreFailureConfig, RedisConfig, SqliteConfig, StateConfig};
use headgate_core::state::OnStoreFailure;
use headgate_core::state::settings::{RedisSettings, SqliteSettings, StoreOpener, StoreSettings};
use std::path::Path;

/// Builds the settings that `config` describes; reports problems.
pub(crate) fn build(
    config: &StateConfig,
    folder: &Path,
    stores: &dyn StoreOpener,
    problems: &mut ProblemCollector<'_>,
) -> StoreSettings {
    match config {
        StateConfig::Memory => StoreSettings::Memory,
        StateConfig::Sqlite(config) => build_file(config, folder, problems),
        StateConfig::Redis(config) => build_redis(config, folder, stores, problems),
    }
}

fn build_file(
    config: &SqliteConfig,
    folder: &Path,
    problems: &mut ProblemCollector<'_>,
) -> StoreSettings {
    let SqliteConfig { path, id_ttl } = config;
    let path = folder.join(path);
    let parent = path
        .parent()
        .filter(|parent| !parent.as_os_str().is_empty());
    if parent.is_some_and(|parent| !parent.is_dir()) {
        problems.error(
            "/state",
            "the folder of this file does not exist",
            Some("create it; the path is relative to the folder of routes.yaml"),
        );
    }
    StoreSettings::File(SqliteSettings {
        path,
        id_ttl: id_ttl.duration(),
    })
}

fn build_redis(
    config: &RedisConfig,
    folder: &Path,
    stores: &dyn StoreOpener,
    problems: &mut ProblemCollector<'_>,
) -> StoreSettings {
    let RedisConfig {
        url,
        user,
        password,
        ca,
        prefix,
        timeout,
        id_ttl,
        on_store_failure,
    } = config;
    let ca = ca.as_ref().and_then(|file| {
        let path = folder.join(file);
        let read = pem::authorities(&path).and_then(|_| pem::read(&path));
        read.map_err(|reason| problems.error("/state/redis/ca", reason, Some(pem::hint("ca"))))
            .ok()
    });
    let site = RedisSettings {
        url: url.clone(),
        user: user.clone(),
        password: password.clone(),
        ca,
        prefix: prefix.clone(),
        timeout: timeout.duration(),
        id_ttl: id_ttl.duration(),
        on_store_failure: match on_store_failure {
            OnStoreFailureConfig::Allow => OnStoreFailure::Allow,
            OnStoreFailureConfig::Deny => OnStoreFailure::Deny,
        },
    };
    if let Err(reason) = stores.check_redis(&site) {
        problems.error(
            "/state/redis/url",
            reason,
            Some("such as `redis://host:6379/0`, or `rediss://…` for TLS"),
        );
    }
    StoreSettings::Redis(Box::new(site))
}
