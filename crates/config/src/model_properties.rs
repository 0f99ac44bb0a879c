//! `models` of `routes.yaml`: what is known of platform models besides the channels that serve them.

use super::affinity::AffinityConfig;
use super::caller_limits::BudgetConfig;
use super::protocols::ProtocolName;
use super::translation::OnLossConfig;
use headgate_core::scalar::one_or_more::OneOrMore;
use schemars::JsonSchema;
use serde::Deserialize;
use std::num::NonZeroU64;

/// Properties of a platform model.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ModelPropertiesConfig {
    /// Display name in the model list of the messages protocol. Default: the model's name.
    pub display_name: Option<String>,
    /// `owned_by` in the model list. Default: headgate.
    pub owned_by: Option<String>,
    /// Creation time in the model list, in Unix seconds. Default: 0.
    pub created: Option<u64>,
    /// Rules of the model, such as `family_a/2.0`: the name of a schema in `schemas` that is applied in
    /// addition to that of the protocol. A list if the model is served by several families. Default: none.
    pub profile: OneOrMore,
    /// Tokens that a request and its response may have together. A request that cannot fit, with more than 6 bytes of text for
    /// each token, goes to the models of `fallback.context_too_long` without a try. Default: none, every request is tried.
    pub context_window: Option<NonZeroU64>,
    /// Which requests go to the same channel, so that its provider has their prompts in its cache. Default: none, any
    /// channel gets any request.
    pub affinity: Option<AffinityConfig>,
    /// How channels of a tier are balanced, after their weights. Set `latency` where channels serve the model at different
    /// speeds. Default: load.
    pub balance: BalanceConfig,
    /// Protocols of channels that may serve the model on routes of other protocols, in place of `translate` of the route.
    /// Default: those of each route.
    pub translate: Option<Vec<ProtocolName>>,
    /// What becomes of a request with a member that changes its meaning and that the channel's protocol cannot say, in
    /// place of `on_loss` of the route. Default: that of each route.
    pub on_loss: Option<OnLossConfig>,
    /// Tokens of output for callers that set no limit, where a translation leads to a provider that demands one, as in the
    /// protocol `messages`; at most `context_window`. Set it to what the model can write. Default: 8192, or
    /// `context_window` if that is less.
    pub max_output_tokens: Option<NonZeroU64>,
    /// Budget in money of the model that all callers use up together, besides their own, on routes with `rate_limit`. Default:
    /// none.
    pub budget: BudgetConfig,
    /// Other platform models that stand in for this one, by the cause of its failure. Default: none.
    pub fallback: ModelFallbackConfig,
}

/// Models that stand in for a model after its channels could not serve a request: a name, or a list in the order in which they
/// are tried.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ModelFallbackConfig {
    /// For each cause that has no models of its own, except `content_policy`. Default: none.
    pub any: OneOrMore,
    /// The request has more tokens than the model's context. Default: those of `any`.
    pub context_too_long: OneOrMore,
    /// A provider's content policy refused the request; the caller's text then goes to another model. Default: none.
    pub content_policy: OneOrMore,
    /// No channel was available, or the last one failed, timed out or has no such model. Default: those of `any`.
    pub unavailable: OneOrMore,
    /// The last channel, or every channel, was at a rate limit. Default: those of `any`.
    pub rate_limited: OneOrMore,
    /// The provider refused the gateway's credential or its account. Default: those of `any`.
    pub account: OneOrMore,
}

impl ModelFallbackConfig {
    /// The models of all causes, with repetitions.
    pub fn names(&self) -> impl Iterator<Item = &String> {
        let Self {
            any,
            context_too_long,
            content_policy,
            unavailable,
            rate_limited,
            account,
        } = self;
        let first = [any, context_too_long, content_policy].into_iter();
        let all = first.chain([unavailable, rate_limited, account]);
        all.flat_map(|models| models.0.iter())
    }
}

/// How channels are balanced.
#[derive(Clone, Copy, Debug, Default, Deserialize, JsonSchema, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub enum BalanceConfig {
    /// By requests in flight.
    #[default]
    Load,
    /// By requests in flight times the recent time to the first byte.
    Latency,
}
