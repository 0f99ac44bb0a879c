//! Between which protocols requests of a route and of a model are translated.

use crate::ledger::OnLoss;
use headgate_protocol::Protocol;
use std::num::NonZeroU64;

/// What a route translates; by default nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TranslationPolicy {
    /// Protocols of channels, the preferred one first.
    pub protocols: Vec<Protocol>,
    pub on_loss: OnLoss,
    /// Whether the translation of a model applies here: one has its own, and the requests of the route can be translated.
    pub admits_models: bool,
}

/// What a model has in place of the translation of routes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ModelTranslationPolicy {
    /// Protocols of channels in place of those of the route, the preferred one first.
    pub protocols: Option<Vec<Protocol>>,
    /// `None` for that of the route.
    pub on_loss: Option<OnLoss>,
    /// Tokens of the output for callers that set no limit, where providers demand one; `None` for the usual ones.
    pub max_output_tokens: Option<NonZeroU64>,
}

impl TranslationPolicy {
    /// The protocols into which requests to a model are translated, the preferred one first.
    pub fn protocols_for<'p>(&'p self, model: &'p ModelTranslationPolicy) -> &'p [Protocol] {
        let own = model.protocols.as_deref();
        own.filter(|_| self.admits_models)
            .unwrap_or(&self.protocols)
    }

    /// What becomes of members of a request to a model that the channel's protocol cannot say.
    pub fn on_loss_for(&self, model: &ModelTranslationPolicy) -> OnLoss {
        model.on_loss.unwrap_or(self.on_loss)
    }
}
