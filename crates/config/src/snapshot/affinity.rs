//! Builds the affinity of models.

use super::ProblemCollector;
use crate::affinity::{AffinityConfig, AffinitySourceConfig};
use headgate_core::catalog::affinity::{AffinitySecret, AffinitySource, ModelAffinity};
use headgate_core::pointer::child;
use headgate_core::state::settings::StoreSettings;
use headgate_core::task::id::TaskIdKeyRing;
use headgate_protocol::json::pointer::JsonPointer;
use http::HeaderName;
use std::sync::OnceLock;

/// The secret that is in the hash of each key.
pub(crate) struct AffinitySecretSource<'a> {
    pub task_keys: Option<&'a TaskIdKeyRing>,
    pub state: &'a StoreSettings,
}

impl AffinitySecretSource<'_> {
    /// The affinity that `config` at `at` describes; reports problems.
    pub fn build(
        &self,
        config: &AffinityConfig,
        at: &str,
        problems: &mut ProblemCollector<'_>,
    ) -> Option<ModelAffinity> {
        let AffinityConfig {
            by,
            share,
            hash_balance_factor,
        } = config;
        let at_source = child(at, "by");
        let source = source(by, &at_source, problems)?;
        if *share && source == AffinitySource::Caller {
            let reason = "all requests have the same key, and go to the same channel";
            let hint = "remove `share`, or choose what sessions differ by";
            problems.error(&child(at, "share"), reason, Some(hint));
        }
        if self.task_keys.is_none() && matches!(self.state, StoreSettings::Redis(_)) {
            let reason = "without `task_keys` each gateway orders channels by a secret of its own, so that a session changes its channel with the gateway";
            let hint = "add `task_keys`, the same ones in all gateways";
            problems.warning(at, reason, Some(hint));
        }
        Some(ModelAffinity {
            source,
            is_shared: *share,
            balance_factor: *hash_balance_factor,
            secret: self.secret(),
        })
    }

    fn secret(&self) -> AffinitySecret {
        static OF_PROCESS: OnceLock<[u8; 32]> = OnceLock::new();
        match self.task_keys {
            Some(keys) => AffinitySecret::from_task_keys(keys),
            None => AffinitySecret::new(OF_PROCESS.get_or_init(|| {
                let mut random = [0; 32];
                getrandom::fill(&mut random).expect("the system has random numbers");
                random
            })),
        }
    }
}

fn source(
    config: &AffinitySourceConfig,
    at: &str,
    problems: &mut ProblemCollector<'_>,
) -> Option<AffinitySource> {
    match config {
        AffinitySourceConfig::Caller => Some(AffinitySource::Caller),
        AffinitySourceConfig::Prefix => Some(AffinitySource::Prefix),
        AffinitySourceConfig::Header(name) => {
            let at = child(at, "header");
            let parsed = HeaderName::from_bytes(name.as_bytes()).map_err(|_| {
                let reason = format!("`{name}` is not a header name");
                problems.error(&at, reason, Some("write it as `x-session-id`"));
            });
            parsed.ok().map(AffinitySource::Header)
        }
        AffinitySourceConfig::Pointer(pointer) => {
            let at = child(at, "pointer");
            let hint = "write it as `/metadata/session_id`";
            let pointer = JsonPointer::parse(pointer)
                .map_err(|invalid| problems.error(&at, invalid.to_string(), Some(hint)));
            pointer.ok().map(AffinitySource::Pointer)
        }
    }
}
