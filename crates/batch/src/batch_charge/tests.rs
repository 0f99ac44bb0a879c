//! Tests of what a batch is charged: its usage at its prices, and what was reserved where that is not known.

use super::*;
use crate::batch_record::RecordedModel;
use crate::recorded_money::RecordedModelMoney;
use headgate_core::catalog::batch_price::BatchPrice;
use headgate_core::catalog::token_prices::{TokenPrices, TokenRates};
use headgate_core::state::memory::MemoryStore;

/// Two billionths for a token of input, and ten for one of output.
fn price(image: Option<u64>) -> BatchPrice {
    let rates = TokenRates {
        input: 2_000_000,
        cached_input: 1_000_000,
        cache_write: 2_000_000,
        output: 10_000_000,
        reasoning: 10_000_000,
    };
    BatchPrice {
        currency: "USD".into(),
        tokens: Some(TokenPrices::flat(rates)),
        image,
    }
}

fn reservation(amount: u64) -> MoneyReservation {
    MoneyReservation {
        id: "1".into(),
        counters: Vec::new(),
        amount,
        taken_ms: 1,
        run: None,
    }
}

fn usage(output_tokens: Option<u64>) -> BatchUsage {
    let usage = TokenUsage {
        input_tokens: Some(101),
        output_tokens,
        ..TokenUsage::default()
    };
    BatchUsage {
        by_model: vec![[(0, usage)].into()],
        ..BatchUsage::NOTHING
    }
}

/// What a batch of one model is charged that has reserved 700 billionths.
fn charge(
    on_channel: Option<BatchPrice>,
    elsewhere: Option<BatchPrice>,
    used: &BatchUsage,
) -> (u64, bool) {
    let record = BatchRecord {
        models: vec![RecordedModel {
            name: "demo".into(),
            channel_name: "sim".into(),
            tokens: 1,
            price: on_channel,
        }],
        price_percent: 50,
        ..BatchRecord::default()
    };
    let money = RecordedBatchMoney {
        whole: Some(reservation(700)),
        channel: None,
        models: vec![RecordedModelMoney {
            nanos: 700,
            price: elsewhere,
            money: None,
        }],
    };
    let (state, levels) = (MemoryStore::default(), BudgetLevels::default());
    let charged = settle_money(&money, (&state, &levels), &record, used).unwrap();
    assert_eq!(charged.reserved(), Cost(700));
    let one = model_charge(&money, &record, used, 0);
    assert_eq!(charged.charge(), Cost(one.nanos));
    let changes = charged.changes(&"ann".into(), &record);
    let changes: Vec<_> = changes.iter().map(|it| (it.added, it.refunded)).collect();
    let expected = match one.nanos {
        700 => Vec::new(),
        less @ 0..700 => vec![(0, 700 - less)],
        more => vec![(more - 700, 0)],
    };
    assert_eq!(changes, expected);
    (one.nanos, one.is_on_channel)
}

#[test]
fn what_a_batch_costs_is_its_usage_and_what_was_reserved_where_that_is_not_known() {
    let known = usage(Some(10));
    let partial = BatchUsage {
        is_complete: false,
        ..usage(Some(10))
    };
    let dear = BatchUsage {
        is_complete: false,
        ..usage(Some(1_000))
    };
    for (what, used, expected) in [
        ("a usage", &known, 151),
        ("nothing", &BatchUsage::NOTHING, 0),
        ("an unknown usage", &BatchUsage::UNKNOWN, 700),
        ("a part of it", &partial, 700),
        ("a part that is more", &dear, 5_101),
        ("no output", &usage(None), 700),
    ] {
        let charged = charge(Some(price(None)), None, used);
        assert_eq!(charged, (expected, true), "{what}");
        // A channel without prices has those of the dearest other one.
        let charged = charge(None, Some(price(None)), used);
        assert_eq!(charged, (expected, false), "{what} elsewhere");
    }
    let images = charge(Some(price(Some(40))), None, &known);
    assert_eq!(images, (700, true), "nobody counts the images");
    assert_eq!(charge(None, None, &known), (0, false), "no price is free");
}
