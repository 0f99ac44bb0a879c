//! A public list of prices, as users of LiteLLM have it: what it says of a model, in the units of `prices`.

use serde_json::{Map, Value};
use std::collections::{BTreeMap, BTreeSet};

/// Billionths in a currency's unit.
const NANOS: f64 = 1e9;
/// The largest price of a token that is no mistake: that of a million tokens would be 10000.
const TOKEN_MAX: f64 = 0.01;
/// The largest price of an image, or of a second.
const PIECE_MAX: f64 = 1_000.0;
/// The entry that explains the others.
const SAMPLE: &str = "sample_spec";
/// Problems that are printed.
const PROBLEMS_MAX: usize = 20;

/// The costs of the list that are prices here: the name there and here, and of how many there one is the price here.
const PRICES: [(&str, &str, f64, f64); 8] = [
    ("input_cost_per_token", "input", 1e6, TOKEN_MAX),
    (
        "cache_read_input_token_cost",
        "cached_input",
        1e6,
        TOKEN_MAX,
    ),
    (
        "cache_creation_input_token_cost",
        "cache_write",
        1e6,
        TOKEN_MAX,
    ),
    ("output_cost_per_token", "output", 1e6, TOKEN_MAX),
    (
        "output_cost_per_reasoning_token",
        "reasoning",
        1e6,
        TOKEN_MAX,
    ),
    ("output_cost_per_image", "image", 1.0, PIECE_MAX),
    ("input_cost_per_second", "audio_minute", 60.0, PIECE_MAX),
    ("output_cost_per_second", VIDEO_SECOND, 1.0, PIECE_MAX),
];
pub const VIDEO_SECOND: &str = "video_second";
/// Words in the names of costs whose unit is known although `prices` has no such price.
const KNOWN_UNITS: [&str; 22] = [
    "token",
    "tokens",
    "image",
    "pixel",
    "character",
    "characters",
    "second",
    "query",
    "queries",
    "request",
    "page",
    "pages",
    "session",
    "calls",
    "day",
    "credit",
    "dbu",
    "dbus",
    "hour",
    "minute",
    "sample",
    "storage",
];

/// The prices of a model, in billionths by their keys in `prices`.
pub type ListedPrices = BTreeMap<&'static str, u64>;

/// A list whose every amount is plausible.
pub struct PriceListFile(Map<String, Value>);

/// What the list says of a model.
#[derive(Debug)]
pub enum PriceLookup {
    Found {
        prices: ListedPrices,
        /// Costs that `prices` cannot say.
        others: Vec<String>,
    },
    /// Several providers have it at different prices.
    Ambiguous(Vec<String>),
    Absent,
}

impl PriceListFile {
    /// Reads the list.
    ///
    /// # Errors
    /// All places with an amount that cannot be meant: the whole list is then refused.
    pub fn parse(text: &str) -> Result<Self, String> {
        let list: Value =
            serde_json::from_str(text).map_err(|error| format!("not JSON: {error}"))?;
        let Value::Object(mut models) = list else {
            return Err("expected an object with an entry for each model".into());
        };
        models.remove(SAMPLE);
        let mut problems = Vec::new();
        for (name, entry) in &models {
            match entry {
                Value::Object(entry) => check_amounts(name, entry, &mut problems),
                _ => problems.push(format!("{name}: expected an object")),
            }
        }
        let more = problems.len().saturating_sub(PROBLEMS_MAX);
        problems.truncate(PROBLEMS_MAX);
        if more > 0 {
            problems.push(format!("and {more} more"));
        }
        match problems.is_empty() {
            true => Ok(Self(models)),
            false => Err(problems.join("\n  ")),
        }
    }

    /// The prices of a model by its names, of which the first that is listed counts; else by the only provider that lists it.
    ///
    /// # Errors
    /// Its costs have a unit that is not known, with their places.
    pub fn find(&self, names: &[&str]) -> Result<PriceLookup, String> {
        if let Some(name) = names.iter().find(|name| self.0.contains_key(**name)) {
            return self.read(name);
        }
        let is_named = |listed: &&String| {
            let (_, name) = listed.rsplit_once('/').unwrap_or(("", listed));
            names.contains(&name)
        };
        let listed: Vec<&String> = self.0.keys().filter(is_named).collect();
        let Some((first, others)) = listed.split_first() else {
            return Ok(PriceLookup::Absent);
        };
        let found = self.read(first)?;
        for other in others {
            if let (PriceLookup::Found { prices, .. }, PriceLookup::Found { prices: same, .. }) =
                (&found, self.read(other)?)
                && *prices != same
            {
                return Ok(PriceLookup::Ambiguous(
                    listed.into_iter().cloned().collect(),
                ));
            }
        }
        Ok(found)
    }

    fn read(&self, name: &str) -> Result<PriceLookup, String> {
        let mut prices = ListedPrices::new();
        let (mut others, mut unknown) = (Vec::new(), Vec::new());
        let entry = self.0.get(name).and_then(Value::as_object);
        for (key, value) in entry.into_iter().flatten() {
            let known = PRICES.iter().find(|(listed, ..)| listed == key);
            match (known, value.as_f64()) {
                (Some((_, price, factor, _)), Some(cost)) => {
                    prices.insert(price, (cost * factor * NANOS).round() as u64);
                }
                _ if !is_cost(key) => {}
                _ if has_known_unit(key) => others.push(key.clone()),
                _ => unknown.push(format!("{name}.{key}: a cost of an unknown unit")),
            }
        }
        match unknown.is_empty() {
            true => Ok(PriceLookup::Found { prices, others }),
            false => Err(unknown.join("\n  ")),
        }
    }
}

fn check_amounts(name: &str, entry: &Map<String, Value>, problems: &mut Vec<String>) {
    for (key, value) in entry.iter().filter(|(key, _)| is_cost(key)) {
        let most = PRICES.iter().find(|(listed, ..)| listed == key);
        let most = most.map_or(f64::MAX, |(.., most)| *most);
        let at = format!("{name}.{key}");
        match value {
            Value::Number(amount) => match amount.as_f64() {
                Some(amount) if amount < 0.0 => problems.push(format!("{at}: {amount} is negative")),
                Some(amount) if amount > most => problems.push(format!(
                    "{at}: {amount} is more than {most}, which no provider asks for: it may be the price of a million"
                )),
                Some(amount) if amount.is_finite() => {}
                _ => problems.push(format!("{at}: expected a finite number")),
            },
            // Costs by size and tiers are not prices here.
            Value::Object(_) | Value::Array(_) | Value::Null => {}
            Value::String(_) | Value::Bool(_) => problems.push(format!("{at}: expected a number")),
        }
    }
}

fn is_cost(key: &str) -> bool {
    key.split('_').any(|word| word == "cost" || word == "costs")
}

/// Whether the name of a cost has a unit that is known.
fn has_known_unit(key: &str) -> bool {
    let known: BTreeSet<&str> = KNOWN_UNITS.into_iter().collect();
    key.split('_').any(|word| known.contains(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(list: &PriceListFile, names: &[&str]) -> (Vec<(&'static str, u64)>, Vec<String>) {
        match list.find(names).unwrap() {
            PriceLookup::Found { prices, others } => (prices.into_iter().collect(), others),
            other => panic!("{names:?}: {other:?}"),
        }
    }

    #[test]
    fn costs_become_prices_and_what_has_no_price_here_is_named() {
        let list = PriceListFile::parse(
            r#"{
            "sample_spec": {"input_cost_per_token": -1, "mode": "one of"},
            "gpt-4o": {"input_cost_per_token": 2.5e-06, "output_cost_per_token": 1e-05, "mode": "chat",
                "cache_read_input_token_cost": 1.25e-06, "input_cost_per_token_batches": 1.25e-06,
                "search_context_cost_per_query": {"search_context_size_low": 0.03}},
            "x/flux": {"output_cost_per_image": 0.04}, "y/flux": {"output_cost_per_image": 0.04},
            "x/sora": {"output_cost_per_second": 0.1}, "y/sora": {"output_cost_per_second": 0.2},
            "whisper-1": {"input_cost_per_second": 0.0001}}"#,
        );
        let list = list.unwrap_or_else(|error| panic!("{error}"));
        let (prices, others) = found(&list, &["gpt-4o", "chat"]);
        let million = [
            ("cached_input", 1_250_000_000),
            ("input", 2_500_000_000),
            ("output", 10_000_000_000),
        ];
        assert_eq!(prices, million);
        assert_eq!(
            others,
            [
                "input_cost_per_token_batches",
                "search_context_cost_per_query"
            ]
        );
        assert_eq!(found(&list, &["flux"]).0, [("image", 40_000_000)]);
        assert_eq!(
            found(&list, &["none", "whisper-1"]).0,
            [("audio_minute", 6_000_000)]
        );
        assert!(
            matches!(list.find(&["sora"]), Ok(PriceLookup::Ambiguous(names)) if names.len() == 2)
        );
        assert!(matches!(list.find(&["gpt"]), Ok(PriceLookup::Absent)));
    }

    #[test]
    fn a_list_with_an_amount_that_cannot_be_meant_is_refused_whole_with_its_place() {
        for (list, words) in [
            ("", "not JSON"),
            ("[]", "expected an object"),
            (r#"{"a": 1}"#, "a: expected an object"),
            (
                r#"{"a": {"input_cost_per_token": NaN}}"#,
                "line 1 column 32",
            ),
            (
                r#"{"a": {}, "b": {"input_cost_per_token": -1e-6}}"#,
                "b.input_cost_per_token: -0.000001 is negative",
            ),
            (
                r#"{"a": {"output_cost_per_token": 2.5}}"#,
                "a.output_cost_per_token: 2.5 is more than 0.01",
            ),
            (
                r#"{"a": {"output_cost_per_token": "1e-6"}}"#,
                "expected a number",
            ),
            (r#"{"a": {"output_cost_per_token": 1e999}}"#, "out of range"),
            (
                r#"{"a": {"other_cost": -3}}"#,
                "a.other_cost: -3 is negative",
            ),
        ] {
            let error = PriceListFile::parse(list).err().expect(list);
            assert!(error.contains(words), "{list}: {error}");
        }
        let list = PriceListFile::parse(r#"{"a": {"cost_per_banana": 1}}"#)
            .ok()
            .unwrap();
        let error = list.find(&["a"]).unwrap_err();
        assert_eq!(error, "a.cost_per_banana: a cost of an unknown unit");
    }
}
