//! A step of the simulated model for APIs in which it thinks and calls several tools at once.

use super::model_output::{ARGUMENT_BYTES, generated_text};
use super::model_request::ModelRequest;
use super::request_context::RequestContext;
use super::{schema_value, text};
use serde_json::{Value, json};

/// What the model thinks, if the request enables it.
const THOUGHT: &str =
    "The user wants something. I look at what came, and at what my tools can do, before I answer.";

/// Thoughts, and then a text or calls.
pub struct ConversationStep {
    pub thoughts: Option<&'static str>,
    pub content: StepContent,
    /// Whether the token limit of the request truncated the text.
    pub is_truncated: bool,
    pub usage: StepUsage,
    piece: Option<usize>,
}

pub enum StepContent {
    Text(String),
    Calls(Vec<StepCall>),
}

pub struct StepCall {
    pub id: String,
    pub name: String,
    pub arguments: Value,
}

/// Token counts.
#[derive(Clone, Copy)]
pub struct StepUsage {
    pub input: u64,
    /// Without thoughts.
    pub output: u64,
    pub thoughts: u64,
}

impl ConversationStep {
    /// The step that follows `ask`, with calls whose ids begin with `id_prefix`.
    pub fn to(ask: &ModelRequest, thinks: bool, id_prefix: &str, call: &RequestContext) -> Self {
        let thoughts = thinks.then_some(THOUGHT);
        let requested = ask.tools_to_call().into_iter().map(|tool| StepCall {
            id: call.ids.next(id_prefix),
            name: tool.name.to_owned(),
            arguments: tool.schema.map_or_else(|| json!({}), schema_value::value),
        });
        let calls: Vec<StepCall> = requested.collect();
        let (content, is_truncated) = if calls.is_empty() {
            let (text, is_truncated) = generated_text(ask, call.sizes, call.options.answer_tokens);
            (StepContent::Text(text), is_truncated)
        } else {
            (StepContent::Calls(calls), false)
        };
        let bytes = match &content {
            StepContent::Text(text) => text.len(),
            StepContent::Calls(calls) => calls
                .iter()
                .map(|call| call.arguments.to_string().len())
                .sum(),
        };
        let usage = StepUsage {
            input: ask.input_tokens,
            output: text::tokens(bytes),
            thoughts: thoughts.map_or(0, |thoughts| text::tokens(thoughts.len())),
        };
        Self {
            thoughts,
            content,
            is_truncated,
            usage,
            piece: call.sizes.piece,
        }
    }

    /// The thoughts in pieces for a stream.
    pub fn thought_pieces(&self) -> impl Iterator<Item = &'static str> + use<> {
        text::pieces(self.thoughts.unwrap_or_default(), None)
    }

    /// A text of the step in pieces for a stream.
    pub fn pieces<'t>(&self, text: &'t str) -> impl Iterator<Item = &'t str> + use<'t> {
        text::pieces(text, self.piece)
    }

    /// Arguments in pieces for a stream.
    pub fn argument_pieces<'t>(&self, json: &'t str) -> impl Iterator<Item = &'t str> + use<'t> {
        text::pieces(json, self.piece.or(Some(ARGUMENT_BYTES)))
    }
}

/// What the model answers to results of tools: how many came, and after how many of its own thoughts.
pub fn results_text(results: usize, thoughts: usize) -> String {
    format!("results={results} thoughts={thoughts}")
}
