//! Warns of bodies that a route admits and that a filter of it then refuses, because it cannot inspect them.

use super::super::ProblemCollector;
use super::FilterWithConfigPath;
use headgate_core::filter::InspectionLimit;

/// Warns at each filter whose limit is below that of the route. A route without a limit of its own is not judged.
pub(super) fn check(filters: &[FilterWithConfigPath], problems: &mut ProblemCollector<'_>) {
    let limits = filters.iter().rev();
    let mut limited = limits.filter_map(|step| {
        let limit = step.named.filter.declare().body_limit?;
        Some((step.named.kind.name, limit))
    });
    let Some((limiting, admitted)) = limited.next() else {
        return;
    };
    for step in filters {
        let Some(InspectionLimit { bytes, setting }) = step.named.filter.declare().inspection_limit
        else {
            continue;
        };
        if bytes >= admitted {
            continue;
        }
        let name = step.named.kind.name;
        let at = step.trail.last().map_or("", String::as_str);
        problems.warning(
            &format!("{at}/{name}"),
            format!(
                "`{name}` inspects up to {bytes} bytes of a request, and `{limiting}` of this route admits {admitted} bytes: larger requests get 413"
            ),
            Some(&format!("raise `{setting}` to the limit of `{limiting}`, or lower that")),
        );
    }
}
