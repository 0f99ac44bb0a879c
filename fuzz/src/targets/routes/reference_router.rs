//! A second router: a path is matched by backtracking over its segments, and the first route that matches is taken.

use headgate_config::snapshot::router::{MethodPathPattern, RouteMatch, Router};
use http::Method;

/// Paths of requests.
const REQUESTED: [&str; 6] = [
    "/v1/chat/completions",
    "/v1/v1/chat/completion/",
    "/chat/completions",
    "/v1beta/models/a:generateContent",
    "/v1/videos/video_1/content",
    "/",
];
/// Lengths of paths that are found without their last character.
const HINT_BYTES: std::ops::Range<usize> = 10..200;
/// Routes whose paths are looked up.
const ROUTES_MAX: usize = 16;

/// A route's pattern with its segments as they are written.
struct SegmentedPattern<'router> {
    pattern: &'router MethodPathPattern,
    segments: Vec<String>,
}

/// Finds routes by paths of their own and by similar ones, as the second router does.
pub fn check_router(router: &Router) {
    let patterns = router
        .routes()
        .iter()
        .map(|route| SegmentedPattern::new(&route.pattern));
    let patterns: Vec<SegmentedPattern<'_>> = patterns.collect();
    let mut paths: Vec<String> = REQUESTED.map(String::from).into();
    for known in patterns.iter().take(ROUTES_MAX) {
        let path = known.pattern.path();
        check_hint(router, &path);
        paths.extend(similar_paths(&filled(&path)));
    }
    for path in &paths {
        for method in [Method::GET, Method::POST] {
            check_path(router, &patterns, &method, path);
        }
    }
    assert!(router.endpoints().len() <= router.routes().len());
}

fn check_path(router: &Router, patterns: &[SegmentedPattern<'_>], method: &Method, path: &str) {
    let on_path = patterns.iter().filter(|known| known.is_match(path));
    let on_path: Vec<&MethodPathPattern> = on_path.map(|known| known.pattern).collect();
    let first = on_path
        .iter()
        .find(|known| known.methods().contains(method));
    match router.find(method, path) {
        RouteMatch::Route(route, _) => {
            assert_eq!(Some(&&route.pattern), first, "{method} {path}");
        }
        RouteMatch::OtherMethods(methods) => {
            assert!(first.is_none(), "{method} {path}");
            let known = on_path.iter().flat_map(|known| known.methods());
            assert!(methods.iter().eq(known), "{method} {path}");
        }
        RouteMatch::Nothing => assert!(on_path.is_empty(), "{method} {path}"),
    }
    router.nearest(method, path);
    router.find_websocket(path);
    router.protocol_near(path);
}

impl<'router> SegmentedPattern<'router> {
    fn new(pattern: &'router MethodPathPattern) -> Self {
        let path = pattern.path();
        let segments = path.split('/').map(String::from).collect();
        Self { pattern, segments }
    }

    fn is_match(&self, path: &str) -> bool {
        let given: Vec<&str> = path.split('/').collect();
        matches_from(&self.segments, &given)
    }
}

fn matches_from(segments: &[String], given: &[&str]) -> bool {
    let Some((segment, rest)) = segments.split_first() else {
        return given.is_empty();
    };
    match parameter(segment) {
        None => given.first() == Some(&segment.as_str()) && matches_from(rest, &given[1..]),
        Some((name, _)) if name.starts_with('+') => (1..=given.len()).any(|count| {
            let (taken, left) = given.split_at(count);
            !taken.contains(&"") && matches_from(rest, left)
        }),
        Some((_, end)) => given.split_first().is_some_and(|(text, left)| {
            let text = text.strip_suffix(end);
            text.is_some_and(|text| !text.is_empty()) && matches_from(rest, left)
        }),
    }
}

/// The name of a parameter and its literal end.
fn parameter(segment: &str) -> Option<(&str, &str)> {
    segment.strip_prefix('{')?.split_once('}')
}

/// A route is near to its path without the last character, whatever the method.
fn check_hint(router: &Router, path: &str) {
    let has_other_parts = path.contains(['{', '%']) || path.contains("//") || path.ends_with('/');
    let cut = without_last(path);
    if HINT_BYTES.contains(&path.len()) && !has_other_parts && !cut.ends_with('/') {
        assert!(router.nearest(&Method::PATCH, cut).is_some(), "{cut}");
    }
}

/// A path with texts in place of its parameters.
fn filled(path: &str) -> String {
    let segments = path.split('/').map(|segment| match parameter(segment) {
        None => segment.to_owned(),
        Some((name, _)) if name.starts_with('+') => "several/parts".into(),
        Some((_, end)) => format!("part{end}"),
    });
    segments.collect::<Vec<_>>().join("/")
}

/// The path, and others that people write in its place.
fn similar_paths(path: &str) -> Vec<String> {
    let mut similar = vec![
        path.to_owned(),
        format!("{path}/"),
        format!("/v1{path}"),
        path.to_ascii_uppercase(),
    ];
    similar.extend(
        path.match_indices('/')
            .skip(1)
            .map(|(at, _)| path[at..].to_owned()),
    );
    similar.push(without_last(path).to_owned());
    similar
}

fn without_last(path: &str) -> &str {
    let last = path.char_indices().next_back();
    last.map_or("", |(at, _)| &path[..at])
}
