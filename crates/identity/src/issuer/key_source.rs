//! Where the keys of an issuer are, and the URLs that keys may come from.

use headgate_core::catalog::base_url::{self, BaseUrl};
use headgate_core::catalog::egress::{EgressException, EgressPolicy};
use headgate_expression::IpAddr;
use std::sync::Arc;

/// Where the keys of an issuer are.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum KeySource {
    KeySet(Arc<str>),
    /// The document of OpenID Connect's discovery of this issuer has the URL.
    Discovery(Arc<str>),
}

impl KeySource {
    /// The URL that is fetched first.
    pub fn url(&self) -> String {
        match self {
            Self::KeySet(url) => url.to_string(),
            Self::Discovery(issuer) => {
                let issuer = issuer.trim_end_matches('/');
                format!("{issuer}/.well-known/openid-configuration")
            }
        }
    }
}

/// Parses the URL of keys: https, or http on a loopback address.
///
/// # Errors
/// What is wrong with it.
pub(crate) fn parse_key_url(url: &str) -> Result<BaseUrl, String> {
    let (parsed, _) = base_url::parse_with_query(url)?;
    match parsed.tls || is_loopback(&parsed.host) {
        true => Ok(parsed),
        false => Err("keys come by https only, or by http from a loopback address".to_owned()),
    }
}

fn is_loopback(host: &str) -> bool {
    host.eq_ignore_ascii_case("localhost")
        || host
            .parse::<IpAddr>()
            .is_ok_and(|address| address.is_loopback())
}

/// What a fetch of keys may connect to: the host that the operator has configured, wherever it is, and public addresses.
pub(crate) fn key_egress(configured: &BaseUrl, egress: &EgressPolicy) -> EgressPolicy {
    EgressPolicy {
        allowed: vec![EgressException::Host {
            host: configured.host.clone(),
            port: Some(configured.port),
        }],
        proxy: egress.proxy.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_come_by_https_or_from_the_machine_itself() {
        for (url, is_allowed) in [
            ("https://login.example/keys", true),
            ("https://login.example/keys?p=b2c", true),
            ("https://10.0.0.1/keys", true),
            ("http://127.0.0.1:8080/keys", true),
            ("http://[::1]/keys", true),
            ("http://localhost/keys", true),
            ("http://login.example/keys", false),
            ("http://10.0.0.1/keys", false),
            ("http://127.0.0.1.login.example/keys", false),
            ("http://127.0.0.1@login.example/keys", false),
            ("https://user:pass@login.example/keys", false),
            ("https://login.example/keys#a", false),
            ("file:///etc/keys", false),
            ("login.example/keys", false),
        ] {
            assert_eq!(parse_key_url(url).is_ok(), is_allowed, "{url}");
        }
    }
}
