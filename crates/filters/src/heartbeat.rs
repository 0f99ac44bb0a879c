//! `heartbeat`: keep-alive comments for callers and proxies that close an idle stream.

use headgate_core::filter::descriptor::{
    ChainSide, FilterChainRules, FilterDescriptor, read_settings_or_default, settings_schema,
};
use headgate_core::filter::{Filter, FilterDeclaration};
use headgate_core::scalar::HumanDuration;
use schemars::JsonSchema;
use serde::Deserialize;
use std::sync::Arc;
use std::time::Duration;

pub const DESCRIPTOR: FilterDescriptor = FilterDescriptor {
    name: "heartbeat",
    summary: "Sends keep-alive comments on a stream while its provider sends nothing, every 15 s or `interval`.",
    side: ChainSide::Response,
    placement: FilterChainRules::ANYWHERE,
    settings: Some(settings_schema::<HeartbeatConfig>),
    bare: true,
    build: |settings, _| {
        let HeartbeatConfig { interval } = read_settings_or_default(settings)?;
        Ok(Arc::new(HeartbeatFilter {
            interval: interval.duration(),
        }))
    },
};

/// Settings of `heartbeat`.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct HeartbeatConfig {
    /// How long the provider sends nothing before each comment, above zero. Set it below the idle timeout of clients
    /// and proxies. Default: 15s.
    pub interval: HumanDuration,
}

struct HeartbeatFilter {
    interval: Duration,
}

impl Filter for HeartbeatFilter {
    fn declare(&self) -> FilterDeclaration {
        FilterDeclaration {
            heartbeat: Some(self.interval),
            ..FilterDeclaration::default()
        }
    }
}

impl Default for HeartbeatConfig {
    fn default() -> Self {
        Self {
            interval: HumanDuration::seconds(15),
        }
    }
}
