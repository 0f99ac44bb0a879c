//! The fingerprint of a route: equal only if its filters and their settings are the same.

use crate::routes::{ChainStepConfig, RouteConfig};
use headgate_protocol::Protocol;
use headgate_protocol::hex::HexDisplay;
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;

/// The SHA-256 of the route's steps and of all chains as they are written, in hex. A changed chain that the route does
/// not use changes it, too.
pub(super) fn for_route(
    route: &RouteConfig,
    protocol: Option<Protocol>,
    chains: &BTreeMap<String, Vec<ChainStepConfig>>,
) -> String {
    let RouteConfig {
        name,
        request,
        response,
        translate,
        on_loss,
        ..
    } = route;
    let mut written = format!("{name:?} {protocol:?} {request:?} {response:?} {chains:?}");
    if !translate.is_empty() {
        written += &format!(" {translate:?} {on_loss:?}");
    }
    HexDisplay(&Sha256::digest(written)).to_string()
}
