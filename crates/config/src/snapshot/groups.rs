//! Builds groups of callers: the limits that they share.

use super::ProblemCollector;
use super::caller_limits::{build_limits, check_models};
use crate::callers::CallerConfig;
use crate::groups::CallerGroupConfig;
use headgate_core::catalog::Catalog;
use headgate_core::catalog::limits::CallerLimits;
use headgate_core::feature::section::ConfigProblemSink;
use headgate_core::pointer::child;
use headgate_core::state::counter_key::{GROUP_PREFIX, RESERVED_PREFIXES};
use headgate_protocol::nearest::nearest;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The limits of groups, by name.
pub(crate) type GroupLimits = BTreeMap<String, Arc<CallerLimits>>;

/// Builds the groups; reports limits that only callers can have.
pub(super) fn build(
    configs: &BTreeMap<String, CallerGroupConfig>,
    shared: Option<&Arc<CallerLimits>>,
    catalog: &Catalog,
    problems: &mut ProblemCollector<'_>,
) -> GroupLimits {
    let groups = configs.iter().map(|(name, config)| {
        let at = child(&child("/groups", name), "limits");
        if config.limits.connections.is_some() {
            problems.error(
                &child(&at, "connections"),
                "connections are those of one caller",
                Some("set `connections` in the `limits` of the callers"),
            );
        }
        check_models(&config.limits, catalog, &child(&at, "models"), problems);
        let holder = format!("{GROUP_PREFIX}{name}").into();
        let limits = build_limits(&holder, &config.limits, catalog);
        let limits = limits.with_group(shared.cloned());
        (name.clone(), Arc::new(limits))
    });
    groups.collect()
}

/// The limits of the caller's group; reports a group that does not exist, and a name that is that of a group.
pub(super) fn find(
    config: &CallerConfig,
    groups: &GroupLimits,
    at: &str,
    problems: &mut dyn ConfigProblemSink,
) -> Option<Arc<CallerLimits>> {
    let mut reserved = RESERVED_PREFIXES.iter();
    if let Some(prefix) = reserved.find(|prefix| config.name.starts_with(**prefix)) {
        let reason = match *prefix {
            GROUP_PREFIX => format!("a name that begins with `{GROUP_PREFIX}` is that of a group"),
            _ => format!("no caller has a name that begins with `{prefix}`"),
        };
        problems.error(&child(at, "name"), reason, Some("choose another name"));
    }
    let name = config.group.as_ref()?;
    let group = groups.get(name);
    if group.is_none() {
        let known = nearest(name, groups.keys().map(String::as_str), 1);
        let hint = match known.first() {
            Some(known) => format!("did you mean `{known}`?"),
            None => format!("declare it: `groups: {{{name}: {{limits: {{...}}}}}}`"),
        };
        let reason = format!("there is no group `{name}`");
        problems.error(&child(at, "group"), reason, Some(&hint));
    }
    group.cloned()
}

/// Reports groups that no caller belongs to, unless callers of other sources may.
pub(super) fn check_use(
    configs: &BTreeMap<String, CallerGroupConfig>,
    callers: &[CallerConfig],
    has_sources: bool,
    problems: &mut ProblemCollector<'_>,
) {
    if has_sources {
        return;
    }
    for name in configs.keys() {
        let is_theirs = |caller: &CallerConfig| caller.group.as_ref() == Some(name);
        if !callers.iter().any(is_theirs) {
            let reason = format!("no caller belongs to group `{name}`");
            let hint = format!("write `group: {name}` at its callers, or remove it");
            problems.key_warning(&child("/groups", name), &reason, Some(&hint));
        }
    }
}
