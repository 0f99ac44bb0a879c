//! Tests of the cost of exchanges.

use super::super::token_prices::{LongInputRates, TokenRates};
use super::*;

fn usage(input: u64, output: u64, cached: u64, written: u64, reasoning: u64) -> TokenUsage {
    TokenUsage {
        input_tokens: Some(input),
        output_tokens: Some(output),
        total_tokens: None,
        cached_input_tokens: Some(cached),
        cache_write_tokens: Some(written),
        reasoning_tokens: Some(reasoning),
        audio_ms: None,
        input_excludes_cache: false,
    }
}

/// Prices in units for a million tokens.
fn priced() -> ModelPrice {
    ModelPrice {
        tokens: Some(TokenPrices::flat(TokenRates {
            input: 2_000_000_000,
            cached_input: 500_000_000,
            cache_write: 2_500_000_000,
            output: 10_000_000_000,
            reasoning: 20_000_000_000,
        })),
        image: Some(40_000_000),
        video: Some(VideoPrices {
            by_resolution: vec![("720p".into(), 100_000_000), ("1080p".into(), 250_000_000)],
            other: None,
            default_seconds: None,
        }),
        ..ModelPrice::none("USD".into())
    }
}

fn video(duration_ms: Option<u64>, resolution: Option<&str>) -> BillableMediaOutput {
    BillableMediaOutput::Video(RequestedVideo {
        duration_ms,
        resolution: resolution.map(String::from),
    })
}

#[test]
fn cached_tokens_are_part_of_the_input_or_beside_it() {
    let price = priced();
    let beside = |usage| TokenUsage {
        input_excludes_cache: true,
        ..usage
    };
    for (usage, nanos) in [
        // 60 + 30 cached + 10 written, 30 + 20 reasoning.
        (usage(100, 50, 30, 10, 20), 860_000),
        (beside(usage(60, 50, 30, 10, 20)), 860_000),
        (usage(1, 0, 0, 0, 0), 2_000),
        // Counts that contradict each other never make a cost negative.
        (usage(10, 5, 30, 0, 20), 415_000),
    ] {
        let cost = price.cost(Some(&usage), None);
        assert_eq!(cost, ExchangeCost::Priced(Cost(nanos)), "{usage:?}");
    }
}

#[test]
fn a_long_input_has_all_tokens_at_its_own_prices() {
    let mut price = priced();
    let long = |above, input| LongInputRates {
        above,
        rates: TokenRates {
            input,
            cached_input: input / 10,
            cache_write: input * 2,
            output: input * 5,
            reasoning: input * 5,
        },
    };
    let tokens = price.tokens.as_mut().unwrap();
    tokens.long_input = vec![long(100, 4_000_000_000), long(200, 8_000_000_000)];
    let beside = |usage| TokenUsage {
        input_excludes_cache: true,
        ..usage
    };
    let short_miss = 1_500 * 100;
    for (usage, nanos, miss_nanos) in [
        (usage(100, 10, 0, 0, 0), 300_000, short_miss),
        (usage(101, 10, 0, 0, 0), 604_000, 3_600 * 101),
        (usage(200, 0, 0, 0, 0), 800_000, 3_600 * 200),
        (usage(201, 0, 0, 0, 0), 1_608_000, 7_200 * 201),
        // Tokens of the cache are input too, whichever way they are counted.
        (usage(101, 0, 101, 0, 0), 40_400, 0),
        (
            beside(usage(1, 0, 60, 40, 0)),
            4_000 + 24_000 + 320_000,
            3_600 + 7_600 * 40,
        ),
        (
            beside(usage(1, 0, 60, 39, 0)),
            2_000 + 30_000 + 97_500,
            1_500 + 2_000 * 39,
        ),
    ] {
        let cost = price.cost(Some(&usage), None);
        assert_eq!(cost, ExchangeCost::Priced(Cost(nanos)), "{usage:?}");
        assert_eq!(price.miss_cost(&usage), Some(Cost(miss_nanos)), "{usage:?}");
    }
}

#[test]
fn a_cost_is_rounded_once_to_the_nearest_billionth() {
    let mut price = priced();
    price.tokens = Some(TokenPrices::flat(TokenRates {
        input: 37_500_000,
        cached_input: 0,
        cache_write: 0,
        output: 150_000_000,
        reasoning: 150_000_000,
    }));
    for (input, output, nanos) in [(1, 0, 38), (1, 1, 188), (2, 0, 75), (3, 3, 563), (0, 0, 0)] {
        let usage = usage(input, output, 0, 0, 0);
        let cost = price.cost(Some(&usage), None);
        assert_eq!(cost, ExchangeCost::Priced(Cost(nanos)), "{input} {output}");
    }
}

#[test]
fn counts_of_a_hostile_provider_do_not_overflow() {
    let price = priced();
    let most = u64::MAX;
    let usage = usage(most, most, most, most, most);
    let usage = TokenUsage {
        input_excludes_cache: true,
        ..usage
    };
    let cost = price.cost(Some(&usage), None);
    assert!(
        matches!(cost, ExchangeCost::Priced(Cost(nanos)) if nanos > 1 << 60),
        "{cost:?}"
    );
    let cost = price.cost(None, Some(&video(Some(most), Some("720p"))));
    assert!(matches!(cost, ExchangeCost::Priced(_)), "{cost:?}");
}

#[test]
fn images_and_videos_cost_by_count_and_by_seconds_and_resolution() {
    let price = priced();
    let other = ModelPrice {
        video: Some(VideoPrices {
            by_resolution: vec![("720p".into(), 100_000_000)],
            other: Some(70_000_000),
            default_seconds: Some(5),
        }),
        ..priced()
    };
    let cost = |nanos| ExchangeCost::Priced(Cost(nanos));
    for (price, media, expected) in [
        (&price, BillableMediaOutput::Images(3), cost(120_000_000)),
        (&price, BillableMediaOutput::Images(0), cost(0)),
        (&price, video(Some(5_000), Some("720p")), cost(500_000_000)),
        (&price, video(Some(2_500), Some("1080p")), cost(625_000_000)),
        (
            &price,
            video(Some(5_000), Some("480p")),
            ExchangeCost::Unpriced,
        ),
        (&price, video(Some(5_000), None), ExchangeCost::Unpriced),
        (&price, video(None, Some("720p")), ExchangeCost::Unpriced),
        (&other, video(Some(5_000), Some("480p")), cost(350_000_000)),
        (&other, video(None, None), cost(350_000_000)),
        (&other, video(None, Some("720p")), cost(500_000_000)),
    ] {
        assert_eq!(price.cost(None, Some(&media)), expected, "{media:?}");
    }
}

#[test]
fn audio_costs_by_its_seconds_and_beside_tokens() {
    let by_minute = ModelPrice {
        audio_minute: Some(6_000_000),
        ..ModelPrice::none("USD".into())
    };
    let both = ModelPrice {
        audio_minute: Some(6_000_000),
        ..priced()
    };
    let lasting = |ms: Option<u32>| TokenUsage {
        audio_ms: ms.and_then(NonZeroU32::new),
        ..TokenUsage::default()
    };
    let cost = |nanos| ExchangeCost::Priced(Cost(nanos));
    for (price, audio_ms, expected) in [
        (&by_minute, Some(60_000), cost(6_000_000)),
        (&by_minute, Some(12_000), cost(1_200_000)),
        (&by_minute, Some(8_470), cost(847_000)),
        (&by_minute, Some(u32::MAX), cost(429_496_729_500)),
        (&by_minute, None, ExchangeCost::Unpriced),
        (&both, Some(60_000), cost(6_000_000)),
        (&priced(), Some(60_000), ExchangeCost::Unpriced),
    ] {
        let usage = lasting(audio_ms);
        assert_eq!(price.cost(Some(&usage), None), expected, "{audio_ms:?}");
    }
    let tokens_too = TokenUsage {
        audio_ms: NonZeroU32::new(60_000),
        ..usage(1, 0, 0, 0, 0)
    };
    assert_eq!(both.cost(Some(&tokens_too), None), cost(6_002_000));
}

#[test]
fn what_has_no_price_is_not_the_same_as_what_was_not_metered() {
    let none = ModelPrice::none("USD".into());
    let usage = usage(1, 1, 0, 0, 0);
    let image = BillableMediaOutput::Images(1);
    assert_eq!(none.cost(None, None), ExchangeCost::Unmetered);
    assert_eq!(none.cost(Some(&usage), None), ExchangeCost::Unpriced);
    assert_eq!(none.cost(None, Some(&image)), ExchangeCost::Unpriced);
    assert_eq!(priced().cost(None, None), ExchangeCost::Unmetered);
    // An image with a price, whose tokens have none.
    let by_image = ModelPrice {
        tokens: None,
        ..priced()
    };
    let cost = by_image.cost(Some(&usage), Some(&image));
    assert_eq!(cost, ExchangeCost::Priced(Cost(40_000_000)));
}

#[test]
fn misses_cost_what_the_cache_would_have_saved() {
    let price = priced();
    for (usage, nanos) in [
        // 60 tokens at 1.5 more than cached ones, 10 written at 2 more.
        (usage(100, 50, 30, 10, 20), 110_000),
        (usage(100, 50, 100, 0, 0), 0),
        // Counts that contradict each other.
        (usage(10, 5, 30, 10, 0), 0),
        (usage(10, 5, 0, 30, 0), 20_000),
    ] {
        assert_eq!(price.miss_cost(&usage), Some(Cost(nanos)), "{usage:?}");
    }
    assert!(price.discounts_cached_input());
    let none = ModelPrice::none("USD".into());
    assert_eq!(none.miss_cost(&usage(1, 1, 0, 0, 0)), None);
    assert!(!none.discounts_cached_input());
}
