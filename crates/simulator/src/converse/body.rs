//! What the body of a request may contain. A member that Bedrock does not know is refused.

use super::content::{BLOCK, CACHE_POINT, TEXT, TOOL_NAME};
use crate::api_error::ApiError;
use crate::model_request::{list_at, text_at};
use crate::vendors::body_rules::{
    self, BodyFault, BodyFaultKind, BodyField, ValueRule, optional, required,
};
use serde_json::Value;

const MANY: usize = usize::MAX;
const MESSAGE: ValueRule = ValueRule::Object(&[
    required("role", ValueRule::Words(&["user", "assistant"])),
    required("content", ValueRule::List(1, MANY, &BLOCK)),
]);
const SYSTEM: ValueRule = ValueRule::Object(&[
    optional("text", TEXT),
    optional("cachePoint", CACHE_POINT),
    optional("guardContent", ValueRule::Map),
]);
const INFERENCE: ValueRule = ValueRule::Object(&[
    optional("maxTokens", ValueRule::Integer(1, i32::MAX as i64)),
    optional("temperature", ValueRule::Number(0.0, 1.0)),
    optional("topP", ValueRule::Number(0.0, 1.0)),
    optional("stopSequences", ValueRule::List(0, 2500, &TEXT)),
]);
const SPECIFICATION: ValueRule = ValueRule::Object(&[
    required("name", TOOL_NAME),
    optional(
        "description",
        ValueRule::Form(|text| !text.is_empty(), "a text of at least one letter"),
    ),
    required(
        "inputSchema",
        ValueRule::Object(&[required("json", ValueRule::Map)]),
    ),
    optional("strict", ValueRule::Flag),
]);
const TOOL: ValueRule = ValueRule::Object(&[
    optional("toolSpec", SPECIFICATION),
    optional("cachePoint", CACHE_POINT),
]);
const CHOICE: ValueRule = ValueRule::Object(&[
    optional("auto", ValueRule::Object(&[])),
    optional("any", ValueRule::Object(&[])),
    optional("tool", ValueRule::Object(&[required("name", TEXT)])),
]);
const TOOLS: ValueRule = ValueRule::Object(&[
    required("tools", ValueRule::List(1, MANY, &TOOL)),
    optional("toolChoice", CHOICE),
]);
const SCHEMA: ValueRule = ValueRule::Object(&[
    required("schema", TEXT),
    optional("name", TEXT),
    optional("description", TEXT),
]);
const FORMAT: ValueRule = ValueRule::Object(&[
    required("type", ValueRule::Words(&["json_schema"])),
    required(
        "structure",
        ValueRule::Object(&[required("jsonSchema", SCHEMA)]),
    ),
]);
const OUTPUT: ValueRule = ValueRule::Object(&[
    optional(
        "effort",
        ValueRule::Words(&["low", "medium", "high", "xhigh", "max"]),
    ),
    optional("textFormat", FORMAT),
]);
const FIELDS: &[BodyField] = &[
    required("messages", ValueRule::List(1, MANY, &MESSAGE)),
    optional("system", ValueRule::List(0, MANY, &SYSTEM)),
    optional("inferenceConfig", INFERENCE),
    optional("toolConfig", TOOLS),
    optional("outputConfig", OUTPUT),
    optional("additionalModelRequestFields", ValueRule::Map),
    optional(
        "additionalModelResponseFieldPaths",
        ValueRule::List(0, 10, &TEXT),
    ),
    optional("guardrailConfig", ValueRule::Map),
    optional("performanceConfig", ValueRule::Map),
    optional("promptVariables", ValueRule::Map),
    optional("requestMetadata", ValueRule::Map),
    optional("serviceTier", ValueRule::Object(&[required("type", TEXT)])),
];

const THINKING: ValueRule = ValueRule::Object(&[
    required(
        "type",
        ValueRule::Words(&["enabled", "adaptive", "disabled"]),
    ),
    optional("budget_tokens", ValueRule::Integer(1024, i32::MAX as i64)),
    optional("display", TEXT),
]);
/// What models of Claude take besides.
const CLAUDE: &[BodyField] = &[
    optional("thinking", THINKING),
    optional("top_k", ValueRule::Integer(0, 500)),
    optional("tool_choice", ValueRule::Map),
    optional("output_config", ValueRule::Map),
    optional("anthropic_beta", ValueRule::List(0, MANY, &TEXT)),
];
const GPT_OSS: &[BodyField] = &[optional(
    "reasoning_effort",
    ValueRule::Words(&["low", "medium", "high"]),
)];
const NOVA: &[BodyField] = &[optional("inferenceConfig", ValueRule::Map)];

/// Checks all of a body but its conversation.
pub fn check(body: &Value, model: &str) -> Result<(), ApiError> {
    check_members(FIELDS, body)?;
    if let Some(fields) = body.get("additionalModelRequestFields") {
        let known = match model {
            _ if model.contains("anthropic.") => CLAUDE,
            _ if model.contains("openai.gpt-oss") => GPT_OSS,
            _ if model.contains("amazon.nova") => NOVA,
            _ => &[],
        };
        check_members(known, fields)?;
    }
    check_tools(body.get("toolConfig").unwrap_or(&Value::Null))
}

fn check_members(fields: &[BodyField], value: &Value) -> Result<(), ApiError> {
    body_rules::check(fields, value).map_err(|fault| ApiError::invalid(message(&fault)))
}

fn message(fault: &BodyFault) -> String {
    let BodyFault {
        place,
        kind,
        message,
    } = fault;
    match kind {
        BodyFaultKind::Unknown => format!(
            "Malformed input request: #: extraneous key [{place}] is not permitted, please reformat your input and try again."
        ),
        BodyFaultKind::Missing | BodyFaultKind::Invalid => format!(
            "1 validation error detected: Value at '{place}' failed to satisfy constraint: {message}"
        ),
    }
}

fn check_tools(config: &Value) -> Result<(), ApiError> {
    let mut names: Vec<&str> = Vec::new();
    for tool in list_at(config, "tools") {
        let Some(tool) = tool.get("toolSpec") else {
            continue;
        };
        let name = text_at(tool, "name");
        let message = match tool.pointer("/inputSchema/json/type") {
            _ if names.contains(&name) => {
                format!("The tool {name} is already defined at toolConfig.tools.")
            }
            Some(kind) if kind == "object" => {
                names.push(name);
                continue;
            }
            _ => format!(
                "The value at toolConfig.tools.{}.toolSpec.inputSchema.json.type must be one of the following: object.",
                names.len()
            ),
        };
        return Err(ApiError::invalid(message));
    }
    let choice = config
        .pointer("/toolChoice/tool/name")
        .and_then(Value::as_str);
    match choice.filter(|name| !names.contains(name)) {
        Some(name) => {
            let message = format!(
                "The tool {name} provided in toolChoice is not defined in toolConfig.tools."
            );
            Err(ApiError::invalid(message))
        }
        None => Ok(()),
    }
}
