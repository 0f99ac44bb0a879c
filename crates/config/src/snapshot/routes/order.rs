//! Checks the order of a route's filters against the placement that each filter declares.

use super::super::ProblemCollector;
use super::super::router::MethodPathPattern;
use super::FilterWithConfigPath;
use super::patterns::all_have_parameter;
use headgate_core::feature::FilterRegistry;
use headgate_core::filter::condition::ConditionErrorAction;
use headgate_core::filter::descriptor::{FilterChainRules, FilterProvision};
use headgate_expression::Variable;
use headgate_protocol::Protocol;

/// Reports filters of the list at `at` whose order cannot work.
pub(super) fn check(
    registry: &FilterRegistry,
    filters: &[FilterWithConfigPath],
    patterns: &[MethodPathPattern],
    protocol: Option<Protocol>,
    at: &str,
    problems: &mut ProblemCollector<'_>,
) {
    let order = FilterOrderCheck { registry, filters };
    let identifies = [FilterProvision::Caller, FilterProvision::PathToken];
    if !identifies.iter().any(|way| order.provider(*way).is_some()) {
        let knows = registry.providers(FilterProvision::Caller);
        problems.warning(
            at,
            format!("this route is open to everyone: it has no {knows}"),
            Some(&format!("put {knows} first")),
        );
    }
    for (index, step) in filters.iter().enumerate() {
        let is_repeated = order.find_position(step.name()) != Some(index);
        let placement = &step.named.kind.placement;
        if !is_repeated {
            order.check_place(index, placement, problems);
        }
        order.check_followers(index, placement, problems);
        order.check_model(index, problems);
        order.check_provided(index, problems);
        order.check_names(index, problems);
    }
    order.check_limits(problems);
    if protocol.is_some_and(Protocol::creates_paid_work)
        && patterns.iter().any(MethodPathPattern::takes_creates)
        && !order.always_provides(FilterProvision::CreateRecord)
        && !filters.iter().any(FilterOrderCheck::replies_always)
    {
        let records = registry.providers(FilterProvision::CreateRecord);
        problems.warning(
            at,
            format!("creates of this route can be made and paid for twice: it has no {records}"),
            Some(&format!("add {records}")),
        );
    }
    if !order.finds_channel(patterns) {
        problems.error(
            at,
            "this route has no filter that selects a channel or replies",
            Some(&format!("add {}", ways_to_a_channel(registry))),
        );
    }
}

struct FilterOrderCheck<'a> {
    registry: &'a FilterRegistry,
    filters: &'a [FilterWithConfigPath],
}

impl FilterOrderCheck<'_> {
    fn find_position(&self, wanted: &str) -> Option<usize> {
        let mut filters = self.filters.iter();
        filters.position(|step| step.name() == wanted)
    }

    fn find_last_position(&self, wanted: &str) -> Option<usize> {
        let mut filters = self.filters.iter();
        filters.rposition(|step| step.name() == wanted)
    }

    fn provider(&self, provision: FilterProvision) -> Option<usize> {
        let mut filters = self.filters.iter();
        filters.position(|step| step.named.kind.provides(provision))
    }

    /// Whether a filter with this provision runs for every request.
    fn always_provides(&self, provision: FilterProvision) -> bool {
        runs_always(self.filters, |step| step.named.kind.provides(provision))
    }

    /// What a filter needs must be known whenever it runs.
    fn check_provided(&self, index: usize, problems: &mut ProblemCollector<'_>) {
        let step = &self.filters[index];
        let earlier = &self.filters[..index];
        let needs = step.named.kind.placement.needs.iter();
        for provision in needs.filter_map(|need| need.satisfied_by()) {
            let provides = |step: &FilterWithConfigPath| step.named.kind.provides(provision);
            let Some(at) = earlier.iter().position(provides) else {
                continue;
            };
            let mut providers = earlier.iter().filter(|step| provides(step));
            let is_same = |provider: &FilterWithConfigPath| {
                !provider.may_be_skipped() && provider.condition() == step.condition()
            };
            if providers.any(is_same) || runs_always(earlier, provides) {
                continue;
            }
            let provider = &earlier[at];
            let text = provider.condition().unwrap_or_default();
            problems.error(
                &format!("{}/if", self.step_to_move(at, index)),
                format!(
                    "`{}` must not depend on a condition: `{}` needs it",
                    provider.name(),
                    step.name()
                ),
                Some(&format!(
                    "remove `if`, or add a second step before with the condition `!({text})`, both without `on_error: skip`"
                )),
            );
        }
    }

    /// The names of a condition, and those of computed values, must be known where they are evaluated.
    fn check_names(&self, index: usize, problems: &mut ProblemCollector<'_>) {
        let step = &self.filters[index];
        let at = step.trail.last().map_or("", String::as_str);
        let values = step.named.filter.declare().value_names;
        let needed = [
            (Variable::Caller, values.caller, FilterProvision::Caller),
            (Variable::Model, values.model, FilterProvision::Model),
        ];
        for (variable, is_in_value, provision) in needed {
            let condition = step.named.condition.as_ref();
            let is_in_condition =
                condition.is_some_and(|condition| condition.expression.names(variable));
            let at = match (is_in_condition, is_in_value) {
                (true, _) => format!("{at}/if"),
                (false, true) => format!("{at}/{}", step.name()),
                (false, false) => continue,
            };
            let mut earlier = self.filters[..index].iter();
            if !earlier.any(|step| step.named.kind.provides(provision)) {
                let providers = self.registry.providers(provision);
                problems.error(
                    &at,
                    format!("`{}` is not known before {providers}", variable.name()),
                    Some(&format!("move the step after {providers}")),
                );
            }
        }
    }

    /// Whether the filter replies to every request, so that no filter after it runs.
    fn replies_always(step: &FilterWithConfigPath) -> bool {
        step.condition().is_none()
            && (step.named.kind.provides(FilterProvision::Reply)
                || step.named.filter.declare().replies_always)
    }

    /// The filters that a filter depends on must precede it.
    fn check_place(
        &self,
        index: usize,
        placement: &FilterChainRules,
        problems: &mut ProblemCollector<'_>,
    ) {
        let provisions = placement
            .needs
            .iter()
            .filter_map(|need| need.satisfied_by());
        let providers = provisions.filter_map(|provision| self.provider(provision));
        let named = placement
            .after
            .iter()
            .filter_map(|name| self.find_last_position(name));
        for earlier in providers.chain(named).filter(|earlier| *earlier > index) {
            self.report(earlier, index, placement.reason, placement.hint, problems);
        }
        if placement.is_first && index > 0 {
            self.report(index, 0, placement.reason, placement.hint, problems);
        }
        let mut others = self.filters[index..].iter();
        let is_other = |step: &FilterWithConfigPath| !step.named.kind.placement.is_last;
        if placement.is_last
            && let Some(distance) = others.position(is_other)
        {
            let later = index + distance;
            self.report(later, index, placement.reason, placement.hint, problems);
        }
    }

    /// The filters that must follow a filter must not precede it.
    fn check_followers(
        &self,
        index: usize,
        placement: &FilterChainRules,
        problems: &mut ProblemCollector<'_>,
    ) {
        let followers = placement.before.iter();
        let followers = followers.filter_map(|name| self.find_position(name));
        for later in followers.filter(|later| *later < index) {
            self.report(index, later, placement.reason, placement.hint, problems);
        }
    }

    /// Channels are selected by the model that is sent.
    fn check_model(&self, index: usize, problems: &mut ProblemCollector<'_>) {
        let step = &self.filters[index];
        let selecting = self.provider(FilterProvision::Model);
        let Some(selecting) = selecting.filter(|selecting| *selecting < index) else {
            return;
        };
        if step.named.filter.declare().changes_model {
            let (name, selects) = (step.name(), self.filters[selecting].name());
            problems.error(
                self.step_to_move(index, selecting),
                format!("`{name}` changes `model` after `{selects}` has selected channels by it"),
                Some(&format!("move `{name}` before `{selects}`")),
            );
        }
    }

    /// The limits must be checked before a filter replies to every request, because no later filter receives a body.
    fn check_limits(&self, problems: &mut ProblemCollector<'_>) {
        let Some(keeper) = self.provider(FilterProvision::Limits) else {
            return;
        };
        let replying = self.filters[..keeper].iter().position(Self::replies_always);
        if let Some(replying) = replying {
            let reason = format!(
                ": on this route `{}` replies itself, and no filter after it runs",
                self.filters[replying].name()
            );
            self.report(keeper, replying, &reason, None, problems);
        }
    }

    fn finds_channel(&self, patterns: &[MethodPathPattern]) -> bool {
        runs_always(self.filters, |step| {
            let mut provided = step.named.kind.placement.provides.iter();
            Self::replies_always(step)
                || provided.any(|provision| match provision {
                    FilterProvision::Channel => true,
                    FilterProvision::ChannelOf(parameter) => {
                        all_have_parameter(patterns, parameter)
                    }
                    FilterProvision::Caller
                    | FilterProvision::Model
                    | FilterProvision::Limits
                    | FilterProvision::Reply
                    | FilterProvision::PathToken
                    | FilterProvision::CreateRecord
                    | FilterProvision::Callbacks
                    | FilterProvision::Events
                    | FilterProvision::Media => false,
                })
        })
    }

    /// Reports the filter at `later`, which precedes the filter at `earlier` but must follow it.
    fn report(
        &self,
        earlier: usize,
        later: usize,
        reason: &str,
        hint: Option<&str>,
        problems: &mut ProblemCollector<'_>,
    ) {
        let (wanted, early) = (self.filters[earlier].name(), self.filters[later].name());
        let own_hint = format!("move `{early}` after `{wanted}`");
        problems.error(
            self.step_to_move(later, earlier),
            format!("`{early}` requires an earlier `{wanted}`{reason}"),
            Some(hint.unwrap_or(&own_hint)),
        );
    }

    /// The step to move: that of filter `one`, in the innermost list that leads to both filters. An error inside a
    /// chain is reported at the chain, not at the routes that use it.
    fn step_to_move(&self, one: usize, other: usize) -> &str {
        let (one, other) = (&self.filters[one].trail, &self.filters[other].trail);
        let mut both = one.iter().zip(other);
        let apart = both.find(|(one, other)| one != other);
        apart.map_or_else(
            || one.last().map_or("", String::as_str),
            |(one, _)| one.as_str(),
        )
    }
}

/// Whether one of these filters runs for every request: one has no condition, or two have opposite conditions.
fn runs_always(
    filters: &[FilterWithConfigPath],
    is_one: impl Fn(&FilterWithConfigPath) -> bool,
) -> bool {
    let running = filters
        .iter()
        .filter(|step| is_one(step) && !step.may_be_skipped());
    let conditions: Vec<Option<&str>> = running.map(FilterWithConfigPath::condition).collect();
    let is_negated = |text: &str| conditions.contains(&Some(&*format!("!({text})")));
    let mut each = conditions.iter();
    each.any(|condition| condition.is_none_or(is_negated))
}

impl FilterWithConfigPath {
    /// Whether the filter does not run if its condition cannot be evaluated.
    fn may_be_skipped(&self) -> bool {
        let condition = self.named.condition.as_ref();
        condition.is_some_and(|condition| condition.on_error == ConditionErrorAction::Skip)
    }

    fn name(&self) -> &'static str {
        self.named.kind.name
    }

    /// The text of the step's condition.
    fn condition(&self) -> Option<&str> {
        let condition = self.named.condition.as_ref()?;
        Some(condition.expression.text().trim())
    }
}

/// The filters that find a channel or reply themselves, as text for a message.
fn ways_to_a_channel(registry: &FilterRegistry) -> String {
    let ways = registry.iter().flat_map(|kind| {
        let provided = kind.placement.provides.iter();
        provided.filter_map(|provision| match provision {
            FilterProvision::Channel | FilterProvision::Reply => Some(format!("`{}`", kind.name)),
            FilterProvision::ChannelOf(parameter) => Some(format!(
                "`{}` (with `{{{parameter}}}` in the path)",
                kind.name
            )),
            FilterProvision::Caller
            | FilterProvision::Model
            | FilterProvision::Limits
            | FilterProvision::PathToken
            | FilterProvision::CreateRecord
            | FilterProvision::Callbacks
            | FilterProvision::Events
            | FilterProvision::Media => None,
        })
    });
    let ways: Vec<String> = ways.collect();
    match &ways[..] {
        [others @ .., last] if !others.is_empty() => format!("{} or {last}", others.join(", ")),
        _ => ways.concat(),
    }
}
