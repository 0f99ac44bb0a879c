//! Builds and checks who may use the admin pages: keys with their roles, host names, and pages that need no key.

use super::ProblemCollector;
use super::caller_keys::key_digests;
use crate::admin::{AdminKeyConfig, AdminRoleConfig, OpenAdminPageConfig};
use crate::callers::CallerConfig;
use crate::routes::ServerConfig;
use headgate_core::catalog::caller::KeyDigest;
use std::collections::HashSet;
use std::net::IpAddr;
use std::sync::Arc;

/// Who may use the admin pages. A reload applies changes.
#[derive(Debug)]
pub struct AdminAccessRules {
    keys: Vec<Arc<AdminKey>>,
    /// Host names in lower case, and IP addresses in their usual form.
    hosts: HashSet<Box<str>>,
    open: Vec<OpenAdminPage>,
    /// Whether an address other than loopback needs no keys.
    pub without_keys: bool,
}

/// An admin key: the digest, its holder and what it permits.
#[derive(Debug)]
pub struct AdminKey {
    pub name: Box<str>,
    pub digest: KeyDigest,
    pub role: AdminRole,
}

/// What an admin key permits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AdminRole {
    Read,
    Act,
    Issue,
}

/// A page that can be opened to requests without a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OpenAdminPage {
    Metrics,
    Healthz,
    Readyz,
}

impl AdminAccessRules {
    pub fn has_keys(&self) -> bool {
        !self.keys.is_empty()
    }

    /// Whether a key permits what this role does.
    pub fn has_role(&self, role: AdminRole) -> bool {
        self.keys.iter().any(|key| key.role == role)
    }

    /// The key with this digest. Compares with all keys, in a time that does not depend on their digests.
    pub fn key(&self, digest: &KeyDigest) -> Option<&Arc<AdminKey>> {
        self.keys.iter().fold(None, |found, key| {
            let is_equal = key.digest.is(digest);
            if is_equal { Some(key) } else { found }
        })
    }

    /// Whether the page needs no key.
    pub fn is_open(&self, page: OpenAdminPage) -> bool {
        self.open.contains(&page)
    }

    /// Whether `server.admin_hosts` or `server.admin` has this host, a name in lower case or an IP address.
    pub fn names_host(&self, host: &str) -> bool {
        self.hosts.contains(host)
    }
}

impl AdminRole {
    /// The name in the configuration and on the admin pages.
    pub fn name(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Act => "act",
            Self::Issue => "issue",
        }
    }
}

/// Why an address of the admin pages cannot be used without keys, with the ways out.
pub const KEYS_REQUIRED: &str =
    "other machines may reach this address of the admin pages, and no key protects them";
pub const KEYS_REQUIRED_HINT: &str = "add `server.admin_keys` (`headgate key new` prints a key and its digest), or write `server.admin_without_keys: true` if operators alone can reach the address";

/// Builds the rules; reports keys that two holders share, invalid hosts, and an address that requires keys.
pub(crate) fn build(
    config: &ServerConfig,
    callers: &[CallerConfig],
    problems: &mut ProblemCollector<'_>,
) -> AdminAccessRules {
    let host = address_host(&config.admin);
    let is_loopback = host.is_some_and(is_loopback);
    if !is_loopback && config.admin_keys.is_empty() && !config.admin_without_keys {
        problems.error("/server/admin", KEYS_REQUIRED, Some(KEYS_REQUIRED_HINT));
    }
    if config.admin_without_keys && !config.admin_keys.is_empty() {
        let hint = "remove `admin_without_keys`, or the keys";
        let reason = "`admin_without_keys` has no effect, since there are `admin_keys`";
        problems.warning("/server/admin_without_keys", reason, Some(hint));
    }
    let mut hosts = build_hosts(&config.admin_hosts, problems);
    hosts.extend(host.and_then(canonical));
    AdminAccessRules {
        keys: build_keys(&config.admin_keys, callers, problems),
        hosts,
        open: config.admin_open.iter().map(open_page).collect(),
        without_keys: config.admin_without_keys,
    }
}

/// The host of a configured address, without the brackets of IPv6.
fn address_host(address: &str) -> Option<&str> {
    let (host, _) = address.rsplit_once(':')?;
    Some(host.trim_start_matches('[').trim_end_matches(']'))
}

fn is_loopback(host: &str) -> bool {
    let address = host.parse::<IpAddr>();
    host.eq_ignore_ascii_case("localhost")
        || address.is_ok_and(|address| address.to_canonical().is_loopback())
}

/// A host name in lower case or an IP address in its usual form; `None` if the text is neither.
pub fn canonical(host: &str) -> Option<Box<str>> {
    let bare = host
        .strip_prefix('[')
        .and_then(|host| host.strip_suffix(']'));
    if let Ok(address) = bare.unwrap_or(host).parse::<IpAddr>() {
        return Some(address.to_canonical().to_string().into());
    }
    let name = host.strip_suffix('.').unwrap_or(host);
    let of_name = |byte: u8| byte.is_ascii_alphanumeric() || b"-._".contains(&byte);
    let is_name = !name.is_empty() && name.len() <= 253 && name.bytes().all(of_name);
    is_name.then(|| name.to_ascii_lowercase().into())
}

fn build_hosts(configs: &[String], problems: &mut ProblemCollector<'_>) -> HashSet<Box<str>> {
    let mut hosts = HashSet::new();
    for (index, host) in configs.iter().enumerate() {
        match canonical(host) {
            Some(host) => {
                hosts.insert(host);
            }
            None => problems.error(
                &format!("/server/admin_hosts/{index}"),
                format!("`{host}` is not a host name or an IP address"),
                Some("write the name alone, without scheme, port or `*`, such as `headgate.internal`"),
            ),
        }
    }
    hosts
}

fn build_keys(
    configs: &[AdminKeyConfig],
    callers: &[CallerConfig],
    problems: &mut ProblemCollector<'_>,
) -> Vec<Arc<AdminKey>> {
    let digests = callers.iter().flat_map(key_digests);
    let digests = digests.filter_map(|(_, digest)| digest);
    let of_callers: HashSet<KeyDigest> = digests.collect();
    let (mut names, mut digests) = (HashSet::new(), HashSet::new());
    let mut keys = Vec::new();
    for (index, config) in configs.iter().enumerate() {
        let at = format!("/server/admin_keys/{index}");
        if !names.insert(&config.name) {
            let reason = format!("duplicate admin key `{}`", config.name);
            problems.error(&format!("{at}/name"), reason, None);
        }
        let digest = KeyDigest::from_hex(&config.key_sha256);
        let reason = match digest {
            None => "expected a SHA-256 digest of 64 hex digits",
            Some(digest) if digest == KeyDigest::from_key(b"") => {
                "this is the digest of an empty key"
            }
            Some(digest) if of_callers.contains(&digest) => "a caller has the same key",
            Some(digest) if !digests.insert(digest) => "another admin key is the same",
            Some(digest) => {
                keys.push(Arc::new(AdminKey {
                    name: config.name.as_str().into(),
                    digest,
                    role: role(config.role),
                }));
                continue;
            }
        };
        let hint = "`headgate key new` prints a key and its digest";
        problems.error(&format!("{at}/key_sha256"), reason, Some(hint));
    }
    keys
}

fn role(config: AdminRoleConfig) -> AdminRole {
    match config {
        AdminRoleConfig::Read => AdminRole::Read,
        AdminRoleConfig::Act => AdminRole::Act,
        AdminRoleConfig::Issue => AdminRole::Issue,
    }
}

fn open_page(config: &OpenAdminPageConfig) -> OpenAdminPage {
    match config {
        OpenAdminPageConfig::Metrics => OpenAdminPage::Metrics,
        OpenAdminPageConfig::Healthz => OpenAdminPage::Healthz,
        OpenAdminPageConfig::Readyz => OpenAdminPage::Readyz,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_is_a_name_or_an_address() {
        for (text, expected) in [
            ("Gate.Internal", Some("gate.internal")),
            ("gate.internal.", Some("gate.internal")),
            ("10.0.0.1", Some("10.0.0.1")),
            ("[::1]", Some("::1")),
            ("0:0::1", Some("::1")),
            ("::ffff:10.0.0.1", Some("10.0.0.1")),
            ("http://gate.internal", None),
            ("gate.internal:9091", None),
            ("*.internal", None),
            ("", None),
            (".", None),
        ] {
            assert_eq!(canonical(text).as_deref(), expected, "{text}");
        }
    }

    #[test]
    fn only_an_address_of_the_machine_itself_is_loopback() {
        for (address, expected) in [
            ("127.0.0.1:9091", true),
            ("127.8.0.1:9091", true),
            ("[::1]:9091", true),
            ("[::ffff:127.0.0.1]:9091", true),
            ("LOCALHOST:0", true),
            ("0.0.0.0:9091", false),
            ("[::]:9091", false),
            ("localhost.example.com:9091", false),
            ("gate.internal:9091", false),
        ] {
            let host = address_host(address).unwrap();
            assert_eq!(is_loopback(host), expected, "{address}");
        }
    }
}
