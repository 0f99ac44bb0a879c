//! Checks and builds the WebSocket settings of routes.

use crate::snapshot::ProblemCollector;
use crate::snapshot::router::{MethodPathPattern, RouteWebSocketSettings};
use crate::websocket::RouteWebSocketConfig;
use headgate_core::filter::chain::ResponseChain;
use headgate_core::filter::output_check::RouteOutputChecks;
use headgate_protocol::{Protocol, WebSocketMessages};
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
    let messages = protocol.and_then(|protocol| protocol.descriptor().websocket);
    let default = RouteWebSocketConfig::default();
    let config = match messages {
        // Its routes take nothing else.
        Some(WebSocketMessages::SessionEvents) => config.unwrap_or(&default),
        Some(WebSocketMessages::Requests) | None => config?,
    };
    let method = match messages {
        Some(WebSocketMessages::SessionEvents) => Method::GET,
        Some(WebSocketMessages::Requests) | None => Method::POST,
    };
    let takes_method = |pattern: &MethodPathPattern| pattern.methods.contains(&method);
    let Some(messages) = messages.filter(|_| patterns.iter().all(takes_method)) else {
        problems.error(
            &format!("{at}/websocket"),
            "only `POST` routes of protocol `responses` and `GET` routes of `realtime` take WebSockets",
            Some("remove it, or correct `match`"),
        );
        return None;
    };
    let settings = RouteWebSocketSettings::new(messages, config);
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

/// Reports filters that must see what callers get: they see no messages of a session.
pub(super) fn check_output_checks(
    settings: Option<&RouteWebSocketSettings>,
    response: &ResponseChain,
    at: &str,
    problems: &mut ProblemCollector<'_>,
) {
    let is_session =
        settings.is_some_and(|settings| settings.messages == WebSocketMessages::SessionEvents);
    if is_session && !matches!(response.output_checks(), RouteOutputChecks::None) {
        problems.error(
            at,
            "a filter of this route checks what callers get, and filters see no messages of a session",
            Some("remove the filters that check output, or their settings for output"),
        );
    }
}
