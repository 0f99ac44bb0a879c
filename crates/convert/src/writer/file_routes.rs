//! The routes of files and batches.

use super::route_paths::paths;
use super::scalar;
use crate::routes_draft::RoutesDraft;

/// The header in which callers of LiteLLM name the provider of a file.
const PROVIDER: &str = "request.headers[\"custom-llm-provider\"]";
/// Requests that name an id.
const BY_ID: &str = "authenticate, {limit_body: 1MiB}, follow_ids";

/// The routes of what the channels of a file have; none without files and batches.
pub fn write(routes: &RoutesDraft) -> String {
    let has_batches = routes.serves("batches");
    let has_message_batches = routes.serves("message_batches");
    let mut text = String::new();
    let mut add = |name: &str, path: &str, protocol: &str, request: &str, response: &str| {
        let (method, path) = path.split_once(' ').unwrap_or_default();
        let path = paths(routes, method, path);
        let protocol = match protocol {
            "" => String::new(),
            protocol => format!("    protocol: {protocol}\n"),
        };
        text.push_str(&format!(
            "  - name: {name}\n    match: {path}\n{protocol}    request: [{request}]\n    response: {response}\n\n"
        ));
    };
    if has_batches || !routes.files.is_empty() {
        let upload = format!(
            "authenticate, {{limit_body: 512MiB}}, {}follow_ids, {{check_batch: {{input: file}}}}, first_channel",
            pins(routes)
        );
        add(
            "files",
            "GET|POST /v1/files",
            "",
            &upload,
            "[keep_own, remember_ids]",
        );
        add(
            "file",
            "GET|DELETE /v1/files/{id}",
            "",
            BY_ID,
            "[remember_ids]",
        );
        add(
            "file_content",
            "GET /v1/files/{id}/content",
            "",
            BY_ID,
            "[]",
        );
    }
    for (protocol, path, input, start, list, mapped) in [
        (
            "batches",
            "/v1/batches",
            "follow_ids, {check_batch: {input: file_id}}",
            "",
            "[keep_own]",
            "",
        ),
        (
            "message_batches",
            "/v1/messages/batches",
            "{check_batch: {input: requests}}",
            "require_version, ",
            "[keep_own, map_results_url]",
            "map_results_url, ",
        ),
    ] {
        let is_served = match protocol {
            "batches" => has_batches,
            _ => has_message_batches,
        };
        if !is_served {
            continue;
        }
        let create = format!(
            "{start}require_json, authenticate, {{limit_body: 256MiB}}, {input}, idempotency"
        );
        let listed = "authenticate, follow_ids, first_channel";
        let remembered = format!("[{mapped}remember_ids]");
        let at = |method: &str, end: &str| format!("{method} {path}{end}");
        add(protocol, &at("POST", ""), protocol, &create, &remembered);
        add(
            &format!("{protocol}_list"),
            &at("GET", ""),
            protocol,
            listed,
            list,
        );
        add(
            &format!("{protocol}_one"),
            &at("GET", "/{id}"),
            protocol,
            BY_ID,
            &remembered,
        );
        add(
            &format!("{protocol}_cancel"),
            &at("POST", "/{id}/cancel"),
            protocol,
            BY_ID,
            &remembered,
        );
        if has_message_batches && protocol == "message_batches" {
            add(
                "message_batch_results",
                &at("GET", "/{id}/results"),
                "",
                BY_ID,
                "[]",
            );
        }
    }
    text
}

/// The steps that select the channel of an upload and of a list by the provider that the request names.
fn pins(routes: &RoutesDraft) -> String {
    let others = routes.files.iter().filter(|one| !one.is_default);
    let named: Vec<String> = others.map(|one| format!("\"{}\"", one.provider)).collect();
    let steps = routes.files.iter().filter_map(|one| {
        let channel = scalar(&routes.channels[one.channel?].name);
        let condition = match (one.is_default, named.is_empty()) {
            (true, true) => return Some(format!("{{pin: {channel}}}, ")),
            (true, false) => format!("!({PROVIDER} in [{}])", named.join(", ")),
            (false, _) => format!("{PROVIDER} == \"{}\"", one.provider),
        };
        Some(format!("{{if: {}, pin: {channel}}}, ", scalar(&condition)))
    });
    steps.collect()
}
