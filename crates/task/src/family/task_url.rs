//! URLs at which a provider says that a task is queried, and the hosts at which that may be.

use super::path_template::is_path_value;
use http::Uri;
use http::uri::Scheme;
use std::sync::Arc;

/// The maximum length of such a URL, in bytes: it becomes a part of the task id.
const URL_BYTES_MAX: usize = 1024;
/// The maximum number of labels of a host name (RFC 1035: 255 bytes).
const LABELS_MAX: usize = 127;

/// The scheme, host and port of a URL at which a task is queried.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaskUrl {
    pub is_https: bool,
    /// Without brackets.
    pub host: Arc<str>,
    pub port: u16,
    /// `host` or `host:port`, for the Host header.
    pub authority: String,
}

/// A pattern of hosts: a name or an address, in which each label may be `*`, and a port if it is not the usual one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostPattern {
    labels: Vec<String>,
    port: Option<u16>,
}

impl TaskUrl {
    /// The parts of an absolute URL; `None` for anything that not every reader takes apart in the same way.
    pub fn parse(url: &str) -> Option<Self> {
        let is_plain = url.len() <= URL_BYTES_MAX
            && url.bytes().all(|byte| byte.is_ascii_graphic())
            && !url.contains(['\\', '#', '@']);
        let uri: Uri = url.parse().ok().filter(|_| is_plain)?;
        let is_https = match uri.scheme() {
            Some(scheme) if *scheme == Scheme::HTTPS => true,
            Some(scheme) if *scheme == Scheme::HTTP => false,
            _ => return None,
        };
        let authority = uri.authority()?;
        let host = authority
            .host()
            .trim_matches(['[', ']'])
            .to_ascii_lowercase();
        let port = match authority.port() {
            Some(port) => port.as_u16(),
            None if authority.as_str().ends_with(':') => return None,
            None => usual_port(is_https),
        };
        let path = uri.path();
        let is_safe = path == "/" || is_path_value(&path.replace("%2e", ".").replace("%2E", "."));
        (is_safe && !host.is_empty() && port != 0).then(|| Self {
            is_https,
            host: host.into(),
            port,
            authority: authority.as_str().to_owned(),
        })
    }
}

impl HostPattern {
    /// # Errors
    /// A sentence that says what is wrong.
    pub fn parse(text: &str) -> Result<Self, &'static str> {
        let (host, port) = match text.rsplit_once(':') {
            Some((host, port)) if !host.contains(':') || host.ends_with(']') => {
                let port = port.parse().ok().filter(|port| *port != 0);
                (
                    host,
                    Some(port.ok_or("the port is not a number from 1 to 65535")?),
                )
            }
            _ => (text, None),
        };
        if host.starts_with('[') && host.ends_with(']') {
            let labels = vec![host.trim_matches(['[', ']']).to_ascii_lowercase()];
            return Ok(Self { labels, port });
        }
        let labels: Vec<String> = host.split('.').map(str::to_ascii_lowercase).collect();
        let is_label = |label: &String| {
            let is_name = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
            label == "*" || !label.is_empty() && label.bytes().all(is_name)
        };
        if !labels.iter().all(is_label) || labels.len() > LABELS_MAX {
            return Err("not a host: names of hosts consist of labels of letters, digits and `-`");
        }
        let after_last = labels.iter().rev().position(|label| label == "*");
        match after_last {
            Some(0 | 1) => Err("too many hosts match: at least two labels must follow a `*`"),
            Some(_) | None => Ok(Self { labels, port }),
        }
    }

    /// Whether a URL lies on such a host. A pattern without a port has the usual one of the URL's scheme.
    pub fn matches(&self, url: &TaskUrl) -> bool {
        let port = self.port.unwrap_or(usual_port(url.is_https));
        let mut labels = url.host.split('.');
        let mut patterns = self.labels.iter();
        let are_alike = match url.host.contains(':') {
            true => self.labels.len() == 1 && *self.labels[0] == *url.host,
            false => {
                patterns.all(|pattern| {
                    let label = labels.next();
                    label.is_some_and(|label| {
                        pattern == label || pattern == "*" && !label.is_empty()
                    })
                }) && labels.next().is_none()
            }
        };
        are_alike && port == url.port
    }
}

pub(super) fn begins_with_http(id: &str) -> bool {
    let begins_with = |scheme: &str| {
        let start = id.get(..scheme.len());
        start.is_some_and(|start| start.eq_ignore_ascii_case(scheme))
    };
    begins_with("https://") || begins_with("http://")
}

fn usual_port(is_https: bool) -> u16 {
    if is_https { 443 } else { 80 }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matches(pattern: &str, url: &str) -> bool {
        let pattern = HostPattern::parse(pattern).unwrap();
        TaskUrl::parse(url).is_some_and(|url| pattern.matches(&url))
    }

    #[test]
    fn a_pattern_matches_whole_labels_and_the_port() {
        for (pattern, url, expected) in [
            (
                "api.*.bfl.ai",
                "https://api.us1.bfl.ai/v1/get_result?id=1",
                true,
            ),
            ("api.*.bfl.ai", "https://API.US1.BFL.AI/x", true),
            ("api.*.bfl.ai", "https://api.us1.bfl.ai:443/x", true),
            ("api.*.bfl.ai", "https://api.us1.bfl.ai:8443/x", false),
            ("api.*.bfl.ai", "https://api.bfl.ai/x", false),
            ("api.*.bfl.ai", "https://api.a.b.bfl.ai/x", false),
            ("api.*.bfl.ai", "https://api..bfl.ai/x", false),
            ("api.*.bfl.ai", "https://api.us1.bfl.ai./x", false),
            (
                "api.*.bfl.ai",
                "https://api.us1.bfl.ai.other.example/x",
                false,
            ),
            (
                "api.*.bfl.ai",
                "https://other.example/api.us1.bfl.ai",
                false,
            ),
            (
                "api.*.bfl.ai",
                "https://api.us1.bfl.ai@other.example/x",
                false,
            ),
            (
                "api.*.bfl.ai",
                "https://other.example#api.us1.bfl.ai/x",
                false,
            ),
            ("localhost:81", "http://localhost:81/x", true),
            ("127.0.0.1", "http://127.0.0.1/x", true),
            ("127.0.0.1", "http://127.0.0.1:81/x", false),
            ("[::1]:81", "http://[::1]:81/x", true),
            ("[::1]", "http://[::1]:81/x", false),
        ] {
            assert_eq!(matches(pattern, url), expected, "{pattern} {url}");
        }
    }

    #[test]
    fn a_pattern_of_too_many_hosts_is_refused() {
        for pattern in [
            "",
            "*",
            "*.ai",
            "a.*",
            "a.*.ai",
            "a..b",
            "a b.example",
            "https://a.example",
            "a.example/x",
            "a*.example.com",
            "a.example:0",
            "a.example:x",
        ] {
            assert!(HostPattern::parse(pattern).is_err(), "{pattern}");
        }
    }

    #[test]
    fn a_url_that_readers_take_apart_differently_is_none() {
        let long = format!("https://a.example/{}", "x".repeat(URL_BYTES_MAX));
        for url in [
            "",
            "/x",
            "a.example/x",
            "ftp://a.example/x",
            "https:///x",
            "https://a.example:/x",
            "https://a.example:0/x",
            "https://u:p@a.example/x",
            "https://a.example/x#y",
            "https://a.example/x\\y",
            "https://a.example/../x",
            "https://a.example/%2e%2E/x",
            "https://a.example/x y",
            "https://a.example/x\r\nb: c",
            "https://b\u{fc}cher.example/",
            &long,
        ] {
            assert_eq!(TaskUrl::parse(url), None, "{url}");
        }
        assert!(TaskUrl::parse("https://a.example/v1/result?id=1&x=..").is_some());
        assert!(TaskUrl::parse("https://a.example").is_some());
    }
}
