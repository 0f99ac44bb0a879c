//! Reads a response of the chat protocol.

use super::reasoning_details::{ThoughtDetail, read_details};
use super::words::{finish_reason, usage};
use crate::escaped_text::EscapedText;
use crate::superset::{Arguments, FinishReason, OutputPart, Response};
use crate::typed_value::json_text;
use headgate_protocol::json::{DocumentNode, ValueKind};

/// # Errors
/// Why it is no response of the protocol.
pub(crate) fn read_response(root: DocumentNode<'_>) -> Result<Response<'_>, String> {
    let [id, choices, counts, error] = root.get_each(["id", "choices", "usage", "error"]);
    let choices = choices.into_iter().flat_map(DocumentNode::elements);
    let Some(choice) = choices.into_iter().find(|choice| is_first(*choice)) else {
        let error = error.filter(|error| !error.is_null()).map(read_error);
        return Err(match error {
            Some((message, _)) => format!("it is an error: {:.1024}", message.decoded()),
            None => "it has no first choice".into(),
        });
    };
    let [message, finish, choice_counts] = choice.get_each(["message", "finish_reason", "usage"]);
    let message = message.filter(|message| message.kind() == ValueKind::Object);
    let message = message.ok_or("its choice has no message")?;
    let mut parts = Vec::new();
    read_message(message, &mut parts)?;
    let finish = match finish.and_then(text) {
        None => None,
        Some(word) => Some(known_finish(&word)?),
    };
    Ok(Response {
        id: id.and_then(EscapedText::from_node),
        finish: finish.map(|finish| with_calls(finish, &parts)),
        parts,
        stop_sequence: None,
        usage: usage(counts).or_else(|| usage(choice_counts)),
    })
}

/// Whether a choice is the first one. Requests for several are refused.
fn is_first(choice: DocumentNode<'_>) -> bool {
    let index = choice.get("index").filter(|index| !index.is_null());
    index.is_none_or(|index| index.as_u64() == Some(0))
}

/// The message and the code of an error.
pub(super) fn read_error(error: DocumentNode<'_>) -> (EscapedText<'_>, Option<EscapedText<'_>>) {
    let [message, code, class] = error.get_each(["message", "code", "type"]);
    let unnamed = EscapedText::literal("the provider reports an error without a message");
    let message = message.and_then(text).or_else(|| text(error));
    let code = code.and_then(text).or_else(|| class.and_then(text));
    (message.unwrap_or(unnamed), code)
}

/// # Errors
/// The word does not say that the response ended well.
pub(super) fn known_finish(word: &EscapedText<'_>) -> Result<FinishReason, String> {
    let word = word.decoded();
    finish_reason(&word).ok_or_else(|| {
        let start: String = word.chars().take(64).collect();
        format!("its finish_reason is `{start}`")
    })
}

/// Adds the texts of `content`: a string, or a list of parts.
///
/// # Errors
/// It is something else.
pub(super) fn read_content<'a>(
    content: DocumentNode<'a>,
    parts: &mut Vec<OutputPart<'a>>,
) -> Result<(), String> {
    match content.kind() {
        ValueKind::Null => {}
        ValueKind::String => parts.extend(text(content).map(OutputPart::Text)),
        ValueKind::Array => {
            for part in content.elements() {
                let [words, refusal, thoughts] = part.get_each(["text", "refusal", "thinking"]);
                parts.extend(words.and_then(text).map(OutputPart::Text));
                parts.extend(refusal.and_then(text).map(OutputPart::Refusal));
                // Mistral's models give thoughts as a list of texts.
                let thoughts = thoughts.into_iter().flat_map(DocumentNode::elements);
                let thoughts = thoughts.filter_map(|thought| thought.get("text").and_then(text));
                parts.extend(thoughts.map(thinking));
            }
        }
        ValueKind::Bool | ValueKind::Number | ValueKind::Object => {
            return Err(format!("its content is {}", content.type_name()));
        }
    }
    Ok(())
}

/// The thoughts beside the content of a message or delta: those in `reasoning_details`, `reasoning_content` of DeepSeek, Kimi
/// and SGLang, or `reasoning` of vLLM and OpenRouter. Providers often have the same in two of them.
pub(super) fn find_thoughts<'a>(message: DocumentNode<'a>) -> Vec<ThoughtDetail<'a>> {
    let [content, short, details] =
        message.get_each(["reasoning_content", "reasoning", "reasoning_details"]);
    let details = details.into_iter().flat_map(read_details);
    let details = details.filter(|detail| detail.text.is_some() || detail.proof.is_some());
    let mut thoughts: Vec<ThoughtDetail<'_>> = details.collect();
    // Envoy AI Gateway gives an object with the text.
    let inner = |thoughts: DocumentNode<'a>| thoughts.get("text").and_then(text);
    let plain = |thoughts| text(thoughts).or_else(|| inner(thoughts));
    if thoughts.iter().all(|detail| detail.text.is_none())
        && let Some(text) = content.and_then(plain).or_else(|| short.and_then(plain))
    {
        thoughts.insert(0, ThoughtDetail::plain(text));
    }
    thoughts
}

/// A string that is not empty.
pub(super) fn text(node: DocumentNode<'_>) -> Option<EscapedText<'_>> {
    EscapedText::from_node(node).filter(|text| !text.is_empty())
}

fn read_message<'a>(
    message: DocumentNode<'a>,
    parts: &mut Vec<OutputPart<'a>>,
) -> Result<(), String> {
    for detail in find_thoughts(message) {
        parts.extend(match (detail.text, detail.proof) {
            (Some(text), signature) => Some(OutputPart::Thinking { text, signature }),
            (None, Some(proof)) if detail.is_unreadable => Some(OutputPart::SealedThinking(proof)),
            // Claude signs thoughts that it does not show.
            (None, Some(proof)) if detail.is_signed => Some(OutputPart::Thinking {
                text: EscapedText::default(),
                signature: Some(proof),
            }),
            (None, _) => None,
        });
    }
    let [content, refusal, calls, function] =
        message.get_each(["content", "refusal", "tool_calls", "function_call"]);
    if let Some(content) = content {
        read_content(content, parts)?;
    }
    parts.extend(refusal.and_then(text).map(OutputPart::Refusal));
    let is_list =
        |calls: &DocumentNode<'_>| matches!(calls.kind(), ValueKind::Array | ValueKind::Null);
    if let Some(other) = calls.filter(|calls| !is_list(calls)) {
        return Err(format!("its tool calls are {}", other.type_name()));
    }
    let calls = calls.into_iter().flat_map(DocumentNode::elements);
    for (position, call) in calls.enumerate() {
        parts.push(read_call(call, position)?);
    }
    if let Some(function) = function.filter(|function| !function.is_null()) {
        parts.push(read_function(None, function, 0)?);
    }
    Ok(())
}

fn read_call(call: DocumentNode<'_>, position: usize) -> Result<OutputPart<'_>, String> {
    let [id, function, custom] = call.get_each(["id", "function", "custom"]);
    let id = id.and_then(text);
    if let Some(function) = function.filter(|function| !function.is_null()) {
        return read_function(id, function, position);
    }
    let custom = custom.filter(|custom| !custom.is_null());
    let custom = custom.ok_or("a tool call has no function")?;
    let [name, input] = custom.get_each(["name", "input"]);
    Ok(OutputPart::ToolCall {
        id: id.unwrap_or_else(|| made_id(position)),
        name: name.and_then(text).ok_or("a tool call has no name")?,
        arguments: Arguments::FreeText(input.and_then(EscapedText::from_node).unwrap_or_default()),
    })
}

fn read_function<'a>(
    id: Option<EscapedText<'a>>,
    function: DocumentNode<'a>,
    position: usize,
) -> Result<OutputPart<'a>, String> {
    let [name, arguments] = function.get_each(["name", "arguments"]);
    Ok(OutputPart::ToolCall {
        id: id.unwrap_or_else(|| made_id(position)),
        name: name.and_then(text).ok_or("a tool call has no name")?,
        arguments: match arguments.map(|it| (it.kind(), it)) {
            None | Some((ValueKind::Null, _)) => Arguments::Text(EscapedText::default()),
            // Some engines give the object itself.
            Some((ValueKind::Object, object)) => Arguments::Object(json_text(object)),
            Some((_, text)) => {
                let arguments = EscapedText::from_node(text).map(Arguments::Text);
                arguments
                    .ok_or_else(|| format!("the arguments of a call are {}", text.type_name()))?
            }
        },
    })
}

/// An id for a call whose provider gives none: unique among those of its turn.
pub(super) fn made_id(position: usize) -> EscapedText<'static> {
    EscapedText::plain(&format!("call_{position}"))
}

/// Some providers end a response with tool calls as any other.
fn with_calls(finish: FinishReason, parts: &[OutputPart<'_>]) -> FinishReason {
    let is_call = |part: &OutputPart<'_>| matches!(part, OutputPart::ToolCall { .. });
    match finish {
        FinishReason::Stop if parts.iter().any(is_call) => FinishReason::ToolCalls,
        other => other,
    }
}

fn thinking(text: EscapedText<'_>) -> OutputPart<'_> {
    OutputPart::Thinking {
        text,
        signature: None,
    }
}
