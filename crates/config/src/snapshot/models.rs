//! Builds the catalog of platform models from the channels that serve them.

use super::ProblemCollector;
use super::channels::ChannelWithModels;
use super::schema_cache::built_in_profiles;
use crate::routes::ModelPropertiesConfig;
use headgate_core::catalog::endpoint::ProviderOperationClass;
use headgate_core::catalog::model::{Candidate, Catalog, Model, ModelRequestSchema};
use headgate_core::filter::descriptor::SchemaLookup;
use headgate_core::scalar::one_or_more::OneOrMore;
use headgate_protocol::ProtocolTable;
use headgate_protocol::nearest::nearest;
use std::collections::BTreeMap;
use std::path::Path;

/// Builds the catalog; reports a declared model that no channel serves.
pub(crate) fn build(
    served: Vec<ChannelWithModels>,
    configs: &BTreeMap<String, ModelPropertiesConfig>,
    profiles: ProfileLookup<'_>,
    problems: &mut ProblemCollector<'_>,
) -> Catalog {
    let mut candidates: BTreeMap<String, Vec<Candidate>> = BTreeMap::new();
    let mut channels = Vec::with_capacity(served.len());
    for ChannelWithModels { channel, models } in served {
        for (name, model) in models {
            candidates.entry(name).or_default().push(Candidate {
                channel: channel.clone(),
                model: Some(model),
                protocol: None,
                key: None,
                is_bound: false,
                is_preferred: false,
                endpoint: ProviderOperationClass::Generation,
            });
        }
        channels.push(channel);
    }
    // A channel that could not be built is missing here, and so are its models.
    let are_built = problems.errors() == 0;
    let declared = configs.keys().filter(|_| are_built);
    for name in declared.filter(|name| !candidates.contains_key(*name)) {
        problems.warning(
            &entry_pointer(name),
            format!("no channel serves model `{name}`"),
            Some("add it to a channel's `models`, or remove it here"),
        );
    }
    let models: Vec<Model> = candidates
        .into_iter()
        .map(|(name, candidates)| model(name, candidates, configs, profiles, problems))
        .collect();
    Catalog::new(channels, models)
}

fn model(
    name: String,
    candidates: Vec<Candidate>,
    configs: &BTreeMap<String, ModelPropertiesConfig>,
    profiles: ProfileLookup<'_>,
    problems: &mut ProblemCollector<'_>,
) -> Model {
    let ModelPropertiesConfig {
        display_name,
        owned_by,
        created,
        profile: names,
    } = configs.get(&name).cloned().unwrap_or_default();
    let mut model = Model::new(&name, candidates);
    model.display_name = display_name;
    model.owned_by = owned_by.unwrap_or_else(|| "headgate".into());
    model.created = created.unwrap_or(0);
    let at = format!("{}/profile", entry_pointer(&name));
    model.profiles = profiles.all(&names, &at, problems);
    model
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
