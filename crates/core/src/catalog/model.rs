//! Platform models and the channels that serve them.

use super::affinity::ModelAffinity;
use super::channel::Channel;
use super::endpoint::ProviderOperationClass;
use super::fallback::ModelFallbacks;
use super::price::ModelPrice;
use crate::task::id::{TaskId, credential_fingerprint};
use bytes::Bytes;
use headgate_protocol::{ChannelProtocol, Protocol};
use headgate_schema::CompiledSchema;
use headgate_translate::{ModelTranslationPolicy, ProtocolPair, TranslationPolicy};
use std::fmt;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::num::NonZeroU64;
use std::sync::Arc;

/// A platform model, by the name that callers use.
#[derive(Debug)]
pub struct Model {
    pub name: Arc<str>,
    pub properties: Arc<ModelProperties>,
    /// Whether the configuration does not name the model: a channel serves it by a pattern.
    pub is_by_pattern: bool,
    /// Every channel that serves the model, lower tiers first.
    pub all_candidates: Arc<[Candidate]>,
    by_protocol: Vec<(Protocol, Arc<[Candidate]>)>,
}

/// What the configuration says of a model besides its channels.
#[derive(Debug)]
pub struct ModelProperties {
    pub display_name: Option<String>,
    pub owned_by: String,
    /// Unix seconds; 0 if not configured.
    pub created: u64,
    /// The model's schemas by protocol, if it accepts less than the whole protocol.
    pub profiles: Vec<ModelRequestSchema>,
    /// Which requests go to the same channel; `None` if that does not matter.
    pub affinity: Option<ModelAffinity>,
    /// The models that stand in for it.
    pub fallbacks: ModelFallbacks,
    /// Tokens of a request and its response together; `None` if not configured.
    pub context_window: Option<NonZeroU64>,
    pub balance: LoadMeasure,
    /// What it has in place of the translation of routes.
    pub translation: ModelTranslationPolicy,
}

/// By what the candidates of a model are compared.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LoadMeasure {
    /// Requests in flight on the channel.
    #[default]
    InFlight,
    /// These, and the recent time to the first byte of the model on the channel.
    Latency,
}

/// A schema that restricts a model beyond the protocol's own schema.
pub struct ModelRequestSchema {
    pub protocol: Protocol,
    pub schema: Arc<CompiledSchema>,
}

/// A channel that serves a model, and the model's name on that channel.
#[derive(Clone, Debug)]
pub struct Candidate {
    pub channel: Arc<Channel>,
    /// `None` if an id binds the request to the channel and no model is named.
    pub model: Option<Arc<ChannelModel>>,
    /// The protocol in which requests are sent to the channel; `None` for requests of no protocol.
    pub protocol: Option<ChannelProtocol>,
    /// The index of the credential that must be used; any if `None`.
    pub key: Option<usize>,
    /// Whether an id binds the request to the channel, so that it goes there although the channel is drained.
    pub is_bound: bool,
    /// Whether only this channel can do all that the request needs, such as reading its content or delivering to its
    /// callback URL: it precedes all tiers while it can be used.
    pub is_preferred: bool,
    /// Whether the request is translated into the channel's protocol: channels of the caller's own precede those of the
    /// same tier.
    pub is_translated: bool,
    /// The class of the endpoint that the request uses.
    pub endpoint: ProviderOperationClass,
}

/// A model as its provider names it.
#[derive(Clone, Debug)]
pub struct ChannelModel {
    pub name: Arc<str>,
    /// The name as a JSON string with quotes, to replace the value in the body.
    pub json: Bytes,
    fingerprint: Option<NonZeroU64>,
    /// What its requests cost; `None` if the configuration has no prices.
    pub price: Option<Arc<ModelPrice>>,
}

impl fmt::Debug for ModelRequestSchema {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Profile")
            .field("protocol", &self.protocol)
            .finish_non_exhaustive()
    }
}

impl Candidate {
    /// A channel without a model, for requests that name none.
    pub fn bound_to(channel: Arc<Channel>, protocol: Option<ChannelProtocol>) -> Self {
        Self {
            channel,
            model: None,
            protocol,
            key: None,
            is_bound: true,
            is_preferred: false,
            is_translated: false,
            endpoint: ProviderOperationClass::default(),
        }
    }

    /// Whether its requests open a session over a WebSocket.
    pub fn opens_session(&self) -> bool {
        self.protocol.is_some_and(ChannelProtocol::has_sessions)
    }

    /// A channel that serves a model.
    pub fn for_model(channel: Arc<Channel>, model: ChannelModel) -> Self {
        Self {
            model: Some(Arc::new(model)),
            is_bound: false,
            ..Self::bound_to(channel, None)
        }
    }

    /// What identifies the health of the candidate's model; `None` without a model, and if it has no health of its own.
    pub fn model_fingerprint(&self) -> Option<u64> {
        self.model.as_ref()?.fingerprint()
    }

    /// What orders candidates: those of a lower rank are tried first.
    pub fn rank(&self) -> (bool, u8, bool) {
        (!self.is_preferred, self.channel.tier, self.is_translated)
    }

    /// The candidate, for a request to an endpoint of this class.
    pub fn with_endpoint(self, endpoint: ProviderOperationClass) -> Self {
        Self { endpoint, ..self }
    }

    /// The candidates for requests to an endpoint of this class.
    pub fn all_with_endpoint(
        candidates: Arc<[Self]>,
        endpoint: ProviderOperationClass,
    ) -> Arc<[Self]> {
        match endpoint {
            ProviderOperationClass::Generation => candidates,
            endpoint => {
                let candidates = candidates.iter().cloned();
                candidates.map(|one| one.with_endpoint(endpoint)).collect()
            }
        }
    }

    /// What requests cost here; `None` if the configuration has no prices, or the request names no model.
    pub fn price(&self) -> Option<&ModelPrice> {
        self.model.as_ref()?.price.as_deref()
    }

    /// The channel of a task, for its queries, with the credential that created it, or any if that one is not configured
    /// now.
    pub fn for_task(
        channel: Arc<Channel>,
        task: &TaskId,
        protocol: Option<ChannelProtocol>,
    ) -> Self {
        let key = channel.credentials.iter().position(|credential| {
            credential_fingerprint(credential.identity.expose()) == task.credential
        });
        Self {
            key,
            endpoint: ProviderOperationClass::TaskQuery,
            ..Self::bound_to(channel, protocol)
        }
    }
}

impl ChannelModel {
    /// A hash of the channel and this model, which identifies the model's health on the channel. `None` for a model of a
    /// pattern that was not served yet: it has no health of its own, since callers can make up such names.
    pub fn fingerprint(&self) -> Option<u64> {
        self.fingerprint.map(NonZeroU64::get)
    }

    /// The model without health of its own.
    #[must_use]
    pub fn without_health(self) -> Self {
        Self {
            fingerprint: None,
            ..self
        }
    }
}

impl Default for ModelProperties {
    fn default() -> Self {
        Self {
            display_name: None,
            owned_by: "headgate".into(),
            created: 0,
            profiles: Vec::new(),
            affinity: None,
            fallbacks: ModelFallbacks::default(),
            context_window: None,
            balance: LoadMeasure::default(),
            translation: ModelTranslationPolicy::default(),
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
            fingerprint: NonZeroU64::new(hasher.finish()),
            price: None,
        }
    }
}

impl Model {
    /// A model with these candidates, which may be in any order.
    pub fn new(
        name: &str,
        properties: Arc<ModelProperties>,
        mut candidates: Vec<Candidate>,
    ) -> Self {
        candidates.sort_by_key(|candidate| candidate.channel.tier);
        let mut spoken: Vec<Protocol> = candidates
            .iter()
            .flat_map(|candidate| candidate.channel.protocols.iter().copied())
            .collect();
        spoken.sort_unstable();
        spoken.dedup();
        Self {
            name: name.into(),
            properties,
            is_by_pattern: false,
            by_protocol: spoken
                .into_iter()
                .map(|protocol| (protocol, speaking(&candidates, protocol)))
                .collect(),
            all_candidates: candidates.into(),
        }
    }

    /// The model as one that the configuration does not name.
    #[must_use]
    pub fn by_pattern(self) -> Self {
        Self {
            is_by_pattern: true,
            ..self
        }
    }

    /// Whether the model has health of its own on its channels.
    pub fn has_health(&self) -> bool {
        let mut models = self
            .all_candidates
            .iter()
            .filter_map(|one| one.model.as_ref());
        models.all(|model| model.fingerprint.is_some())
    }

    /// The schema that restricts the model in `protocol`, if any.
    pub fn profile(&self, protocol: Protocol) -> Option<&Arc<CompiledSchema>> {
        let mut profiles = self.properties.profiles.iter();
        let profile = profiles.find(|profile| profile.protocol == protocol)?;
        Some(&profile.schema)
    }

    /// Whether any channel serves the model with `protocol`.
    pub fn supports(&self, protocol: Protocol) -> bool {
        !self.candidates(protocol).is_empty()
    }

    /// The protocols that at least one candidate supports.
    pub fn protocols(&self) -> impl Iterator<Item = Protocol> + '_ {
        self.by_protocol.iter().map(|(protocol, _)| *protocol)
    }

    /// The candidates that serve callers of `protocol`, lower tiers first.
    pub fn candidates(&self, protocol: Protocol) -> Arc<[Candidate]> {
        let protocol = protocol.on_channels();
        self.by_protocol
            .iter()
            .find(|(spoken, _)| *spoken == protocol)
            .map_or_else(|| Arc::from([]), |(_, candidates)| candidates.clone())
    }

    /// The candidates that serve callers of `protocol`, also those whose channel has only one of the protocols into which
    /// the route or the model translates: the request is translated into the first one that it has.
    pub fn candidates_with_translation(
        &self,
        protocol: Protocol,
        route: &TranslationPolicy,
    ) -> Arc<[Candidate]> {
        let own = self.candidates(protocol);
        let translated = route.protocols_for(&self.properties.translation);
        if translated.is_empty() {
            return own;
        }
        let mut all = own.to_vec();
        let is_possible =
            |channel: &&Protocol| ProtocolPair::between(protocol, **channel).is_some();
        for protocol in translated.iter().filter(is_possible) {
            for candidate in self.candidates(*protocol).iter() {
                let channel = &candidate.channel.name;
                if all.iter().all(|known| known.channel.name != *channel) {
                    all.push(Candidate {
                        protocol: Some(ChannelProtocol::by_translation(*protocol)),
                        is_translated: true,
                        ..candidate.clone()
                    });
                }
            }
        }
        all.sort_by_key(Candidate::rank);
        all.into()
    }
}

fn speaking(candidates: &[Candidate], protocol: Protocol) -> Arc<[Candidate]> {
    candidates
        .iter()
        .filter(|candidate| candidate.channel.protocols.contains(&protocol))
        .map(|candidate| Candidate {
            protocol: Some(ChannelProtocol::for_caller(protocol)),
            ..candidate.clone()
        })
        .collect()
}
