//! Reads a request of the messages protocol.

mod content;
mod tools;

use crate::escaped_text::EscapedText;
use crate::ledger::{FieldOutcome, Ledger};
use crate::superset::{
    AnswerFormat, ContentRole, ReasoningEffort, ReasoningSettings, Request, SamplingSettings,
    StreamSettings, Turn,
};
use crate::typed_value::{array, boolean, json_text, number, object, required_text, text};
use content::read_content;
use headgate_protocol::conversation::ConversationFormat;
use headgate_protocol::json::{DocumentNode, JsonDocument};
use tools::{read_tool_choice, read_tools};

/// The request that a body makes. A value of the wrong type is a refusal in `ledger`.
pub(crate) fn read_request<'a>(body: &'a JsonDocument, ledger: &mut Ledger) -> Request<'a> {
    let root = body.root();
    let [system, messages, tools, choice, stream, metadata] = root.get_each([
        "system",
        "messages",
        "tools",
        "tool_choice",
        "stream",
        "metadata",
    ]);
    let mut instructions = Vec::new();
    if let Some(system) = system.filter(|system| !system.is_null()) {
        read_content(system, &mut instructions, ledger);
    }
    let choice = read_tool_choice(choice, ledger);
    let stream = boolean(stream, ledger).unwrap_or(false);
    let user = object(metadata, ledger).and_then(|metadata| metadata.get("user_id"));
    Request {
        protocol: ConversationFormat::Messages,
        body: root,
        instructions,
        turns: read_turns(messages, ledger),
        tools: read_tools(tools, ledger),
        parallel_tool_calls: choice.parallel_tool_calls,
        tool_choice: choice.choice,
        sampling: read_sampling(root, ledger),
        reasoning: read_reasoning(root, ledger),
        output_format: read_output_format(root, ledger),
        stream: stream.then_some(StreamSettings {
            includes_usage: true,
        }),
        user: text(user, ledger),
    }
}

fn read_turns<'a>(messages: Option<DocumentNode<'a>>, ledger: &mut Ledger) -> Vec<Turn<'a>> {
    let mut turns: Vec<Turn<'a>> = Vec::new();
    let messages = array(messages, ledger);
    for at in messages.into_iter().flat_map(DocumentNode::elements) {
        let [role, content] = at.get_each(["role", "content"]);
        let Some(name) = required_text(at, "role", role, ledger) else {
            continue;
        };
        let role = match name.as_written() {
            "user" => ContentRole::User,
            "assistant" => ContentRole::Assistant,
            "system" => ContentRole::System,
            other => {
                let reason = format!("is the role `{other:.64}`, which no other protocol has");
                ledger.add(at, FieldOutcome::AlwaysRefused, reason);
                continue;
            }
        };
        let mut parts = Vec::new();
        match content.filter(|content| !content.is_null()) {
            None => ledger.add_missing(at, "content"),
            Some(content) => read_content(content, &mut parts, ledger),
        }
        match turns.last_mut().filter(|turn| turn.role == role) {
            Some(turn) => turn.parts.append(&mut parts),
            None => turns.push(Turn { role, parts, at }),
        }
    }
    turns
}

fn read_sampling<'a>(root: DocumentNode<'a>, ledger: &mut Ledger) -> SamplingSettings<'a> {
    let [limit, temperature, top_p, top_k, stop] = root.get_each([
        "max_tokens",
        "temperature",
        "top_p",
        "top_k",
        "stop_sequences",
    ]);
    let stop = array(stop, ledger).into_iter();
    SamplingSettings {
        max_output_tokens: number(limit, ledger),
        temperature: number(temperature, ledger),
        top_p: number(top_p, ledger),
        top_k: number(top_k, ledger),
        stop: stop
            .flat_map(DocumentNode::elements)
            .filter_map(EscapedText::from_node)
            .collect(),
    }
}

fn read_reasoning<'a>(root: DocumentNode<'a>, ledger: &mut Ledger) -> ReasoningSettings<'a> {
    let [thinking, output] = root.get_each(["thinking", "output_config"]);
    let thinking = object(thinking, ledger);
    let kind = thinking.and_then(|thinking| text(thinking.get("type"), ledger));
    let budget = thinking.and_then(|thinking| number(thinking.get("budget_tokens"), ledger));
    let effort = object(output, ledger).and_then(|output| output.get("effort"));
    let name = text(effort, ledger);
    ReasoningSettings {
        effort: name.and_then(|name| ReasoningEffort::from_name(name.as_written())),
        budget,
        is_enabled: kind.map(|kind| kind.as_written() != "disabled"),
        summary: None,
    }
}

/// The form of the answer: in `output_config`, or as older clients write it.
fn read_output_format<'a>(root: DocumentNode<'a>, ledger: &mut Ledger) -> Option<AnswerFormat<'a>> {
    let [config, old] = root.get_each(["output_config", "output_format"]);
    let format = config.and_then(|config| config.get("format")).or(old);
    let format = object(format, ledger)?;
    let schema = object(format.get("schema"), ledger)?;
    Some(AnswerFormat::JsonSchema {
        name: None,
        description: None,
        schema: json_text(schema),
        strict: Some(true),
    })
}
