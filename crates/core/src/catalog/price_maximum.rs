//! The most that a request can cost by the prices of a model, before it is sent.

use super::price::{Cost, ModelPrice, VideoPrices};
use super::token_prices::{TOKENS_PER_PRICE, TokenPrices, TokenRates};
use crate::task::family::RequestedVideo;

const MINUTE_MS: u128 = 60_000;

/// The most that a provider can do for a request.
#[derive(Clone, Debug, Default)]
pub struct WorkMaximum {
    pub input_tokens: u64,
    /// `None` if nothing limits them.
    pub output_tokens: Option<u64>,
    pub images: u64,
    pub audio_ms: u64,
    /// Whether the provider gets audio from elsewhere, of any length.
    pub has_distant_audio: bool,
    /// The video of a create.
    pub video: Option<VideoMaximum>,
}

/// The video of a create, as far as its price depends on it.
#[derive(Clone, Debug)]
pub struct VideoMaximum {
    pub requested: RequestedVideo,
    /// Whether the provider may make it in another resolution than that.
    pub may_have_other_resolution: bool,
    /// Whether the request has a duration that is not a length, such as -1, with which the provider chooses one.
    pub has_open_duration: bool,
}

/// Why the cost of a request has no bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UnboundedCost {
    /// Neither the request nor the model limits the tokens of the output.
    OutputTokens,
    /// Neither the request nor the price has the duration of the video, or its resolution has no price.
    Video,
    /// The provider gets its audio from elsewhere.
    Audio,
}

impl ModelPrice {
    /// The most that such a request can cost, in billionths of the currency's unit: at least one of them, with which it is
    /// settled, unless all prices are 0.
    ///
    /// # Errors
    /// Nothing limits its cost.
    pub fn bound(&self, work: &WorkMaximum) -> Result<u64, UnboundedCost> {
        self.bound_together(work, work.input_tokens)
    }

    /// The most that requests can cost that may use this much together; the longest input of one of them has
    /// `longest_input` tokens.
    ///
    /// # Errors
    /// Nothing limits their cost.
    pub fn bound_together(
        &self,
        work: &WorkMaximum,
        longest_input: u64,
    ) -> Result<u64, UnboundedCost> {
        let tokens = match &self.tokens {
            Some(prices) => prices.bound(work, longest_input)?,
            None => 0,
        };
        let images = u128::from(self.image.unwrap_or(0)) * u128::from(work.images);
        if work.has_distant_audio && self.charges_audio() {
            return Err(UnboundedCost::Audio);
        }
        let audio = u128::from(self.audio_minute.unwrap_or(0)) * u128::from(work.audio_ms);
        let video = match (&work.video, &self.video) {
            (Some(video), Some(prices)) => prices.bound(video)?,
            // What a credit is worth is known, and not how many of them the video takes.
            (Some(_), None) if self.credit.is_some() => return Err(UnboundedCost::Video),
            _ => 0,
        };
        let parts = [tokens, images, audio.div_ceil(MINUTE_MS), video];
        let sum = parts.into_iter().fold(0, u128::saturating_add);
        let least = u128::from(!self.is_free());
        Ok(Cost::from_nanos(sum.max(least)).0)
    }

    /// Whether anything of a request has a price.
    pub fn is_priced(&self) -> bool {
        let is_other = self.image.is_some() || self.audio_minute.is_some() || self.credit.is_some();
        self.tokens.is_some() || self.video.is_some() || is_other
    }

    /// Whether audio costs by its length or its tokens.
    fn charges_audio(&self) -> bool {
        let mut rates = self.tokens.iter().flat_map(TokenPrices::all);
        self.audio_minute.unwrap_or(0) > 0 || rates.any(|rates| rates.input > 0)
    }

    /// Whether whatever a provider reports costs nothing.
    fn is_free(&self) -> bool {
        let tokens = self.tokens.as_ref().is_none_or(TokenPrices::is_free);
        let others = [self.image, self.audio_minute, self.credit];
        let video = self.video.as_ref().is_none_or(|video| {
            let mut named = video.by_resolution.iter();
            named.all(|(_, price)| *price == 0) && video.other.unwrap_or(0) == 0
        });
        tokens && video && others.iter().all(|price| price.unwrap_or(0) == 0)
    }
}

impl TokenPrices {
    fn is_free(&self) -> bool {
        let mut all = self.all();
        all.all(|rates| rates.dearest_input().max(rates.dearest_output()) == 0)
    }

    /// By the dearest of the prices that the input may get, which are not always those of the longest one.
    fn bound(&self, work: &WorkMaximum, longest_input: u64) -> Result<u128, UnboundedCost> {
        let mut dearest = 0;
        for rates in self.up_to(longest_input) {
            dearest = dearest.max(rates.bound(work)?);
        }
        Ok(dearest)
    }
}

impl TokenRates {
    fn bound(&self, work: &WorkMaximum) -> Result<u128, UnboundedCost> {
        let output = self.dearest_output();
        let output_tokens = match (output, work.output_tokens) {
            (0, _) => 0,
            (_, Some(tokens)) => tokens,
            (_, None) => return Err(UnboundedCost::OutputTokens),
        };
        let sum = u128::from(self.dearest_input()) * u128::from(work.input_tokens)
            + u128::from(output) * u128::from(output_tokens);
        Ok(sum.div_ceil(TOKENS_PER_PRICE))
    }
}

impl VideoPrices {
    fn bound(&self, video: &VideoMaximum) -> Result<u128, UnboundedCost> {
        let wanted = video.requested.resolution.as_deref();
        let mut named = self.by_resolution.iter();
        let named = named.find(|(resolution, _)| wanted == Some(&**resolution));
        let dearest = || self.by_resolution.iter().map(|(_, price)| *price).max();
        let price = match named {
            Some((_, price)) if !video.may_have_other_resolution => Some(*price),
            _ => dearest().max(self.other),
        };
        let default_ms = self.default_seconds.map(|it| u64::from(it) * 1000);
        let duration_ms = video.requested.duration_ms.or(default_ms);
        let duration_ms = duration_ms.filter(|_| !video.has_open_duration);
        let (Some(price), Some(duration_ms)) = (price, duration_ms) else {
            return Err(UnboundedCost::Video);
        };
        Ok((u128::from(price) * u128::from(duration_ms)).div_ceil(1000))
    }
}

#[cfg(test)]
mod tests {
    use super::super::token_prices::LongInputRates;
    use super::*;
    use headgate_protocol::usage::TokenUsage;

    fn price() -> ModelPrice {
        ModelPrice {
            tokens: Some(TokenPrices::flat(TokenRates {
                input: 3,
                cached_input: 1,
                cache_write: 4,
                output: 10,
                reasoning: 12,
            })),
            ..ModelPrice::none("USD".into())
        }
    }

    fn tokens(input_tokens: u64, output_tokens: Option<u64>) -> WorkMaximum {
        WorkMaximum {
            input_tokens,
            output_tokens,
            ..WorkMaximum::default()
        }
    }

    #[test]
    fn no_usage_within_the_bound_costs_more() {
        let price = price();
        for (input, output) in [(1, 1), (1000, 7), (999_999, 0), (12_345_678, 901)] {
            let bound = price.bound(&tokens(input, Some(output))).unwrap();
            for (cached, written, reasoning) in
                [(0, 0, 0), (input, 0, 0), (0, input, 0), (0, input, output)]
            {
                let usage = TokenUsage {
                    input_tokens: Some(input),
                    output_tokens: Some(output),
                    cached_input_tokens: Some(cached),
                    cache_write_tokens: Some(written),
                    reasoning_tokens: Some(reasoning),
                    ..TokenUsage::default()
                };
                let cost = price.cost(Some(&usage), None);
                let super::super::price::ExchangeCost::Priced(Cost(cost)) = cost else {
                    panic!("{cost:?}");
                };
                assert!(cost <= bound, "{usage:?}: {cost} {bound}");
            }
        }
    }

    #[test]
    fn the_dearest_prices_that_the_input_may_get_bound_it() {
        let rates = |input, output| TokenRates {
            input,
            cached_input: 0,
            cache_write: 0,
            output,
            reasoning: 0,
        };
        let long = |above, input, output| LongInputRates {
            above,
            rates: rates(input, output),
        };
        let price = ModelPrice {
            tokens: Some(TokenPrices {
                base: rates(1_000_000, 0),
                // Those of the longest input are cheaper.
                long_input: vec![long(100, 3_000_000, 5_000_000), long(200, 2_000_000, 0)],
            }),
            ..ModelPrice::none("USD".into())
        };
        for (input, output, expected) in [
            (100, Some(10), Ok(100)),
            (100, None, Ok(100)),
            (101, Some(10), Ok(353)),
            (101, None, Err(UnboundedCost::OutputTokens)),
            (201, Some(10), Ok(653)),
        ] {
            assert_eq!(price.bound(&tokens(input, output)), expected, "{input}");
        }
    }

    #[test]
    fn only_what_is_free_has_no_bound_to_settle() {
        let nothing = WorkMaximum::default();
        let free = ModelPrice::none("USD".into());
        assert_eq!(free.bound(&nothing), Ok(0));
        let image = ModelPrice {
            image: Some(7),
            ..free
        };
        assert_eq!(image.bound(&nothing), Ok(1));
    }

    #[test]
    fn output_without_a_limit_has_no_bound_unless_it_is_free() {
        let unlimited = tokens(10, None);
        assert_eq!(price().bound(&unlimited), Err(UnboundedCost::OutputTokens));
        let mut free = price();
        let tokens = &mut free.tokens.as_mut().unwrap().base;
        (tokens.output, tokens.reasoning) = (0, 0);
        assert_eq!(free.bound(&unlimited), Ok(1));
        let none = ModelPrice::none("USD".into());
        assert_eq!(none.bound(&unlimited), Ok(0));
    }

    #[test]
    fn images_audio_and_videos_are_bounded_by_what_was_requested() {
        let price = ModelPrice {
            image: Some(40),
            audio_minute: Some(6),
            video: Some(VideoPrices {
                by_resolution: vec![("720p".into(), 100), ("1080p".into(), 250)],
                other: Some(150),
                default_seconds: Some(5),
            }),
            ..ModelPrice::none("USD".into())
        };
        let video =
            |duration_ms, resolution: Option<&str>, may_have_other_resolution| WorkMaximum {
                video: Some(VideoMaximum {
                    requested: RequestedVideo {
                        duration_ms,
                        resolution: resolution.map(Into::into),
                    },
                    has_open_duration: false,
                    may_have_other_resolution,
                }),
                ..WorkMaximum::default()
            };
        let images = WorkMaximum {
            images: 3,
            ..WorkMaximum::default()
        };
        let audio = WorkMaximum {
            audio_ms: 60_001,
            ..WorkMaximum::default()
        };
        for (what, work, expected) in [
            ("images", images, 120),
            ("audio", audio, 7),
            ("a resolution", video(Some(4_000), Some("720p"), false), 400),
            (
                "one that may become another",
                video(Some(4_000), Some("720p"), true),
                1_000,
            ),
            ("another", video(Some(4_000), Some("4k"), false), 1_000),
            ("nothing named", video(None, None, false), 1_250),
        ] {
            assert_eq!(price.bound(&work), Ok(expected), "{what}");
        }
        let mut open = video(Some(4_000), Some("720p"), false);
        open.video.as_mut().unwrap().has_open_duration = true;
        assert_eq!(price.bound(&open), Err(UnboundedCost::Video));
        let distant = WorkMaximum {
            has_distant_audio: true,
            ..WorkMaximum::default()
        };
        assert_eq!(price.bound(&distant), Err(UnboundedCost::Audio));
        let credits = ModelPrice {
            credit: Some(7),
            ..ModelPrice::none("USD".into())
        };
        let unknown = video(Some(4_000), Some("720p"), false);
        assert_eq!(credits.bound(&unknown), Err(UnboundedCost::Video));
    }
}
