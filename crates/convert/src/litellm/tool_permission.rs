//! The guardrail `tool_permission` of LiteLLM: which tools a request may offer to a model.

use super::guardrail::Guardrail;
use crate::naming::literal;
use crate::routes_draft::GuardsDraft;
use crate::source_settings::SourceSettingsTracker;
use crate::yaml_text::scalar;
use serde_json::Value;

/// Most rules of a guardrail, as an expression has a limit.
const RULES_MAX: usize = 12;
/// Lists of tools in requests, by protocol, each with the name of a tool `t`.
const TOOLS: [(&str, &str, &str); 5] = [
    (
        "chat",
        "/tools",
        "(has(t.function) ? t.function.name : has(t.custom) ? t.custom.name : t.type)",
    ),
    ("chat", "/functions", "t.name"),
    ("messages", "/tools", "(has(t.name) ? t.name : t.type)"),
    ("messages", "/mcp_servers", "t.name"),
    (
        "responses",
        "/tools",
        "(has(t.name) ? t.name : has(t.server_label) ? t.server_label : t.type)",
    ),
];
/// Part of a message of the guardrail that stands for a tool.
const TOOL_PLACE: &str = "{tool_name}";
const BLOCK_NOTE: &str = "requests that offer a tool which is not allowed get 400. LiteLLM checks the tools of requests in the mode pre_call only, and in post_call the calls of responses: no response can call a tool that was not offered. To remove such tools from requests instead, set `on_disallowed_action: rewrite` and convert again";
const REWRITE_NOTE: &str = "tools that are not allowed are removed from requests, so that no response can call them. The tools that remain may have 64 KiB; requests with more get 500";

/// Adds the steps of the guardrail. `false` if a rule is about more than the name of a tool, or has a pattern that is none here.
pub fn read(
    guardrail: &Guardrail<'_>,
    guards: &mut GuardsDraft,
    settings: &mut SourceSettingsTracker,
) -> bool {
    let params = guardrail.params;
    let allows_others = match params["default_action"].as_str() {
        Some(action) => action.eq_ignore_ascii_case("allow"),
        None => false,
    };
    let Some(rules) = rules(&params["rules"]) else {
        return false;
    };
    let rewrites = params["on_disallowed_action"].as_str() == Some("rewrite");
    let template = params["violation_message_template"].as_str();
    let message = template.filter(|text| is_template(text));
    let message = message.unwrap_or("the tool {tool_name} is not allowed");
    for (protocol, list, name) in TOOLS {
        let allowed = allowed(name, &rules, allows_others);
        let exists = |condition: &str| format!("json(\"{list}\").exists(t, {condition})");
        let is_denied = exists(&format!("!({allowed})"));
        let is_there = format!("json(\"{list}\") != null");
        let mut add = |condition: String, filter: String| {
            let condition = format!("{is_there} && {condition}");
            let step = guardrail.step(Some(literal(&condition)), &filter);
            guards.requests.push((protocol, step));
        };
        if !rewrites {
            let denied = format!("json(\"{list}\").map(t, !({allowed}), {name})[0]");
            let message = scalar(&literal(&message_expression(message, &denied)));
            let reply = format!("reply: {{status: 400, error: {{message: {{cel: {message}}}}}}}");
            add(is_denied, reply);
            continue;
        }
        let kept = format!("json(\"{list}\").filter(t, {allowed})");
        let kept = scalar(&literal(&kept));
        add(
            format!("{is_denied} && {}", exists(&allowed)),
            format!("edit_json: {{set: {{{list}: {{cel: {kept}}}}}}}"),
        );
        add(
            format!("!({})", exists(&allowed)),
            format!("edit_json: {{remove: [{list}, /tool_choice]}}"),
        );
    }
    remark(guardrail, rewrites, settings);
    true
}

/// A rule about tools whose names match a regular expression as a whole.
struct ToolRule<'c> {
    pattern: &'c str,
    allows: bool,
}

/// The rules; `None` if one cannot be an expression.
fn rules(value: &Value) -> Option<Vec<ToolRule<'_>>> {
    let rules = value.as_array().map_or(&[][..], Vec::as_slice);
    if rules.len() > RULES_MAX {
        return None;
    }
    let rules = rules.iter().map(|rule| {
        let is_plain = rule["tool_type"].is_null() && rule["allowed_param_patterns"].is_null();
        let pattern = rule["tool_name"].as_str()?.trim();
        let decision = rule["decision"].as_str()?.to_ascii_lowercase();
        (is_plain && is_pattern(pattern)).then_some(ToolRule {
            pattern,
            allows: decision == "allow",
        })
    });
    rules.collect()
}

/// Whether a pattern is the same regular expression in every engine: of characters, repetitions of one, and `|`.
fn is_pattern(pattern: &str) -> bool {
    let mut may_repeat = false;
    let is_known = pattern.chars().all(|c| match c {
        '*' | '+' | '?' => std::mem::replace(&mut may_repeat, false),
        c => {
            may_repeat = c != '|';
            c.is_ascii_alphanumeric() || "_-./: |".contains(c)
        }
    });
    is_known && (1..=128).contains(&pattern.len())
}

/// An expression for whether the rules allow the tool of this name: the first rule that matches decides.
fn allowed(name: &str, rules: &[ToolRule<'_>], allows_others: bool) -> String {
    let others = allows_others.to_string();
    rules.iter().rev().fold(others, |rest, rule| {
        let is_plain = !rule.pattern.contains(['*', '+', '?', '|', '.']);
        let pattern = rule.pattern;
        let matches = match is_plain {
            true => format!("{name} == \"{pattern}\""),
            false => format!("{name}.matches(\"^(?:{pattern})$\")"),
        };
        match (rule.allows, rest.as_str()) {
            (true, "false") => matches,
            (true, "true") => rest,
            (false, "false") => rest,
            (false, "true") => format!("!({matches})"),
            (true, rest) => format!("({matches} || {rest})"),
            (false, rest) => format!("(!({matches}) && {rest})"),
        }
    })
}

/// Whether a template of a message has no place but that of the tool.
fn is_template(text: &str) -> bool {
    let rest = text.replace(TOOL_PLACE, "");
    !rest.contains(['{', '}', '\\']) && rest.len() <= 512 && !rest.chars().any(char::is_control)
}

/// An expression for the message about the tool that `denied` is the name of.
fn message_expression(template: &str, denied: &str) -> String {
    let parts = template.split(TOOL_PLACE);
    let parts = parts.map(|part| format!("\"{}\"", part.replace('"', "\\\"")));
    parts.collect::<Vec<_>>().join(&format!(" + {denied} + "))
}

fn remark(guardrail: &Guardrail<'_>, rewrites: bool, settings: &mut SourceSettingsTracker) {
    let note = match rewrites {
        true => REWRITE_NOTE,
        false => BLOCK_NOTE,
    };
    settings.converted_with_note(&guardrail.at("guardrail"), note);
    for key in ["mode", "rules", "default_action", "on_disallowed_action"] {
        settings.converted(&guardrail.at(key));
    }
    let template = guardrail.params["violation_message_template"].as_str();
    if template.is_some_and(is_template) {
        settings.converted(&guardrail.at("violation_message_template"));
    }
}
