//! A routes.yaml to be written, whichever gateway it comes from.

use super::channel_draft::{ChannelDraft, MaybeSecretValue};

/// A routes.yaml to be written.
pub struct RoutesDraft {
    /// The other gateway, for the first line.
    pub source: &'static str,
    /// Name of the one caller.
    pub caller: &'static str,
    /// The variable of the digest of the caller's key.
    pub key_digest: String,
    pub channels: Vec<ChannelDraft>,
    /// Maximum attempts for one request.
    pub max_attempts: Option<u64>,
    pub cache: Option<CacheDraft>,
    pub redis: Option<RedisDraft>,
    /// Whether callers may leave `/v1` out of paths.
    pub short_paths: bool,
}

/// A response cache.
pub struct CacheDraft {
    pub ttl_ms: Option<u64>,
    /// Whether recorded responses are shared by gateways.
    pub in_state: bool,
}

/// A Redis server for state; the texts as routes.yaml has them.
pub struct RedisDraft {
    pub host: String,
    pub port: String,
    pub password: Option<MaybeSecretValue>,
}

impl RoutesDraft {
    pub fn serves(&self, protocol: &str) -> bool {
        let mut channels = self.channels.iter();
        channels.any(|channel| channel.settings.protocols.contains(&protocol))
    }
}
