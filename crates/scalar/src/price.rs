//! Prices: decimal numbers, exact to a billionth.

use super::InvalidScalar;
use serde::Deserialize;
use serde::de::{Deserializer, Error, Visitor};
use std::fmt;
use std::str::FromStr;

pub(super) const PRICE_WORDS: &str = "expected an amount from 0 to 999999999 with at most 9 decimal places, such as 2.5 or 0.075; one with more than 15 digits in quotes";

/// Billionths in one unit of a currency.
const NANOS: u64 = 1_000_000_000;
/// Most digits before and after the decimal point.
const DIGITS_MAX: usize = 9;
/// Digits of a decimal number that a binary fraction always keeps.
const EXACT_DIGITS: usize = 15;

/// The keyword of schemas for the most decimal places of a number.
pub const DECIMAL_PLACES: &str = "x-decimal-places";

/// A price in billionths of a currency's unit; what it is the price of, its place in the configuration says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct UnitPrice(u64);

impl UnitPrice {
    /// The price in billionths of the currency's unit.
    pub const fn nanos(self) -> u64 {
        self.0
    }
}

impl FromStr for UnitPrice {
    type Err = InvalidScalar;

    fn from_str(text: &str) -> Result<Self, InvalidScalar> {
        let (whole, decimals) = text.split_once('.').unwrap_or((text, "0"));
        let digits = |digits: &str| -> Option<u64> {
            let is_number = (1..=DIGITS_MAX).contains(&digits.len())
                && digits.bytes().all(|byte| byte.is_ascii_digit());
            is_number.then(|| digits.parse().ok())?
        };
        let price = digits(whole).zip(digits(decimals)).map(|(units, nanos)| {
            let missing = DIGITS_MAX - decimals.len();
            units * NANOS + nanos * 10_u64.pow(missing as u32)
        });
        price.map(Self).ok_or(InvalidScalar(PRICE_WORDS))
    }
}

impl<'de> Deserialize<'de> for UnitPrice {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(UnitPriceVisitor)
    }
}

/// Whether a number has at most 9 decimal places, and 15 digits in all. Nothing that an operator writes is rounded: what has
/// more digits is written as text.
pub fn is_exact_amount(units: f64) -> bool {
    let text = in_billionths(units);
    let digits = text.trim_end_matches('0').replace(['.', '-'], "");
    digits.trim_start_matches('0').len() <= EXACT_DIGITS && text.parse() == Ok(units)
}

fn in_billionths(units: f64) -> String {
    format!("{units:.DIGITS_MAX$}")
}

struct UnitPriceVisitor;

impl Visitor<'_> for UnitPriceVisitor {
    type Value = UnitPrice;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(PRICE_WORDS.trim_start_matches("expected "))
    }

    fn visit_u64<E: Error>(self, units: u64) -> Result<UnitPrice, E> {
        units.to_string().parse().map_err(E::custom)
    }

    /// The number in the file was read as a binary fraction; its nearest billionth is the decimal number as written, if that
    /// has no more digits than such a fraction keeps.
    fn visit_f64<E: Error>(self, units: f64) -> Result<UnitPrice, E> {
        match is_exact_amount(units) {
            true => in_billionths(units).parse().map_err(E::custom),
            false => Err(E::custom(PRICE_WORDS)),
        }
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<UnitPrice, E> {
        text.parse().map_err(E::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_price_is_a_decimal_number_exact_to_a_billionth() {
        for (text, nanos) in [
            ("0", Some(0)),
            ("0.0", Some(0)),
            ("2.5", Some(2_500_000_000)),
            ("0.075", Some(75_000_000)),
            ("0.000000001", Some(1)),
            ("999999999", Some(999_999_999_000_000_000)),
            ("999999999.999999999", Some(999_999_999_999_999_999)),
            ("", None),
            (".5", None),
            ("5.", None),
            ("-1", None),
            ("+1", None),
            ("1e3", None),
            ("1,5", None),
            ("0.0000000001", None),
            ("1000000000", None),
        ] {
            let price = text.parse::<UnitPrice>().ok();
            assert_eq!(price.map(UnitPrice::nanos), nanos, "{text}");
        }
    }

    #[test]
    fn numbers_of_the_file_have_the_value_that_they_are_written_with() {
        for (value, nanos) in [
            (json!(3), Some(3_000_000_000)),
            (json!(0.1), Some(100_000_000)),
            (json!(0.15), Some(150_000_000)),
            (json!(2.675), Some(2_675_000_000)),
            (json!(1e-9), Some(1)),
            (json!(123456.123456789), Some(123_456_123_456_789)),
            (json!(999999999), Some(999_999_999_000_000_000)),
            (json!("0.30"), Some(300_000_000)),
            (json!("8999999.123456789"), Some(8_999_999_123_456_789)),
            (json!(9.1234567891), None),
            (json!(0.0000000001), None),
            (json!(0.00000000149), None),
            (json!(1.0000000001), None),
            (json!(1e-300), None),
            (json!("0.0000000001"), None),
            (json!(-0.1), None),
            (json!(-1), None),
            (json!(1e9), None),
            (json!(true), None),
            (json!(null), None),
        ] {
            let price = serde_json::from_value::<UnitPrice>(value.clone()).ok();
            assert_eq!(price.map(UnitPrice::nanos), nanos, "{value}");
        }
    }
}
