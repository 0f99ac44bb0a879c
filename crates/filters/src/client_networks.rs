//! Networks that a filter's settings list, and the error for a client address that is not allowed.

use headgate_core::catalog::client_address::DownstreamClient;
use headgate_core::catalog::network::{NETWORK_HINT, Network};
use headgate_core::filter::descriptor::{InvalidSettings, read_settings};
use headgate_protocol::fault::{Fault, FaultKind};
use serde_json::Value;

/// Networks from a filter's settings; never empty.
pub struct ClientNetworkList(Vec<Network>);

impl ClientNetworkList {
    /// Parses the settings of a filter.
    ///
    /// # Errors
    /// The list is empty, or an entry is not a network; with the index of the entry.
    pub fn read(settings: &Value) -> Result<Self, InvalidSettings> {
        let texts: Vec<String> = read_settings(settings)?;
        if texts.is_empty() {
            return Err(InvalidSettings::new("must not be empty").hint(NETWORK_HINT));
        }
        let network = |(index, text): (usize, &String)| {
            Network::parse(text).ok_or_else(|| {
                InvalidSettings::new(format!("`{text}` is not an IP address or network"))
                    .at(format!("/{index}"))
                    .hint(NETWORK_HINT)
            })
        };
        let networks: Result<_, _> = texts.iter().enumerate().map(network).collect();
        networks.map(Self)
    }

    pub fn contain(&self, client: &DownstreamClient) -> bool {
        client.is_in(&self.0)
    }
}

/// The error for a request whose client address is not allowed.
pub fn address_refused() -> Fault {
    Fault::new(
        FaultKind::Forbidden,
        "your IP address is not allowed on this path; ask the operator of this gateway",
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn addresses_of_both_families_are_in_the_list_or_not() {
        let settings = json!(["10.0.0.0/8", "2001:db8::/32", "192.0.2.7"]);
        let ClientNetworkList(listed) = ClientNetworkList::read(&settings).unwrap();
        for (address, expected) in [
            ("10.1.2.3", true),
            ("::ffff:10.1.2.3", true),
            ("2001:db8:1::1", true),
            ("192.0.2.7", true),
            ("192.0.2.8", false),
            ("::ffff:192.0.2.8", false),
            ("2001:db9::1", false),
            ("::1", false),
        ] {
            let is_in = |network: &Network| network.contains(address.parse().unwrap());
            assert_eq!(listed.iter().any(is_in), expected, "{address}");
        }
    }

    #[test]
    fn an_entry_that_is_no_network_is_refused_with_its_place() {
        for (settings, pointer) in [
            (json!(["10.0.0.0/8", "10.0.0.0/33"]), "/1"),
            (json!(["office"]), "/0"),
            (json!([]), ""),
        ] {
            let invalid = ClientNetworkList::read(&settings).err().unwrap();
            assert_eq!(invalid.pointer, pointer, "{settings}");
        }
    }
}
