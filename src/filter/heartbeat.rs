//! `heartbeat`: a comment now and then, for callers and proxies that give up a silent stream.

use super::kind::{FilterKind, Place, Side, read_settings_or_default, settings_schema};
use super::{Declaration, Filter};
use crate::scalar::Span;
use schemars::JsonSchema;
use serde::Deserialize;
use std::sync::Arc;
use std::time::Duration;

pub const KIND: FilterKind = FilterKind {
    name: "heartbeat",
    summary: "Sends a comment between events while a stream's provider is silent, every 15 s or as `every` says.",
    side: Side::Response,
    place: Place::ANYWHERE,
    settings: Some(settings_schema::<HeartbeatConfig>),
    bare: true,
    build: |settings, _| {
        let HeartbeatConfig { every } = read_settings_or_default(settings)?;
        Ok(Arc::new(Heartbeat {
            every: every.duration(),
        }))
    },
};

/// Settings of `heartbeat`.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct HeartbeatConfig {
    /// How long the provider is silent before each comment.
    pub every: Span,
}

struct Heartbeat {
    every: Duration,
}

impl Filter for Heartbeat {
    fn declare(&self) -> Declaration {
        Declaration {
            heartbeat: Some(self.every),
            ..Declaration::default()
        }
    }
}

impl Default for HeartbeatConfig {
    fn default() -> Self {
        Self {
            every: Span::seconds(15),
        }
    }
}
