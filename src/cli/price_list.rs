//! A public list of prices, as users of LiteLLM have it: what it says of a model, in the units of `prices`.

use serde_json::{Map, Value};
use std::collections::{BTreeMap, BTreeSet};

/// Billionths in a currency's unit.
const NANOS: f64 = 1e9;
/// The largest price of a token that is no mistake: that of a million tokens would be 10000.
const TOKEN_MAX: f64 = 0.01;
/// The largest price of an image, or of a second.
const PIECE_MAX: f64 = 1_000.0;
/// The largest relative difference of a decimal number and the binary fraction that it was read and multiplied as.
const NOISE: f64 = 1e-12;
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
/// The prices that may depend on the length of the input.
const TOKEN_PRICES: [&str; 5] = [
    "input",
    "cached_input",
    "cache_write",
    "output",
    "reasoning",
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

/// What stands between the name of a cost of tokens and the thousands of tokens that an input is longer than.
const ABOVE: &str = "_above_";
/// What stands after them.
const THOUSANDS: &str = "k_tokens";
/// What stands after the name of a cost that holds for batches.
const BATCHES: &str = "_batches";
/// The share of a price that a token of a batch costs here.
const BATCH_SHARE: f64 = 0.5;
/// The most thousands of tokens that are no mistake.
const THOUSANDS_MAX: u64 = 1_000_000;

/// Prices in billionths by their keys in `prices`.
pub type ListedRates = BTreeMap<&'static str, u64>;

/// The prices of a model.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct ListedPrices {
    pub base: ListedRates,
    /// Those of requests with more input tokens than this.
    pub long_input: BTreeMap<u64, ListedRates>,
}

/// A list whose every amount is plausible.
pub struct PriceListFile(Map<String, Value>);

/// What the list says of a model.
#[derive(Debug)]
pub enum PriceLookup {
    Found {
        prices: ListedPrices,
        /// Costs that `prices` cannot say.
        others: Vec<String>,
        /// Prices with more decimal places than `prices` has, which are those above.
        rounded: Vec<(&'static str, u64)>,
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
        let mut prices = ListedPrices::default();
        let (mut others, mut unknown, mut rounded) = (Vec::new(), Vec::new(), Vec::new());
        let empty = Map::new();
        let entry = self.0.get(name).and_then(Value::as_object);
        let entry = entry.unwrap_or(&empty);
        for (key, value) in entry {
            match (ListedCost::find(key), value.as_f64()) {
                // What a long input costs is a price here if there is one that it replaces.
                (Some(cost), Some(amount)) if cost.above == 0 || cost.has_base(entry) => {
                    let rates = match cost.above {
                        0 => &mut prices.base,
                        above => prices.long_input.entry(above).or_default(),
                    };
                    let (nanos, is_exact) = billionths(amount * cost.factor);
                    rates.insert(cost.price, nanos);
                    rounded.extend((!is_exact).then_some((cost.price, nanos)));
                }
                _ if !is_cost(key) || is_usual_for_batches(key, entry) => {}
                _ if has_known_unit(key) => others.push(key.clone()),
                _ => unknown.push(format!("{name}.{key}: a cost of an unknown unit")),
            }
        }
        match unknown.is_empty() {
            true => Ok(PriceLookup::Found {
                prices,
                others,
                rounded,
            }),
            false => Err(unknown.join("\n  ")),
        }
    }
}

/// A cost of the list that is a price here.
struct ListedCost {
    /// The name of the price.
    price: &'static str,
    /// Input tokens that a request has more of; 0 if the cost holds for every request.
    above: u64,
    /// Of how many there one is the price here.
    factor: f64,
    /// The largest that is no mistake.
    most: f64,
}

impl ListedCost {
    fn find(key: &str) -> Option<Self> {
        let (name, above) = match key.split_once(ABOVE) {
            None => (key, 0),
            Some((name, length)) => {
                let thousands = length.strip_suffix(THOUSANDS)?.parse().ok()?;
                let is_plausible = (1..=THOUSANDS_MAX).contains(&thousands);
                (name, is_plausible.then_some(thousands * 1_000)?)
            }
        };
        let mut known = PRICES.iter();
        let (_, price, factor, most) = known.find(|(listed, ..)| *listed == name).copied()?;
        let has_length = TOKEN_PRICES.contains(&price);
        (above == 0 || has_length).then_some(Self {
            price,
            above,
            factor,
            most,
        })
    }

    /// Whether the model has the price without which this one means nothing.
    fn has_base(&self, entry: &Map<String, Value>) -> bool {
        let base = match self.price {
            "output" | "reasoning" => "output_cost_per_token",
            _ => "input_cost_per_token",
        };
        entry.get(base).is_some_and(Value::is_number)
    }
}

/// Whether a cost holds for batches and is the share of the other one that it is here anyway.
fn is_usual_for_batches(key: &str, entry: &Map<String, Value>) -> bool {
    let other = key.strip_suffix(BATCHES).and_then(|name| entry.get(name));
    let costs = entry[key].as_f64().zip(other.and_then(Value::as_f64));
    costs.is_some_and(|(cost, other)| (cost - other * BATCH_SHARE).abs() <= cost * 1e-9)
}

/// A price in billionths, rounded up so that nothing becomes cheaper or free, and whether that is what it was.
fn billionths(price: f64) -> (u64, bool) {
    let nanos = price * NANOS;
    // The list was read as binary fractions.
    let is_exact = (nanos - nanos.round()).abs() <= nanos * NOISE;
    let whole = if is_exact {
        nanos.round()
    } else {
        nanos.ceil()
    };
    (whole as u64, is_exact)
}

fn check_amounts(name: &str, entry: &Map<String, Value>, problems: &mut Vec<String>) {
    for (key, value) in entry.iter().filter(|(key, _)| is_cost(key)) {
        let most = ListedCost::find(key).map_or(f64::MAX, |cost| cost.most);
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
mod tests;
