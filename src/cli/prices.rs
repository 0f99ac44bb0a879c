//! `headgate prices`: prices of a public list for the models of a configuration, and how they differ from what stands there.

use super::config_file::ConfigFileOptionArgs;
use super::price_list::{ListedPrices, ListedRates, PriceListFile, PriceLookup, VIDEO_SECOND};
use super::{CommandError, input_file};
use crate::features::FEATURES;
use headgate_config::load_comparable;
use headgate_config::snapshot::feature_schemas;
use headgate_core::catalog::price::Cost;
use headgate_core::scalar::UnitPrice;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::PathBuf;

#[derive(clap::Subcommand)]
pub enum PricesCommand {
    /// Prints `prices` of a list of LiteLLM (model_prices_and_context_window.json) for the models of a configuration, and how
    /// they differ from those that it has. No file is written.
    #[command(after_help = super::examples::PRICES_IMPORT)]
    Import(ImportPricesArgs),
}

#[derive(clap::Args)]
pub struct ImportPricesArgs {
    /// Path of the list; `-` reads the standard input.
    file: PathBuf,
    /// Prints the prices of the list also for models that the configuration has other prices for.
    #[arg(long)]
    apply: bool,
    #[command(flatten)]
    config: ConfigFileOptionArgs,
}

/// The key of the prices of a long input.
const LONG_INPUT: &str = "long_input";

/// A model of the configuration with the names that providers have for it.
type ModelNames<'c> = BTreeMap<&'c str, BTreeSet<&'c str>>;

/// What is printed: the section, and what to know of it.
#[derive(Default)]
struct PricesReport {
    entries: BTreeMap<String, Vec<(String, String)>>,
    notes: Vec<String>,
}

/// Runs the command.
pub fn run(command: &PricesCommand) -> Result<(), CommandError> {
    let PricesCommand::Import(args) = command;
    let text = input_file::read_text(&args.file)?;
    let refused = |reason: String| {
        CommandError::new(format!(
            "error: {}: the list is refused:\n  {reason}",
            args.file.display()
        ))
    };
    let list = PriceListFile::parse(&text).map_err(refused)?;
    let variable = |name: &str| std::env::var(name).ok();
    let config = load_comparable(&args.config.path(), &feature_schemas(FEATURES), &variable)?;
    let channels = config.values.get("/channels");
    let declared = config.values.get("/prices/models");
    let mut report = PricesReport::default();
    let mut unknown = Vec::new();
    for (model, names) in model_names(channels) {
        let mut names: Vec<&str> = names.into_iter().collect();
        names.push(model);
        match list.find(&names) {
            Ok(found) => report.add(model, found, &declared[model], args.apply),
            Err(reason) => unknown.push(reason),
        }
    }
    if !unknown.is_empty() {
        return Err(refused(unknown.join("\n  ")));
    }
    print!("{}", report.yaml());
    report.notes.iter().for_each(|note| eprintln!("{note}"));
    Ok(())
}

fn model_names(channels: &Value) -> ModelNames<'_> {
    let mut models = ModelNames::new();
    let channels = channels.as_object().into_iter().flatten();
    for (_, channel) in channels {
        let entries = channel["models"].as_object().into_iter().flatten();
        for (model, name) in entries.filter(|(model, _)| !model.contains('*')) {
            models.entry(model).or_default().extend(name.as_str());
        }
    }
    models
}

impl PricesReport {
    fn add(&mut self, model: &str, found: PriceLookup, declared: &Value, is_applied: bool) {
        let (prices, others, rounded) = match found {
            PriceLookup::Found {
                prices,
                others,
                rounded,
            } => (prices, others, rounded),
            PriceLookup::Absent => {
                self.notes.push(format!("{model}: not in the list"));
                return;
            }
            PriceLookup::Ambiguous(names) => {
                let names = names.join(", ");
                self.notes.push(format!(
                    "{model}: several entries with different prices: {names}"
                ));
                return;
            }
        };
        if prices.base.is_empty() {
            self.notes.push(format!(
                "{model}: the list has no price that `prices` can have"
            ));
            return;
        }
        for other in others {
            self.notes
                .push(format!("{model}: {other} is not taken over"));
        }
        for (key, nanos) in rounded {
            let price = Cost(nanos);
            self.notes.push(format!(
                "{model}: {key}: rounded up to {price}, because the list has more than 9 decimal places"
            ));
        }
        let differences = differences(&prices, declared);
        let is_new = declared.is_null();
        for (key, here, there) in &differences {
            if !is_new {
                self.notes.push(format!("{model}: {key}: {here} → {there}"));
            }
        }
        if is_new || is_applied || differences.is_empty() {
            self.entries.insert(model.to_owned(), entry(&prices));
        } else {
            self.notes.push(format!(
                "{model}: left as it is; `--apply` prints the prices of the list"
            ));
        }
    }

    /// The section `prices`.
    fn yaml(&self) -> String {
        if self.entries.is_empty() {
            return String::new();
        }
        let mut yaml = "prices:\n  currency: USD\n  models:\n".to_owned();
        for (model, prices) in &self.entries {
            let prices: Vec<String> = prices
                .iter()
                .map(|(key, price)| format!("{key}: {price}"))
                .collect();
            let name = Value::from(model.as_str());
            writeln!(yaml, "    {name}: {{{}}}", prices.join(", "))
                .expect("writing to a String does not fail");
        }
        yaml
    }
}

fn entry(prices: &ListedPrices) -> Vec<(String, String)> {
    let base = prices.base.iter();
    let mut entry: Vec<_> = base
        .map(|(key, nanos)| {
            let price = Cost(*nanos).to_string();
            match *key {
                VIDEO_SECOND => ((*key).to_owned(), format!("{{\"*\": {price}}}")),
                key => (key.to_owned(), price),
            }
        })
        .collect();
    if !prices.long_input.is_empty() {
        entry.push((LONG_INPUT.to_owned(), long_input(&prices.long_input)));
    }
    entry
}

/// The prices of a long input as they are written.
fn long_input(prices: &BTreeMap<u64, ListedRates>) -> String {
    let entries = prices.iter().map(|(above, rates)| {
        let rates = rates.iter();
        let rates: String = rates
            .map(|(key, nanos)| format!(", {key}: {}", Cost(*nanos)))
            .collect();
        format!("{{above: {above}{rates}}}")
    });
    format!("[{}]", entries.collect::<Vec<_>>().join(", "))
}

/// The prices that differ from those of the configuration, each with what it has and what the list has.
fn differences(prices: &ListedPrices, declared: &Value) -> Vec<(String, String, String)> {
    let mut found = Vec::new();
    let text = |here: &Value| match here {
        Value::Null => "none".to_owned(),
        here => here.to_string(),
    };
    for (key, nanos) in &prices.base {
        let here = match *key {
            VIDEO_SECOND => &declared[VIDEO_SECOND]["*"],
            key => &declared[key],
        };
        if nanos_here(here) != Some(*nanos) {
            found.push(((*key).to_owned(), text(here), Cost(*nanos).to_string()));
        }
    }
    let long_here = &declared[LONG_INPUT];
    if !prices.long_input.is_empty() && !is_same_long_input(&prices.long_input, long_here) {
        let there = long_input(&prices.long_input);
        found.push((LONG_INPUT.to_owned(), text(long_here), there));
    }
    let is_listed = |key: &str| match key {
        LONG_INPUT => !prices.long_input.is_empty(),
        key => prices.base.contains_key(key),
    };
    let only_here = declared.as_object().into_iter().flatten();
    for (key, value) in only_here.filter(|(key, _)| !is_listed(key)) {
        found.push((key.clone(), value.to_string(), "none".to_owned()));
    }
    found
}

/// A price of the configuration in billionths, if it is a number or one in a string.
fn nanos_here(here: &Value) -> Option<u64> {
    serde_json::from_value(here.clone())
        .ok()
        .map(UnitPrice::nanos)
}

fn is_same_long_input(prices: &BTreeMap<u64, ListedRates>, declared: &Value) -> bool {
    let entries = declared.as_array().into_iter().flatten();
    let here = entries.filter_map(|entry| {
        let rates = entry.as_object()?.iter().filter(|(key, _)| *key != "above");
        let rates = rates.map(|(key, rate)| Some((key.as_str(), nanos_here(rate)?)));
        Some((
            entry["above"].as_u64()?,
            rates.collect::<Option<BTreeMap<_, _>>>()?,
        ))
    });
    let here: BTreeMap<u64, BTreeMap<&str, u64>> = here.collect();
    here == *prices
}
