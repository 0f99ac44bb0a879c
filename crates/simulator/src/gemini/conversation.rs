//! The rules of conversations: who follows whom, results follow their calls, and signatures come back.

use crate::api_error::ApiError;
use crate::model_request::{list_at, text_at};
use crate::thought_signature::is_signature;
use serde_json::Value;

/// What a request has to say for calls that another model made.
const SKIP_MARKS: [&str; 2] = [
    "skip_thought_signature_validator",
    "context_engineering_is_the_way_to_go",
];
/// What a signature on a text proves.
pub const TEXT_PROOF: &str = "a text of this model";

/// What the model reads.
#[derive(Default)]
pub struct GeminiConversation {
    pub last_user_text: String,
    /// The results since then.
    pub results: usize,
    /// The steps since then whose signature is the model's own.
    pub thoughts: usize,
}

/// Whose a content is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum GeminiTurn {
    User,
    Results,
    Model,
}

/// Whether a model is of the third generation or later: it demands its signatures, and its calls have ids.
pub fn is_newest(model: &str) -> bool {
    !["gemini-1", "gemini-2"]
        .iter()
        .any(|old| model.starts_with(old))
}

/// Checks the contents of a request whose members are known.
pub fn check(body: &Value, model: &str) -> Result<GeminiConversation, ApiError> {
    let mut conversation = GeminiConversation::default();
    let mut calls: Vec<&Value> = Vec::new();
    let mut last = None;
    let mut unsigned = None;
    for (index, content) in list_at(body, "contents").iter().enumerate() {
        let turn = turn(content, index)?;
        check_order(last, turn, !calls.is_empty())?;
        match turn {
            GeminiTurn::User => {
                if last != Some(GeminiTurn::Results) {
                    unsigned = None;
                    conversation = GeminiConversation {
                        last_user_text: texts(content),
                        ..GeminiConversation::default()
                    };
                }
            }
            GeminiTurn::Results => {
                check_results(content, &calls)?;
                conversation.results += calls.len();
                calls.clear();
            }
            GeminiTurn::Model => {
                calls = members(content, "functionCall").collect();
                match check_signatures(content, index)? {
                    SignatureCheck::Own => conversation.thoughts += 1,
                    SignatureCheck::Missing(message) => unsigned = unsigned.or(Some(message)),
                    SignatureCheck::Skipped => {}
                }
            }
        }
        last = Some(turn);
    }
    match unsigned.filter(|_| is_newest(model)) {
        Some(message) => return Err(ApiError::invalid(message)),
        None if last == Some(GeminiTurn::Model) => {}
        None => return Ok(conversation),
    }
    let message =
        "Please ensure that multiturn requests end with a user role or the role field is empty.";
    Err(ApiError::invalid(message))
}

fn turn(content: &Value, index: usize) -> Result<GeminiTurn, ApiError> {
    const DATA: [&str; 7] = [
        "text",
        "inlineData",
        "fileData",
        "functionCall",
        "functionResponse",
        "executableCode",
        "codeExecutionResult",
    ];
    let parts = list_at(content, "parts");
    for (number, part) in parts.iter().enumerate() {
        let set = DATA.iter().filter(|name| part.get(name).is_some()).count();
        if set != 1 {
            let message = format!(
                "* GenerateContentRequest.contents[{index}].parts[{number}].data: required oneof field 'data' must have one initialized field"
            );
            return Err(ApiError::invalid(message));
        }
    }
    let results = members(content, "functionResponse").count();
    let message = match text_at(content, "role") {
        "model" if results == 0 => return Ok(GeminiTurn::Model),
        "" | "user" if members(content, "functionCall").next().is_some() => {
            "Please ensure that function calls are in a turn of the model."
        }
        "" | "user" if results == 0 => return Ok(GeminiTurn::User),
        "" | "user" | "function" if results == parts.len() => return Ok(GeminiTurn::Results),
        "" | "user" | "model" => {
            "Please ensure that a function response turn has only function responses."
        }
        _ => "Please use a valid role: user, model.",
    };
    Err(ApiError::invalid(message))
}

fn check_order(
    last: Option<GeminiTurn>,
    turn: GeminiTurn,
    has_calls: bool,
) -> Result<(), ApiError> {
    let message = match (last, turn) {
        (_, GeminiTurn::Results) if !has_calls => {
            "Please ensure that function response turn comes immediately after a function call turn."
        }
        (_, GeminiTurn::User | GeminiTurn::Model) if has_calls => {
            "Please ensure that the number of function response parts is equal to the number of function call parts of the function call turn."
        }
        (None | Some(GeminiTurn::Model), GeminiTurn::Model)
        | (Some(GeminiTurn::User), GeminiTurn::User) => {
            "Please ensure that multiturn requests alternate between user and model."
        }
        _ => return Ok(()),
    };
    Err(ApiError::invalid(message))
}

/// Each result names its call, in order.
fn check_results(content: &Value, calls: &[&Value]) -> Result<(), ApiError> {
    let results: Vec<&Value> = members(content, "functionResponse").collect();
    if results.len() != calls.len() {
        let message = "Please ensure that the number of function response parts is equal to the number of function call parts of the function call turn.";
        return Err(ApiError::invalid(message));
    }
    for (result, call) in results.iter().zip(calls) {
        if ["name", "id"]
            .iter()
            .any(|member| result.get(member) != call.get(member))
        {
            let message = format!(
                "Please ensure that the function response `{}` has the name and the id of its function call.",
                text_at(result, "name")
            );
            return Err(ApiError::invalid(message));
        }
    }
    Ok(())
}

/// What is known of the thoughts before the calls of a step.
enum SignatureCheck {
    Own,
    Missing(String),
    Skipped,
}

fn check_signatures(content: &Value, index: usize) -> Result<SignatureCheck, ApiError> {
    let mut first_call = None;
    for (position, part) in list_at(content, "parts").iter().enumerate() {
        let call = part.get("functionCall");
        let proof = part.get("thoughtSignature").and_then(Value::as_str);
        let is_skipped = proof.is_some_and(|proof| SKIP_MARKS.contains(&proof));
        let proves = call.map_or(TEXT_PROOF.to_owned(), call_proof);
        if proof.is_some_and(|proof| !is_skipped && !is_signature(proof, &proves)) {
            return Err(ApiError::invalid("Corrupted thought signature."));
        }
        let Some(call) = call.filter(|_| first_call.is_none()) else {
            continue;
        };
        first_call = Some(match proof {
            Some(_) if is_skipped => SignatureCheck::Skipped,
            Some(_) => SignatureCheck::Own,
            None => SignatureCheck::Missing(format!(
                "Function call is missing a thought_signature in functionCall parts. This is required for tools to work correctly, and missing thought_signature may lead to degraded model performance. Additional data, function call `default_api:{}`, content {index}, position {position}.",
                text_at(call, "name")
            )),
        });
    }
    Ok(first_call.unwrap_or(SignatureCheck::Skipped))
}

/// What the signature of a call proves: the thoughts before this call.
pub fn call_proof(call: &Value) -> String {
    let arguments = call.get("args").unwrap_or(&Value::Null);
    format!("{} {arguments}", text_at(call, "name"))
}

fn members<'b>(content: &'b Value, name: &'static str) -> impl Iterator<Item = &'b Value> {
    list_at(content, "parts")
        .iter()
        .filter_map(move |part| part.get(name))
}

fn texts(content: &Value) -> String {
    let texts = members(content, "text").filter_map(Value::as_str);
    texts.collect::<Vec<_>>().join(" ")
}
