//! Builds the egress policy from its configuration: exceptions by host and network.

use super::{ProblemCollector, outbound_proxies};
use crate::egress::EgressAllowlistConfig;
use headgate_core::catalog::egress::{EgressException, EgressPolicy};
use headgate_core::catalog::network::Network;
use std::net::IpAddr;

pub(crate) fn build(
    config: &EgressAllowlistConfig,
    problems: &mut ProblemCollector<'_>,
) -> EgressPolicy {
    let EgressAllowlistConfig { allow, proxy } = config;
    let set = allow.iter().enumerate();
    let set = set.filter(|(_, text)| !text.is_empty());
    let allowed = set.filter_map(|(index, text)| {
        let allowed = parse(text);
        if allowed.is_none() {
            problems.error(
                &format!("/egress/allow/{index}"),
                format!("`{text}` is not a host, `host:port` or network"),
                Some("write `media.example.com`, `127.0.0.1:9092`, `[::1]:9092` or `10.0.0.0/8`"),
            );
        }
        allowed
    });
    let allowed = allowed.collect();
    EgressPolicy {
        allowed,
        proxy: proxy.as_ref().and_then(|url| {
            // Which variable applies is a question of each URL.
            outbound_proxies::from_url(url.expose(), "/egress/proxy", problems)
        }),
    }
}

fn parse(text: &str) -> Option<EgressException> {
    if text.contains('/') {
        return Network::parse(text).map(EgressException::Network);
    }
    if let Ok(address) = text.parse::<IpAddr>() {
        return Some(host(&address.to_string(), None));
    }
    let (name, port) = match text.rsplit_once(':') {
        Some((name, port)) => (name, Some(port.parse().ok()?)),
        None => (text, None),
    };
    let bracketed = name
        .strip_prefix('[')
        .and_then(|name| name.strip_suffix(']'));
    match bracketed {
        Some(address) => Some(host(&address.parse::<IpAddr>().ok()?.to_string(), port)),
        None => {
            let is_part = |byte: u8| byte.is_ascii_alphanumeric() || b".-_".contains(&byte);
            (!name.is_empty() && name.bytes().all(is_part)).then(|| host(name, port))
        }
    }
}

fn host(host: &str, port: Option<u16>) -> EgressException {
    EgressException::Host {
        host: host.into(),
        port,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_exception_is_a_host_or_a_network() {
        for (text, allowed) in [
            ("media.example", Some(host("media.example", None))),
            (
                "media.example:8443",
                Some(host("media.example", Some(8443))),
            ),
            ("127.0.0.1", Some(host("127.0.0.1", None))),
            ("127.0.0.1:80", Some(host("127.0.0.1", Some(80)))),
            ("::1", Some(host("::1", None))),
            ("[::1]:80", Some(host("::1", Some(80)))),
            (
                "10.0.0.0/8",
                Network::parse("10.0.0.0/8").map(EgressException::Network),
            ),
            (
                "fd00::/8",
                Network::parse("fd00::/8").map(EgressException::Network),
            ),
            ("10.0.0.0/33", None),
            ("10.0.0/8", None),
            ("https://media.example", None),
            ("*.example", None),
            ("media.example:", None),
            ("", None),
        ] {
            assert_eq!(parse(text), allowed, "{text}");
        }
    }
}
