//! Builds `server.client_address` from its configuration.

use super::ProblemCollector;
use crate::catalog::client_address::{AddressSource, ClientAddressResolver};
use crate::catalog::network::{NETWORK_HINT, Network};
use crate::config::client_address::{AddressSourceConfig, ClientAddressConfig};

const AT: &str = "/server/client_address";

pub(crate) fn build(
    config: &ClientAddressConfig,
    problems: &mut ProblemCollector<'_>,
) -> ClientAddressResolver {
    let ClientAddressConfig { from, trusted } = config;
    let source = match from {
        AddressSourceConfig::Socket => AddressSource::Socket,
        AddressSourceConfig::ProxyProtocol => AddressSource::ProxyProtocol,
        AddressSourceConfig::XForwardedFor => AddressSource::XForwardedFor,
        AddressSourceConfig::Forwarded => AddressSource::Forwarded,
    };
    match (source, trusted.is_empty()) {
        (AddressSource::Socket, false) => problems.warning(
            &format!("{AT}/trusted"),
            "`trusted` has no effect while `from` is `socket`",
            Some("set `from`, for example to `x_forwarded_for`, or remove `trusted`"),
        ),
        (AddressSource::Socket, true) | (_, false) => {}
        (_, true) => problems.error(
            AT,
            "missing required key `trusted`: addresses are read from trusted proxies only",
            Some(
                "list the networks of the proxies in front of the gateway, such as `[10.0.0.0/8]`",
            ),
        ),
    }
    let networks = trusted.iter().enumerate().filter_map(|(index, text)| {
        let network = Network::parse(text);
        if network.is_none() {
            problems.error(
                &format!("{AT}/trusted/{index}"),
                format!("`{text}` is not an IP address or network"),
                Some(NETWORK_HINT),
            );
        }
        network
    });
    ClientAddressResolver {
        trusted: networks.collect(),
        source,
    }
}
