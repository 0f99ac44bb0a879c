//! Builds limits of callers and groups, for each model with limits of its own.

use super::ProblemCollector;
use crate::caller_limits::{CallerLimitsConfig, CallerModelLimitsConfig};
use crate::callers::CallerConfig;
use crate::groups::CallerGroupConfig;
use headgate_core::catalog::Catalog;
use headgate_core::catalog::by_model_name::ByModelName;
use headgate_core::catalog::limits::CallerLimits;
use headgate_core::pointer::child;
use headgate_core::scalar::UnitPrice;
use headgate_core::scalar::model_pattern::ModelPattern;
use headgate_core::state::admission::LimitKind;
use headgate_protocol::nearest::nearest;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The limits of a caller, or of a group in its place.
pub(super) fn build_limits(
    caller: &Arc<str>,
    config: &CallerLimitsConfig,
    catalog: &Catalog,
) -> CallerLimits {
    let CallerLimitsConfig {
        requests_per_minute,
        tokens_per_minute,
        concurrent,
        tokens_per_day,
        tokens_per_month,
        cost_per_day,
        cost_per_month,
        cost_total,
        connections,
        models,
    } = config;
    let everywhere = CallerModelLimitsConfig {
        requests_per_minute: *requests_per_minute,
        tokens_per_minute: *tokens_per_minute,
        concurrent: *concurrent,
        tokens_per_day: *tokens_per_day,
        tokens_per_month: *tokens_per_month,
        cost_per_day: *cost_per_day,
        cost_per_month: *cost_per_month,
        cost_total: *cost_total,
    };
    let mut limits = CallerLimits::new(caller, &amounts(&everywhere));
    limits.connections = *connections;
    let by_name: ByModelName<_> = models.iter().collect();
    for model in catalog.models() {
        if let Some(config) = by_name.find(&model.name) {
            limits.add_model(caller, &model.name, &amounts(config));
        }
    }
    for (name, config) in models {
        let pattern = ModelPattern::new(name);
        if pattern.has_star() && catalog.by_pattern().may_serve(&pattern) {
            limits.add_model(caller, &name.as_str().into(), &amounts(config));
        }
    }
    limits
}

fn amounts(config: &CallerModelLimitsConfig) -> [(LimitKind, Option<u64>); 8] {
    let CallerModelLimitsConfig {
        requests_per_minute,
        tokens_per_minute,
        concurrent,
        tokens_per_day,
        tokens_per_month,
        cost_per_day,
        cost_per_month,
        cost_total,
    } = *config;
    let nanos = |amount: Option<UnitPrice>| amount.map(UnitPrice::nanos);
    [
        (LimitKind::RequestsPerMinute, requests_per_minute),
        (LimitKind::TokensPerMinute, tokens_per_minute),
        (LimitKind::Concurrent, concurrent),
        (LimitKind::TokensPerDay, tokens_per_day),
        (LimitKind::TokensPerMonth, tokens_per_month),
        (LimitKind::CostPerDay, nanos(cost_per_day)),
        (LimitKind::CostPerMonth, nanos(cost_per_month)),
        (LimitKind::CostTotal, nanos(cost_total)),
    ]
}

/// The limits of all callers and groups as they are written, each with its place.
pub(super) fn declared_limits<'c>(
    callers: &'c [CallerConfig],
    groups: &'c BTreeMap<String, CallerGroupConfig>,
) -> impl Iterator<Item = (String, &'c CallerLimitsConfig)> {
    let callers = callers.iter().enumerate();
    let callers =
        callers.map(|(index, caller)| (format!("/callers/{index}/limits"), &caller.limits));
    let groups = groups.iter();
    let groups =
        groups.map(|(name, group)| (child(&child("/groups", name), "limits"), &group.limits));
    callers.chain(groups)
}

/// Reports limits of models that no channel serves.
pub(super) fn check_models(
    config: &CallerLimitsConfig,
    catalog: &Catalog,
    at: &str,
    problems: &mut ProblemCollector<'_>,
) {
    for name in config.models.keys() {
        let pattern = ModelPattern::new(name);
        if problems.errors() > 0 {
            return;
        }
        if catalog.may_serve(&pattern) {
            continue;
        }
        let known = catalog.models().map(|model| &*model.name);
        let hint = match nearest(name, known, 1).first() {
            Some(known) => format!("did you mean `{known}`?"),
            None => "add it to a channel's `models`, or remove it here".into(),
        };
        problems.warning(
            &format!("{at}/{}", name.replace('~', "~0").replace('/', "~1")),
            format!("no channel serves model `{name}`"),
            Some(&hint),
        );
    }
}
