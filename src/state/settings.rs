//! Settings of the state store.

use super::OnStoreFailure;
use crate::scalar::Secret;
use redis::{Client, IntoConnectionInfo, TlsCertificates};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Which state store is used.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum StoreSettings {
    #[default]
    Memory,
    File(SqliteSettings),
    Redis(Box<RedisSettings>),
}

/// Settings of the SQLite store.
#[derive(Clone, Debug, PartialEq)]
pub struct SqliteSettings {
    pub path: PathBuf,
    /// An id that was not used for this long is removed.
    pub id_ttl: Duration,
}

/// Settings of the Redis store.
#[derive(Clone, Debug, PartialEq)]
pub struct RedisSettings {
    /// The URL, `redis://` or `rediss://`; it may contain user and password.
    pub url: Secret,
    pub user: Option<String>,
    pub password: Option<Secret>,
    /// CA certificates to trust instead of the system's, in PEM.
    pub ca: Option<Vec<u8>>,
    /// The prefix of every key.
    pub prefix: String,
    /// The timeout of a command that a request waits for.
    pub timeout: Duration,
    /// An id that was not used for this long is removed.
    pub id_ttl: Duration,
    pub on_store_failure: OnStoreFailure,
}

impl StoreSettings {
    /// The database file, if there is one. SQLite's other files beside it have names that start with its name.
    pub fn file(&self) -> Option<&Path> {
        match self {
            Self::File(site) => Some(&site.path),
            Self::Memory | Self::Redis(_) => None,
        }
    }
}

impl RedisSettings {
    /// A client for these settings. It does not connect yet.
    ///
    /// # Errors
    /// A sentence without secrets: the URL is invalid, or the CA certificates cannot be used.
    pub fn client(&self) -> Result<Client, String> {
        let url = self.url.expose();
        let is_tls = url.starts_with("rediss://");
        if !is_tls && !url.starts_with("redis://") {
            return Err("the URL must begin with `redis://` or `rediss://`".into());
        }
        if url.contains('#') {
            return Err("the URL must not have a fragment (`#…`)".into());
        }
        let info = url
            .into_connection_info()
            .map_err(|error| format!("not a Redis URL: {}", error.category()))?;
        let mut login = info.redis_settings().clone().set_skip_set_lib_name();
        if let Some(user) = &self.user {
            login = login.set_username(user);
        }
        if let Some(password) = &self.password {
            login = login.set_password(password.expose());
        }
        let info = info.set_redis_settings(login);
        let client = match &self.ca {
            Some(_) if !is_tls => return Err("`ca` requires a `rediss://` URL".into()),
            Some(ca) => {
                let certificates = TlsCertificates {
                    client_tls: None,
                    root_cert: Some(ca.clone()),
                };
                Client::build_with_tls(info, certificates)
            }
            None => Client::open(info),
        };
        client.map_err(|error| error.to_string())
    }
}
