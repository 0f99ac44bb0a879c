//! Platform models and the channels that serve them.

use super::caller::Caller;
use super::channel::Channel;
use crate::protocol::Protocol;
use bytes::Bytes;
use std::collections::BTreeMap;
use std::sync::Arc;

/// A platform model: what callers name.
#[derive(Debug)]
pub struct Model {
    pub name: Arc<str>,
    pub display_name: Option<String>,
    pub owned_by: String,
    /// Unix seconds; 0 where the operator says nothing.
    pub created: u64,
    /// Every channel that serves it, lower tiers first.
    pub candidates: Vec<Candidate>,
}

/// A channel that serves a model, and the name the model has there.
#[derive(Clone, Debug)]
pub struct Candidate {
    pub channel: Arc<Channel>,
    /// Absent where a request is bound to the channel by an id and names no model.
    pub model: Option<ChannelModel>,
}

/// The name a model has on a channel.
#[derive(Clone, Debug)]
pub struct ChannelModel {
    pub name: Arc<str>,
    /// The name as a JSON string, quotes included: what the rewrite puts into the body.
    pub json: Bytes,
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

    /// The models that `caller` may use, in the order of names.
    pub fn usable_by<'a>(&'a self, caller: &'a Caller) -> impl Iterator<Item = &'a Arc<Model>> {
        self.models().filter(|model| caller.may_use(&model.name))
    }
}

impl Candidate {
    /// A channel alone, for requests that name no model.
    pub fn bound_to(channel: Arc<Channel>) -> Self {
        Self {
            channel,
            model: None,
        }
    }
}

impl ChannelModel {
    pub fn new(name: &str) -> Self {
        Self {
            name: name.into(),
            json: serde_json::Value::from(name).to_string().into(),
        }
    }
}

impl Model {
    /// Whether any channel serves it over `protocol`.
    pub fn speaks(&self, protocol: Protocol) -> bool {
        self.candidates
            .iter()
            .any(|candidate| candidate.channel.protocols.contains(&protocol))
    }

    /// The candidates that speak `protocol`, in the order in which they should be tried.
    ///
    /// Within a tier the order is drawn by weight; `draw(n)` gives a number below `n`.
    pub fn order(&self, protocol: Protocol, mut draw: impl FnMut(u32) -> u32) -> Vec<Candidate> {
        let mut left: Vec<&Candidate> = self
            .candidates
            .iter()
            .filter(|candidate| candidate.channel.protocols.contains(&protocol))
            .collect();
        let mut ordered = Vec::with_capacity(left.len());
        while let Some(first) = left.first() {
            let tier = first.channel.tier;
            let peers = left.iter().take_while(|c| c.channel.tier == tier).count();
            let chosen = if peers == 1 {
                0
            } else {
                draw_by_weight(&left[..peers], &mut draw)
            };
            ordered.push(left.remove(chosen).clone());
        }
        ordered
    }
}

fn draw_by_weight(peers: &[&Candidate], draw: &mut impl FnMut(u32) -> u32) -> usize {
    let total: u32 = peers.iter().map(|c| u32::from(c.channel.weight)).sum();
    let mut drawn = draw(total);
    for (index, candidate) in peers.iter().enumerate() {
        let weight = u32::from(candidate.channel.weight);
        if drawn < weight {
            return index;
        }
        drawn -= weight;
    }
    peers.len() - 1
}
