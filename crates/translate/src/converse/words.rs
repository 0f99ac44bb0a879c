//! Words and counts of the protocol, which whole responses and streams share.

use crate::escaped_text::EscapedText;
use crate::superset::{FinishReason, Usage};
use headgate_protocol::error_class::{ErrorClass, classify_event};
use headgate_protocol::json::DocumentNode;

/// The reason for a `stopReason`, which is `None` if there is none.
///
/// # Errors
/// The response did not end well, or the word is none of the protocol.
pub(super) fn known_stop(word: Option<DocumentNode<'_>>) -> Result<Option<FinishReason>, String> {
    let Some(word) = word.filter(|word| !word.is_null()) else {
        return Ok(None);
    };
    let text = EscapedText::from_node(word);
    let text = text.ok_or_else(|| format!("its stopReason is {}", word.type_name()))?;
    Ok(Some(match text.as_written() {
        "end_turn" => FinishReason::Stop,
        "stop_sequence" => FinishReason::StopSequence,
        "max_tokens" => FinishReason::Length,
        "model_context_window_exceeded" => FinishReason::ContextWindow,
        "tool_use" => FinishReason::ToolCalls,
        "guardrail_intervened" | "content_filtered" => FinishReason::ContentFilter,
        other => return Err(format!("its stopReason is `{other:.64}`")),
    }))
}

/// The text at which the model stopped, for requests that ask for it.
pub(super) fn stop_sequence(owner: DocumentNode<'_>) -> Option<EscapedText<'_>> {
    let fields = owner.get("additionalModelResponseFields")?;
    let text = EscapedText::from_node(fields.get("stop_sequence")?);
    text.filter(|text| !text.is_empty())
}

/// The tokens of a `usage` object. What was read from the cache and written to it does not count as input there.
pub(super) fn usage(usage: Option<DocumentNode<'_>>) -> Option<Usage> {
    let [input, output, cache_read, cache_write] = usage?.get_each([
        "inputTokens",
        "outputTokens",
        "cacheReadInputTokens",
        "cacheWriteInputTokens",
    ]);
    let number = |node: Option<DocumentNode<'_>>| node.and_then(DocumentNode::as_u64);
    let (input, output) = (number(input), number(output));
    let [cache_read, cache_write] = [cache_read, cache_write].map(|node| number(node).unwrap_or(0));
    (input.is_some() || output.is_some()).then(|| Usage {
        input: input
            .unwrap_or(0)
            .saturating_add(cache_read)
            .saturating_add(cache_write),
        cache_read,
        cache_write,
        output: output.unwrap_or(0),
        reasoning: None,
    })
}

/// The word that callers know for an exception of a stream; `None` if only its own name fits.
pub(super) fn error_word(error: DocumentNode<'_>) -> Option<EscapedText<'static>> {
    // As the event has it: the table of errors tells apart where messages stand.
    let event = [b"{\"error\":", error.raw(), b"}"].concat();
    let word = match classify_event(&event).class {
        ErrorClass::RateLimited => "rate_limit_exceeded",
        ErrorClass::Overloaded => "server_is_overloaded",
        ErrorClass::ContextTooLong => "context_length_exceeded",
        ErrorClass::InvalidRequest | ErrorClass::ContentPolicy => "invalid_request_error",
        ErrorClass::ServerError
        | ErrorClass::RefusedCredential
        | ErrorClass::RefusedAccount
        | ErrorClass::ModelNotFound => return None,
    };
    Some(EscapedText::literal(word))
}

/// A text that an object must have.
pub(super) fn required<'a>(
    object: DocumentNode<'a>,
    member: &str,
) -> Result<EscapedText<'a>, String> {
    let text = object.get(member).and_then(EscapedText::from_node);
    text.ok_or_else(|| format!("its `{:.128}` has no text `{member}`", object.path()))
}

/// A text that an object has, and that is not empty.
pub(super) fn text<'a>(object: DocumentNode<'a>, member: &str) -> Option<EscapedText<'a>> {
    let text = object.get(member).and_then(EscapedText::from_node);
    text.filter(|text| !text.is_empty())
}
