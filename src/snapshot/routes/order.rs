//! The order of a route's filters: one that would surprise at run time is refused when the file is read.

use super::super::Problems;
use super::super::router::Pattern;
use super::BuiltStep;

/// What each filter on the right builds on, in both hooks.
const EARLIER: [(&str, &str); 10] = [
    ("authenticate", "pin"),
    ("authenticate", "follow_ids"),
    ("pin", "follow_ids"),
    ("route_model", "follow_ids"),
    ("follow_ids", "first_channel"),
    ("pin", "first_channel"),
    ("authenticate", "map_task"),
    ("route_model", "map_task"),
    ("route_model", "map_images"),
    ("validate", "map_images"),
];

/// Reports filters of the list at `at` that stand in an order which cannot work.
pub(super) fn check(
    filters: &[BuiltStep],
    patterns: &[Pattern],
    at: &str,
    problems: &mut Problems<'_>,
) {
    let order = Order { filters };
    let place = |wanted: &str| order.place(wanted);
    if place("authenticate").is_none() {
        problems.warning(
            at,
            "anybody may use this route: it has no `authenticate`",
            Some("put `authenticate` first"),
        );
    }
    for later in ["list_models", "route_model"] {
        let why = ", since models depend on the caller";
        order.require("authenticate", later, why, None, problems);
    }
    for (earlier, later) in EARLIER {
        order.require(earlier, later, "", None, problems);
    }
    let all_have = |name: &str| patterns.iter().all(|pattern| pattern.has_parameter(name));
    let is_about_a_task = all_have("id") || all_have("task_id");
    if is_about_a_task {
        let why = ": on this route `map_task` answers by itself, and no filter behind it runs";
        order.require("rate_limit", "map_task", why, None, problems);
    }
    let why = ", since models have rules of their own";
    order.require("route_model", "validate", why, None, problems);
    let why = ", since models have limits too";
    let hint = "put `rate_limit` last, so that requests which are refused count for nothing";
    order.require("route_model", "rate_limit", why, Some(hint), problems);
    let finds_channel = place("route_model").is_some()
        || place("list_models").is_some()
        || place("first_channel").is_some()
        || (place("follow_ids").is_some() && all_have("id"))
        || (place("map_task").is_some() && is_about_a_task)
        || filters.iter().any(|step| step.named.filter.ends_requests());
    if !finds_channel {
        problems.error(
            at,
            "no filter of this route finds a channel or answers by itself",
            Some("add `route_model`, `follow_ids` (with `{id}` in the path), `first_channel` or `list_models`"),
        );
    }
}

struct Order<'a> {
    filters: &'a [BuiltStep],
}

impl Order<'_> {
    fn place(&self, wanted: &str) -> Option<usize> {
        let mut filters = self.filters.iter();
        filters.position(|step| step.named.name == wanted)
    }

    /// Reports `later` where it stands before `earlier`, if the route has both.
    fn require(
        &self,
        earlier: &str,
        later: &str,
        why: &str,
        hint: Option<&str>,
        problems: &mut Problems<'_>,
    ) {
        let (Some(wanted), Some(early)) = (self.place(earlier), self.place(later)) else {
            return;
        };
        if early > wanted {
            return;
        }
        let at = self.step_to_move(early, wanted);
        let own_hint = format!("move `{later}` behind `{earlier}`");
        problems.error(
            at,
            format!("`{later}` requires an earlier `{earlier}`{why}"),
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
