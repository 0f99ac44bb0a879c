//! Headers of a provider's responses that an operator shows to callers, besides those that every caller gets.

use crate::credential_names::names_credential;
use crate::header_policy::granted_response_headers;
use crate::mask::ChannelSecrets;
use http::{HeaderMap, HeaderName};

/// Headers by their names, and by the beginnings of their names.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ShownResponseHeaders {
    names: Vec<HeaderName>,
    prefixes: Vec<String>,
}

/// Why a pattern is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ShownHeaderError {
    #[error("expected a header name, or the beginning of one with `*` at its end")]
    NoHeaderName,
    #[error(
        "an asterisk alone shows everything: providers' headers name their accounts and their infrastructure"
    )]
    Everything,
    #[error("this header cannot be listed: {0}")]
    Never(&'static str),
}

/// Why a provider's header of this name never reaches callers; `None` if it may.
pub fn reason_to_withhold(name: &str) -> Option<&'static str> {
    const CONNECTION: &str = "it describes the connection to the provider";
    const BODY: &str = "it describes the body, which the gateway may change";
    const ORIGIN: &str = "browsers would apply it to the gateway's own origin";
    const OWN: &str = "the gateway sets it itself";
    const CREDENTIAL: &str = "it carries a credential";
    const INSTRUCTION: &str = "a proxy before the gateway would obey it";
    match name {
        "alt-svc"
        | "connection"
        | "early-data"
        | "forwarded"
        | "keep-alive"
        | "proxy-authenticate"
        | "proxy-authentication-info"
        | "proxy-connection"
        | "te"
        | "trailer"
        | "transfer-encoding"
        | "upgrade"
        | "via" => Some(CONNECTION),
        "accept-ranges" | "content-encoding" | "content-length" | "content-range" => Some(BODY),
        "allow"
        | "clear-site-data"
        | "content-location"
        | "cross-origin-embedder-policy"
        | "cross-origin-opener-policy"
        | "cross-origin-resource-policy"
        | "link"
        | "location"
        | "nel"
        | "origin-agent-cluster"
        | "refresh"
        | "report-to"
        | "reporting-endpoints"
        | "service-worker-allowed"
        | "sourcemap"
        | "strict-transport-security" => Some(ORIGIN),
        "age" | "date" | "request-id" | "vary" | "x-request-id" | "x-should-retry" => Some(OWN),
        "authentication-info" | "www-authenticate" => Some(CREDENTIAL),
        _ if name.starts_with("access-control-") || name.starts_with("content-security-policy") => {
            Some(ORIGIN)
        }
        "x-sendfile" => Some(INSTRUCTION),
        _ if name.starts_with("x-accel-") => Some(INSTRUCTION),
        _ if name.starts_with("x-headgate-") => Some(OWN),
        _ if names_credential(name.as_bytes()) => Some(CREDENTIAL),
        _ => None,
    }
}

impl ShownResponseHeaders {
    /// Adds a name, or the beginning of names with `*` at its end.
    ///
    /// # Errors
    /// It is neither, or what it names never reaches callers.
    pub fn add(&mut self, pattern: &str) -> Result<(), ShownHeaderError> {
        let (text, is_prefix) = match pattern.strip_suffix('*') {
            Some(text) => (text, true),
            None => (pattern, false),
        };
        if is_prefix && text.is_empty() {
            return Err(ShownHeaderError::Everything);
        }
        let name: HeaderName = text.parse().map_err(|_| ShownHeaderError::NoHeaderName)?;
        if text.contains('*') {
            return Err(ShownHeaderError::NoHeaderName);
        }
        if let Some(reason) = reason_to_withhold(name.as_str()) {
            return Err(ShownHeaderError::Never(reason));
        }
        match is_prefix {
            true => self.prefixes.push(name.as_str().to_owned()),
            false => self.names.push(name),
        }
        Ok(())
    }

    /// Adds the headers of a provider's response, without values that reveal one of `secrets`.
    pub fn add_to(
        &self,
        headers: &mut HeaderMap,
        from_provider: &HeaderMap,
        secrets: &ChannelSecrets,
    ) {
        if self.names.is_empty() && self.prefixes.is_empty() {
            return;
        }
        let shown = from_provider.keys().filter(|name| {
            let is_new = !headers.contains_key(*name);
            is_new && self.covers(name) && reason_to_withhold(name.as_str()).is_none()
        });
        let shown: Vec<HeaderName> = shown.cloned().collect();
        headers.extend(granted_response_headers(from_provider, &shown, secrets));
    }

    fn covers(&self, name: &HeaderName) -> bool {
        let mut prefixes = self.prefixes.iter();
        self.names.contains(name) || prefixes.any(|prefix| name.as_str().starts_with(prefix))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::HeaderValue;

    fn shown(patterns: &[&str]) -> ShownResponseHeaders {
        let mut shown = ShownResponseHeaders::default();
        for pattern in patterns {
            shown
                .add(pattern)
                .unwrap_or_else(|error| panic!("{pattern}: {error}"));
        }
        shown
    }

    #[test]
    fn what_is_listed_is_shown_but_never_what_must_not_be() {
        let mut from_provider = HeaderMap::new();
        for (name, value) in [
            ("anthropic-ratelimit-requests-limit", "60"),
            ("anthropic-ratelimit-tokens-limit", "9"),
            ("anthropic-organization-id", "org"),
            ("x-region", "eu"),
            ("x-region", "us"),
            ("x-zone", "sk-upstream-secret"),
            ("x-hop", "1"),
            ("connection", "x-hop"),
            ("x-should-retry", "true"),
            ("x-api-key", "k"),
            ("x-headgate-attempts", "9"),
            ("set-cookie", "a=b"),
            ("server", "provider"),
        ] {
            from_provider.append(name, HeaderValue::from_static(value));
        }
        let secrets = ChannelSecrets::new(["sk-upstream-secret"]);
        for (patterns, expected) in [
            (&[][..], &[][..]),
            (
                &["Anthropic-RateLimit-*"],
                &[
                    "anthropic-ratelimit-requests-limit",
                    "anthropic-ratelimit-tokens-limit",
                ],
            ),
            (&["x-*", "se*"], &["server", "x-region", "x-region"]),
            (&["x-region", "x-zone", "x-none"], &["x-region", "x-region"]),
        ] {
            let mut headers = HeaderMap::new();
            shown(patterns).add_to(&mut headers, &from_provider, &secrets);
            let mut names: Vec<&str> = headers.iter().map(|(name, _)| name.as_str()).collect();
            names.sort_unstable();
            assert_eq!(names, expected, "{patterns:?}");
        }
        let mut headers = HeaderMap::new();
        headers.insert("x-region", HeaderValue::from_static("own"));
        shown(&["x-region"]).add_to(&mut headers, &from_provider, &secrets);
        assert_eq!(
            headers.get_all("x-region").iter().count(),
            1,
            "what is there stays"
        );
    }

    #[test]
    fn what_never_reaches_callers_is_refused() {
        for pattern in [
            "",
            "*",
            "a b*",
            "a*b",
            "a**",
            "connection",
            "Keep-Alive",
            "proxy-authenticate",
            "transfer-encoding",
            "content-length",
            "Content-Encoding",
            "content-range",
            "location",
            "refresh",
            "link",
            "alt-svc",
            "strict-transport-security",
            "access-control-allow-origin",
            "Access-Control-*",
            "content-security-policy*",
            "x-should-retry",
            "x-request-id",
            "request-id",
            "x-headgate-*",
            "x-headgate-attempts",
            "x-accel-redirect",
            "X-Accel-*",
            "x-sendfile",
            "set-cookie",
            "set-cookie2",
            "authorization",
            "www-authenticate",
            "x-api-key",
            "x-amz-security-token",
            "date",
        ] {
            let mut shown = ShownResponseHeaders::default();
            assert!(shown.add(pattern).is_err(), "{pattern}");
            assert_eq!(shown, ShownResponseHeaders::default(), "{pattern}");
        }
    }
}
