//! A routes.yaml to be written, whichever gateway it comes from.

use super::channel_draft::{ChannelDraft, MaybeSecretValue};
use super::naming::is_matched;
use std::collections::{BTreeMap, BTreeSet};

/// A routes.yaml to be written.
pub struct RoutesDraft {
    /// The other gateway, for the first line.
    pub source: &'static str,
    /// Name of the one caller.
    pub caller: &'static str,
    /// The variable of the digest of the caller's key.
    pub key_digest: String,
    pub channels: Vec<ChannelDraft>,
    pub fallbacks: FallbackDrafts,
    /// Maximum attempts for one request.
    pub max_attempts: Option<u64>,
    pub cache: Option<CacheDraft>,
    pub redis: Option<RedisDraft>,
    /// Paths that are passed on as they are, each to a channel with a protocol of its own.
    pub pass_through: Vec<PassThroughDraft>,
    /// Accounts for files, which requests name in a header; the channel of a file that no request names is found by itself.
    pub files: Vec<FilesDraft>,
    pub guards: GuardsDraft,
    /// Whether traces are exported to a collector.
    pub has_traces: bool,
    /// Whether requests with tags in their metadata are refused.
    pub refuses_tags: bool,
    /// Whether responses have the name of the model that the caller requested.
    pub restores_model: bool,
    /// Whether callers may leave `/v1` out of paths.
    pub short_paths: bool,
}

/// The protocol of a channel that only has files.
pub const FILES_PROTOCOL: &str = "files_account";

/// A path whose requests, and those below it, are passed on as they are.
pub struct PassThroughDraft {
    pub protocol: &'static str,
    pub path: String,
}

/// An account at a provider for files.
pub struct FilesDraft {
    pub provider: String,
    /// Position of the channel; `None` if the first channel that has files is one of the account.
    pub channel: Option<usize>,
    /// Whether requests that name no provider go to it.
    pub is_default: bool,
}

/// Checks of requests and responses with text.
#[derive(Default)]
pub struct GuardsDraft {
    pub services: Vec<ServiceDraft>,
    /// Steps of requests, each with the protocol of its route.
    pub requests: Vec<(&'static str, String)>,
    /// Steps of responses.
    pub responses: Vec<(&'static str, String)>,
}

/// A service that checks requests or responses; the texts as routes.yaml has them.
pub struct ServiceDraft {
    pub name: String,
    pub url: String,
    pub headers: Vec<(String, MaybeSecretValue)>,
    pub timeout_ms: u64,
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

/// Models that stand in for others, by model and cause.
#[derive(Default)]
pub struct FallbackDrafts(BTreeMap<String, BTreeMap<&'static str, Vec<String>>>);

impl FallbackDrafts {
    /// Adds a model that stands in for `model`, after those that are there.
    pub fn add(&mut self, model: &str, cause: &'static str, target: &str) {
        let causes = self.0.entry(model.to_owned()).or_default();
        let targets = causes.entry(cause).or_default();
        if !targets.iter().any(|known| known == target) {
            targets.push(target.to_owned());
        }
    }

    /// Whether fallbacks lead from `from` to `to`, by any cause.
    pub fn leads(&self, from: &str, to: &str) -> bool {
        let mut open = vec![from];
        let mut seen = BTreeSet::new();
        while let Some(model) = open.pop() {
            if is_matched(to, model) {
                return true;
            }
            if seen.insert(model) {
                let fitting = self.0.iter().filter(|(name, _)| is_matched(name, model));
                let causes = fitting.flat_map(|(_, causes)| causes.values());
                open.extend(causes.flatten().map(String::as_str));
            }
        }
        false
    }

    /// Models, each with its causes and the models that stand in.
    pub fn iter(&self) -> impl Iterator<Item = (&String, &BTreeMap<&'static str, Vec<String>>)> {
        self.0.iter()
    }
}

impl RoutesDraft {
    pub fn serves(&self, protocol: &str) -> bool {
        let mut channels = self.channels.iter();
        channels.any(|channel| channel.settings.protocols.contains(&protocol))
    }
}
