//! Reads a request of the chat protocol.

mod content;
mod messages;
mod tools;

use crate::escaped_text::EscapedText;
use crate::ledger::{FieldOutcome, Ledger};
use crate::superset::{AnswerFormat, ReasoningSettings, Request, SamplingSettings, StreamSettings};
use crate::typed_value::{
    boolean, element_text, number, object, present, read_effort, refuse, refuse_no_messages,
    required_text, text,
};
use headgate_protocol::conversation::ConversationFormat;
use headgate_protocol::json::{DocumentNode, JsonDocument, ValueKind};
use messages::read_messages;
use tools::{read_tool_choice, read_tools};

/// The request that a body makes. A value of the wrong type is a refusal in `ledger`.
pub(crate) fn read_request<'a>(body: &'a JsonDocument, ledger: &mut Ledger) -> Request<'a> {
    let root = body.root();
    if root.kind() != ValueKind::Object {
        refuse::<()>(Some(root), "an object", ledger);
    }
    let [
        messages,
        parallel,
        stream,
        options,
        effort,
        format,
        user,
        identifier,
    ] = root.get_each([
        "messages",
        "parallel_tool_calls",
        "stream",
        "stream_options",
        "reasoning_effort",
        "response_format",
        "user",
        "safety_identifier",
    ]);
    refuse_no_messages(root, messages, ledger);
    let conversation = read_messages(messages, ledger);
    let is_stream = boolean(stream, ledger).unwrap_or(false);
    let includes_usage = object(options, ledger)
        .and_then(|options| boolean(options.get("include_usage"), ledger))
        .unwrap_or(false);
    let user = text(user, ledger);
    Request {
        protocol: ConversationFormat::Chat,
        body: root,
        instructions: conversation.instructions,
        turns: conversation.turns,
        tools: read_tools(root, ledger),
        tool_choice: read_tool_choice(root, ledger),
        parallel_tool_calls: boolean(parallel, ledger),
        sampling: read_sampling(root, ledger),
        reasoning: ReasoningSettings {
            effort: read_effort(effort, ledger),
            ..ReasoningSettings::default()
        },
        output_format: read_output_format(format, ledger),
        stream: is_stream.then_some(StreamSettings { includes_usage }),
        user: user.or_else(|| text(identifier, ledger)),
    }
}

fn read_sampling<'a>(root: DocumentNode<'a>, ledger: &mut Ledger) -> SamplingSettings<'a> {
    let [limit, old_limit, temperature, top_p, stop] = root.get_each([
        "max_completion_tokens",
        "max_tokens",
        "temperature",
        "top_p",
        "stop",
    ]);
    let old_limit = number(old_limit, ledger);
    SamplingSettings {
        max_output_tokens: number(limit, ledger).or(old_limit),
        temperature: number(temperature, ledger),
        top_p: number(top_p, ledger),
        top_k: None,
        stop: read_stop(present(stop), ledger),
    }
}

fn read_stop<'a>(stop: Option<DocumentNode<'a>>, ledger: &mut Ledger) -> Vec<EscapedText<'a>> {
    if let Some(text) = stop.and_then(EscapedText::from_node) {
        return vec![text];
    }
    let Some(list) = stop.filter(|stop| stop.kind() == ValueKind::Array) else {
        refuse::<()>(stop, "a string or an array", ledger);
        return Vec::new();
    };
    let texts = list.elements();
    texts
        .filter_map(|text| element_text(text, ledger))
        .collect()
}

fn read_output_format<'a>(
    format: Option<DocumentNode<'a>>,
    ledger: &mut Ledger,
) -> Option<AnswerFormat<'a>> {
    let format = object(format, ledger)?;
    let [kind, schema] = format.get_each(["type", "json_schema"]);
    match required_text(format, "type", kind, ledger)?.as_written() {
        "text" => Some(AnswerFormat::Text),
        "json_object" => Some(AnswerFormat::JsonObject),
        "json_schema" => {
            if present(schema).is_none() {
                ledger.add_missing(format, "json_schema");
            }
            let of_schema = object(schema, ledger)?;
            let [name, description, schema, strict] =
                of_schema.get_each(["name", "description", "schema", "strict"]);
            if present(schema).is_none() {
                ledger.add_missing(of_schema, "schema");
            }
            Some(AnswerFormat::JsonSchema {
                name: text(name, ledger),
                description: text(description, ledger),
                schema: object(schema, ledger)?,
                strict: boolean(strict, ledger),
            })
        }
        other => {
            let reason = format!("is of type `{other:.64}`, which no other protocol has");
            ledger.add(format, FieldOutcome::Refused, reason);
            None
        }
    }
}
