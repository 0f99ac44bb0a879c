//! Finds the route that a request with an unknown path was probably meant for.

use super::Router;
use super::pattern::{MethodPathPattern, PathSegment};
use headgate_protocol::nearest::{differences, is_close};
use http::Method;

/// Longer paths get no hint.
const PATH_BYTES_MAX: usize = 200;
/// The maximum number of endpoints in the error for a path without a near route.
const ENDPOINTS_MAX: usize = 6;
/// The maximum number of different characters if no whole segments are equal.
const DIFFERING_CHARACTERS_MAX: usize = 3;

impl Router {
    /// The pattern that is nearest to an unknown path; patterns with `method` are preferred.
    ///
    /// A pattern is near if its last segments are equal (the path lacks `/v1`, has it twice or has another one; a
    /// trailing slash), else if only a few characters differ, else if only the last segment differs.
    pub fn nearest(&self, method: &Method, path: &str) -> Option<&MethodPathPattern> {
        if path.len() > PATH_BYTES_MAX {
            return None;
        }
        let given: Vec<&str> = path.split('/').filter(|text| !text.is_empty()).collect();
        let patterns = || self.routes.iter().map(|route| &route.pattern);
        let taking = patterns().filter(|pattern| pattern.methods.contains(method));
        nearest_pattern(taking, &given).or_else(|| nearest_pattern(patterns(), &given))
    }

    /// A few endpoints, for callers whose path is near no route: the first pattern of each protocol with POST and
    /// without parameters, in the order of the file.
    pub fn endpoints(&self) -> Vec<&MethodPathPattern> {
        let mut protocols = Vec::new();
        let endpoints = self.routes.iter().filter(|route| {
            let takes_creates = route.pattern.methods.contains(&Method::POST)
                && route.pattern.literal_path().is_some();
            let is_first = takes_creates && !protocols.contains(&route.protocol);
            protocols.extend(is_first.then_some(route.protocol));
            is_first && route.protocol.is_some()
        });
        let patterns = endpoints.map(|route| &route.pattern);
        patterns.take(ENDPOINTS_MAX).collect()
    }
}

fn nearest_pattern<'p>(
    patterns: impl Iterator<Item = &'p MethodPathPattern> + Clone,
    given: &[&str],
) -> Option<&'p MethodPathPattern> {
    let by_end = patterns.clone().filter_map(|pattern| {
        let same = same_literals_at_end(pattern, given);
        if !is_same_api(pattern, given, same) {
            return None;
        }
        let apart = differences(
            &with_given_parameters(pattern, given),
            &given.join("/"),
            PATH_BYTES_MAX,
        )?;
        (same > 0).then_some(((usize::MAX - same, apart), pattern))
    });
    let mut by_begin = patterns
        .clone()
        .filter(|pattern| differs_in_last_literal(pattern, given));
    let by_slip =
        patterns.filter_map(|pattern| Some(((differing_characters(pattern, given)?, 0), pattern)));
    let first = |(_, pattern): (_, &'p MethodPathPattern)| pattern;
    by_end
        .min_by_key(|(distance, _)| *distance)
        .map(first)
        .or_else(|| by_slip.min_by_key(|(distance, _)| *distance).map(first))
        .or_else(|| by_begin.next())
}

/// Whether the difference before the last `same` segments can be a typo: one path only has more segments, or the
/// segments just before are similar. `/v1/images/generations` is not a typo of `/v1/video/generations`.
fn is_same_api(pattern: &MethodPathPattern, given: &[&str], same: usize) -> bool {
    let pattern_rest = &pattern.segments[..pattern.segments.len().saturating_sub(same)];
    let given_rest = &given[..given.len().saturating_sub(same)];
    let mut both = pattern_rest.iter().zip(given_rest);
    if both.all(|(segment, given)| segment.matches(given)) {
        return true;
    }
    match (pattern_rest.last(), given_rest.last()) {
        (Some(PathSegment::Literal(text)), Some(given)) => {
            is_close(text, given, (given.len() / 3).max(1))
        }
        _ => true,
    }
}

/// Whether a path differs from a pattern in the last segment only, below at least two literal ones:
/// `/v1/images/generations` from `/v1/images/edits`.
fn differs_in_last_literal(pattern: &MethodPathPattern, given: &[&str]) -> bool {
    const SHARED_MIN: usize = 2;
    let shared = pattern.segments.iter().zip(given);
    let shared =
        shared.take_while(|(segment, given)| segment.is_literal() && segment.matches(given));
    given.len() > SHARED_MIN
        && pattern.segments.len() == given.len()
        && pattern.segments.last().is_some_and(PathSegment::is_literal)
        && shared.count() + 1 == given.len()
}

/// The number of characters in which a path differs from a pattern, or from the end of a longer pattern; `None` if
/// there are too many.
fn differing_characters(pattern: &MethodPathPattern, given: &[&str]) -> Option<usize> {
    let differ = |meant: &str, given: &str| {
        let allowed = DIFFERING_CHARACTERS_MAX.min(given.len() / 5);
        differences(meant, given, allowed)
    };
    let length = pattern.segments.len().min(given.len());
    let (ahead, skipped) = (pattern.segments.len() - length, given.len() - length);
    if !pattern.segments[ahead..]
        .iter()
        .any(PathSegment::is_literal)
    {
        return None;
    }
    let meant = with_given_parameters(pattern, given);
    let end_of_meant = meant.split('/').skip(ahead).collect::<Vec<_>>().join("/");
    let ends = differ(&end_of_meant, &given[skipped..].join("/"));
    ends.into_iter()
        .chain(differ(&meant, &given.join("/")))
        .min()
}

/// The number of equal literal segments at the end of both paths.
fn same_literals_at_end(pattern: &MethodPathPattern, given: &[&str]) -> usize {
    let pairs = pattern.segments.iter().rev().zip(given.iter().rev());
    pairs
        .map_while(|(segment, given)| match segment {
            PathSegment::Literal(text) => text.eq_ignore_ascii_case(given).then_some(1),
            PathSegment::Parameter { .. } | PathSegment::Segments(_) => Some(0),
        })
        .sum()
}

/// The pattern's path with the given values in place of its parameters, aligned at the end.
fn with_given_parameters(pattern: &MethodPathPattern, given: &[&str]) -> String {
    let ahead = pattern.segments.len().saturating_sub(given.len());
    let skipped = given.len().saturating_sub(pattern.segments.len());
    let values = std::iter::repeat_n("", ahead).chain(given[skipped..].iter().copied());
    let segments = pattern.segments.iter().zip(values);
    let texts: Vec<&str> = segments
        .map(|(segment, value)| match segment {
            PathSegment::Literal(text) => text,
            PathSegment::Parameter { .. } | PathSegment::Segments(_) => value,
        })
        .collect();
    texts.join("/")
}

#[cfg(test)]
mod tests {
    use crate::snapshot::router::tests::router;

    #[test]
    fn a_slip_in_a_path_leads_to_the_route_that_was_meant() {
        let router = router(&[
            "POST /v1/chat/completions",
            "POST /v1/messages",
            "POST /v1/messages/count_tokens",
            "POST /v1/responses",
            "GET|DELETE /v1/responses/{id}",
            "POST /v1/responses/{id}/cancel",
            "POST /v1/conversations",
            "GET|POST /v1/files",
            "GET /v1/files/{id}/content",
            "POST /v1/images/edits",
            "POST /v1/video/generations",
            "GET /v1/video/generations/{task_id}",
            "POST /v1/family-a/video/generations",
            "GET /v1/models",
            "GET /v1/models/{id}",
        ]);
        let chat = Some("POST /v1/chat/completions");
        for (method, path, meant) in [
            ("POST", "/v1/chat/completion", chat),
            ("POST", "/v1/chat/completions/", chat),
            ("POST", "/chat/completions", chat),
            ("POST", "/v1/v1/chat/completions", chat),
            ("POST", "/v1/v1/chat/completion", chat),
            ("POST", "/v2/chat/completions", chat),
            ("POST", "/openai/v1/chat/completions", chat),
            ("POST", "/V1/Chat/Completions", chat),
            ("POST", "/v1/chat/compeltions", chat),
            ("POST", "/v1/chatcompletions", chat),
            ("POST", "/v1/completions", chat),
            ("POST", "/completions", chat),
            ("POST", "/v1/message", Some("POST /v1/messages")),
            ("POST", "/messages", Some("POST /v1/messages")),
            (
                "POST",
                "/v1/messages/count-tokens",
                Some("POST /v1/messages/count_tokens"),
            ),
            ("POST", "/v1/response", Some("POST /v1/responses")),
            (
                "GET",
                "/v1/response/resp_1",
                Some("GET|DELETE /v1/responses/{id}"),
            ),
            (
                "GET",
                "/responses/resp_1",
                Some("GET|DELETE /v1/responses/{id}"),
            ),
            (
                "POST",
                "/responses/r/cancel",
                Some("POST /v1/responses/{id}/cancel"),
            ),
            ("POST", "/v1/image/edits", Some("POST /v1/images/edits")),
            (
                "POST",
                "/v1/images/generations",
                Some("POST /v1/images/edits"),
            ),
            ("POST", "/images/generations", None),
            ("POST", "/v1/chat/messages/edits/generations", None),
            ("POST", "/v1/images/edit", Some("POST /v1/images/edits")),
            (
                "POST",
                "/v1/videos/generations",
                Some("POST /v1/video/generations"),
            ),
            (
                "POST",
                "/v1/family_a/video/generations",
                Some("POST /v1/family-a/video/generations"),
            ),
            ("GET", "/v1/model", Some("GET /v1/models")),
            ("POST", "/v1/model", Some("GET /v1/models")),
            ("GET", "/models", Some("GET /v1/models")),
            ("GET", "/models/demo", Some("GET /v1/models/{id}")),
            ("POST", "/", None),
            ("GET", "/v1", None),
            ("GET", "/v1/", None),
            ("GET", "/metrics", None),
            ("POST", "/v1/embeddings", None),
            ("POST", "/v1/moderations", None),
            ("POST", "/v1/audio/speech", None),
            ("GET", "/favicon.ico", None),
        ] {
            let found = router.nearest(&method.parse().unwrap(), path);
            let found = found.map(ToString::to_string);
            assert_eq!(found.as_deref(), meant, "{method} {path}");
        }
        let long = format!("/{}/v1/models", "x".repeat(10_000));
        assert!(router.nearest(&http::Method::GET, &long).is_none());
    }
}
