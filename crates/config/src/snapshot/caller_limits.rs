//! Builds limits of callers and groups, for each model with limits of its own.

use crate::caller_limits::{BudgetConfig, CallerLimitsConfig, CallerModelLimitsConfig};
use crate::callers::CallerConfig;
use crate::channels::ChannelConfig;
use crate::groups::CallerGroupConfig;
use crate::model_properties::ModelPropertiesConfig;
use crate::run_limits::RunLimitsConfig;
use headgate_core::catalog::Catalog;
use headgate_core::catalog::by_model_name::ByModelName;
use headgate_core::catalog::caller::Caller;
use headgate_core::catalog::limits::CallerLimits;
use headgate_core::catalog::run_limits::RunLimits;
use headgate_core::feature::section::ConfigProblemSink;
use headgate_core::pointer::child;
use headgate_core::scalar::model_pattern::ModelPattern;
use headgate_core::scalar::{HumanDuration, UnitPrice};
use headgate_core::state::admission::AdmissionLimit;
use headgate_core::state::admission::LimitKind;
use headgate_core::state::calendar::whole_ms;
use headgate_core::state::counter_key::{CHANNEL_PREFIX, EVERY_CALLER, KEY_PREFIX};
use headgate_core::state::run::{RunCap, RunCaps};
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
        cut_streams,
        connections,
        runs,
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
        cut_streams: *cut_streams,
    };
    let limits = CallerLimits::new(caller, &amounts(&everywhere));
    let mut limits = limits.with_stream_cuts(*cut_streams);
    limits.connections = *connections;
    if models.is_empty() {
        return limits.with_runs(runs.as_ref().map(build_runs));
    }
    let by_name: ByModelName<_> = models.iter().collect();
    for model in catalog.models() {
        if let Some(config) = by_name.find(&model.name) {
            let limit = (&amounts(config)[..], config.cut_streams);
            limits.add_model(caller, &model.name, limit);
        }
    }
    for (name, config) in models {
        let pattern = ModelPattern::new(name);
        if pattern.has_star() && catalog.by_pattern().may_serve(&pattern) {
            let limit = (&amounts(config)[..], config.cut_streams);
            limits.add_model(caller, &name.as_str().into(), limit);
        }
    }
    limits.with_runs(runs.as_ref().map(build_runs))
}

fn build_runs(config: &RunLimitsConfig) -> RunLimits {
    let RunLimitsConfig {
        calls,
        tokens,
        cost,
        time,
        repeats,
        require,
        trace_id,
        idle,
        live,
    } = *config;
    let mut caps = RunCaps::default();
    for (cap, most) in [
        (RunCap::Calls, calls),
        (RunCap::Tokens, tokens),
        (RunCap::Cost, cost.map(UnitPrice::nanos)),
        (RunCap::Time, time.map(|time| whole_ms(time.duration()))),
        (RunCap::Repeats, repeats),
    ] {
        caps.set(cap, most);
    }
    RunLimits {
        caps,
        is_required: require,
        takes_trace_id: trace_id,
        idle: idle.map(HumanDuration::duration),
        live,
    }
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
        cut_streams: _,
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

/// The budgets of models that all callers share; `None` if no model has one.
pub(super) fn build_shared_budgets(
    models: &BTreeMap<String, ModelPropertiesConfig>,
) -> Option<Arc<CallerLimits>> {
    let every_caller = EVERY_CALLER.into();
    let mut limits = CallerLimits::default();
    for (name, config) in models {
        if config.budget != BudgetConfig::default() {
            let amounts = budget_amounts(config.budget);
            let limit = (&amounts[..], config.budget.cut_streams);
            limits.add_model(&every_caller, &name.as_str().into(), limit);
        }
    }
    (!limits.is_empty()).then(|| Arc::new(limits))
}

/// The limits of requests with a key that has this budget, besides those of its caller.
pub(super) fn build_key_limits(caller: &Caller, label: &str, budget: BudgetConfig) -> CallerLimits {
    let holder = format!("{KEY_PREFIX}{}/{label}", caller.name).into();
    let own = CallerLimits::new(&holder, &budget_amounts(budget));
    caller
        .limits
        .with_own(own.with_stream_cuts(budget.cut_streams))
}

/// The budgets of all requests on a channel.
pub(super) fn build_channel_budgets(channel: &str, budget: BudgetConfig) -> Vec<AdmissionLimit> {
    let holder = format!("{CHANNEL_PREFIX}{channel}").into();
    let limits = CallerLimits::new(&holder, &budget_amounts(budget));
    let limits = limits.with_stream_cuts(budget.cut_streams);
    limits.for_model(None).into_owned()
}

fn budget_amounts(budget: BudgetConfig) -> [(LimitKind, Option<u64>); 3] {
    let nanos = |amount: Option<UnitPrice>| amount.map(UnitPrice::nanos);
    [
        (LimitKind::CostPerDay, nanos(budget.cost_per_day)),
        (LimitKind::CostPerMonth, nanos(budget.cost_per_month)),
        (LimitKind::CostTotal, nanos(budget.cost_total)),
    ]
}

/// The budgets of keys, models and channels as they are written, each with its place, as limits.
pub(super) fn declared_budgets(
    callers: &[CallerConfig],
    models: &BTreeMap<String, ModelPropertiesConfig>,
    channels: &BTreeMap<String, ChannelConfig>,
) -> Vec<DeclaredBudget> {
    let none = BudgetConfig::default();
    let of_models = models.iter().filter(|(_, config)| config.budget != none);
    let of_models = of_models.map(|(name, config)| DeclaredBudget {
        at: child(&child("/models", name), "budget"),
        limits: config.budget.limits(),
        model: Some(name.clone()),
        caller: None,
        channel: None,
    });
    let keys = callers.iter().enumerate().flat_map(|(index, caller)| {
        let keys = caller.keys.iter().enumerate();
        keys.map(move |(key, config)| (index, caller, key, config))
    });
    let of_keys = keys.filter(|(_, _, _, config)| config.budget != none);
    let of_keys = of_keys.map(|(index, caller, key, config)| DeclaredBudget {
        at: format!("/callers/{index}/keys/{key}/budget"),
        limits: config.budget.limits(),
        model: None,
        caller: Some(caller.name.clone()),
        channel: None,
    });
    let of_channels = channels.iter().filter(|(_, config)| config.budget != none);
    let of_channels = of_channels.map(|(name, config)| DeclaredBudget {
        at: child(&child("/channels", name), "budget"),
        limits: config.budget.limits(),
        model: None,
        caller: None,
        channel: Some(name.clone()),
    });
    of_models.chain(of_keys).chain(of_channels).collect()
}

/// A budget of a key, of a model or of a channel.
pub(super) struct DeclaredBudget {
    pub at: String,
    pub limits: CallerLimitsConfig,
    /// The only model that it is for.
    pub model: Option<String>,
    /// The only caller that it is for.
    pub caller: Option<String>,
    /// The only channel that it is for.
    pub channel: Option<String>,
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
    problems: &mut dyn ConfigProblemSink,
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
