//! Prices of models as built, and what an exchange costs by them. All amounts are integers.

use super::token_prices::TokenPrices;
use crate::task::family::RequestedVideo;
use headgate_protocol::usage::TokenUsage;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::num::NonZeroU32;
use std::sync::Arc;

/// Billionths in a currency's unit, and in a credit.
pub const NANOS: u64 = 1_000_000_000;

/// The prices of a model on a channel.
#[derive(Debug)]
pub struct ModelPrice {
    pub currency: Arc<str>,
    /// `None` if tokens have no price.
    pub tokens: Option<TokenPrices>,
    /// Price of an image, in billionths of the currency's unit.
    pub image: Option<u64>,
    /// Price of a minute of audio, in billionths of the currency's unit.
    pub audio_minute: Option<u64>,
    /// `None` if videos have no price.
    pub video: Option<VideoPrices>,
    /// Price of a credit, in billionths of the currency's unit: the unit in which a provider reports what a video cost.
    pub credit: Option<u64>,
}

/// Prices of a second of video, in billionths of the currency's unit.
#[derive(Debug, PartialEq, Eq)]
pub struct VideoPrices {
    /// Resolutions in lower case, with their prices.
    pub by_resolution: Vec<(Box<str>, u64)>,
    /// The price of any other resolution.
    pub other: Option<u64>,
    /// The duration of creates that name none.
    pub default_seconds: Option<u16>,
}

/// What a video task costs until its end is known, and the prices that settle its cost then.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct VideoTaskPrice {
    /// What the create costs, in billionths of the currency's unit; 0 if it has no cost yet.
    pub reserved: u64,
    /// Price of a credit, in billionths.
    pub credit: Option<u64>,
    /// Price of a second of the requested resolution, in billionths.
    pub second: Option<u64>,
}

/// What a provider made besides text, where it has a price.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BillableMediaOutput {
    /// The number of images in the response.
    Images(u32),
    /// The video of an accepted create.
    Video(RequestedVideo),
}

/// An amount of money, in billionths of the currency's unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Cost(pub u64);

/// What is known of the cost of an exchange.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExchangeCost {
    /// The provider reported nothing that could have a price.
    Unmetered,
    /// What was metered has no price.
    Unpriced,
    Priced(Cost),
}

impl ModelPrice {
    /// A model without prices.
    pub fn none(currency: Arc<str>) -> Self {
        Self {
            currency,
            tokens: None,
            image: None,
            audio_minute: None,
            video: None,
            credit: None,
        }
    }

    /// Whether the cost of images depends on their number.
    pub fn counts_images(&self) -> bool {
        self.image.is_some() || self.tokens.is_none()
    }

    /// The cost of what a provider did for a request. What has no price adds nothing, if anything else has one.
    pub fn cost(
        &self,
        usage: Option<&TokenUsage>,
        media: Option<&BillableMediaOutput>,
    ) -> ExchangeCost {
        self.cost_by_length(usage.map_or(0, input_length), usage, media)
    }

    /// The cost of what a provider did for requests of which each has as many input tokens as `input` is priced for, see
    /// [`TokenPrices::for_input`].
    pub fn cost_by_length(
        &self,
        input: u64,
        usage: Option<&TokenUsage>,
        media: Option<&BillableMediaOutput>,
    ) -> ExchangeCost {
        if usage.is_none() && media.is_none() {
            return ExchangeCost::Unmetered;
        }
        let is_video = matches!(media, Some(BillableMediaOutput::Video(_)));
        // Tokens that nobody counted do not cost nothing.
        let counted = usage.filter(|usage| usage.counts_tokens());
        let tokens = self.tokens.as_ref().zip(counted);
        let tokens = tokens.map(|(prices, usage)| prices.for_input(input).cost(usage));
        let audio = self
            .audio_minute
            .zip(usage.and_then(|usage| usage.audio_ms));
        let audio = audio.map(|(price, length)| audio_cost(price, length));
        let media = media.and_then(|media| match media {
            BillableMediaOutput::Images(count) => {
                Some(u128::from(self.image?) * u128::from(*count))
            }
            BillableMediaOutput::Video(video) => self.video.as_ref()?.cost(video),
        });
        let parts = [tokens, media, audio];
        match parts.into_iter().flatten().reduce(u128::saturating_add) {
            // The cost is known when the task has ended.
            None if is_video && self.credit.is_some() => ExchangeCost::Unmetered,
            None => ExchangeCost::Unpriced,
            Some(nanos) => ExchangeCost::Priced(Cost::from_nanos(nanos)),
        }
    }

    /// The shortest input that has the same prices as that of a request: 0, unless those of a long input hold.
    pub fn shortest_input(&self, usage: &TokenUsage) -> u64 {
        let tokens = self.tokens.as_ref();
        tokens.map_or(0, |prices| prices.shortest_input(input_length(usage)))
    }

    /// Whether input tokens that were read from the provider's cache have a price of their own.
    pub fn discounts_cached_input(&self) -> bool {
        let tokens = self.tokens.as_ref();
        tokens.is_some_and(|prices| prices.all().any(|rates| rates.cached_input < rates.input))
    }

    /// What the input tokens that were not read from the provider's cache cost more than if they had been; `None` if
    /// tokens have no price.
    pub fn miss_cost(&self, usage: &TokenUsage) -> Option<Cost> {
        let prices = self.tokens.as_ref()?;
        let rates = prices.for_input(input_length(usage));
        Some(Cost::from_nanos(rates.miss_cost(usage)))
    }

    /// What an accepted create of a video costs, and what settles its cost later; `None` if it has no price.
    pub fn video_task(&self, video: &RequestedVideo) -> Option<VideoTaskPrice> {
        let second = self.video.as_ref().and_then(|prices| prices.second(video));
        let reserved = self.video.as_ref().and_then(|prices| prices.cost(video));
        (self.credit.is_some() || second.is_some()).then(|| VideoTaskPrice {
            reserved: Cost::from_nanos(reserved.unwrap_or(0)).0,
            credit: self.credit,
            second,
        })
    }
}

impl Cost {
    /// The cost of this many billionths; the largest one if they are more.
    pub fn from_nanos(nanos: u128) -> Self {
        Self(u64::try_from(nanos).unwrap_or(u64::MAX))
    }
}

/// A decimal number without zeros at its end.
impl fmt::Display for Cost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let decimals = format!("{:09}", self.0 % NANOS);
        write!(f, "{}", self.0 / NANOS)?;
        match decimals.trim_end_matches('0') {
            "" => Ok(()),
            decimals => write!(f, ".{decimals}"),
        }
    }
}

impl VideoPrices {
    /// In billionths; `None` if the duration is unknown or the resolution has no price.
    fn cost(&self, video: &RequestedVideo) -> Option<u128> {
        let price = self.second(video)?;
        let default_ms = || {
            self.default_seconds
                .map(|seconds| u64::from(seconds) * 1000)
        };
        let duration_ms = video.duration_ms.or_else(default_ms)?;
        Some(u128::from(price) * u128::from(duration_ms) / 1000)
    }

    /// Price of a second of the requested resolution, if it has one.
    fn second(&self, video: &RequestedVideo) -> Option<u64> {
        let wanted = video.resolution.as_deref().and_then(|wanted| {
            let mut known = self.by_resolution.iter();
            known.find(|(resolution, _)| **resolution == *wanted)
        });
        wanted.map(|(_, price)| *price).or(self.other)
    }
}

/// The input tokens of a request, as its price depends on them.
fn input_length(usage: &TokenUsage) -> u64 {
    usage.input_with_cache().unwrap_or(0)
}

/// The cost of audio by its minutes, in billionths, rounded to the nearest one.
fn audio_cost(price: u64, length_ms: NonZeroU32) -> u128 {
    const MINUTE_MS: u128 = 60_000;
    (u128::from(price) * u128::from(length_ms.get()) + MINUTE_MS / 2) / MINUTE_MS
}

#[cfg(test)]
mod tests;
