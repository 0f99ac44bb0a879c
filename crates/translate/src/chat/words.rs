//! Words and counts of chat responses, which whole responses and streams share.

use crate::json_writer::JsonWriter;
use crate::superset::{FinishReason, Usage};
use headgate_protocol::json::DocumentNode;

/// Why a choice ended; `None` for a word that does not say that it ended well.
///
/// Beside OpenAI's words: `model_length` of Mistral, `sensitive` of GLM, `eos_token` of text-generation-inference.
pub(super) fn finish_reason(word: &str) -> Option<FinishReason> {
    Some(match word {
        "stop" | "eos" | "eos_token" => FinishReason::Stop,
        "stop_sequence" => FinishReason::StopSequence,
        "length" | "max_tokens" => FinishReason::Length,
        "model_length" => FinishReason::ContextWindow,
        "tool_calls" | "function_call" => FinishReason::ToolCalls,
        "content_filter" | "sensitive" => FinishReason::ContentFilter,
        _ => return None,
    })
}

/// The word of the protocol for a reason.
///
/// # Errors
/// There is none: a paused turn must be continued, which callers of this protocol cannot know.
pub(super) fn finish_word(reason: FinishReason) -> Result<&'static str, String> {
    match reason {
        FinishReason::Stop | FinishReason::StopSequence => Ok("stop"),
        FinishReason::Length | FinishReason::ContextWindow => Ok("length"),
        FinishReason::ToolCalls => Ok("tool_calls"),
        FinishReason::ContentFilter => Ok("content_filter"),
        FinishReason::Pause => Err("the provider paused the turn".into()),
    }
}

/// Tokens of a `usage` object; `None` for other values.
///
/// Beside OpenAI's members: `prompt_cache_hit_tokens` of DeepSeek, `cached_tokens` of Kimi.
pub(super) fn usage(node: Option<DocumentNode<'_>>) -> Option<Usage> {
    let usage = node?;
    let [prompt, completion, prompt_details, completion_details] = usage.get_each([
        "prompt_tokens",
        "completion_tokens",
        "prompt_tokens_details",
        "completion_tokens_details",
    ]);
    let number = |node: Option<DocumentNode<'_>>| node.and_then(DocumentNode::as_u64);
    let within =
        |node: Option<DocumentNode<'_>>, name| number(node.and_then(|node| node.get(name)));
    let cached = within(prompt_details, "cached_tokens");
    let cached = cached.or_else(|| {
        let [hits, cached] = usage.get_each(["prompt_cache_hit_tokens", "cached_tokens"]);
        number(hits).or_else(|| number(cached))
    });
    Some(Usage {
        input: number(prompt)?,
        cache_read: cached.unwrap_or(0),
        cache_write: within(prompt_details, "cache_write_tokens").unwrap_or(0),
        output: number(completion).unwrap_or(0),
        reasoning: within(completion_details, "reasoning_tokens"),
    })
}

/// Adds tokens that only the total of a response has: thoughts, which are part of the output.
pub(crate) fn add_hidden_thoughts(body: DocumentNode<'_>, usage: &mut Usage) {
    let total = body.pointer("/usage/total_tokens");
    let total = total.and_then(DocumentNode::as_u64).unwrap_or(0);
    let hidden = total.saturating_sub(usage.input.saturating_add(usage.output));
    if hidden > 0 {
        usage.output = usage.output.saturating_add(hidden);
        let counted = usage.reasoning.filter(|count| *count > 0);
        usage.reasoning = counted.or(Some(hidden));
    }
}

/// Writes a `usage` object.
pub(super) fn write_usage(usage: Usage, json: &mut JsonWriter) {
    json.begin_object();
    json.key("prompt_tokens").number(usage.input);
    json.key("completion_tokens").number(usage.output);
    let total = usage.input.saturating_add(usage.output);
    json.key("total_tokens").number(total);
    json.key("prompt_tokens_details").begin_object();
    json.key("cached_tokens").number(usage.cache_read);
    if usage.cache_write > 0 {
        json.key("cache_write_tokens").number(usage.cache_write);
    }
    json.end_object();
    if let Some(reasoning) = usage.reasoning {
        json.key("completion_tokens_details").begin_object();
        json.key("reasoning_tokens").number(reasoning).end_object();
    }
    json.end_object();
}
