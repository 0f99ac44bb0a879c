//! `server.client_address` from its configuration.

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
            "`trusted` has no meaning where `from` is `socket`: no proxy is asked",
            Some("name the source in `from`, such as `x_forwarded_for`, or remove `trusted`"),
        ),
        (AddressSource::Socket, true) | (_, false) => {}
        (_, true) => problems.error(
            AT,
            "`trusted` is missing: clients' addresses are taken from trusted proxies only",
            Some("list the networks of the proxies before the gateway, such as `[10.0.0.0/8]`"),
        ),
    }
    let networks = trusted.iter().enumerate().filter_map(|(index, text)| {
        let network = Network::parse(text);
        if network.is_none() {
            problems.error(
                &format!("{AT}/trusted/{index}"),
                format!("`{text}` is neither a network nor an address"),
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
