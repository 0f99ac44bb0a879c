//! A named key of a caller: when it is valid, and what it may be used for.

use super::client_address::DownstreamClient;
use super::network::Network;
use crate::scalar::model_pattern::ModelPattern;
use crate::timestamp::rfc3339;
use std::fmt;
use std::sync::Arc;
use std::time::SystemTime;

/// A named key of a caller. What it is restricted to is a part of what its caller may do.
#[derive(Debug, Default)]
pub struct CallerKey {
    /// Its name in logs, metrics and findings.
    pub label: Arc<str>,
    /// The key is refused before this time.
    pub not_before: Option<SystemTime>,
    /// The key is refused from this time on.
    pub not_after: Option<SystemTime>,
    /// Models that it is restricted to.
    pub models: Option<Vec<ModelPattern>>,
    /// Names of routes that it is restricted to.
    pub routes: Option<Vec<Box<str>>>,
    /// Networks of clients that it is restricted to.
    pub networks: Option<Vec<Network>>,
}

/// Why a key does not authenticate a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallerKeyRefusal {
    NotYetValid(SystemTime),
    Expired(SystemTime),
    Route,
    Network,
}

impl CallerKey {
    /// Checks the use of the key at `now`, on a route, by a client.
    ///
    /// # Errors
    /// The first restriction that excludes it. Those of time come first: whoever has an expired key learns nothing about it.
    pub fn check(
        &self,
        now: impl FnOnce() -> SystemTime,
        route: &str,
        client: Option<&DownstreamClient>,
    ) -> Result<(), CallerKeyRefusal> {
        if self.not_before.is_some() || self.not_after.is_some() {
            self.check_time(now())?;
        }
        let serves_route =
            |routes: &Vec<Box<str>>| routes.iter().any(|allowed| **allowed == *route);
        if !self.routes.as_ref().is_none_or(serves_route) {
            return Err(CallerKeyRefusal::Route);
        }
        let is_listed =
            |networks: &Vec<Network>| client.is_some_and(|client| client.is_in(networks));
        match self.networks.as_ref().is_none_or(is_listed) {
            true => Ok(()),
            false => Err(CallerKeyRefusal::Network),
        }
    }

    fn check_time(&self, now: SystemTime) -> Result<(), CallerKeyRefusal> {
        match (self.not_before, self.not_after) {
            (Some(begin), _) if now < begin => Err(CallerKeyRefusal::NotYetValid(begin)),
            (_, Some(end)) if now >= end => Err(CallerKeyRefusal::Expired(end)),
            (_, _) => Ok(()),
        }
    }
}

/// For the operator: what refuses the key.
impl fmt::Display for CallerKeyRefusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotYetValid(begin) => write!(f, "not valid before {}", rfc3339(*begin)),
            Self::Expired(end) => write!(f, "expired at {}", rfc3339(*end)),
            Self::Route => f.write_str("not allowed on this route"),
            Self::Network => f.write_str("not allowed from this network"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalog::client_address::ClientAddressResolver;
    use http::HeaderMap;
    use std::time::Duration;

    #[test]
    fn a_key_is_valid_from_its_first_moment_until_its_last() {
        let at = |seconds| SystemTime::UNIX_EPOCH + Duration::from_secs(seconds);
        let key = CallerKey {
            not_before: Some(at(10)),
            not_after: Some(at(20)),
            ..CallerKey::default()
        };
        for (now, expected) in [
            (9, Err(CallerKeyRefusal::NotYetValid(at(10)))),
            (10, Ok(())),
            (19, Ok(())),
            (20, Err(CallerKeyRefusal::Expired(at(20)))),
            (21, Err(CallerKeyRefusal::Expired(at(20)))),
        ] {
            assert_eq!(key.check(|| at(now), "chat", None), expected, "{now}");
        }
    }

    #[test]
    fn a_restricted_key_is_refused_elsewhere() {
        let key = CallerKey {
            routes: Some(vec!["chat".into()]),
            ..CallerKey::default()
        };
        let now = SystemTime::now;
        assert_eq!(key.check(now, "chat", None), Ok(()));
        assert_eq!(key.check(now, "images", None), Err(CallerKeyRefusal::Route));
        let key = CallerKey {
            networks: Network::parse("10.0.0.0/8").map(|network| vec![network]),
            ..CallerKey::default()
        };
        let client = |address: &str| {
            let peer = format!("{address}:1").parse().unwrap();
            ClientAddressResolver::default().resolve_client(peer, &HeaderMap::new())
        };
        let inside = client("10.1.2.3");
        let outside = client("192.0.2.1");
        assert_eq!(key.check(now, "chat", Some(&inside)), Ok(()));
        for client in [Some(&outside), None] {
            assert_eq!(
                key.check(now, "chat", client),
                Err(CallerKeyRefusal::Network)
            );
        }
    }
}
