//! `allow_ip`: only requests from the listed networks go on; 403 for all others.

use super::kind::{FilterKind, InvalidSettings, Place, Side, read_settings, settings_schema};
use super::view::RequestView;
use super::{Filter, Step};
use crate::catalog::network::{NETWORK_HINT, Network};
use crate::protocol::fault::{Fault, FaultKind};
use serde_json::Value;
use std::sync::Arc;

pub const KIND: FilterKind = FilterKind {
    name: "allow_ip",
    summary: "Lets requests pass whose client's address is in one of the listed networks; 403 for all others.",
    side: Side::Request,
    place: Place::ANYWHERE,
    settings: Some(settings_schema::<Vec<String>>),
    bare: false,
    build: |settings, _| {
        Ok(Arc::new(AllowIp {
            networks: networks(settings)?,
        }))
    },
};

struct AllowIp {
    networks: Vec<Network>,
}

impl Filter for AllowIp {
    fn on_head<'a>(&'a self, request: &'a mut RequestView) -> Step<'a> {
        let is_listed = request
            .client
            .is_some_and(|client| client.is_in(&self.networks));
        match is_listed {
            true => Step::next(),
            false => Step::fail(refused()),
        }
    }
}

/// Reads a list of networks, which is never empty.
///
/// # Errors
/// An entry is no network, with its place in the list.
pub fn networks(settings: &Value) -> Result<Vec<Network>, InvalidSettings> {
    let texts: Vec<String> = read_settings(settings)?;
    if texts.is_empty() {
        return Err(InvalidSettings::new("the list is empty").hint(NETWORK_HINT));
    }
    let network = |(index, text): (usize, &String)| {
        Network::parse(text).ok_or_else(|| {
            InvalidSettings::new(format!("`{text}` is neither a network nor an address"))
                .at(format!("/{index}"))
                .hint(NETWORK_HINT)
        })
    };
    texts.iter().enumerate().map(network).collect()
}

/// The fault of a request whose client's address is not accepted.
pub fn refused() -> Fault {
    Fault::new(
        FaultKind::Forbidden,
        "requests from your address are not accepted here; ask the operator of this gateway",
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn addresses_of_both_families_are_in_the_list_or_not() {
        let listed = networks(&json!(["10.0.0.0/8", "2001:db8::/32", "192.0.2.7"])).unwrap();
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
            let invalid = networks(&settings).unwrap_err();
            assert_eq!(invalid.pointer, pointer, "{settings}");
        }
    }
}
