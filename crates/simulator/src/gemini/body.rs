//! What the body of a request may contain. A member that Google does not know is refused.

use super::conversation::is_newest;
use crate::api_error::ApiError;
use crate::model_request::{list_at, text_at};
use crate::vendors::body_rules::{
    self, BodyFault, BodyFaultKind, BodyField, ValueRule, optional, required,
};
use serde_json::Value;

const MANY: usize = usize::MAX;
const TEXT: ValueRule = ValueRule::Text;
const BLOB: ValueRule = ValueRule::Object(&[
    required("mimeType", TEXT),
    required("data", ValueRule::Base64),
    optional("displayName", TEXT),
]);
const FILE: ValueRule = ValueRule::Object(&[
    optional("mimeType", TEXT),
    required("fileUri", TEXT),
    optional("displayName", TEXT),
]);
const CALL: ValueRule = ValueRule::Object(&[
    optional("id", TEXT),
    required("name", TEXT),
    optional("args", ValueRule::Map),
]);
const RESPONSE_PART: ValueRule =
    ValueRule::Object(&[optional("inlineData", BLOB), optional("fileData", FILE)]);
const RESPONSE: ValueRule = ValueRule::Object(&[
    optional("id", TEXT),
    required("name", TEXT),
    required("response", ValueRule::Map),
    optional("parts", ValueRule::List(0, MANY, &RESPONSE_PART)),
    optional("willContinue", ValueRule::Flag),
    optional("scheduling", TEXT),
]);
const PART: ValueRule = ValueRule::Object(&[
    optional("text", TEXT),
    optional("inlineData", BLOB),
    optional("fileData", FILE),
    optional("functionCall", CALL),
    optional("functionResponse", RESPONSE),
    optional("executableCode", ValueRule::Map),
    optional("codeExecutionResult", ValueRule::Map),
    optional("thought", ValueRule::Flag),
    optional("thoughtSignature", TEXT),
    optional("videoMetadata", ValueRule::Map),
    optional(
        "mediaResolution",
        ValueRule::Object(&[optional("level", TEXT)]),
    ),
]);
const CONTENT: ValueRule = ValueRule::Object(&[
    optional("role", TEXT),
    required("parts", ValueRule::List(1, MANY, &PART)),
]);
const DECLARATION: ValueRule = ValueRule::Object(&[
    required("name", ValueRule::Form(is_name, NAME)),
    optional("description", TEXT),
    optional("behavior", TEXT),
    optional("parameters", ValueRule::Map),
    optional("parametersJsonSchema", ValueRule::Map),
    optional("response", ValueRule::Map),
    optional("responseJsonSchema", ValueRule::Map),
]);
const NAME: &str = "a name that starts with a letter or an underscore, of alphameric letters, underscores, dots, colons and dashes, with at most 128";
const TOOL: ValueRule = ValueRule::Object(&[
    optional(
        "functionDeclarations",
        ValueRule::List(0, MANY, &DECLARATION),
    ),
    optional("googleSearch", ValueRule::Map),
    optional("googleSearchRetrieval", ValueRule::Map),
    optional("codeExecution", ValueRule::Map),
    optional("urlContext", ValueRule::Map),
]);
const CHOICE: ValueRule = ValueRule::Object(&[
    optional(
        "mode",
        ValueRule::Words(&["MODE_UNSPECIFIED", "AUTO", "ANY", "NONE", "VALIDATED"]),
    ),
    optional("allowedFunctionNames", ValueRule::List(0, MANY, &TEXT)),
]);
const THINKING: ValueRule = ValueRule::Object(&[
    optional("includeThoughts", ValueRule::Flag),
    optional("thinkingBudget", ValueRule::Integer(-1, 32_768)),
    optional(
        "thinkingLevel",
        ValueRule::Form(is_level, "a thinking level"),
    ),
]);
const CONFIG: ValueRule = ValueRule::Object(&[
    optional("stopSequences", ValueRule::List(0, 5, &TEXT)),
    optional("maxOutputTokens", ValueRule::Integer(1, 1 << 31)),
    optional("temperature", ValueRule::Number(0.0, 2.0)),
    optional("topP", ValueRule::Number(0.0, 1.0)),
    optional("topK", ValueRule::Integer(1, 1000)),
    optional("seed", ValueRule::Integer(i32::MIN as i64, i32::MAX as i64)),
    optional("presencePenalty", ValueRule::Number(-2.0, 2.0)),
    optional("frequencyPenalty", ValueRule::Number(-2.0, 2.0)),
    optional("candidateCount", ValueRule::Integer(1, 1)),
    optional(
        "responseMimeType",
        ValueRule::Words(&["text/plain", "application/json"]),
    ),
    optional("responseJsonSchema", ValueRule::Map),
    optional(
        "responseModalities",
        ValueRule::List(1, 1, &ValueRule::Words(&["TEXT"])),
    ),
    optional("mediaResolution", TEXT),
    optional("thinkingConfig", THINKING),
]);
const FIELDS: &[BodyField] = &[
    required("contents", ValueRule::List(1, MANY, &CONTENT)),
    optional("systemInstruction", CONTENT),
    optional("tools", ValueRule::List(0, MANY, &TOOL)),
    optional(
        "toolConfig",
        ValueRule::Object(&[optional("functionCallingConfig", CHOICE)]),
    ),
    optional("generationConfig", CONFIG),
    optional("safetySettings", ValueRule::List(0, MANY, &ValueRule::Map)),
];

/// Checks all of a body but its conversation.
pub fn check(body: &Value, model: &str) -> Result<(), ApiError> {
    body_rules::check(FIELDS, body).map_err(|fault| ApiError::invalid(message(&fault)))?;
    check_tools(body)?;
    check_config(body, model)
}

/// The functions that the model may call.
pub fn declarations(body: &Value) -> Vec<&Value> {
    let tools = list_at(body, "tools").iter();
    tools
        .flat_map(|tool| list_at(tool, "functionDeclarations"))
        .collect()
}

fn message(fault: &BodyFault) -> String {
    match fault.kind {
        BodyFaultKind::Unknown => {
            let (parent, name) = fault.place.rsplit_once('.').unwrap_or(("", &fault.place));
            let at = if parent.is_empty() {
                String::new()
            } else {
                format!(" at '{parent}'")
            };
            format!(
                "Invalid JSON payload received. Unknown name \"{name}\"{at}: Cannot find field."
            )
        }
        BodyFaultKind::Missing | BodyFaultKind::Invalid => {
            format!(
                "* GenerateContentRequest.{}: {}",
                fault.place, fault.message
            )
        }
    }
}

fn check_tools(body: &Value) -> Result<(), ApiError> {
    let declarations = declarations(body);
    let mut names: Vec<&str> = Vec::with_capacity(declarations.len());
    for declaration in declarations {
        let name = text_at(declaration, "name");
        if names.contains(&name) {
            let message = format!("Duplicate function declaration found: {name}");
            return Err(ApiError::invalid(message));
        }
        if ["parameters", "parametersJsonSchema"]
            .iter()
            .all(|member| declaration.get(member).is_some())
        {
            let message = format!("{name}: parameters and parametersJsonSchema exclude each other");
            return Err(ApiError::invalid(message));
        }
        names.push(name);
    }
    let choice = body.pointer("/toolConfig/functionCallingConfig");
    let choice = choice.unwrap_or(&Value::Null);
    let allowed = list_at(choice, "allowedFunctionNames");
    if !allowed.is_empty() && !matches!(text_at(choice, "mode"), "ANY" | "VALIDATED") {
        let message =
            "allowed_function_names should only be set when the mode is ANY or VALIDATED.";
        return Err(ApiError::invalid(message));
    }
    let mut allowed = allowed.iter().filter_map(Value::as_str);
    match allowed.find(|name| !names.contains(name)) {
        Some(name) => {
            let message = format!("allowed_function_names has `{name}`, which is not declared");
            Err(ApiError::invalid(message))
        }
        None => Ok(()),
    }
}

fn check_config(body: &Value, model: &str) -> Result<(), ApiError> {
    let at = |place: &str| body.pointer(&format!("/generationConfig/{place}"));
    let budget = at("thinkingConfig/thinkingBudget");
    let level = at("thinkingConfig/thinkingLevel");
    let message = match (budget, level) {
        (Some(_), Some(_)) => "You can only set only one of thinking budget and thinking level.",
        (_, Some(_)) if !is_newest(model) => "Thinking level is not supported for this model.",
        _ if at("responseMimeType").is_some_and(|it| it == "application/json")
            && !declarations(body).is_empty()
            && !is_newest(model) =>
        {
            "Function calling with a response mime type: 'application/json' is unsupported"
        }
        _ => return Ok(()),
    };
    Err(ApiError::invalid(message))
}

fn is_name(name: &str) -> bool {
    let is_letter = |letter: u8| letter.is_ascii_alphanumeric() || b"_.:-".contains(&letter);
    let first = name.bytes().next();
    first.is_some_and(|first| first.is_ascii_alphabetic() || first == b'_')
        && name.len() <= 128
        && name.bytes().all(is_letter)
}

fn is_level(level: &str) -> bool {
    let levels = ["minimal", "low", "medium", "high"];
    levels.iter().any(|known| level.eq_ignore_ascii_case(known))
}
