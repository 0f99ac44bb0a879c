//! The object of a response, which whole responses are and some events of a stream contain.

use crate::context::ResponseContext;
use crate::escaped_text::EscapedText;
use crate::json_writer::JsonWriter;
use crate::superset::{FinishReason, Request, Usage};
use crate::typed_value::{json_text, present};

/// A response without its output.
#[derive(Debug)]
pub(super) struct ResponseObjectText<'a> {
    pub context: &'a ResponseContext,
    pub status: ResponseObjectStatus<'a>,
    pub usage: Option<Usage>,
}

#[derive(Debug)]
pub(super) enum ResponseObjectStatus<'a> {
    InProgress,
    Completed,
    Incomplete(&'static str),
    Failed {
        message: &'a EscapedText<'a>,
        code: &'a EscapedText<'a>,
    },
}

/// Members of a request that its response repeats.
const REPEATED: [&str; 16] = [
    "instructions",
    "max_output_tokens",
    "max_tool_calls",
    "metadata",
    "parallel_tool_calls",
    "prompt_cache_key",
    "reasoning",
    "safety_identifier",
    "temperature",
    "text",
    "tool_choice",
    "tools",
    "top_logprobs",
    "top_p",
    "truncation",
    "user",
];

/// Members that each response has, and their values if the request has none.
const DEMANDED: [(&str, &str); 7] = [
    ("instructions", "null"),
    ("metadata", "{}"),
    ("parallel_tool_calls", "true"),
    ("temperature", "null"),
    ("tool_choice", "\"auto\""),
    ("tools", "[]"),
    ("top_p", "null"),
];

/// Members of a request that its response repeats, with their JSON text.
pub(crate) fn repeated_members(request: &Request<'_>) -> Vec<(&'static str, Box<str>)> {
    let values = request.body.get_each(REPEATED).into_iter().zip(REPEATED);
    let repeated =
        values.filter_map(|(value, name)| Some((name, json_text(present(value)?).into())));
    repeated.collect()
}

impl ResponseObjectStatus<'_> {
    /// The status of a response that ended for this reason.
    ///
    /// # Errors
    /// There is none: a paused turn must be continued, which callers of this protocol cannot know.
    pub(super) fn for_finish(finish: FinishReason) -> Result<Self, String> {
        Ok(match finish {
            FinishReason::Length | FinishReason::ContextWindow => {
                Self::Incomplete("max_output_tokens")
            }
            FinishReason::ContentFilter => Self::Incomplete("content_filter"),
            FinishReason::Stop | FinishReason::StopSequence | FinishReason::ToolCalls => {
                Self::Completed
            }
            FinishReason::Pause => return Err("the provider paused the turn".into()),
        })
    }

    fn name(&self) -> &'static str {
        match self {
            Self::InProgress => "in_progress",
            Self::Completed => "completed",
            Self::Incomplete(_) => "incomplete",
            Self::Failed { .. } => "failed",
        }
    }
}

impl ResponseObjectText<'_> {
    /// Writes the object. `items` are the items of its output, as JSON.
    pub(super) fn write<'i>(&self, items: impl Iterator<Item = &'i [u8]>, json: &mut JsonWriter) {
        let context = self.context;
        json.begin_object().key("id");
        json.id("resp_", &context.id);
        json.key("object").literal("response");
        json.key("created_at").number(context.created);
        json.key("status").literal(self.status.name());
        json.key("background").bool(false);
        self.write_outcome(json);
        json.key("model").raw(&context.model);
        json.key("output").begin_array();
        for item in items {
            json.raw(item);
        }
        json.end_array();
        json.key("previous_response_id").null();
        json.key("store").bool(false);
        json.key("usage");
        match self.usage {
            Some(usage) => write_usage(usage, json),
            None => {
                json.null();
            }
        }
        self.write_repeated(json);
        json.end_object();
    }

    fn write_outcome(&self, json: &mut JsonWriter) {
        json.key("error");
        match &self.status {
            ResponseObjectStatus::Failed { message, code } => {
                json.begin_object().key("code").text(code);
                json.key("message").text(message).end_object();
            }
            ResponseObjectStatus::InProgress
            | ResponseObjectStatus::Completed
            | ResponseObjectStatus::Incomplete(_) => {
                json.null();
            }
        }
        json.key("incomplete_details");
        match self.status {
            ResponseObjectStatus::Incomplete(reason) => {
                json.begin_object().key("reason").literal(reason);
                json.end_object();
            }
            ResponseObjectStatus::InProgress
            | ResponseObjectStatus::Completed
            | ResponseObjectStatus::Failed { .. } => {
                json.null();
            }
        }
    }

    fn write_repeated(&self, json: &mut JsonWriter) {
        let repeated = &self.context.repeated;
        for (name, value) in repeated {
            json.key(name).raw(value.as_bytes());
        }
        for (name, default) in DEMANDED {
            if repeated.iter().all(|(repeated, _)| *repeated != name) {
                json.key(name).raw(default);
            }
        }
    }
}

fn write_usage(usage: Usage, json: &mut JsonWriter) {
    json.begin_object().key("input_tokens").number(usage.input);
    json.key("input_tokens_details").begin_object();
    json.key("cached_tokens").number(usage.cache_read);
    json.key("cache_write_tokens").number(usage.cache_write);
    json.end_object();
    json.key("output_tokens").number(usage.output);
    json.key("output_tokens_details").begin_object();
    let reasoning = usage.reasoning.unwrap_or(0);
    json.key("reasoning_tokens").number(reasoning).end_object();
    let total = usage.input.saturating_add(usage.output);
    json.key("total_tokens").number(total).end_object();
}
