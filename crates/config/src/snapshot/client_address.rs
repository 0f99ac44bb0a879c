//! Builds `server.client_address` from its configuration.

use super::ProblemCollector;
use crate::client_address::{AddressSourceConfig, ClientAddressConfig};
use headgate_core::catalog::client_address::{AddressSource, ClientAddressResolver};
use headgate_core::catalog::network::{NETWORK_HINT, Network};

const AT: &str = "/server/client_address";

pub(crate) fn build(
    config: &ClientAddressConfig,
    problems: &mut ProblemCollector<'_>,
) -> ClientAddressResolver {
    let ClientAddressConfig {
        source,
        trusted_proxies,
    } = config;
    let source = match source {
        AddressSourceConfig::Socket => AddressSource::Socket,
        AddressSourceConfig::ProxyProtocol => AddressSource::ProxyProtocol,
        AddressSourceConfig::XForwardedFor => AddressSource::XForwardedFor,
        AddressSourceConfig::Forwarded => AddressSource::Forwarded,
    };
    match (source, trusted_proxies.is_empty()) {
        (AddressSource::Socket, false) => problems.warning(
            &format!("{AT}/trusted_proxies"),
            "`trusted_proxies` has no effect while `source` is `socket`",
            Some("set `source`, for example to `x_forwarded_for`, or remove `trusted_proxies`"),
        ),
        (AddressSource::Socket, true) | (_, false) => {}
        (_, true) => problems.error(
            AT,
            "missing required key `trusted_proxies`: addresses are read from trusted proxies only",
            Some(
                "list the networks of the proxies in front of the gateway, such as `[10.0.0.0/8]`",
            ),
        ),
    }
    let networks = trusted_proxies
        .iter()
        .enumerate()
        .filter_map(|(index, text)| {
            let network = Network::parse(text);
            if network.is_none() {
                problems.error(
                    &format!("{AT}/trusted_proxies/{index}"),
                    format!("`{text}` is not an IP address or network"),
                    Some(NETWORK_HINT),
                );
            }
            network
        });
    ClientAddressResolver {
        trusted_proxies: networks.collect(),
        source,
    }
}
