//! Builds the catalog of platform models from the channels that serve them.

use super::affinity::AffinitySecretSource;
use super::channel_models::ChannelWithModels;
use super::schema_cache::built_in_profiles;
use super::{ProblemCollector, fallbacks, model_translation};
use crate::affinity::AffinityConfig;
use crate::callers::CallerConfig;
use crate::channels::ChannelConfig;
use crate::groups::CallerGroupConfig;
use crate::model_properties::{BalanceConfig, ModelPropertiesConfig};
use crate::prices::PricesConfig;
use headgate_core::catalog::Catalog;
use headgate_core::catalog::by_model_name::ByModelName;
use headgate_core::catalog::model::{
    Candidate, LoadMeasure, Model, ModelProperties, ModelRequestSchema,
};
use headgate_core::catalog::pattern_models::PatternModels;
use headgate_core::catalog::served_names::ServedModelNames;
use headgate_core::filter::descriptor::SchemaLookup;
use headgate_core::scalar::model_pattern::ModelPattern;
use headgate_core::scalar::one_or_more::OneOrMore;
use headgate_protocol::ProtocolTable;
use headgate_protocol::nearest::nearest;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

/// Where the configuration names models besides the `models` of channels.
#[derive(Clone, Copy)]
pub(crate) struct DeclaredModelNames<'a> {
    pub models: &'a BTreeMap<String, ModelPropertiesConfig>,
    pub prices: &'a PricesConfig,
    pub channels: &'a BTreeMap<String, ChannelConfig>,
    pub callers: &'a [CallerConfig],
    pub groups: &'a BTreeMap<String, CallerGroupConfig>,
}

/// The names of models of patterns that were served, and how many there may be.
pub(crate) struct ServedModelLimit<'a> {
    pub names: &'a Arc<ServedModelNames>,
    pub most: usize,
}

/// Builds the catalog; reports a declared model that no channel serves.
pub(crate) fn build(
    served: Vec<ChannelWithModels>,
    names: DeclaredModelNames<'_>,
    limit: ServedModelLimit<'_>,
    lookups: ModelLookups<'_>,
    problems: &mut ProblemCollector<'_>,
) -> Catalog {
    let mut candidates: BTreeMap<String, Vec<Candidate>> = BTreeMap::new();
    let mut channels = Vec::with_capacity(served.len());
    let mut patterns = Vec::new();
    for ChannelWithModels {
        channel,
        models,
        patterns: of_channel,
    } in served
    {
        patterns.extend(of_channel);
        for (name, model) in models {
            candidates
                .entry(name)
                .or_default()
                .push(Candidate::for_model(channel.clone(), model));
        }
        channels.push(channel);
    }
    let properties = properties(names.models, lookups, problems);
    let by_pattern = PatternModels::new(patterns, properties, limit.names.clone(), limit.most);
    for name in names.literal() {
        if !candidates.contains_key(name) {
            let matching = by_pattern.candidates(name);
            if !matching.is_empty() {
                candidates.insert(name.to_owned(), matching);
            }
        }
    }
    // A channel that could not be built is missing here, and so are its models.
    if problems.errors() == 0 {
        warn_of_unserved(names.models, &candidates, &by_pattern, problems);
    }
    let models: Vec<Model> = candidates
        .into_iter()
        .map(|(name, candidates)| {
            Model::new(&name, by_pattern.properties(&name).clone(), candidates)
        })
        .collect();
    check_prefixes(names.models, &models, problems);
    let catalog = Catalog::new(channels, models, by_pattern);
    if problems.errors() == 0 {
        fallbacks::check(names.models, &catalog, problems);
    }
    catalog
}

impl<'a> DeclaredModelNames<'a> {
    /// The names that are no patterns: the catalog lists those of them that a pattern of a channel serves.
    fn literal(self) -> impl Iterator<Item = &'a str> {
        let models = self.models.keys();
        let fallbacks = self
            .models
            .values()
            .flat_map(|model| model.fallback.names());
        let prices = self.prices.models.keys();
        let own_prices = self
            .channels
            .values()
            .flat_map(|channel| channel.prices.keys());
        let callers = self.callers.iter();
        let callers =
            callers.flat_map(|caller| caller.models.iter().chain(caller.limits.models.keys()));
        let groups = self.groups.values();
        let callers = callers.chain(groups.flat_map(|group| group.limits.models.keys()));
        let all = models.chain(fallbacks).chain(prices);
        let all = all.chain(own_prices).chain(callers);
        all.map(String::as_str).filter(|name| !name.contains('*'))
    }
}

fn warn_of_unserved(
    configs: &BTreeMap<String, ModelPropertiesConfig>,
    candidates: &BTreeMap<String, Vec<Candidate>>,
    by_pattern: &PatternModels,
    problems: &mut ProblemCollector<'_>,
) {
    for name in configs
        .keys()
        .filter(|name| !candidates.contains_key(*name))
    {
        let pattern = ModelPattern::new(name);
        let is_of_use = pattern.has_star()
            && (candidates.keys().any(|name| pattern.matches(name))
                || by_pattern.may_serve(&pattern));
        if is_of_use {
            continue;
        }
        let (reason, hint) = match by_pattern.lacks_price(name) {
            true => (
                format!("no channel serves model `{name}`, because it has no price"),
                "add it to `prices.models`, or write `unpriced: allow` in the channel",
            ),
            false => (
                format!("no channel serves model `{name}`"),
                "add it to a channel's `models`, or remove it here",
            ),
        };
        problems.warning(&entry_pointer(name), reason, Some(hint));
    }
}

/// Reports affinity by prefix of models none of whose protocols has messages.
fn check_prefixes(
    configs: &BTreeMap<String, ModelPropertiesConfig>,
    models: &[Model],
    problems: &mut ProblemCollector<'_>,
) {
    let has_messages = |model: &Model| {
        let mut protocols = model.protocols();
        protocols.any(|protocol| protocol.descriptor().conversation.is_some())
    };
    for (name, config) in configs {
        if !config
            .affinity
            .as_ref()
            .is_some_and(AffinityConfig::is_by_prefix)
        {
            continue;
        }
        let pattern = ModelPattern::new(name);
        let served = models.iter().filter(|model| pattern.matches(&model.name));
        let mut served = served.peekable();
        if served.peek().is_some() && !served.any(has_messages) {
            let at = format!("{}/affinity/by", entry_pointer(name));
            let reason = format!(
                "no protocol of the channels of `{name}` has prompts of which a prefix is known"
            );
            let hint = "write `by: caller`, `by: {header: …}` or `by: {pointer: …}`";
            problems.error(&at, reason, Some(hint));
        }
    }
}

/// The properties of models by name.
fn properties(
    configs: &BTreeMap<String, ModelPropertiesConfig>,
    lookups: ModelLookups<'_>,
    problems: &mut ProblemCollector<'_>,
) -> ByModelName<Arc<ModelProperties>> {
    let mut list = ByModelName::default();
    for (name, config) in configs {
        let ModelPropertiesConfig {
            display_name,
            owned_by,
            created,
            profile: names,
            context_window,
            affinity,
            fallback,
            balance,
            translate: _,
            on_loss: _,
            max_output_tokens: _,
            budget: _,
        } = config.clone();
        let default = ModelProperties::default();
        let at = format!("{}/profile", entry_pointer(name));
        let properties = Arc::new(ModelProperties {
            display_name,
            owned_by: owned_by.unwrap_or(default.owned_by),
            created: created.unwrap_or(default.created),
            profiles: lookups.profiles.all(&names, &at, problems),
            balance: match balance {
                BalanceConfig::Load => LoadMeasure::InFlight,
                BalanceConfig::Latency => LoadMeasure::Latency,
            },
            affinity: affinity.and_then(|config| {
                let at = format!("{}/affinity", entry_pointer(name));
                lookups.affinity.build(&config, &at, problems)
            }),
            fallbacks: fallbacks::build(&fallback),
            context_window,
            translation: model_translation::build(
                config,
                &entry_pointer(name),
                lookups.profiles.protocols,
                lookups.affinity.task_keys.is_some(),
                problems,
            ),
        });
        list.insert(name, properties);
    }
    list
}

/// What the properties of models are built with.
#[derive(Clone, Copy)]
pub(crate) struct ModelLookups<'a> {
    pub profiles: ProfileLookup<'a>,
    pub affinity: &'a AffinitySecretSource<'a>,
}

/// Looks up the profiles of models.
#[derive(Clone, Copy)]
pub(crate) struct ProfileLookup<'a> {
    pub schemas: &'a dyn SchemaLookup,
    pub protocols: &'a ProtocolTable,
}

impl ProfileLookup<'_> {
    /// The profiles with these names, at most one per protocol.
    fn all(
        self,
        names: &OneOrMore,
        at: &str,
        problems: &mut ProblemCollector<'_>,
    ) -> Vec<ModelRequestSchema> {
        let mut profiles: Vec<ModelRequestSchema> = Vec::new();
        for (end, name) in names.placed() {
            let at = &format!("{at}{end}");
            match self.named(name) {
                Ok(profile)
                    if profiles
                        .iter()
                        .any(|other| other.protocol == profile.protocol) =>
                {
                    let reason =
                        format!("duplicate profile: `{name}` is the second one of its protocol");
                    problems.error(at, reason, Some("keep one profile for each protocol"));
                }
                Ok(profile) => profiles.push(profile),
                Err((reason, hint)) => problems.error(at, reason, Some(&hint)),
            }
        }
        profiles
    }

    /// The profile of a name such as `family_a/2.0`.
    ///
    /// # Errors
    /// What is wrong with the name, and a hint.
    fn named(self, name: &str) -> Result<ModelRequestSchema, (String, String)> {
        let named = name.split_once('/').and_then(|(word, generation)| {
            let is_plain = !generation.is_empty() && !generation.contains('/');
            self.protocols.get(word).filter(|_| is_plain)
        });
        let Some(protocol) = named else {
            let reason =
                format!("a profile must begin with a protocol, as `family_a/2.0`; found `{name}`");
            return Err((reason, known_profiles(name)));
        };
        let path = format!("schemas/{name}.schema.json");
        match self.schemas.schema(Path::new(&path)) {
            Ok(schema) => Ok(ModelRequestSchema { protocol, schema }),
            Err(invalid) => Err((invalid.reason, known_profiles(name))),
        }
    }
}

fn known_profiles(name: &str) -> String {
    match nearest(name, built_in_profiles(), 1).first() {
        Some(meant) => format!("did you mean `{meant}`?"),
        None => {
            let known: Vec<&str> = built_in_profiles().collect();
            format!("write one of `{}`, or add the file", known.join("`, `"))
        }
    }
}

/// The pointer to a model's entry.
fn entry_pointer(name: &str) -> String {
    format!("/models/{}", name.replace('~', "~0").replace('/', "~1"))
}
