//! `prices` of `routes.yaml`: what models cost.

use headgate_core::scalar::UnitPrice;
use schemars::JsonSchema;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::num::NonZeroU64;

/// Prices of models, for the cost of requests in metrics and the access log.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct PricesConfig {
    /// Currency of all prices, also of those of channels: one word. Default: USD.
    #[schemars(regex(pattern = r"^[A-Za-z]{1,16}$"))]
    #[schemars(extend("patternErrorMessage" = "expected one word of at most 16 letters, such as USD"))]
    pub currency: String,
    /// Prices by platform model. `*` matches any characters; an exact name takes precedence over patterns, a longer
    /// pattern over a shorter one. Default: none.
    pub models: BTreeMap<String, ModelPriceConfig>,
}

/// Prices of a model. What has no price here costs nothing.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq, Eq)]
#[serde(deny_unknown_fields, default)]
pub struct ModelPriceConfig {
    /// Price of a million input tokens. Default: none.
    pub input: Option<UnitPrice>,
    /// Price of a million input tokens that were read from the provider's cache. Default: that of `input`.
    pub cached_input: Option<UnitPrice>,
    /// Price of a million input tokens that were written to the provider's cache. Default: that of `input`.
    pub cache_write: Option<UnitPrice>,
    /// Price of a million output tokens. Default: none.
    pub output: Option<UnitPrice>,
    /// Price of a million output tokens spent on reasoning. Default: that of `output`.
    pub reasoning: Option<UnitPrice>,
    /// Prices of tokens for requests whose input is longer than a number of tokens: all tokens of such a request have
    /// them. In ascending order of `above`. Default: none, the length of the input changes no price.
    pub long_input: Vec<LongInputPriceConfig>,
    /// Price of an image in a response. Default: none.
    pub image: Option<UnitPrice>,
    /// Price of a minute of audio, which is billed by its seconds, as the provider reports them. Default: none.
    pub audio_minute: Option<UnitPrice>,
    /// Prices of a second of video by resolution, such as `720p`; `*` is any other one, and that of creates which name
    /// none. Default: none.
    pub video_second: BTreeMap<String, UnitPrice>,
    /// Seconds of video that a create costs if it names no duration, 1 to 3600. Default: none, such creates have no
    /// cost.
    #[schemars(range(min = 1, max = 3600))]
    pub video_default_seconds: Option<u16>,
    /// Price of a credit, the unit in which the provider reports what a video cost (`usage.credits` of its family): the
    /// cost of a task that has ended is settled by it. Default: none, it stays what its seconds cost.
    pub credit: Option<UnitPrice>,
}

/// Prices of tokens for requests with a long input. A price that is missing here is that of the model, if it has one of its own.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub struct LongInputPriceConfig {
    /// Input tokens that a request has more of, those read from and written to the provider's cache included: at least 1.
    pub above: NonZeroU64,
    /// Price of a million input tokens. Default: that of the model.
    pub input: Option<UnitPrice>,
    /// Price of a million input tokens that were read from the provider's cache. Default: that of the model, else that of
    /// `input` here.
    pub cached_input: Option<UnitPrice>,
    /// Price of a million input tokens that were written to the provider's cache. Default: that of the model, else that
    /// of `input` here.
    pub cache_write: Option<UnitPrice>,
    /// Price of a million output tokens. Default: that of the model.
    pub output: Option<UnitPrice>,
    /// Price of a million output tokens spent on reasoning. Default: that of the model, else that of `output` here.
    pub reasoning: Option<UnitPrice>,
}

impl Default for PricesConfig {
    fn default() -> Self {
        Self {
            currency: "USD".into(),
            models: BTreeMap::new(),
        }
    }
}
