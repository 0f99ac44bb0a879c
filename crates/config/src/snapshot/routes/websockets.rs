//! Checks and builds the WebSocket settings of routes.

use crate::snapshot::ProblemCollector;
use crate::snapshot::router::{MethodPathPattern, RouteWebSocketSettings};
use crate::websocket::RouteWebSocketConfig;
use headgate_protocol::Protocol;
use http::Method;
use std::time::Duration;

const INTERVAL_MIN: Duration = Duration::from_secs(1);

/// The settings of a route at `at`; `None` if it takes no WebSockets.
pub(super) fn build(
    config: Option<&RouteWebSocketConfig>,
    protocol: Option<Protocol>,
    patterns: &[MethodPathPattern],
    at: &str,
    problems: &mut ProblemCollector<'_>,
) -> Option<RouteWebSocketSettings> {
    let config = config?;
    let takes_posts = |pattern: &MethodPathPattern| pattern.methods.contains(&Method::POST);
    if protocol != Some(Protocol::OVER_WEBSOCKETS) || !patterns.iter().all(takes_posts) {
        problems.error(
            &format!("{at}/websocket"),
            "only `POST` routes of protocol `responses` take WebSockets",
            Some("remove it"),
        );
        return None;
    }
    let settings = RouteWebSocketSettings::new(config);
    for (key, interval) in [
        ("ping_interval", settings.ping_interval),
        ("max_age", settings.age_max),
    ] {
        if interval < INTERVAL_MIN {
            let at = format!("{at}/websocket/{key}");
            problems.error(&at, format!("`{key}` must be at least 1s"), None);
        }
    }
    Some(settings)
}
