//! Where state is kept.

use super::OnStoreFailure;
use crate::scalar::Secret;
use redis::{Client, IntoConnectionInfo, TlsCertificates};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Where state is kept.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum StoreSettings {
    #[default]
    Memory,
    File(SqliteSettings),
    Redis(Box<RedisSettings>),
}

/// An SQLite file.
#[derive(Clone, Debug, PartialEq)]
pub struct SqliteSettings {
    pub path: PathBuf,
    /// How long an unused id is kept.
    pub keep: Duration,
}

/// A Redis.
#[derive(Clone, Debug, PartialEq)]
pub struct RedisSettings {
    /// `redis://` or `rediss://`; may hold user and password.
    pub url: Secret,
    pub user: Option<String>,
    pub password: Option<Secret>,
    /// Authorities to trust instead of the system's, in PEM.
    pub ca: Option<Vec<u8>>,
    /// Begins every key.
    pub prefix: String,
    /// How long a request waits for an answer.
    pub wait: Duration,
    /// How long an unused id is kept.
    pub keep: Duration,
    pub limits_when_away: OnStoreFailure,
}

impl StoreSettings {
    /// The file it is kept in, beside which SQLite keeps more whose names begin with its own.
    pub fn file(&self) -> Option<&Path> {
        match self {
            Self::File(site) => Some(&site.path),
            Self::Memory | Self::Redis(_) => None,
        }
    }
}

impl RedisSettings {
    /// What connects there; nothing is sent yet.
    ///
    /// # Errors
    /// A sentence: the URL is none, or the authorities cannot be used. It holds no secret.
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
