//! Words and counts of messages, which whole responses and streams share.

use crate::escaped_text::EscapedText;
use crate::json_writer::JsonWriter;
use crate::superset::{FinishReason, Usage};
use headgate_protocol::json::DocumentNode;

/// Tokens as the protocol counts them: what a later object leaves out stays as an earlier one has it.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct MessageTokenCounts {
    /// Without what was read from the cache and written to it.
    input: Option<u64>,
    cache_read: u64,
    cache_write: u64,
    output: Option<u64>,
    thinking: Option<u64>,
}

impl MessageTokenCounts {
    /// Takes over the counts of a `usage` object. Whether there is one.
    pub fn update(&mut self, usage: Option<DocumentNode<'_>>) -> bool {
        let Some(usage) = usage.filter(|usage| !usage.is_null()) else {
            return false;
        };
        let [input, cache_read, cache_write, output, details] = usage.get_each([
            "input_tokens",
            "cache_read_input_tokens",
            "cache_creation_input_tokens",
            "output_tokens",
            "output_tokens_details",
        ]);
        let number = |node: Option<DocumentNode<'_>>| node.and_then(DocumentNode::as_u64);
        self.input = number(input).or(self.input);
        self.cache_read = number(cache_read).unwrap_or(self.cache_read);
        self.cache_write = number(cache_write).unwrap_or(self.cache_write);
        self.output = number(output).or(self.output);
        let thinking = details.and_then(|details| details.get("thinking_tokens"));
        self.thinking = number(thinking).or(self.thinking);
        true
    }

    /// `None` if no tokens were counted.
    pub fn usage(&self) -> Option<Usage> {
        let cached = self.cache_read.saturating_add(self.cache_write);
        (self.input.is_some() || self.output.is_some()).then(|| Usage {
            input: self.input.unwrap_or(0).saturating_add(cached),
            cache_read: self.cache_read,
            cache_write: self.cache_write,
            output: self.output.unwrap_or(0),
            reasoning: self.thinking,
        })
    }
}

/// The `stop_reason` for a reason.
pub(super) fn stop_reason(reason: FinishReason) -> &'static str {
    match reason {
        FinishReason::Stop => "end_turn",
        FinishReason::StopSequence => "stop_sequence",
        FinishReason::Length => "max_tokens",
        FinishReason::ContextWindow => "model_context_window_exceeded",
        FinishReason::ToolCalls => "tool_use",
        FinishReason::ContentFilter => "refusal",
        FinishReason::Pause => "pause_turn",
    }
}

/// The reason for a `stop_reason`, which is `None` while a response has none.
///
/// # Errors
/// The word is none of the protocol.
pub(super) fn known_stop(word: Option<DocumentNode<'_>>) -> Result<Option<FinishReason>, String> {
    let Some(word) = word.filter(|word| !word.is_null()) else {
        return Ok(None);
    };
    let text = EscapedText::from_node(word);
    let text = text.ok_or_else(|| format!("its stop_reason is {}", word.type_name()))?;
    Ok(Some(match text.as_written() {
        "end_turn" => FinishReason::Stop,
        "stop_sequence" => FinishReason::StopSequence,
        "max_tokens" => FinishReason::Length,
        "model_context_window_exceeded" => FinishReason::ContextWindow,
        "tool_use" => FinishReason::ToolCalls,
        "refusal" => FinishReason::ContentFilter,
        "pause_turn" => FinishReason::Pause,
        other => return Err(format!("its stop_reason is `{other:.64}`")),
    }))
}

/// Writes a `usage` object. What was read from the cache and written to it does not count as input.
pub(super) fn write_usage(usage: Usage, json: &mut JsonWriter) {
    let cached = usage.cache_read.saturating_add(usage.cache_write);
    json.begin_object();
    json.key("input_tokens")
        .number(usage.input.saturating_sub(cached));
    json.key("cache_creation_input_tokens")
        .number(usage.cache_write);
    json.key("cache_read_input_tokens").number(usage.cache_read);
    json.key("output_tokens").number(usage.output);
    if let Some(thinking) = usage.reasoning {
        json.key("output_tokens_details").begin_object();
        json.key("thinking_tokens").number(thinking).end_object();
    }
    json.end_object();
}

/// What is wrong with arguments of a call that this protocol cannot say.
pub(super) fn no_object(name: &EscapedText<'_>) -> String {
    let start: String = name.decoded().chars().take(64).collect();
    format!("the arguments of the call of `{start}` are no JSON object")
}
