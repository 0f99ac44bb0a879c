//! A network in `routes.yaml`: `10.0.0.0/8`, `2001:db8::/32`, or one address.

use ipnet::{IpNet, Ipv4Net};
use std::net::IpAddr;

/// The message for a text that is not a network.
pub const NETWORK_HINT: &str = "expected an IP address or a network in CIDR notation, such as `10.0.0.0/8`, `2001:db8::/32` or `192.0.2.7`";

/// The length of the prefix `::ffff:0:0/96` of IPv4-mapped IPv6 addresses.
const MAPPED_BITS: u8 = 96;

/// A network in CIDR notation. IPv4-mapped IPv6 addresses count as IPv4 addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Network(IpNet);

impl Network {
    /// Parses a network, or an address as a network of one address; `None` if the text is neither.
    pub fn parse(text: &str) -> Option<Self> {
        let network = match text.parse::<IpAddr>() {
            Ok(address) => IpNet::from(address),
            Err(_) => text.parse::<IpNet>().ok()?,
        };
        Some(Self(unmapped(network).trunc()))
    }

    pub fn contains(&self, address: IpAddr) -> bool {
        self.0.contains(&address.to_canonical())
    }
}

fn unmapped(network: IpNet) -> IpNet {
    let carried = match network {
        IpNet::V6(network) => network.addr().to_ipv4_mapped(),
        IpNet::V4(_) => None,
    };
    let own_bits = network.prefix_len().checked_sub(MAPPED_BITS);
    match (carried, own_bits) {
        (Some(address), Some(bits)) => Ipv4Net::new(address, bits).map_or(network, IpNet::V4),
        _ => network,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_network_has_the_addresses_that_share_its_first_bits() {
        for (network, address, is_in) in [
            ("10.0.0.0/8", "10.1.2.3", true),
            ("10.0.0.0/8", "11.0.0.1", false),
            ("10.0.0.0/8", "::ffff:10.1.2.3", true),
            ("10.0.0.0/8", "::10.1.2.3", false),
            ("10.1.2.3/8", "10.9.9.9", true),
            ("192.0.2.7", "192.0.2.7", true),
            ("192.0.2.7", "192.0.2.8", false),
            ("0.0.0.0/0", "203.0.113.1", true),
            ("0.0.0.0/0", "2001:db8::1", false),
            ("2001:db8::/32", "2001:db8:1::1", true),
            ("2001:db8::/32", "2001:db9::1", false),
            ("::1", "::1", true),
            ("::ffff:10.0.0.0/104", "10.1.2.3", true),
            ("::ffff:10.0.0.0/104", "::ffff:10.1.2.3", true),
            ("::ffff:10.0.0.0/104", "11.1.2.3", false),
            ("::ffff:192.0.2.7", "192.0.2.7", true),
            ("::/0", "2001:db8::1", true),
            // An IPv4-mapped address counts as IPv4.
            ("::/0", "::ffff:10.1.2.3", false),
        ] {
            let network = Network::parse(network).unwrap();
            let address = address.parse().unwrap();
            assert_eq!(network.contains(address), is_in, "{network:?} {address}");
        }
    }

    #[test]
    fn what_is_no_network_is_refused() {
        for text in [
            "",
            "10.0.0.0/33",
            "::/129",
            "10.0.0/8",
            "10.0.0.0/",
            "10.0.0.0/8/8",
            "10.0.0.0/-1",
            "localhost",
            "[::1]",
            "10.0.0.1:80",
            "10.0.0.0/255.0.0.0",
            " 10.0.0.1",
            "010.0.0.1",
        ] {
            assert_eq!(Network::parse(text), None, "{text}");
        }
    }
}
