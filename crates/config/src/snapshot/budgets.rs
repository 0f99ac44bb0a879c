//! Checks budgets in money: what a request can cost must be known before it is sent.

use super::ProblemCollector;
use super::caller_limits::{DeclaredBudget, declared_limits};
use super::router::{Route, Router};
use crate::caller_limits::{CallerLimitsConfig, CallerModelLimitsConfig};
use crate::callers::CallerConfig;
use crate::groups::CallerGroupConfig;
use headgate_core::catalog::Catalog;
use headgate_core::catalog::caller::Callers;
use headgate_core::catalog::endpoint::ProviderOperationClass;
use headgate_core::catalog::model::{Candidate, Model};
use headgate_core::catalog::price::{ModelPrice, NANOS};
use headgate_core::catalog::token_prices::TokenPrices;
use headgate_core::feature::FilterRegistry;
use headgate_core::feature::section::ConfigProblemSink;
use headgate_core::filter::descriptor::FilterProvision;
use headgate_core::pointer::child;
use headgate_core::scalar::UnitPrice;
use headgate_core::scalar::model_pattern::ModelPattern;
use headgate_protocol::Protocol;
use http::Method;
use std::collections::BTreeMap;
use std::ops::RangeInclusive;
use std::sync::Arc;
use std::time::Duration;

/// The largest budget, in units of the currency: Redis counts exactly up to 2^53 billionths.
const BUDGET_MAX: u64 = 9_000_000;
/// The time without a request after which a run may be forgotten.
const RUN_IDLE: RangeInclusive<Duration> =
    Duration::from_secs(60)..=Duration::from_secs(30 * 24 * 3_600);
/// Models that a message names.
const NAMED_MAX: usize = 5;

/// The budgets of a caller in total or for a model, with their keys.
type Amounts = Vec<(&'static str, Option<UnitPrice>)>;

/// Reports budgets that are too large to be exact, and models of callers with budgets whose requests have no bound.
pub(super) fn check(
    (configs, groups, budgets): (
        &[CallerConfig],
        &BTreeMap<String, CallerGroupConfig>,
        &[DeclaredBudget],
    ),
    callers: &Callers,
    catalog: &Catalog,
    problems: &mut ProblemCollector<'_>,
) {
    let may_use = |config: &CallerConfig, model: &Model| {
        let caller = callers.find_declared(&config.name);
        caller.is_some_and(|caller| caller.may_use_model(&model.name))
    };
    for (index, config) in configs.iter().enumerate() {
        let at = format!("/callers/{index}/limits");
        let is_theirs = |model: &Model| may_use(config, model);
        check_limits(&config.limits, &at, is_theirs, catalog, problems);
    }
    for (name, group) in groups {
        let at = child(&child("/groups", name), "limits");
        let belongs = |config: &&CallerConfig| config.group.as_ref() == Some(name);
        let is_theirs = |model: &Model| {
            let mut callers = configs.iter().filter(belongs);
            callers.any(|config| may_use(config, model))
        };
        check_limits(&group.limits, &at, is_theirs, catalog, problems);
    }
    for budget in budgets {
        let is_theirs = |model: &Model| {
            let is_model = budget
                .model
                .as_ref()
                .is_none_or(|name| **name == *model.name);
            let caller = budget.caller.as_deref();
            let caller = caller.and_then(|name| callers.find_declared(name));
            let mut all = model.all_candidates.iter();
            let is_on_channel = |name: &str| all.any(|one| *one.channel.name == *name);
            let is_served = budget.channel.as_deref().is_none_or(is_on_channel);
            is_model && is_served && caller.is_none_or(|caller| caller.may_use_model(&model.name))
        };
        check_limits(&budget.limits, &budget.at, is_theirs, catalog, problems);
    }
}

/// Reports limits of a caller or group: amounts that are too large, and models that it may use whose requests have no bound.
pub(crate) fn check_limits(
    limits: &CallerLimitsConfig,
    at: &str,
    may_use: impl Fn(&Model) -> bool,
    catalog: &Catalog,
    problems: &mut dyn ConfigProblemSink,
) {
    check_runs(limits, at, problems);
    check_amounts(&total(limits), at, problems);
    check_cuts(limits.cut_streams, budgets(limits), at, problems);
    for (name, limits) in &limits.models {
        let at = child(&child(at, "models"), name);
        check_amounts(&for_model(limits), &at, problems);
        check_cuts(limits.cut_streams, for_model(limits), &at, problems);
    }
    let Some(key) = first_budget(limits) else {
        return;
    };
    let models = catalog.models();
    let models = models.filter(|model| may_use(model) && is_budgeted(limits, &model.name));
    let models: Vec<_> = models.collect();
    if problems.errors() == 0 {
        let at = format!("{at}/{key}");
        check_prices(catalog, &at, problems);
        report(&models, lacks_output_limit, &OUTPUT, &at, problems);
        report(&models, has_only_credits, &CREDITS, &at, problems);
    }
}

/// Reports routes on which a caller can spend money although none of its budgets is enforced there.
pub(super) fn check_enforced(
    (configs, groups, budgets): (
        &[CallerConfig],
        &BTreeMap<String, CallerGroupConfig>,
        &[DeclaredBudget],
    ),
    router: &Router,
    filters: &FilterRegistry,
    problems: &mut ProblemCollector<'_>,
) {
    let others = budgets
        .iter()
        .map(|budget| (budget.at.clone(), &budget.limits));
    let declared = declared_limits(configs, groups).chain(others);
    let mut declared = declared.filter_map(|(at, limits)| {
        let key = first_budget(limits)?;
        Some(format!("{at}/{key}"))
    });
    let Some(at) = declared.next() else {
        return;
    };
    let spends = |route: &&Arc<Route>| {
        let has = |provision| route.request.first_with_provision(provision).is_some();
        let path = route.pattern.path();
        let class = ProviderOperationClass::for_request(&Method::POST, &path, true);
        let is_count = class == ProviderOperationClass::TokenCount;
        let creates_batches = route.pattern.takes_creates()
            && route
                .protocol
                .is_some_and(|it| it.descriptor().batch.is_some());
        route.protocol.is_some()
            && (has(FilterProvision::Model) || creates_batches)
            && !has(FilterProvision::Limits)
            && !is_count
    };
    let routes = router.routes().iter().filter(spends);
    let names: Vec<String> = routes.map(|route| format!("`{}`", route.name)).collect();
    if !names.is_empty() {
        let keeper = filters.providers(FilterProvision::Limits);
        let plural = if names.len() > 1 { "s" } else { "" };
        problems.warning(
            &at,
            format!("no budget holds on route{plural} {}", names.join(", ")),
            Some(&format!("put {keeper} last in their `request`")),
        );
    }
}

/// What is wrong with models, and what to do.
struct UnboundedModels {
    reason: &'static str,
    hint: &'static str,
}

const OUTPUT: UnboundedModels = UnboundedModels {
    reason: "what a request can cost is not known, as these models have a price of output and no `max_output_tokens`",
    hint: "add `max_output_tokens` to them in `models`: the most tokens that the model can write",
};
const CREDITS: UnboundedModels = UnboundedModels {
    reason: "what a video can cost is not known, as these models have a price of credits and none of seconds",
    hint: "add `video_second` to their prices: the most that a second costs",
};

fn check_amounts(
    amounts: &[(&str, Option<UnitPrice>)],
    at: &str,
    problems: &mut dyn ConfigProblemSink,
) {
    for (key, amount) in amounts {
        if amount.is_some_and(|amount| amount.nanos() > BUDGET_MAX * NANOS) {
            let reason = format!("expected at most {BUDGET_MAX}: larger amounts are not exact");
            problems.error(&format!("{at}/{key}"), reason, None);
        }
    }
}

/// Reports `cut_streams` without a budget that could cut any.
fn check_cuts(cuts: bool, amounts: Amounts, at: &str, problems: &mut dyn ConfigProblemSink) {
    if cuts && amounts.iter().all(|(_, amount)| amount.is_none()) {
        problems.warning(
            &format!("{at}/cut_streams"),
            "`cut_streams` is of the budgets in money beside it, and there is none".to_owned(),
            Some("add `cost_per_day`, `cost_per_month` or `cost_total`, or remove it"),
        );
    }
}

/// Reports runs that would be forgotten while their agents are at work.
fn check_runs(limits: &CallerLimitsConfig, at: &str, problems: &mut dyn ConfigProblemSink) {
    let idle = limits.runs.as_ref().and_then(|runs| runs.idle);
    if idle.is_some_and(|idle| !RUN_IDLE.contains(&idle.duration())) {
        let reason = "expected a duration from 1m to 720h: another run of the name begins then";
        problems.error(&format!("{at}/runs/idle"), reason, None);
    }
}

/// Reports a budget without any price.
fn check_prices(catalog: &Catalog, at: &str, problems: &mut dyn ConfigProblemSink) {
    let mut models = catalog.models();
    let is_priced = |one: &Candidate| one.price().is_some();
    let has_prices = models.any(|model| model.all_candidates.iter().any(is_priced));
    if !has_prices && catalog.models().next().is_some() {
        let reason = "a budget in money requires `prices`: without them, all requests are free";
        problems.error(at, reason, Some("add `prices`, or limit tokens instead"));
    }
}

fn report(
    models: &[&Arc<Model>],
    is_wrong: fn(&Model) -> bool,
    what: &UnboundedModels,
    at: &str,
    problems: &mut dyn ConfigProblemSink,
) {
    let wrong = models.iter().filter(|model| is_wrong(model));
    let mut names: Vec<String> = wrong.map(|model| format!("`{}`", model.name)).collect();
    if names.is_empty() {
        return;
    }
    let more = names.len().saturating_sub(NAMED_MAX);
    names.truncate(NAMED_MAX);
    let more = match more {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let reason = format!("{}: {}{more}", what.reason, names.join(", "));
    problems.error(at, reason, Some(what.hint));
}

fn lacks_output_limit(model: &Model) -> bool {
    let has_price = |one: &Candidate| {
        let tokens = one.price().and_then(|price| price.tokens.as_ref());
        let is_priced = tokens.is_some_and(TokenPrices::charges_output);
        let mut protocols = one.channel.protocols.iter();
        is_priced && protocols.any(|protocol: &Protocol| protocol.descriptor().has_output_tokens())
    };
    let limit = model.properties.translation.max_output_tokens;
    limit.is_none() && model.all_candidates.iter().any(has_price)
}

fn has_only_credits(model: &Model) -> bool {
    let is_unbounded = |price: &ModelPrice| price.credit.is_some() && price.video.is_none();
    let mut all = model.all_candidates.iter();
    all.any(|one| one.price().is_some_and(is_unbounded))
}

/// Whether a budget applies to the model.
fn is_budgeted(limits: &CallerLimitsConfig, model: &str) -> bool {
    let has_amount = |amounts: Amounts| amounts.iter().any(|(_, amount)| amount.is_some());
    let mut by_model = limits.models.iter();
    has_amount(total(limits))
        || by_model.any(|(name, limits)| {
            has_amount(for_model(limits)) && ModelPattern::new(name).matches(model)
        })
}

/// The key of the first budget, to which a problem with models is reported.
fn first_budget(limits: &CallerLimitsConfig) -> Option<String> {
    let first = |amounts: Amounts| {
        let mut set = amounts.iter().filter(|(_, amount)| amount.is_some());
        set.next().map(|(key, _)| *key)
    };
    if let Some(key) = first(total(limits)) {
        return Some(key.to_owned());
    }
    let mut models = limits.models.iter();
    models.find_map(|(name, limits)| {
        let key = first(for_model(limits))?;
        Some(child(&child("models", name), key))
    })
}

fn total(limits: &CallerLimitsConfig) -> Amounts {
    let of_runs = limits.runs.as_ref().and_then(|runs| runs.cost);
    let mut amounts = budgets(limits);
    amounts.push(("runs/cost", of_runs));
    amounts
}

fn budgets(limits: &CallerLimitsConfig) -> Amounts {
    vec![
        ("cost_per_day", limits.cost_per_day),
        ("cost_per_month", limits.cost_per_month),
        ("cost_total", limits.cost_total),
    ]
}

fn for_model(limits: &CallerModelLimitsConfig) -> Amounts {
    vec![
        ("cost_per_day", limits.cost_per_day),
        ("cost_per_month", limits.cost_per_month),
        ("cost_total", limits.cost_total),
    ]
}
