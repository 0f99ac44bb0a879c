//! The sections `chains` and `routes`.

use super::body_steps::body_steps;
use super::file_routes;
use super::route_paths::paths;
use crate::routes_draft::{FILES_PROTOCOL, PassThroughDraft, RoutesDraft};
use crate::scalars::duration;

/// Longest list of steps in one line, in characters.
const STEPS_WIDTH: usize = 100;
/// Where the steps are that change bodies for some channels.
const EDITS: &str = "{edits}";
/// Where the steps are that check requests.
const GUARDS: &str = "{guards}";
/// Protocols of text, between which routes translate.
const TEXT: [&str; 3] = ["chat", "messages", "responses"];
/// Protocols that are shipped as declarations: each with its path, and the steps of its responses.
const OTHERS: [(&str, &str, &str); 7] = [
    (
        "embeddings",
        "/v1/embeddings",
        "[meter_usage, restore_model]",
    ),
    (
        "completions",
        "/v1/completions",
        "[pass_sse, meter_usage, restore_model]",
    ),
    ("moderations", "/v1/moderations", "[restore_model]"),
    ("rerank", "/v1/rerank", "[meter_usage, restore_model]"),
    ("cohere_rerank", "/v2/rerank", "[meter_usage]"),
    (
        "image_generation",
        "/v1/images/generations",
        "[pass_sse, meter_usage]",
    ),
    ("speech", "/v1/audio/speech", "[]"),
];

/// The sections, and that of the protocols that the routes declare.
pub fn write(routes: &RoutesDraft) -> String {
    let mut text = protocols(routes);
    text.push_str(&chains_and_routes(routes));
    text
}

fn protocols(routes: &RoutesDraft) -> String {
    let declared = routes.pass_through.iter();
    let declared =
        declared.map(|one| format!("  {}: {{path: {}, retry: paid}}\n", one.protocol, one.path));
    let files = format!("  {FILES_PROTOCOL}: {{path: /v1/files, retry: paid}}\n");
    let files = routes.serves(FILES_PROTOCOL).then_some(files);
    match declared.chain(files).collect::<String>() {
        none if none.is_empty() => none,
        declared => format!("protocols:\n{declared}\n"),
    }
}

fn chains_and_routes(routes: &RoutesDraft) -> String {
    let mut text =
        "chains:\n  body: [require_json, authenticate, {limit_body: 32MiB}, route_model".to_owned();
    if routes.refuses_tags {
        text.push_str(", {if: has(json(\"/metadata/tags\")), reply: {status: 400, error: {message: remove `metadata.tags`}}}");
    }
    text.push_str("]\n\nroutes:\n");
    let cache = cache_step(routes);
    let failover = match routes.max_attempts {
        Some(attempts) => format!("    failover: {{max_attempts: {attempts}}}\n"),
        None => String::new(),
    };
    let of = |name: &str, path: &str, protocol: &str, request: Vec<String>| {
        format!(
            "  - name: {name}\n    match: {}\n    protocol: {protocol}\n{}{}",
            paths(routes, "POST", path),
            translate(routes, name),
            steps(&request)
        )
    };
    // Callers of LiteLLM see the name of the model that they requested.
    let restore = match routes.restores_model {
        true => ", {restore_model: {streams: true}}",
        false => "",
    };
    // Checks of responses see the provider's events.
    let streamed = |protocol: &str, last: &str| {
        let checks = protocol_steps(&routes.guards.responses, protocol);
        let checks = checks.iter().map(|step| format!(", {step}"));
        let checks: String = checks.collect();
        format!("    response: [pass_sse{checks}, meter_usage{last}{restore}]\n")
    };
    let chain = |steps: &str, protocol: &str, cache: &Option<String>| {
        let steps = listed(steps).into_iter();
        let steps = steps.flat_map(|step| match step.as_str() {
            EDITS => body_steps(routes, protocol),
            GUARDS => protocol_steps(&routes.guards.requests, protocol),
            _ => vec![step],
        });
        steps.chain(cache.clone()).collect()
    };
    // Callers have either, whatever their models speak.
    let serves_text = routes.serves("chat") || routes.serves("messages");
    if serves_text {
        let steps = "{use: body}, {guards}, validate, {edits}, force_usage";
        let request = chain(steps, "chat", &cache);
        text.push_str(&of("chat", "/v1/chat/completions", "chat", request));
        text.push_str(&format!("{}{failover}\n", streamed("chat", "")));
    }
    if serves_text {
        let steps = "require_version, {use: body}, {guards}, validate, {edits}, normalise";
        let request = chain(steps, "messages", &cache);
        text.push_str(&of("messages", "/v1/messages", "messages", request));
        text.push_str(&format!("{}{failover}\n", streamed("messages", "")));
    }
    if routes.serves("messages") {
        let path = "/v1/messages/count_tokens";
        let request = listed("require_version, {use: body}");
        text.push_str(&of("count_tokens", path, "messages", request));
        text.push_str(&format!("{failover}\n"));
    }
    if routes.serves("responses") {
        let steps = "{use: body}, follow_ids, {guards}, validate";
        let request = chain(steps, "responses", &None);
        text.push_str(&of("responses", "/v1/responses", "responses", request));
        let response = streamed("responses", ", remember_ids");
        text.push_str(&format!("{response}{failover}\n"));
        text.push_str(&format!(
            "  - name: response\n    match: {}\n    protocol: responses\n    request: [authenticate, follow_ids]\n    response: [pass_sse, remember_ids]\n\n",
            paths(routes, "GET|DELETE", "/v1/responses/{id}")
        ));
    }
    for (protocol, path, response) in OTHERS {
        if routes.serves(protocol) {
            text.push_str(&of(
                protocol,
                path,
                protocol,
                vec!["{use: body}".to_owned()],
            ));
            text.push_str(&format!("    response: {response}\n{failover}\n"));
        }
    }
    if routes.serves("transcription") {
        let form =
            "require_form, authenticate, {limit_body: {body: 26MiB, file: 25MiB}}, route_model";
        let form = vec![form.to_owned()];
        let path = "/v1/audio/transcriptions";
        text.push_str(&of("transcription", path, "transcription", form));
        text.push_str(&format!(
            "    response: [pass_sse, meter_usage]\n{failover}\n"
        ));
    }
    if routes.serves("realtime") {
        let path = paths(routes, "GET", "/v1/realtime");
        text.push_str(&format!(
            "  - name: realtime\n    match: {path}\n    protocol: realtime\n    request: [authenticate, route_model]\n    response: [meter_usage]\n{failover}\n"
        ));
    }
    text.push_str(&file_routes::write(routes));
    for PassThroughDraft { protocol, path } in &routes.pass_through {
        let methods = "GET|POST|PUT|PATCH|DELETE";
        // Of the new path, `/v1` is not sent.
        text.push_str(&format!(
            "  - name: {protocol}\n    match: [\"{methods} {path}\", \"{methods} {path}/{{+rest}}\"]\n    protocol: {protocol}\n    request: [authenticate, {{limit_body: 32MiB}}, {{rewrite_path: {{match: \"^{path}/?(.*)$\", to: /v1/$1}}}}, first_channel]\n    response: []\n\n"
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

/// The protocols of channels into which requests of a route are translated, if it is one of text, which have the names of their
/// protocols.
fn translate(routes: &RoutesDraft, name: &str) -> String {
    let others = TEXT.into_iter();
    let others = others.filter(|other| *other != name && routes.serves(other));
    let others: Vec<&str> = others.collect();
    match TEXT.contains(&name) && !others.is_empty() {
        true => format!("    translate: [{}]\n", others.join(", ")),
        false => String::new(),
    }
}

/// The steps of a list whose steps have no commas.
fn listed(steps: &str) -> Vec<String> {
    let steps = steps.split(", ").filter(|step| !step.is_empty());
    steps.map(str::to_owned).collect()
}

/// The steps of a request, in one line if they fit.
fn steps(steps: &[String]) -> String {
    let line = steps.join(", ");
    if line.len() <= STEPS_WIDTH {
        return format!("    request: [{line}]\n");
    }
    let lines: String = steps
        .iter()
        .map(|step| format!("      - {step}\n"))
        .collect();
    format!("    request:\n{lines}")
}

/// The steps for the routes of a protocol.
fn protocol_steps(steps: &[(&str, String)], protocol: &str) -> Vec<String> {
    let steps = steps.iter().filter(|(of, _)| *of == protocol);
    steps.map(|(_, step)| step.clone()).collect()
}

fn cache_step(routes: &RoutesDraft) -> Option<String> {
    let cache = routes.cache.as_ref()?;
    let mut settings = "streams: true, shared: true".to_owned();
    if let Some(ttl) = cache.ttl_ms {
        settings = format!("ttl: {}, {settings}", duration(ttl));
    }
    if cache.in_state {
        settings.push_str(", store: state");
    }
    Some(format!("{{cache: {{{settings}}}}}"))
}
