//! Builds outbound proxies: of a URL, or of the variables of the environment that name one.

use super::{ProblemCollector, VariableLookup};
use headgate_core::catalog::base_url::BaseUrl;
use headgate_core::catalog::network::Network;
use headgate_core::catalog::outbound_proxy::OutboundProxy;
use headgate_core::scalar::Secret;
use std::net::IpAddr;
use std::sync::Arc;

/// The value that reads the variables.
pub(super) const ENVIRONMENT: &str = "environment";

/// Variables for servers with TLS, the first one that is set decides.
const TLS_VARIABLES: [&str; 4] = ["https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"];
/// Variables for servers without TLS.
const PLAIN_VARIABLES: [&str; 4] = ["http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"];
/// Variables with hosts to which there is no proxy.
const EXCEPTION_VARIABLES: [&str; 2] = ["no_proxy", "NO_PROXY"];

/// The proxy of a channel; `None` if it connects directly, or the setting has a problem.
pub(super) fn for_channel(
    setting: Option<&Secret>,
    server: &BaseUrl,
    variables: &VariableLookup,
    at: &str,
    problems: &mut ProblemCollector<'_>,
) -> Option<Arc<OutboundProxy>> {
    let setting = setting?.expose();
    if setting != ENVIRONMENT {
        return from_url(setting, at, problems);
    }
    let names = match server.tls {
        true => TLS_VARIABLES,
        false => PLAIN_VARIABLES,
    };
    let variable = |name: &'static str| {
        let value = variables(name)?;
        (!value.is_empty()).then_some((name, value))
    };
    let Some((name, url)) = names.into_iter().find_map(variable) else {
        let hint = format!("set one of `{}`, or remove `proxy`", names.join("`, `"));
        let reason = "no variable of the environment has a proxy: the channel connects directly";
        problems.warning(at, reason, Some(&hint));
        return None;
    };
    let exceptions = EXCEPTION_VARIABLES.into_iter().find_map(variable);
    if exceptions.is_some_and(|(_, list)| is_exception(&list, &server.host, server.port)) {
        return None;
    }
    // Most programs accept a proxy without its scheme there.
    let url = match url.contains("://") {
        true => url,
        false => format!("http://{url}"),
    };
    match OutboundProxy::parse(&url) {
        Ok(proxy) => Some(Arc::new(proxy)),
        Err(reason) => {
            problems.error(at, format!("variable `{name}`: {reason}"), None);
            None
        }
    }
}

/// The proxy of a URL; `None` if it has a problem.
pub(super) fn from_url(
    url: &str,
    at: &str,
    problems: &mut ProblemCollector<'_>,
) -> Option<Arc<OutboundProxy>> {
    let parsed = OutboundProxy::parse(url);
    let parsed = parsed.map_err(|reason| problems.error(at, reason, None));
    parsed.ok().map(Arc::new)
}

/// Whether a list such as `localhost,.example.com,10.0.0.0/8` has a host.
fn is_exception(list: &str, host: &str, port: u16) -> bool {
    let entries = list.split([',', ' ']).map(str::trim);
    let mut entries = entries.filter(|entry| !entry.is_empty());
    entries.any(|entry| entry == "*" || is_host(entry, host, port))
}

fn is_host(entry: &str, host: &str, port: u16) -> bool {
    let address = host.parse::<IpAddr>();
    if let (Ok(address), Some(network)) = (&address, Network::parse(entry)) {
        return network.contains(*address);
    }
    let (name, entry_port) = match entry.rsplit_once(':') {
        Some((name, digits)) if !name.contains(':') || name.ends_with(']') => {
            (name, digits.parse::<u16>().ok())
        }
        _ => (entry, None),
    };
    if entry_port.is_some_and(|wanted| wanted != port) {
        return false;
    }
    let name = name.trim_start_matches('[').trim_end_matches(']');
    let name = name.trim_start_matches('*').trim_start_matches('.');
    let (name, host) = (name.to_ascii_lowercase(), host.to_ascii_lowercase());
    let is_below = || {
        let before = host.strip_suffix(&*name);
        address.is_err() && before.is_some_and(|before| before.ends_with('.'))
    };
    !name.is_empty() && (host == name || is_below())
}

#[cfg(test)]
mod tests {
    use super::is_exception;

    #[test]
    fn a_host_is_an_exception_by_name_domain_network_or_port() {
        for (list, host, expected) in [
            ("", "x.example", false),
            ("*", "x.example", true),
            ("x.example", "X.Example", true),
            ("example", "x.example", true),
            (".example", "x.example", true),
            ("*.example", "x.example", true),
            ("ample", "x.example", false),
            ("a, x.example ,b", "x.example", true),
            ("x.example:443", "x.example", true),
            ("x.example:80", "x.example", false),
            ("127.0.0.1", "127.0.0.1", true),
            ("127.0.0.1:443", "127.0.0.1", true),
            ("127.0.0.1:80", "127.0.0.1", false),
            ("10.0.0.0/8", "10.1.2.3", true),
            ("10.0.0.0/8", "11.1.2.3", false),
            ("0.0.1", "127.0.0.1", false),
            ("::1", "::1", true),
            ("[::1]:443", "::1", true),
            ("localhost", "x.example", false),
        ] {
            assert_eq!(is_exception(list, host, 443), expected, "{list} {host}");
        }
    }
}
