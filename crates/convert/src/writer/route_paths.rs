//! The paths that a route matches.

use crate::routes_draft::RoutesDraft;

/// A path, and the same without `/v1`.
pub fn paths(routes: &RoutesDraft, method: &str, path: &str) -> String {
    match (routes.short_paths, path.strip_prefix("/v1")) {
        (true, Some(short)) => format!("[\"{method} {path}\", \"{method} {short}\"]"),
        _ => format!("\"{method} {path}\""),
    }
}
