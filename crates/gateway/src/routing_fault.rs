//! The faults of requests that no route takes: an unknown path, or a method that the path does not take.

use super::reply;
use headgate_config::snapshot::Snapshot;
use headgate_observe::token_path::without_token;
use headgate_protocol::fault::{Fault, FaultKind};
use http::{HeaderMap, Method, header};

/// The fault of a path that no route has, with the nearest one or what the gateway serves.
pub(super) fn unknown_path(snapshot: &Snapshot, method: &Method, path: &str) -> Fault {
    let router = &snapshot.router;
    let advice = match (router.nearest(method, path), router.endpoints().as_slice()) {
        (Some(pattern), _) => format!("did you mean `{pattern}`?"),
        (None, []) => "check the base URL and the path".into(),
        (None, endpoints) => {
            let names: Vec<String> = endpoints.iter().map(ToString::to_string).collect();
            format!(
                "this gateway serves {}; most SDKs need a base URL that ends in `/v1`",
                names.join(", ")
            )
        }
    };
    let message = format!("unknown path `{}`; {advice}", shown(without_token(path)));
    Fault::new(FaultKind::NoRoute, message)
}

/// The fault of a method that the path does not take, with the header that lists those it takes.
pub(super) fn method_not_allowed(method: &Method, methods: &[Method]) -> (Fault, HeaderMap) {
    let allow = reply::allow(methods);
    let names = allow.to_str().unwrap_or_default();
    let message = format!(
        "{} is not allowed on this path; use {names}",
        shown(method.as_str())
    );
    let fault = Fault::new(FaultKind::MethodNotAllowed, message);
    (fault, HeaderMap::from_iter([(header::ALLOW, allow)]))
}

/// What a message shows of a method or a path. The head check has refused those that are not ASCII.
fn shown(text: &str) -> &str {
    const SHOWN_BYTES_MAX: usize = 128;
    text.get(..SHOWN_BYTES_MAX).unwrap_or(text)
}
