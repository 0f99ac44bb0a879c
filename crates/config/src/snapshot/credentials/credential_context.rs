//! What the credentials of a channel are built with besides their configuration.

use super::super::VariableLookup;
use headgate_core::catalog::outbound_proxy::OutboundProxy;
use headgate_core::credentials::credential_registry::CredentialRegistry;
use http::HeaderName;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::Path;
use std::sync::Arc;

/// The channel and its surroundings.
#[derive(Clone, Copy)]
pub(in crate::snapshot) struct CredentialBuildContext<'a> {
    /// The base URL of the channel.
    pub base_url: &'a str,
    pub channel_fingerprint: u64,
    /// The proxy of the channel, which requests for its tokens use as well.
    pub proxy: Option<&'a Arc<OutboundProxy>>,
    /// The folder of `routes.yaml`.
    pub folder: &'a Path,
    pub variables: &'a VariableLookup,
    pub registry: &'a CredentialRegistry,
}

impl CredentialBuildContext<'_> {
    /// A hash of what a credential of the channel is bound to.
    pub fn fingerprint(&self, name: &HeaderName, identity: &str) -> u64 {
        let mut hasher = DefaultHasher::new();
        (self.channel_fingerprint, name.as_str(), identity).hash(&mut hasher);
        hasher.finish()
    }
}
