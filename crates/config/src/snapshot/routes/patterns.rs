//! The patterns of a route's `match`, and what is wrong or unreachable among them.

use super::super::ProblemCollector;
use super::super::router::{MethodPathPattern, Route};
use crate::routes::RouteConfig;

/// The patterns of a route; invalid ones are reported.
pub(super) fn patterns(
    config: &RouteConfig,
    at: &str,
    problems: &mut ProblemCollector<'_>,
) -> Vec<MethodPathPattern> {
    let mut patterns = Vec::new();
    for (end, text) in config.r#match.placed() {
        match MethodPathPattern::parse(text) {
            Ok(pattern) => {
                if let Some(segment) = pattern.literal_like_parameter() {
                    let name = segment.trim_matches(|c: char| !c.is_ascii_alphanumeric());
                    let name = if name.is_empty() { "id" } else { name };
                    problems.warning(
                        &format!("{at}/match{end}"),
                        format!("`{segment}` matches only the literal text `{segment}`"),
                        Some(&format!("write `{{{name}}}` for a parameter")),
                    );
                }
                patterns.push(pattern);
            }
            Err(reason) => {
                let hint =
                    MethodPathPattern::corrected(text).map(|pattern| format!("write `{pattern}`"));
                problems.error(&format!("{at}/match{end}"), reason, hint.as_deref());
            }
        }
    }
    patterns
}

/// Whether every pattern has a `{parameter}` of this name.
pub(super) fn all_have_parameter(patterns: &[MethodPathPattern], name: &str) -> bool {
    patterns.iter().all(|pattern| pattern.has_parameter(name))
}

/// Warns of a pattern whose requests all match an earlier route: the first match wins.
pub(super) fn warn_if_taken(
    pattern: &str,
    earlier: &[Route],
    at: &str,
    problems: &mut ProblemCollector<'_>,
) {
    let Ok(pattern) = MethodPathPattern::parse(pattern) else {
        return;
    };
    let mut earlier = earlier.iter();
    if let Some(first) = earlier.find(|first| first.pattern.covers(&pattern)) {
        problems.warning(
            at,
            format!(
                "unreachable: route `{}` above matches all of these requests",
                first.name
            ),
            Some("move this route above it, or remove it"),
        );
    }
}
