//! Reads how a response ended and what it took, from the object of whole responses and of a stream's last event.

use crate::escaped_text::EscapedText;
use crate::superset::{FinishReason, Usage};
use headgate_protocol::json::DocumentNode;

/// Why a response that is complete ended.
pub(super) fn completed_finish(has_calls: bool) -> FinishReason {
    match has_calls {
        true => FinishReason::ToolCalls,
        false => FinishReason::Stop,
    }
}

/// Why a response that is incomplete ended. Reasons that no other protocol has are a limit of its length.
pub(super) fn incomplete_finish(response: DocumentNode<'_>) -> FinishReason {
    let details = response.get("incomplete_details");
    let reason = details.and_then(|details| EscapedText::from_node(details.get("reason")?));
    match reason.as_ref().map(EscapedText::as_written) {
        Some("content_filter") => FinishReason::ContentFilter,
        // Its provider goes on in another response.
        Some("steered") => FinishReason::Pause,
        Some(_) | None => FinishReason::Length,
    }
}

pub(super) fn read_usage(response: DocumentNode<'_>) -> Option<Usage> {
    let usage = response.get("usage")?;
    let [input, input_details, output, output_details] = usage.get_each([
        "input_tokens",
        "input_tokens_details",
        "output_tokens",
        "output_tokens_details",
    ]);
    let detail = |details: Option<DocumentNode<'_>>, name| details?.get(name)?.as_u64();
    Some(Usage {
        input: input?.as_u64()?,
        cache_read: detail(input_details, "cached_tokens").unwrap_or(0),
        cache_write: detail(input_details, "cache_write_tokens").unwrap_or(0),
        output: output?.as_u64()?,
        reasoning: detail(output_details, "reasoning_tokens"),
    })
}

/// The message and the code of an error.
pub(super) fn read_error<'a>(
    error: Option<DocumentNode<'a>>,
) -> (EscapedText<'a>, Option<EscapedText<'a>>) {
    let [message, code, kind] = match error {
        Some(error) => error.get_each(["message", "code", "type"]),
        None => [None; 3],
    };
    let unnamed = EscapedText::literal("the provider reports an error without a message");
    let message = message.and_then(EscapedText::from_node).unwrap_or(unnamed);
    let code = code.and_then(EscapedText::from_node);
    // An event of the type `error` has its code beside its type.
    let kind = kind.and_then(EscapedText::from_node);
    let kind = kind.filter(|kind| kind.as_written() != "error");
    (message, code.or(kind))
}
