//! The sections `chains` and `routes`.

use crate::routes_draft::RoutesDraft;
use crate::scalars::duration;

pub fn write(routes: &RoutesDraft) -> String {
    let mut text = "chains:\n  body: [require_json, authenticate, {limit_body: 32MiB}, route_model]\n\nroutes:\n".to_owned();
    let cache = cache_step(routes);
    let streamed = "    response: [pass_sse, meter_usage]\n";
    let failover = match routes.max_attempts {
        Some(attempts) => format!("    failover: {{max_attempts: {attempts}}}\n"),
        None => String::new(),
    };
    let of = |name: &str, path: &str, protocol: &str, request: &str| {
        format!(
            "  - name: {name}\n    match: {}\n    protocol: {}\n    request: [{request}]\n",
            paths(routes, "POST", path),
            protocol
        )
    };
    if routes.serves("chat") {
        let request = format!("{{use: body}}, validate, force_usage{cache}");
        text.push_str(&of("chat", "/v1/chat/completions", "chat", &request));
        text.push_str(&format!("{streamed}{failover}\n"));
    }
    if routes.serves("messages") {
        let request = format!("require_version, {{use: body}}, validate, normalise{cache}");
        text.push_str(&of("messages", "/v1/messages", "messages", &request));
        text.push_str(&format!("{streamed}{failover}\n"));
        let path = "/v1/messages/count_tokens";
        let request = "require_version, {use: body}";
        text.push_str(&of("count_tokens", path, "messages", request));
        text.push_str(&format!("{failover}\n"));
    }
    if routes.serves("responses") {
        let request = "{use: body}, follow_ids, validate";
        text.push_str(&of("responses", "/v1/responses", "responses", request));
        text.push_str(&format!(
            "    response: [pass_sse, meter_usage, remember_ids]\n{failover}\n"
        ));
        text.push_str(&format!(
            "  - name: response\n    match: {}\n    protocol: responses\n    request: [authenticate, follow_ids]\n    response: [pass_sse, remember_ids]\n\n",
            paths(routes, "GET|DELETE", "/v1/responses/{id}")
        ));
    }
    for (name, path) in [("models", "/v1/models"), ("model", "/v1/models/{+id}")] {
        let path = paths(routes, "GET", path);
        text.push_str(&format!(
            "  - name: {name}\n    match: {path}\n    request: [authenticate, list_models]\n\n"
        ));
    }
    text.truncate(text.trim_end().len());
    text + "\n"
}

/// A path, and the same without `/v1`.
fn paths(routes: &RoutesDraft, method: &str, path: &str) -> String {
    match (routes.short_paths, path.strip_prefix("/v1")) {
        (true, Some(short)) => format!("[\"{method} {path}\", \"{method} {short}\"]"),
        _ => format!("\"{method} {path}\""),
    }
}

fn cache_step(routes: &RoutesDraft) -> String {
    let Some(cache) = &routes.cache else {
        return String::new();
    };
    let mut settings = "streams: true, shared: true".to_owned();
    if let Some(ttl) = cache.ttl_ms {
        settings = format!("ttl: {}, {settings}", duration(ttl));
    }
    if cache.in_state {
        settings.push_str(", store: state");
    }
    format!(", {{cache: {{{settings}}}}}")
}
