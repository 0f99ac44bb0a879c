//! `headgate why`: what happened to a request of a running gateway, by its id.

use super::CommandError;
use super::admin_client::query_value;
use super::admin_pages::AdminConnectionArgs;
use super::style::{self, styled};
use serde_json::Value;
use std::fmt::Write;

/// Width of the labels, in columns.
const LABEL_WIDTH: usize = 12;

#[derive(clap::Args)]
pub struct WhyArgs {
    /// Id of the request: `x-request-id` of its response, `id` of the access log.
    id: String,
    #[command(flatten)]
    pages: AdminConnectionArgs,
}

/// Prints the request; an id that the gateway does not have is an error.
pub fn run(args: &WhyArgs) -> Result<(), CommandError> {
    let path = format!("/requests?limit=1&id={}", query_value(&args.id));
    let page = args.pages.json("GET", &path)?;
    let Some(request) = page["requests"].get(0) else {
        return Err(CommandError::new(format!(
            "error: the gateway has no request `{}` among its last ones\n  a request is listed when it has ended; older ones are in the access log: `grep '{}'` there",
            args.id, args.id
        )));
    };
    let findings = args.pages.json("GET", "/findings")?;
    let findings = findings["findings"].as_array();
    let findings = findings.map(Vec::as_slice).unwrap_or_default();
    anstream::print!("{}", report(request, findings));
    Ok(())
}

/// All that is known of a request, and the findings about its channel, its caller and its model.
fn report(request: &Value, findings: &[Value]) -> String {
    let mut lines = String::new();
    let mut line = |label: &str, text: String| {
        if !text.is_empty() {
            writeln!(lines, "{label:LABEL_WIDTH$}{text}").expect("a string takes all text");
        }
    };
    let text = |name: &str| shown(&request[name]);
    line(
        "request",
        format!(
            "{} {}, ended {}",
            text("method"),
            text("path"),
            text("time")
        ),
    );
    line("route", joined(request, &["route", "protocol"]));
    line(
        "caller",
        joined(request, &["caller", "client_address", "user_agent"]),
    );
    line("model", joined(request, &["model", "channel_model"]));
    for (index, attempt) in failed_attempts(request).enumerate() {
        let label = if index == 0 { "failed" } else { "" };
        line(label, attempt.to_owned());
    }
    line("channel", joined(request, &["channel"]));
    let status = format!("{}, {}", text("status"), text("settlement"));
    let style = match request["status"].as_u64() {
        Some(..400) => style::GOOD,
        _ => style::BAD,
    };
    line("status", styled(style, status));
    for (label, name) in [
        ("error", "error_code"),
        ("", "error_message"),
        ("", "error_detail"),
        ("provider id", "upstream_request_id"),
        ("idempotency", "idempotency"),
        ("cache", "cache"),
        ("callouts", "callouts"),
    ] {
        line(label, text(name));
    }
    line("time", times(request));
    line("tokens", tokens(request));
    line("revision", text("revision"));
    for finding in findings.iter().filter(|finding| concerns(finding, request)) {
        let severity = shown(&finding["severity"]);
        line(
            "finding",
            format!("{severity}: {}", shown(&finding["cause"])),
        );
        line("", shown(&finding["advice"]));
    }
    lines
}

/// Whether a finding is about the channel, the caller, the model or the route of a request.
fn concerns(finding: &Value, request: &Value) -> bool {
    let subject = finding["subject"].as_str().unwrap_or_default();
    ["channel", "caller", "model", "route", "id"]
        .iter()
        .filter_map(|kind| Some((*kind, request[*kind].as_str()?)))
        .any(|(kind, name)| {
            let kind = if kind == "id" { "request" } else { kind };
            subject == format!("{kind} {name}")
        })
        || channels_tried(request).any(|channel| {
            let model = request["model"].as_str().unwrap_or_default();
            let is_credential = subject.starts_with("credential ")
                && subject.ends_with(&format!(" of channel {channel}"));
            is_credential
                || subject == format!("channel {channel}")
                || subject.starts_with(&format!("channel {channel} for "))
                || subject == format!("model {model} on channel {channel}")
        })
}

/// The channels of all attempts.
fn channels_tried(request: &Value) -> impl Iterator<Item = &str> {
    let failed = failed_attempts(request).filter_map(|attempt| attempt.split(": ").next());
    failed.chain(request["channel"].as_str())
}

/// The attempts without a good response, each as the access log has it.
fn failed_attempts(request: &Value) -> impl Iterator<Item = &str> {
    let attempts = request["failed_attempts"].as_str().unwrap_or_default();
    attempts.split("; ").filter(|attempt| !attempt.is_empty())
}

fn joined(request: &Value, names: &[&str]) -> String {
    let values = names.iter().map(|name| shown(&request[*name]));
    let values: Vec<String> = values.filter(|value| !value.is_empty()).collect();
    values.join(", ")
}

fn times(request: &Value) -> String {
    let parts = [
        ("in all", "total_ms"),
        ("waiting for the provider", "upstream_ms"),
        ("waiting for the client", "client_ms"),
        ("in the gateway", "gateway_ms"),
        ("to the first byte", "first_byte_ms"),
    ];
    let parts = parts.iter().filter_map(|(label, name)| {
        let milliseconds = request[*name].as_f64()?;
        Some(format!("{milliseconds} ms {label}"))
    });
    parts.collect::<Vec<_>>().join(", ")
}

fn tokens(request: &Value) -> String {
    let parts = [
        ("in", "input_tokens"),
        ("out", "output_tokens"),
        ("cached", "cached_input_tokens"),
    ];
    let parts = parts.iter().filter_map(|(label, name)| {
        let count = request[*name].as_u64()?;
        Some(format!("{count} {label}"))
    });
    parts.collect::<Vec<_>>().join(", ")
}

/// A scalar without quotes; nothing for one that is not there.
fn shown(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        // Control characters of a caller must not reach the terminal.
        Value::String(text) => text.chars().filter(|c| !c.is_control()).collect(),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::report;
    use serde_json::json;

    #[test]
    fn a_request_is_printed_with_its_attempts_and_the_findings_about_them() {
        let request = json!({
            "id": "r1", "time": "2026-11-26T01:00:00.000Z", "method": "POST",
            "path": "/v1/chat/completions", "route": "chat", "protocol": "chat", "caller": "ann",
            "model": "big", "channel": "two", "channel_model": "b-2", "status": 502,
            "settlement": "upstream_error", "revision": "abc", "total_ms": 12.5,
            "failed_attempts": "one: timeout, after 9 ms; two: server_error, status 500, after 12 ms",
            "error_code": "upstream_error", "error_message": "the provider\u{1b}[31m failed",
        });
        let finding = |subject: &str, cause: &str| json!({"severity": "warning", "subject": subject, "cause": cause, "advice": "do it"});
        let findings = [
            finding("channel one", "one is slow"),
            finding("channel three", "three is away"),
            finding("caller ann", "ann is limited"),
        ];
        let report = report(&request, &findings);
        let report = anstream::adapter::strip_str(&report).to_string();
        assert_eq!(
            report,
            "request     POST /v1/chat/completions, ended 2026-11-26T01:00:00.000Z\n\
             route       chat, chat\n\
             caller      ann\n\
             model       big, b-2\n\
             failed      one: timeout, after 9 ms\n\
             \x20           two: server_error, status 500, after 12 ms\n\
             channel     two\n\
             status      502, upstream_error\n\
             error       upstream_error\n\
             \x20           the provider[31m failed\n\
             time        12.5 ms in all\n\
             revision    abc\n\
             finding     warning: one is slow\n\
             \x20           do it\n\
             finding     warning: ann is limited\n\
             \x20           do it\n"
        );
    }
}
