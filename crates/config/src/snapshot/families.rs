//! Builds families of video providers and the keys of task ids from their configuration.

use super::ProblemCollector;
use crate::channels::ChannelConfig;
use crate::families::{base, shipped};
use crate::hint::did_you_mean;
use crate::protocols::ProtocolName;
use crate::routes::RouteConfig;
use headgate_core::catalog::public_url::PublicUrl;
use headgate_core::pointer::child;
use headgate_core::scalar::Secret;
use headgate_core::task::definition::{FamilyProtocolConfig, VideoFamilyDefinitionConfig};
use headgate_core::task::families::SHIPPED;
use headgate_core::task::family::VideoFamily;
use headgate_core::task::id::{TaskIdKey, TaskIdKeyRing};
use headgate_core::task::{NO_KEYS_HINT, TaskSettings};
use headgate_protocol::{Protocol, TaskApiFormat};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Builds the families of the file, those of the built-in ones that its channels and routes use or that have a built-in
/// protocol, and the key ring.
pub(crate) fn build(
    configs: &BTreeMap<String, VideoFamilyDefinitionConfig>,
    (channels, routes): (&BTreeMap<String, ChannelConfig>, &[RouteConfig]),
    (keys, public_url): (&[Secret], Option<&PublicUrl>),
    problems: &mut ProblemCollector<'_>,
) -> TaskSettings {
    let public_url = public_url.map_or_else(String::new, |url| url.join(""));
    let shipped = shipped();
    let mut families = BTreeMap::new();
    let used: BTreeSet<&str> = channels
        .values()
        .flat_map(|channel| {
            channel
                .family
                .iter()
                .chain(protocol_names(&channel.protocols))
        })
        .chain(
            routes
                .iter()
                .flat_map(|route| protocol_names(&route.protocol)),
        )
        .map(String::as_str)
        .collect();
    for (name, config) in complete(configs, &shipped, problems) {
        let is_built_in = matches!(config.protocol, Some(FamilyProtocolConfig::BuiltIn(_)));
        if !configs.contains_key(&name) && !is_built_in && !used.contains(&*name) {
            continue;
        }
        match VideoFamily::new(&name, &config) {
            Ok(mut family) => {
                family.set_public_url(&public_url);
                families.insert(family.name.clone(), Arc::new(family));
            }
            Err(faults) => {
                let at = child("/families", &name);
                for fault in faults {
                    let at = format!("{at}{}", fault.pointer);
                    problems.error(&at, fault.reason, fault.hint.as_deref());
                }
            }
        }
    }
    TaskSettings {
        families,
        keys: key_ring(keys, problems),
    }
}

fn protocol_names<'a>(
    protocols: impl IntoIterator<Item = &'a ProtocolName>,
) -> impl Iterator<Item = &'a String> {
    protocols.into_iter().map(|protocol| &protocol.0)
}

/// Looks up the family of a channel.
pub(crate) struct VideoFamilyLookup<'a> {
    pub built: &'a TaskSettings,
    /// The families in the file: a declared family that could not be built was reported already.
    pub declared: &'a BTreeMap<String, VideoFamilyDefinitionConfig>,
}

impl VideoFamilyLookup<'_> {
    /// The family of a channel: the one it names, or else the built-in one of its protocols if there is exactly one.
    /// `at` is the pointer to the channel.
    pub fn for_channel(
        &self,
        name: Option<&str>,
        protocols: &[Protocol],
        at: &str,
        problems: &mut ProblemCollector<'_>,
    ) -> Option<Arc<VideoFamily>> {
        let speaks = |family: &&Arc<VideoFamily>| {
            let protocol = family.protocol;
            protocol.is_some_and(|protocol| protocols.contains(&protocol))
        };
        let Some(name) = name else {
            let shipped = SHIPPED.iter();
            let shipped = shipped.filter_map(|(name, _)| self.built.families.get(*name));
            let mut spoken = shipped.filter(speaks);
            return spoken.next().filter(|_| spoken.next().is_none()).cloned();
        };
        let family = self.named(name, &child(at, "family"), problems)?;
        let mut others = protocols
            .iter()
            .filter(|protocol| protocol.descriptor().tasks == Some(TaskApiFormat::Native));
        if let (Some(spoken), Some(other)) = (
            family.protocol,
            others.find(|other| Some(**other) != family.protocol),
        ) {
            let (spoken, other) = (spoken.name(), other.name());
            problems.error(
                &child(at, "protocols"),
                format!("family `{name}` uses the protocol `{spoken}`, not `{other}`"),
                Some(&format!("write `{spoken}` here, or name another `family`")),
            );
        }
        Some(family)
    }

    /// The family of this name; `at` is the pointer to the name.
    fn named(
        &self,
        name: &str,
        at: &str,
        problems: &mut ProblemCollector<'_>,
    ) -> Option<Arc<VideoFamily>> {
        let families = &self.built.families;
        let family = families.get(name);
        if family.is_none() && !self.declared.contains_key(name) {
            let shipped = SHIPPED.iter().map(|(name, _)| *name);
            let declared = self.declared.keys().map(String::as_str);
            let hint = did_you_mean(name, shipped.chain(declared));
            problems.error(at, format!("unknown family `{name}`"), hint.as_deref());
        }
        family.cloned()
    }
}

/// All families, with the sections that each takes from a built-in one.
fn complete(
    configs: &BTreeMap<String, VideoFamilyDefinitionConfig>,
    shipped: &BTreeMap<String, VideoFamilyDefinitionConfig>,
    problems: &mut ProblemCollector<'_>,
) -> BTreeMap<String, VideoFamilyDefinitionConfig> {
    let mut families = shipped.clone();
    for (name, config) in configs {
        // A family with a built-in name changes that family, unless `extends` names another one.
        let base = match base(config, Some(name), shipped) {
            Ok(base) => base,
            Err(hint) => {
                let extends = config.extends.as_deref().unwrap_or_default();
                let at = child(&child("/families", name), "extends");
                problems.error(
                    &at,
                    format!("unknown built-in family `{extends}`"),
                    hint.as_deref(),
                );
                continue;
            }
        };
        let config = config.clone();
        let whole = base.map_or_else(|| config.clone(), |base| config.clone().or(base));
        families.insert(name.clone(), whole);
    }
    families
}

fn key_ring(secrets: &[Secret], problems: &mut ProblemCollector<'_>) -> Option<TaskIdKeyRing> {
    let mut keys = Vec::new();
    for (index, secret) in secrets.iter().enumerate() {
        let at = child("/task_keys", index);
        if secrets[..index]
            .iter()
            .any(|other| other.expose() == secret.expose())
        {
            problems.error(&at, "duplicate task key", None);
        }
        match TaskIdKey::new(secret.expose()) {
            Ok(key) => keys.push(key),
            Err(short) => problems.error(&at, short.to_string(), Some(NO_KEYS_HINT)),
        }
    }
    let mut keys = keys.into_iter();
    let first = keys.next()?;
    Some(TaskIdKeyRing::new(first, keys.collect()))
}
