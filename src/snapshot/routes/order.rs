//! The order of a route's filters: one that cannot work by what the filters declare of their place is refused when
//! the file is read.

use super::super::Problems;
use super::super::router::Pattern;
use super::{BuiltStep, all_have_parameter};
use crate::filter::kind::{Place, Provision};
use crate::filter::registry::{self, FILTERS};

/// Reports filters of the list at `at` that stand in an order which cannot work.
pub(super) fn check(
    filters: &[BuiltStep],
    patterns: &[Pattern],
    at: &str,
    problems: &mut Problems<'_>,
) {
    let order = Order { filters };
    if order.provider(Provision::Caller).is_none() {
        let knows = registry::providers(Provision::Caller);
        problems.warning(
            at,
            format!("anybody may use this route: it has no {knows}"),
            Some(&format!("put {knows} first")),
        );
    }
    for (index, step) in filters.iter().enumerate() {
        let is_repeated = order.place(step.name()) != Some(index);
        if !is_repeated {
            order.check_place(index, &step.named.kind.place, problems);
        }
    }
    order.check_limits(problems);
    if !order.finds_channel(patterns) {
        problems.error(
            at,
            "no filter of this route finds a channel or answers by itself",
            Some(&format!("add {}", ways_to_a_channel())),
        );
    }
}

struct Order<'a> {
    filters: &'a [BuiltStep],
}

impl Order<'_> {
    fn place(&self, wanted: &str) -> Option<usize> {
        let mut filters = self.filters.iter();
        filters.position(|step| step.name() == wanted)
    }

    fn provider(&self, provision: Provision) -> Option<usize> {
        let mut filters = self.filters.iter();
        filters.position(|step| step.named.kind.provides(provision))
    }

    /// Whether every request ends with the filter.
    fn replies_always(step: &BuiltStep) -> bool {
        step.named.kind.provides(Provision::Reply) || step.named.filter.declare().replies_always
    }

    /// The filters that a filter builds on stand before it.
    fn check_place(&self, index: usize, place: &Place, problems: &mut Problems<'_>) {
        let provisions = place.needs.iter().filter_map(|need| need.met_by());
        let providers = provisions.filter_map(|provision| self.provider(provision));
        let named = place.after.iter().filter_map(|name| self.place(name));
        for earlier in providers.chain(named).filter(|earlier| *earlier > index) {
            self.report(earlier, index, place.reason, place.hint, problems);
        }
    }

    /// Limits are kept before a filter replies to every request: none behind it sees a body.
    fn check_limits(&self, problems: &mut Problems<'_>) {
        let Some(keeper) = self.provider(Provision::Limits) else {
            return;
        };
        let replying = self.filters[..keeper].iter().position(Self::replies_always);
        if let Some(replying) = replying {
            let reason = format!(
                ": on this route `{}` answers by itself, and no filter behind it runs",
                self.filters[replying].name()
            );
            self.report(keeper, replying, &reason, None, problems);
        }
    }

    fn finds_channel(&self, patterns: &[Pattern]) -> bool {
        self.filters.iter().any(|step| {
            let mut provided = step.named.kind.place.provides.iter();
            Self::replies_always(step)
                || provided.any(|provision| match provision {
                    Provision::Channel => true,
                    Provision::ChannelOf(parameter) => all_have_parameter(patterns, parameter),
                    Provision::Caller | Provision::Model | Provision::Limits | Provision::Reply => {
                        false
                    }
                })
        })
    }

    /// Reports the filter at `later`, which stands before the one at `earlier`.
    fn report(
        &self,
        earlier: usize,
        later: usize,
        reason: &str,
        hint: Option<&str>,
        problems: &mut Problems<'_>,
    ) {
        let (wanted, early) = (self.filters[earlier].name(), self.filters[later].name());
        let own_hint = format!("move `{early}` behind `{wanted}`");
        problems.error(
            self.step_to_move(later, earlier),
            format!("`{early}` requires an earlier `{wanted}`{reason}"),
            Some(hint.unwrap_or(&own_hint)),
        );
    }

    /// The step that leads to one filter, in the innermost list from which both are reached: a chain
    /// whose own order is wrong is at fault, and not the routes that use it.
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

impl BuiltStep {
    fn name(&self) -> &'static str {
        self.named.kind.name
    }
}

/// The filters that find a channel or reply by themselves, for a sentence.
fn ways_to_a_channel() -> String {
    let ways = FILTERS.iter().flat_map(|kind| {
        let provided = kind.place.provides.iter();
        provided.filter_map(|provision| match provision {
            Provision::Channel | Provision::Reply => Some(format!("`{}`", kind.name)),
            Provision::ChannelOf(parameter) => Some(format!(
                "`{}` (with `{{{parameter}}}` in the path)",
                kind.name
            )),
            Provision::Caller | Provision::Model | Provision::Limits => None,
        })
    });
    let ways: Vec<String> = ways.collect();
    match &ways[..] {
        [others @ .., last] if !others.is_empty() => format!("{} or {last}", others.join(", ")),
        _ => ways.concat(),
    }
}
