//! A second router: each route is a regular expression, and the first one that matches is taken.

use headgate_config::snapshot::router::{MethodPathPattern, RouteMatch, Router};
use http::Method;
use regex::Regex;

/// Lengths of paths that are found without their last character.
const HINT_BYTES: std::ops::Range<usize> = 10..200;

/// Finds each route by paths of its own and by similar ones, as the second router does.
pub fn check_router(router: &Router, requested: &[&str]) {
    let patterns = router.routes().iter().map(|route| &route.pattern);
    let patterns: Vec<(&MethodPathPattern, Regex)> =
        patterns.map(|own| (own, expression(own))).collect();
    let mut paths: Vec<String> = requested.iter().copied().map(String::from).collect();
    for (pattern, _) in &patterns {
        let path = pattern.path();
        check_hint(router, &path);
        paths.extend(similar_paths(&filled(&path)));
    }
    for path in &paths {
        for method in [Method::GET, Method::POST, Method::DELETE] {
            check_path(router, &patterns, &method, path);
        }
    }
    assert!(router.endpoints().len() <= router.routes().len());
}

fn check_path(
    router: &Router,
    patterns: &[(&MethodPathPattern, Regex)],
    method: &Method,
    path: &str,
) {
    let on_path = patterns.iter().filter(|(_, regex)| regex.is_match(path));
    let mut taking = on_path
        .clone()
        .filter(|(own, _)| own.methods().contains(method));
    match router.find(method, path) {
        RouteMatch::Route(route, _) => {
            let first = taking.next().map(|(own, _)| *own);
            assert_eq!(Some(&route.pattern), first, "{method} {path}");
        }
        RouteMatch::OtherMethods(methods) => {
            assert!(taking.next().is_none(), "{method} {path}");
            let known = on_path.flat_map(|(own, _)| own.methods());
            assert!(methods.iter().eq(known), "{method} {path}");
        }
        RouteMatch::Nothing => assert_eq!(on_path.count(), 0, "{method} {path}"),
    }
    router.nearest(method, path);
    router.find_websocket(path);
    router.protocol_near(path);
}

/// A route is near to its path without the last character, whatever the method.
fn check_hint(router: &Router, path: &str) {
    let has_other_parts = path.contains(['{', '%']) || path.contains("//") || path.ends_with('/');
    let cut = path
        .char_indices()
        .next_back()
        .map_or("", |(at, _)| &path[..at]);
    if HINT_BYTES.contains(&path.len()) && !has_other_parts && !cut.ends_with('/') {
        assert!(router.nearest(&Method::PATCH, cut).is_some(), "{cut}");
    }
}

fn expression(pattern: &MethodPathPattern) -> Regex {
    let path = pattern.path();
    let segments = path.split('/').skip(1).map(|segment| {
        let parameter = segment
            .strip_prefix('{')
            .and_then(|rest| rest.split_once('}'));
        match parameter {
            None => regex::escape(segment),
            Some((name, _)) if name.starts_with('+') => "[^/]+(/[^/]+)*".into(),
            Some((_, end)) => format!("[^/]+{}", regex::escape(end)),
        }
    });
    let segments: Vec<String> = segments.collect();
    let text = format!("^/{}$", segments.join("/"));
    Regex::new(&text).expect("an escaped text is an expression")
}

/// A path with texts in place of its parameters.
fn filled(path: &str) -> String {
    let segments = path.split('/').map(|segment| {
        match segment
            .strip_prefix('{')
            .and_then(|rest| rest.split_once('}'))
        {
            None => segment.to_owned(),
            Some((name, _)) if name.starts_with('+') => "several/parts".into(),
            Some((_, end)) => format!("part{end}"),
        }
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
    let mut cut = path.to_owned();
    cut.pop();
    similar.push(cut);
    similar
}
