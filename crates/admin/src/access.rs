//! Who sends a request to the admin pages, and whether they may use a page.

use super::failed_keys::FailedKeyCounts;
use super::refusal::AdminRefusal;
use super::session::AdminSessions;
use headgate_config::snapshot::admin::{AdminAccessRules, AdminKey};
use headgate_core::catalog::caller::KeyDigest;
use headgate_core::serve::AppClientConnection;
use http::{HeaderMap, header};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Instant;

/// What protects the admin pages, besides the keys of the configuration.
pub struct AdminAuthenticator {
    /// The address of the listener.
    pub(super) listener: SocketAddr,
    pub(super) sessions: AdminSessions,
    failed_keys: FailedKeyCounts,
}

/// Who sends a request.
#[derive(Clone, Debug)]
pub(super) enum AdminUser {
    KeyHolder(Arc<AdminKey>),
    /// There are no keys, and only this machine reaches the listener.
    Loopback,
    /// There are no keys, and the configuration says that the listener needs none.
    WithoutKeys,
    Unknown,
}

impl AdminAuthenticator {
    /// Protects the pages of the listener at this address.
    pub fn new(listener: SocketAddr) -> Self {
        Self {
            listener,
            sessions: AdminSessions::default(),
            failed_keys: FailedKeyCounts::default(),
        }
    }

    /// Who sends a request with these headers. Without keys in the configuration, no key is read.
    pub(super) fn user(
        &self,
        headers: &HeaderMap,
        client: &AppClientConnection,
        rules: &AdminAccessRules,
    ) -> Result<AdminUser, AdminRefusal> {
        if !rules.has_keys() {
            return Ok(match self.listener.ip().to_canonical().is_loopback() {
                true => AdminUser::Loopback,
                false if rules.without_keys => AdminUser::WithoutKeys,
                false => AdminUser::Unknown,
            });
        }
        let mut authorizations = headers.get_all(header::AUTHORIZATION).iter();
        match (authorizations.next(), authorizations.next()) {
            (Some(one), None) => {
                let key = bearer(one.as_bytes()).ok_or(AdminRefusal::NoKey)?;
                let key = self.verified_key(key, client, rules)?;
                Ok(AdminUser::KeyHolder(key))
            }
            (Some(_), Some(_)) => Err(AdminRefusal::NoKey),
            (None, _) => {
                let key = self.key_of_session(headers, rules);
                Ok(key.map_or(AdminUser::Unknown, AdminUser::KeyHolder))
            }
        }
    }

    /// The admin key that equals `key`. Counts an invalid one, and logs it.
    pub(super) fn verified_key(
        &self,
        key: &[u8],
        client: &AppClientConnection,
        rules: &AdminAccessRules,
    ) -> Result<Arc<AdminKey>, AdminRefusal> {
        let now = Instant::now();
        if let Some(wait) = self.failed_keys.wait(client.address, now) {
            return Err(AdminRefusal::TooManyFailures { wait });
        }
        if let Some(key) = rules.key(&KeyDigest::from_key(key)) {
            return Ok(key.clone());
        }
        self.failed_keys.record(client.address, now);
        let peer = client.address.map(tracing::field::display);
        tracing::warn!(peer, "invalid admin key");
        Err(AdminRefusal::WrongKey)
    }

    /// The ids of sessions in the cookies of a request.
    pub(super) fn session_ids<'h>(
        &self,
        headers: &'h HeaderMap,
    ) -> impl Iterator<Item = &'h str> + use<'h> {
        let name = self.cookie_name();
        let cookies = headers.get_all(header::COOKIE).iter();
        let cookies = cookies.filter_map(|cookies| cookies.to_str().ok());
        cookies
            .flat_map(|cookies| cookies.split(';'))
            .filter_map(move |cookie| {
                let (named, id) = cookie.trim().split_once('=')?;
                (named == name).then_some(id)
            })
    }

    /// Browsers send cookies to all ports of a host: the name keeps sessions of several gateways apart.
    pub(super) fn cookie_name(&self) -> String {
        format!("headgate_admin_{}", self.listener.port())
    }

    /// The key of the session in the cookie, as it is configured now.
    fn key_of_session(
        &self,
        headers: &HeaderMap,
        rules: &AdminAccessRules,
    ) -> Option<Arc<AdminKey>> {
        let now = Instant::now();
        let mut digests = self
            .session_ids(headers)
            .filter_map(|id| self.sessions.key_digest(id, now));
        digests.find_map(|digest| rules.key(&digest).cloned())
    }
}

impl AdminUser {
    /// The name in the audit log: that of the key, or why none was needed.
    pub fn name(&self) -> &str {
        match self {
            Self::KeyHolder(key) => &key.name,
            Self::Loopback => "loopback",
            Self::WithoutKeys => "without_keys",
            Self::Unknown => "unknown",
        }
    }

    pub fn is_unknown(&self) -> bool {
        matches!(self, Self::Unknown)
    }
}

/// The key of `Authorization: Bearer KEY`.
fn bearer(value: &[u8]) -> Option<&[u8]> {
    let (scheme, key) = value.split_at_checked(b"bearer ".len())?;
    let key = Some(key.trim_ascii()).filter(|key| !key.is_empty())?;
    scheme.eq_ignore_ascii_case(b"bearer ").then_some(key)
}
