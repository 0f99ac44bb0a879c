//! Platform models and the channels that serve them.

use super::channel::Channel;
use crate::protocol::Protocol;
use crate::protocol::schema::CompiledSchema;
use bytes::Bytes;
use std::collections::BTreeMap;
use std::fmt;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

/// A platform model: what callers name.
#[derive(Debug)]
pub struct Model {
    pub name: Arc<str>,
    pub display_name: Option<String>,
    pub owned_by: String,
    /// Unix seconds; 0 where the operator says nothing.
    pub created: u64,
    /// What it takes of each protocol, where that is less than all.
    pub profiles: Vec<ModelProfile>,
    /// Every channel that serves it, lower tiers first.
    pub all_candidates: Arc<[Candidate]>,
    by_protocol: Vec<(Protocol, Arc<[Candidate]>)>,
}

/// What a model takes of a protocol: rules besides those that all its models share.
pub struct ModelProfile {
    pub protocol: Protocol,
    pub schema: Arc<CompiledSchema>,
}

/// A channel that serves a model, and the name the model has there.
#[derive(Clone, Debug)]
pub struct Candidate {
    pub channel: Arc<Channel>,
    /// Absent where a request is bound to the channel by an id and names no model.
    pub model: Option<ChannelModel>,
    /// Which of the channel's keys must be used; any where absent.
    pub key: Option<usize>,
}

/// The name a model has on a channel.
#[derive(Clone, Debug)]
pub struct ChannelModel {
    pub name: Arc<str>,
    /// The name as a JSON string, quotes included: what the rewrite puts into the body.
    pub json: Bytes,
    /// Of the channel and this model together: what is known of the model's health there goes by it.
    pub fingerprint: u64,
}

/// All platform models and all channels, by name.
#[derive(Debug, Default)]
pub struct Catalog {
    models: BTreeMap<Arc<str>, Arc<Model>>,
    channels: BTreeMap<Arc<str>, Arc<Channel>>,
}

impl Catalog {
    pub fn new(channels: Vec<Arc<Channel>>, models: impl IntoIterator<Item = Model>) -> Self {
        Self {
            models: models
                .into_iter()
                .map(|model| (model.name.clone(), Arc::new(model)))
                .collect(),
            channels: channels
                .into_iter()
                .map(|channel| (channel.name.clone(), channel))
                .collect(),
        }
    }

    pub fn get(&self, name: &str) -> Option<&Arc<Model>> {
        self.models.get(name)
    }

    pub fn channel(&self, name: &str) -> Option<&Arc<Channel>> {
        self.channels.get(name)
    }

    /// Every channel, in the order of names.
    pub fn channels(&self) -> impl Iterator<Item = &Arc<Channel>> {
        self.channels.values()
    }

    /// Every model, in the order of names.
    pub fn models(&self) -> impl Iterator<Item = &Arc<Model>> {
        self.models.values()
    }
}

impl fmt::Debug for ModelProfile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Profile")
            .field("protocol", &self.protocol)
            .finish_non_exhaustive()
    }
}

impl Candidate {
    /// A channel alone, for requests that name no model.
    pub fn bound_to(channel: Arc<Channel>) -> Self {
        Self {
            channel,
            model: None,
            key: None,
        }
    }
}

impl ChannelModel {
    pub fn new(name: &str, channel_fingerprint: u64) -> Self {
        let mut hasher = DefaultHasher::new();
        (channel_fingerprint, name).hash(&mut hasher);
        Self {
            name: name.into(),
            json: serde_json::Value::from(name).to_string().into(),
            fingerprint: hasher.finish(),
        }
    }
}

impl Model {
    /// `candidates` in any order.
    pub fn new(name: &str, mut candidates: Vec<Candidate>) -> Self {
        candidates.sort_by_key(|candidate| candidate.channel.tier);
        let mut spoken: Vec<Protocol> = candidates
            .iter()
            .flat_map(|candidate| candidate.channel.protocols.iter().copied())
            .collect();
        spoken.sort_unstable();
        spoken.dedup();
        Self {
            name: name.into(),
            display_name: None,
            owned_by: String::new(),
            created: 0,
            profiles: Vec::new(),
            by_protocol: spoken
                .into_iter()
                .map(|protocol| (protocol, speaking(&candidates, protocol)))
                .collect(),
            all_candidates: candidates.into(),
        }
    }

    /// What it takes of `protocol`, where that is less than all.
    pub fn profile(&self, protocol: Protocol) -> Option<&Arc<CompiledSchema>> {
        let mut profiles = self.profiles.iter();
        let profile = profiles.find(|profile| profile.protocol == protocol)?;
        Some(&profile.schema)
    }

    /// Whether any channel serves it over `protocol`.
    pub fn supports(&self, protocol: Protocol) -> bool {
        !self.candidates(protocol).is_empty()
    }

    /// The candidates that speak `protocol`, lower tiers first.
    pub fn candidates(&self, protocol: Protocol) -> Arc<[Candidate]> {
        self.by_protocol
            .iter()
            .find(|(spoken, _)| *spoken == protocol)
            .map_or_else(|| Arc::from([]), |(_, candidates)| candidates.clone())
    }
}

fn speaking(candidates: &[Candidate], protocol: Protocol) -> Arc<[Candidate]> {
    candidates
        .iter()
        .filter(|candidate| candidate.channel.protocols.contains(&protocol))
        .cloned()
        .collect()
}
