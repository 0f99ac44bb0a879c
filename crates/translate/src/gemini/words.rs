//! Words and counts of responses, which whole responses and streams share.

use crate::escaped_text::EscapedText;
use crate::superset::{FinishReason, Usage};
use headgate_protocol::json::DocumentNode;

/// Why a candidate ended; `None` if it has not.
///
/// # Errors
/// The word does not say that it ended well: the model failed, or the word is not known.
pub(super) fn read_finish(
    reason: Option<DocumentNode<'_>>,
) -> Result<Option<FinishReason>, String> {
    let reason = reason.and_then(EscapedText::from_node);
    let Some(reason) = reason.filter(|reason| !reason.is_empty()) else {
        return Ok(None);
    };
    let word = reason.decoded();
    Ok(Some(match &*word {
        "FINISH_REASON_UNSPECIFIED" => return Ok(None),
        "STOP" => FinishReason::Stop,
        "MAX_TOKENS" => FinishReason::Length,
        "SAFETY"
        | "RECITATION"
        | "LANGUAGE"
        | "BLOCKLIST"
        | "PROHIBITED_CONTENT"
        | "SPII"
        | "IMAGE_SAFETY"
        | "IMAGE_PROHIBITED_CONTENT"
        | "IMAGE_RECITATION"
        | "IMAGE_OTHER"
        | "ESCALATION"
        | "MODEL_ARMOR" => FinishReason::ContentFilter,
        word => {
            let start: String = word.chars().take(64).collect();
            return Err(format!("its finishReason is `{start}`"));
        }
    }))
}

/// Whether the provider refused the prompt, in place of a response to it.
pub(super) fn is_blocked(feedback: Option<DocumentNode<'_>>) -> bool {
    let reason = feedback.and_then(|feedback| feedback.get("blockReason"));
    let reason = reason.and_then(EscapedText::from_node);
    reason.is_some_and(|reason| !matches!(reason.as_written(), "" | "BLOCKED_REASON_UNSPECIFIED"))
}

/// Tokens of `usageMetadata`. Those of thoughts, and of what tools of the provider found, are counted apart there.
pub(super) fn read_usage(node: Option<DocumentNode<'_>>) -> Option<Usage> {
    let counts = node?.get_each([
        "promptTokenCount",
        "toolUsePromptTokenCount",
        "cachedContentTokenCount",
        "candidatesTokenCount",
        "thoughtsTokenCount",
    ]);
    let [prompt, found, cached, answer, thoughts] =
        counts.map(|count| count.and_then(DocumentNode::as_u64));
    Some(Usage {
        input: prompt?.saturating_add(found.unwrap_or(0)),
        cache_read: cached.unwrap_or(0),
        cache_write: 0,
        output: answer.unwrap_or(0).saturating_add(thoughts.unwrap_or(0)),
        reasoning: thoughts,
    })
}

/// The message and the status word of an error.
pub(super) fn read_error(error: DocumentNode<'_>) -> (EscapedText<'_>, Option<EscapedText<'_>>) {
    let [message, status] = error.get_each(["message", "status"]);
    let unnamed = EscapedText::literal("the provider reports an error without a message");
    let message = message.and_then(EscapedText::from_node).unwrap_or(unnamed);
    let code = status.and_then(EscapedText::from_node);
    let code = code.map(|code| match code.as_written() {
        "RESOURCE_EXHAUSTED" => EscapedText::literal("rate_limit_exceeded"),
        "UNAVAILABLE" => EscapedText::literal("server_is_overloaded"),
        "INVALID_ARGUMENT" | "FAILED_PRECONDITION" => EscapedText::literal("invalid_request_error"),
        _ => EscapedText::literal("server_error"),
    });
    (message, code)
}
