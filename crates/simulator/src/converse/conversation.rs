//! The rules of conversations: messages alternate, and results follow their calls, at the start of the turn.

use crate::api_error::ApiError;
use crate::model_request::{list_at, text_at};
use crate::thought_signature::is_signature;
use serde_json::Value;

/// What the model reads.
#[derive(Default)]
pub struct ConverseConversation {
    pub last_user_text: String,
    /// The results since then.
    pub results: usize,
    /// The thoughts since then.
    pub thoughts: usize,
}

/// Checks the messages of a request whose members are known.
pub fn check(body: &Value) -> Result<ConverseConversation, ApiError> {
    let messages = list_at(body, "messages");
    let mut conversation = ConverseConversation::default();
    let mut calls: Vec<&str> = Vec::new();
    let mut document_names = Vec::new();
    for (index, message) in messages.iter().enumerate() {
        let is_user = text_at(message, "role") == "user";
        if is_user != (index % 2 == 0) {
            return Err(ApiError::invalid(match index {
                0 => {
                    "A conversation must start with a user message. Try again with a conversation that starts with a user message."
                }
                _ => {
                    "A conversation must alternate between user and assistant roles. Make sure the conversation alternates between user and assistant roles and try again."
                }
            }));
        }
        check_blocks(message, index, is_user)?;
        check_documents(message, index, &mut document_names)?;
        if is_user {
            let results = check_results(message, index, &calls)?;
            if results == 0 {
                conversation = ConverseConversation {
                    last_user_text: texts(message),
                    ..ConverseConversation::default()
                };
            }
            conversation.results += results;
            calls.clear();
        } else {
            calls = ids(message, "toolUse").collect();
            check_ids(&calls, index)?;
            conversation.thoughts += members(message, "reasoningContent").count();
        }
    }
    let has_tools = messages.iter().any(|message| {
        let uses = ids(message, "toolUse").chain(ids(message, "toolResult"));
        uses.count() > 0
    });
    let message = if !calls.is_empty() {
        format!(
            "Expected toolResult blocks at messages.{}.content for the following Ids: {}",
            messages.len(),
            calls.join(", ")
        )
    } else if has_tools && body.get("toolConfig").is_none() {
        "The toolConfig field must be defined when using toolUse and toolResult content blocks."
            .to_owned()
    } else {
        return Ok(conversation);
    };
    Err(ApiError::invalid(message))
}

fn check_blocks(message: &Value, index: usize, is_user: bool) -> Result<(), ApiError> {
    for (number, block) in list_at(message, "content").iter().enumerate() {
        let at = format!("messages.{index}.content.{number}");
        let members = block.as_object().into_iter().flatten();
        let names: Vec<&str> = members.map(|(name, _)| name.as_str()).collect();
        let [name] = names[..] else {
            let message = format!(
                "The content block at {at} must set exactly one of its members, and sets {}.",
                names.len()
            );
            return Err(ApiError::invalid(message));
        };
        let author = if is_user { "user" } else { "assistant" };
        let message = match name {
            "text" if text_at(block, "text").trim().is_empty() => format!(
                "The text field in the ContentBlock object at {at} is blank. Add text to the text field, and try again."
            ),
            "toolUse" | "reasoningContent" if is_user => {
                format!("The {name} at {at} is not allowed in a message of the {author}.")
            }
            "toolResult" | "image" | "document" | "audio" if !is_user => {
                format!("The {name} at {at} is not allowed in a message of the {author}.")
            }
            "reasoningContent" => match check_thoughts(&block["reasoningContent"], &at) {
                Some(message) => message,
                None => continue,
            },
            _ => continue,
        };
        return Err(ApiError::invalid(message));
    }
    Ok(())
}

/// Why thoughts are not the model's own.
fn check_thoughts(thoughts: &Value, at: &str) -> Option<String> {
    match (
        thoughts.get("reasoningText"),
        thoughts.get("redactedContent"),
    ) {
        (Some(thoughts), None) => {
            let text = text_at(thoughts, "text");
            let signature = text_at(thoughts, "signature");
            let is_own = is_signature(signature, text);
            (!is_own).then(|| format!("The model returned the following errors: {at}: Invalid `signature` in `thinking` block"))
        }
        (None, Some(_)) => Some(format!(
            "The model returned the following errors: {at}: Invalid `data` in `redacted_thinking` block"
        )),
        (None, None) | (Some(_), Some(_)) => Some(format!(
            "The reasoningContent at {at} must set exactly one of its members."
        )),
    }
}

/// Documents need a text beside them, and names of their own.
fn check_documents<'b>(
    message: &'b Value,
    index: usize,
    names: &mut Vec<&'b str>,
) -> Result<(), ApiError> {
    let in_results = members(message, "toolResult").flat_map(|result| list_at(result, "content"));
    let in_results = in_results.filter_map(|block| block.get("document"));
    let own: Vec<&Value> = members(message, "document").collect();
    let needs_text = !own.is_empty() && members(message, "text").next().is_none();
    if needs_text {
        let message =
            format!("A text block must be included when using documents, at messages.{index}.");
        return Err(ApiError::invalid(message));
    }
    for document in own.into_iter().chain(in_results) {
        let name = text_at(document, "name");
        if names.contains(&name) {
            let message =
                format!("The request has two documents of the name {name}. Use unique names.");
            return Err(ApiError::invalid(message));
        }
        names.push(name);
    }
    Ok(())
}

fn check_ids(calls: &[&str], index: usize) -> Result<(), ApiError> {
    let mut sorted = calls.to_vec();
    sorted.sort_unstable();
    match sorted.windows(2).find(|pair| pair[0] == pair[1]) {
        Some(pair) => {
            let message = format!(
                "The toolUse blocks at messages.{index}.content contain duplicate Ids: {}",
                pair[0]
            );
            Err(ApiError::invalid(message))
        }
        None => Ok(()),
    }
}

/// Each call has its result, before anything else.
fn check_results(message: &Value, index: usize, calls: &[&str]) -> Result<usize, ApiError> {
    let results: Vec<&str> = ids(message, "toolResult").collect();
    let missing: Vec<&str> = calls
        .iter()
        .copied()
        .filter(|id| !results.contains(id))
        .collect();
    let at = format!("messages.{index}.content");
    let blocks = list_at(message, "content").iter();
    let mut others = blocks.skip_while(|block| {
        block
            .get("toolResult")
            .or(block.get("cachePoint"))
            .is_some()
    });
    let message = if !missing.is_empty() {
        format!(
            "Expected toolResult blocks at {at} for the following Ids: {}",
            missing.join(", ")
        )
    } else if results.len() > calls.len() {
        format!(
            "The number of toolResult blocks at {at} exceeds the number of toolUse blocks of previous turn."
        )
    } else if others.any(|block| block.get("toolResult").is_some()) {
        format!("The toolResult blocks at {at} must stand before other content.")
    } else {
        return Ok(results.len());
    };
    Err(ApiError::invalid(message))
}

fn ids<'b>(message: &'b Value, kind: &'static str) -> impl Iterator<Item = &'b str> {
    members(message, kind).map(|block| text_at(block, "toolUseId"))
}

fn members<'b>(message: &'b Value, kind: &'static str) -> impl Iterator<Item = &'b Value> {
    list_at(message, "content")
        .iter()
        .filter_map(move |block| block.get(kind))
}

fn texts(message: &Value) -> String {
    let texts = members(message, "text").filter_map(Value::as_str);
    texts.collect::<Vec<_>>().join(" ")
}
