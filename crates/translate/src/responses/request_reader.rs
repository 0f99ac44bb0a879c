//! Reads a request of the responses protocol.

mod content;
mod items;
mod settings;
#[cfg(test)]
mod tests;
mod tools;

use crate::ledger::{FieldOutcome, Ledger};
use crate::superset::{
    Part, PartKind, ReasoningSettings, Request, SamplingSettings, StreamSettings,
};
use crate::typed_value::{array, boolean, number, refuse, text};
use headgate_protocol::conversation::ConversationFormat;
use headgate_protocol::json::{DocumentNode, JsonDocument, ValueKind};
use items::Conversation;

/// The request that a body makes. A value of the wrong type is a refusal in `ledger`.
pub(crate) fn read_request<'a>(body: &'a JsonDocument, ledger: &mut Ledger) -> Request<'a> {
    let root = body.root();
    if root.kind() != ValueKind::Object {
        refuse::<()>(Some(root), "an object", ledger);
    }
    let mut request = Request {
        protocol: ConversationFormat::Responses,
        body: root,
        instructions: Vec::new(),
        turns: Vec::new(),
        tools: Vec::new(),
        tool_choice: None,
        parallel_tool_calls: None,
        sampling: SamplingSettings::default(),
        reasoning: ReasoningSettings::default(),
        output_format: None,
        stream: None,
        user: None,
    };
    let mut input = None;
    for (name, value) in root.members() {
        match &*name {
            _ if value.is_null() => {}
            "input" => input = Some(value),
            name => read_member(name, value, &mut request, ledger),
        }
    }
    match input {
        None => ledger.add_missing(root, "input"),
        Some(input) => {
            let mut conversation = Conversation {
                instructions: request.instructions,
                turns: Vec::new(),
            };
            conversation.read_input(input, ledger);
            request.instructions = conversation.instructions;
            request.turns = conversation.turns;
        }
    }
    request
}

/// Reads a member that is neither the input nor null. Members that are not read are noted by the tables of fields.
fn read_member<'a>(
    name: &str,
    value: DocumentNode<'a>,
    request: &mut Request<'a>,
    ledger: &mut Ledger,
) {
    let node = Some(value);
    let sampling = &mut request.sampling;
    match name {
        "instructions" => {
            let kind = text(node, ledger).map(PartKind::Text);
            request.instructions.extend(kind.map(|kind| Part {
                at: value,
                kind,
                cache: None,
            }));
        }
        "tools" => request.tools = tools::read_tools(array(node, ledger), ledger),
        "tool_choice" => request.tool_choice = tools::read_tool_choice(node, ledger),
        "parallel_tool_calls" => request.parallel_tool_calls = boolean(node, ledger),
        "max_output_tokens" => sampling.max_output_tokens = number(node, ledger),
        "temperature" => sampling.temperature = number(node, ledger),
        "top_p" => sampling.top_p = number(node, ledger),
        "reasoning" => request.reasoning = settings::read_reasoning(node, ledger),
        "text" => request.output_format = settings::read_output_format(node, ledger),
        "stream" => {
            let is_stream = boolean(node, ledger) == Some(true);
            request.stream = is_stream.then_some(StreamSettings {
                includes_usage: true,
            });
        }
        "user" => request.user = text(node, ledger).or(request.user.take()),
        "safety_identifier" => request.user = request.user.take().or(text(node, ledger)),
        "include" => check_include(value, ledger),
        "previous_response_id" | "conversation" | "prompt" => {
            let reason =
                "names what only its provider stores; send the whole conversation as `input`";
            ledger.add(value, FieldOutcome::AlwaysRefused, reason);
        }
        "background" if boolean(node, ledger) == Some(true) => {
            let reason = "needs a provider that stores the response; leave it out";
            ledger.add(value, FieldOutcome::AlwaysRefused, reason);
        }
        "store" if boolean(node, ledger) == Some(true) => {
            let reason = "is not possible: the response is not stored";
            ledger.add(value, FieldOutcome::Dropped, reason);
        }
        _ => {}
    }
}

/// Refuses what a response should have besides its items. Most of it is about tools that the provider runs.
fn check_include(include: DocumentNode<'_>, ledger: &mut Ledger) {
    let include = array(Some(include), ledger).into_iter();
    for node in include.flat_map(DocumentNode::elements) {
        let Some(name) = text(Some(node), ledger) else {
            continue;
        };
        match name.as_written() {
            "reasoning.encrypted_content"
            | "file_search_call.results"
            | "web_search_call.results"
            | "web_search_call.action.sources"
            | "message.input_image.image_url"
            | "computer_call_output.output.image_url"
            | "code_interpreter_call.outputs" => {}
            other => {
                let reason = format!("asks for `{other:.64}`, which no other protocol has");
                ledger.add(node, FieldOutcome::Refused, reason);
            }
        }
    }
}
