//! Builds the prices of models, for each channel that serves them.

use super::ProblemCollector;
use super::channel_models::ChannelWithModels;
use super::token_prices;
use crate::channels::{ChannelConfig, UnpricedModelsConfig};
use crate::prices::{ModelPriceConfig, PricesConfig};
use headgate_core::catalog::pattern_models::ChannelPattern;
use headgate_core::catalog::price::{ModelPrice, VideoPrices};
use headgate_core::catalog::price_list::{PatternPricing, PriceList};
use headgate_core::pointer::child;
use headgate_core::scalar::UnitPrice;
use headgate_protocol::nearest::nearest;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// The key of the price of resolutions that are not named.
const OTHER_RESOLUTION: &str = "*";
/// Models without a price that a warning names.
const NAMED_MAX: usize = 5;

/// Gives each model of a channel its prices, if the configuration has any; reports prices that cannot be meant, and
/// models without a price.
pub(crate) fn build(
    served: &mut [ChannelWithModels],
    table: &PricesConfig,
    channels: &BTreeMap<String, ChannelConfig>,
    problems: &mut ProblemCollector<'_>,
) {
    let of_channels = channels.values().any(|channel| !channel.prices.is_empty());
    let has_prices = !table.models.is_empty() || of_channels;
    let currency: Arc<str> = table.currency.as_str().into();
    let no_price = has_prices.then(|| Arc::new(ModelPrice::none(currency.clone())));
    let shared = Arc::new(price_list(&table.models, &currency));
    let mut unpriced = BTreeSet::new();
    for ChannelWithModels {
        channel,
        models,
        patterns,
    } in served.iter_mut()
    {
        let Some(config) = channels.get(&*channel.name) else {
            continue;
        };
        let own = Arc::new(price_list(&config.prices, &currency));
        for (name, model) in models {
            let price = own.find(name).or_else(|| shared.find(name));
            if price.is_none() {
                unpriced.insert(name.as_str());
            }
            model.price = price.cloned().or_else(|| no_price.clone());
        }
        for pattern in patterns {
            pattern.pricing = PatternPricing {
                own: own.clone(),
                shared: shared.clone(),
                unpriced: no_price.clone(),
                allows_unpriced: config.unpriced == UnpricedModelsConfig::Allow,
            };
            if !has_prices && !pattern.pricing.allows_unpriced {
                refuse_without_prices(&channel.name, pattern, problems);
            }
        }
    }
    if !has_prices {
        return;
    }
    check_all(table, channels, problems);
    // Models of a channel that could not be built are missing here.
    if problems.errors() == 0 {
        warn_of_unpriced(&unpriced, problems);
        warn_of_unused(served, table, channels, problems);
    }
}

fn price_list(configs: &BTreeMap<String, ModelPriceConfig>, currency: &Arc<str>) -> PriceList {
    let prices = configs.iter();
    let prices = prices.map(|(name, config)| (name, Arc::new(price(config, currency))));
    prices.collect()
}

/// Reports a pattern that would serve no model.
fn refuse_without_prices(
    channel: &str,
    pattern: &ChannelPattern,
    problems: &mut ProblemCollector<'_>,
) {
    let name = pattern.pattern.to_string();
    let at = child(&child(&child("/channels", channel), "models"), &name);
    let reason = format!(
        "pattern `{name}` serves no model: it serves only models that have a price, and the configuration has no prices"
    );
    let hint = "add `prices`, or write `unpriced: allow` in the channel if callers may use every model of the provider";
    problems.key_error(&at, reason, Some(hint));
}

fn price(config: &ModelPriceConfig, currency: &Arc<str>) -> ModelPrice {
    let ModelPriceConfig {
        image,
        audio_minute,
        video_second,
        video_default_seconds,
        credit,
        ..
    } = config;
    let nanos = |price: Option<UnitPrice>| price.map(UnitPrice::nanos);
    let resolutions = video_second.iter();
    ModelPrice {
        currency: currency.clone(),
        tokens: token_prices::build(config),
        image: nanos(*image),
        audio_minute: nanos(*audio_minute),
        video: (!video_second.is_empty()).then(|| VideoPrices {
            by_resolution: resolutions
                .filter(|(resolution, _)| *resolution != OTHER_RESOLUTION)
                .map(|(resolution, price)| (resolution.to_lowercase().into(), price.nanos()))
                .collect(),
            other: video_second
                .get(OTHER_RESOLUTION)
                .map(|price| price.nanos()),
            default_seconds: *video_default_seconds,
        }),
        credit: nanos(*credit),
    }
}

fn check_all(
    table: &PricesConfig,
    channels: &BTreeMap<String, ChannelConfig>,
    problems: &mut ProblemCollector<'_>,
) {
    for (model, config) in &table.models {
        check(config, &child("/prices/models", model), problems);
    }
    for (name, channel) in channels {
        for (model, config) in &channel.prices {
            check(config, &child(&own_prices(name), model), problems);
        }
    }
}

/// Reports prices that would never apply.
fn check(config: &ModelPriceConfig, at: &str, problems: &mut ProblemCollector<'_>) {
    if *config == ModelPriceConfig::default() {
        let hint =
            "write `{input: 2.5, output: 10}`, or `{input: 0}` for a model that costs nothing";
        problems.error(at, "the entry has no price", Some(hint));
        return;
    }
    token_prices::check(config, at, problems);
    if config.video_default_seconds.is_some() && config.video_second.is_empty() {
        let at = child(at, "video_default_seconds");
        token_prices::report_missing(&at, "video_default_seconds", "video_second", problems);
    }
    let mut known = BTreeSet::new();
    for resolution in config.video_second.keys() {
        if !known.insert(resolution.to_lowercase()) {
            let at = child(&child(at, "video_second"), resolution);
            let reason = format!("duplicate resolution `{resolution}`: case is not significant");
            problems.error(&at, reason, Some("keep one of the two"));
        }
    }
}

fn warn_of_unpriced(unpriced: &BTreeSet<&str>, problems: &mut ProblemCollector<'_>) {
    if unpriced.is_empty() {
        return;
    }
    let named: Vec<&str> = unpriced.iter().copied().take(NAMED_MAX).collect();
    let mut names = format!("`{}`", named.join("`, `"));
    if unpriced.len() > named.len() {
        names += &format!(" and {} more", unpriced.len() - named.len());
    }
    problems.warning(
        "/prices",
        format!("models without a price: {names}; their requests have no cost"),
        Some("add them to `prices.models`; a model that costs nothing has `{input: 0}`"),
    );
}

/// Reports prices of models that are not served; patterns may be those of a list that gateways share.
fn warn_of_unused(
    served: &[ChannelWithModels],
    table: &PricesConfig,
    channels: &BTreeMap<String, ChannelConfig>,
    problems: &mut ProblemCollector<'_>,
) {
    let all = served.iter().flat_map(|channel| channel.models.keys());
    let all: BTreeSet<&str> = all.map(String::as_str).collect();
    for name in table.models.keys() {
        let at = child("/prices/models", name);
        let mut channels = served.iter();
        if !channels.any(|channel| is_matched(name, &channel.patterns)) {
            warn_if_unused(name, &all, "no channel serves", &at, problems);
        }
    }
    for ChannelWithModels {
        channel,
        models,
        patterns,
    } in served
    {
        let own = channels.get(&*channel.name).into_iter();
        let models = models.keys().map(String::as_str).collect();
        for name in own.flat_map(|channel| channel.prices.keys()) {
            let at = child(&own_prices(&channel.name), name);
            if !is_matched(name, patterns) {
                warn_if_unused(name, &models, "the channel does not serve", &at, problems);
            }
        }
    }
}

fn is_matched(name: &str, patterns: &[ChannelPattern]) -> bool {
    let mut patterns = patterns.iter();
    patterns.any(|one| one.pattern.capture(name).is_some())
}

fn warn_if_unused(
    name: &str,
    served: &BTreeSet<&str>,
    words: &str,
    at: &str,
    problems: &mut ProblemCollector<'_>,
) {
    if name.contains('*') || served.contains(name) {
        return;
    }
    let hint = match nearest(name, served.iter().copied(), 1).first() {
        Some(meant) => format!("did you mean `{meant}`?"),
        None => "write a platform model, not the provider's name for it".to_owned(),
    };
    problems.key_warning(at, format!("{words} model `{name}`"), Some(&hint));
}

fn own_prices(channel: &str) -> String {
    child(&child("/channels", channel), "prices")
}
