//! `pin`: sets the channel for ids that the gateway did not issue, and for requests without a channel.

use headgate_core::catalog::channel::Channel;
use headgate_core::filter::descriptor::{
    BuildContext, ChainSide, FilterChainRules, FilterDescriptor, FilterPrerequisite,
    InvalidSettings, read_settings, settings_schema,
};
use headgate_core::filter::view::RequestView;
use headgate_core::filter::{Filter, HookResult};
use headgate_protocol::nearest::nearest;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

pub const DESCRIPTOR: FilterDescriptor = FilterDescriptor {
    name: "pin",
    summary: "Sets the channel, for all callers or by caller, for ids that were created without this gateway and for `first_channel`: `pin: channel`, or `pin: {caller: channel}`.",
    side: ChainSide::Request,
    placement: FilterChainRules {
        needs: &[FilterPrerequisite::Caller],
        ..FilterChainRules::CHECK
    },
    settings: Some(settings_schema::<PinnedFallbackChannelConfig>),
    bare: false,
    build,
};

/// Settings of `pin`: a channel, or channels by the callers that are pinned to them.
#[derive(Deserialize, JsonSchema)]
#[serde(untagged)]
enum PinnedFallbackChannelConfig {
    All(String),
    ByCaller(BTreeMap<String, String>),
}

enum PinnedFallbackChannelFilter {
    All(Arc<Channel>),
    ByCaller(HashMap<Arc<str>, Arc<Channel>>),
}

impl Filter for PinnedFallbackChannelFilter {
    fn on_head<'a>(&'a self, request: &'a mut RequestView) -> HookResult<'a> {
        let pinned = match (self, &request.caller) {
            (Self::All(channel), _) => Some(channel),
            (Self::ByCaller(channels), Some(caller)) => channels.get(&caller.name),
            (Self::ByCaller(_), None) => None,
        };
        request.pinned = pinned.cloned();
        HookResult::next()
    }
}

fn build(settings: &Value, context: &BuildContext<'_>) -> Result<Arc<dyn Filter>, InvalidSettings> {
    Ok(Arc::new(
        match read_settings::<PinnedFallbackChannelConfig>(settings)? {
            PinnedFallbackChannelConfig::All(name) => {
                PinnedFallbackChannelFilter::All(channel(&name, "", context)?)
            }
            PinnedFallbackChannelConfig::ByCaller(names) => PinnedFallbackChannelFilter::ByCaller(
                names
                    .iter()
                    .map(|(caller, name)| by_caller(caller, name, context))
                    .collect::<Result<_, _>>()?,
            ),
        },
    ))
}

fn by_caller(
    caller: &str,
    name: &str,
    context: &BuildContext<'_>,
) -> Result<(Arc<str>, Arc<Channel>), InvalidSettings> {
    let at = format!("/{}", caller.replace('~', "~0").replace('/', "~1"));
    let Some(known) = context.callers.find_declared(caller) else {
        let names = context.callers.iter().map(|caller| &*caller.name);
        return Err(unknown("caller", caller, names).at(at));
    };
    Ok((known.name.clone(), channel(name, &at, context)?))
}

fn channel(
    name: &str,
    at: &str,
    context: &BuildContext<'_>,
) -> Result<Arc<Channel>, InvalidSettings> {
    let Some(channel) = context.catalog.channel(name) else {
        let names = context.catalog.channels().map(|channel| &*channel.name);
        return Err(unknown("channel", name, names).at(at));
    };
    match context.protocol {
        Some(protocol) if !channel.protocols.contains(&protocol.on_channels()) => {
            Err(InvalidSettings::new(format!(
                "channel `{name}` does not speak {}, the protocol of this route",
                protocol.name()
            ))
            .at(at)
            .hint("pin to one whose `protocols` has it"))
        }
        _ => Ok(channel.clone()),
    }
}

fn unknown<'n>(what: &str, name: &str, names: impl Iterator<Item = &'n str>) -> InvalidSettings {
    let invalid = InvalidSettings::new(format!("unknown {what} `{name}`"));
    match nearest(name, names, 1).first() {
        Some(near) => invalid.hint(format!("did you mean `{near}`?")),
        None => invalid,
    }
}
