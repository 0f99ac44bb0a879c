//! The client of the configured Redis.

use headgate_core::state::settings::RedisSettings;
use redis::{Client, IntoConnectionInfo, TlsCertificates};

/// A client for these settings. It does not connect yet.
///
/// # Errors
/// A sentence without secrets: the URL is invalid, or the CA certificates cannot be used.
pub fn client(settings: &RedisSettings) -> Result<Client, String> {
    let url = settings.url.expose();
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
    if let Some(user) = &settings.user {
        login = login.set_username(user);
    }
    if let Some(password) = &settings.password {
        login = login.set_password(password.expose());
    }
    let info = info.set_redis_settings(login);
    let client = match &settings.ca {
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
