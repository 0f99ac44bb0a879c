//! Parts of messages, of requests and of whole responses.

use super::{MessagePart, TextAllowance};
use crate::json::{DocumentNode, ValueKind};

impl TextAllowance {
    /// The parts of a content: one text, or a list of parts.
    pub(super) fn parts(&mut self, content: DocumentNode<'_>, into: &mut Vec<MessagePart>) {
        match content.kind() {
            ValueKind::String if self.admits_part() => into.push(MessagePart::Text {
                content: self.node(content),
            }),
            ValueKind::Array => {
                for part in content.elements() {
                    if !self.part(part, into) {
                        return;
                    }
                }
            }
            ValueKind::Object => match content.get("parts") {
                Some(parts) => self.parts(parts, into),
                None => {
                    self.part(content, into);
                }
            },
            _ => {}
        }
    }

    /// Adds a part; returns whether there was room for it.
    pub(super) fn part(&mut self, part: DocumentNode<'_>, into: &mut Vec<MessagePart>) -> bool {
        if !self.admits_part() {
            return false;
        }
        let class = part.get("type").and_then(DocumentNode::as_str);
        let class = class.unwrap_or_default();
        let part = match &*class {
            "text" | "input_text" | "output_text" | "summary_text" => MessagePart::Text {
                content: self.member(part, "text"),
            },
            "refusal" => MessagePart::Text {
                content: self.member(part, "refusal"),
            },
            "thinking" => MessagePart::Reasoning {
                content: self.member(part, "thinking"),
            },
            "reasoning" => MessagePart::Reasoning {
                content: self.texts(part, "summary"),
            },
            "tool_use" => self.tool_call(part, "id", "input"),
            "function_call" => self.tool_call(part, "call_id", "arguments"),
            "tool_result" => self.tool_response(part, "tool_use_id", "content"),
            "function_call_output" => self.tool_response(part, "call_id", "output"),
            "" => self.untyped_part(part),
            other => MessagePart::Other {
                r#type: self.text(other, true),
            },
        };
        into.push(part);
        true
    }

    /// A part whose only member says what it is, as those of Gemini and of Amazon Bedrock.
    fn untyped_part(&mut self, part: DocumentNode<'_>) -> MessagePart {
        if part.get("text").is_some() {
            let is_thought = part.get("thought").is_some_and(|it| it.raw() == b"true");
            let content = self.member(part, "text");
            return match is_thought {
                true => MessagePart::Reasoning { content },
                false => MessagePart::Text { content },
            };
        }
        let mut members = part.members();
        match members.next() {
            Some((name, call)) if name == "functionCall" => self.tool_call(call, "id", "args"),
            Some((name, call)) if name == "toolUse" => self.tool_call(call, "toolUseId", "input"),
            Some((name, result)) if name == "functionResponse" => MessagePart::ToolCallResponse {
                id: self.member(result, "id"),
                response: self.member(result, "response"),
            },
            Some((name, result)) if name == "toolResult" => {
                self.tool_response(result, "toolUseId", "content")
            }
            Some((name, _)) => MessagePart::Other {
                r#type: self.text(&name, true),
            },
            None => MessagePart::Other {
                r#type: String::new(),
            },
        }
    }

    /// The tool calls of a message of the chat protocol.
    pub(super) fn tool_calls(&mut self, message: DocumentNode<'_>, into: &mut Vec<MessagePart>) {
        let calls = message.get("tool_calls").into_iter();
        for call in calls.flat_map(DocumentNode::elements) {
            if !self.admits_part() {
                return;
            }
            let function = call.get("function").or(call.get("custom")).unwrap_or(call);
            let arguments = function.get("arguments").or(function.get("input"));
            into.push(MessagePart::ToolCall {
                id: self.member(call, "id"),
                name: self.member(function, "name"),
                arguments: arguments.map_or_else(String::new, |arguments| self.node(arguments)),
            });
        }
    }

    /// The text of a string, or any other value as it is written.
    pub(super) fn node(&mut self, node: DocumentNode<'_>) -> String {
        let read = self.read_bytes();
        match node.text_start(read) {
            Some(text) => self.text(&text, node.raw().len() <= read),
            None => {
                let raw = node.raw();
                let text = String::from_utf8_lossy(&raw[..raw.len().min(read)]);
                self.text(&text, raw.len() <= read)
            }
        }
    }

    /// The text of a member; empty if there is none.
    pub(super) fn member(&mut self, node: DocumentNode<'_>, name: &str) -> String {
        let member = node.get(name).filter(|member| !member.is_null());
        member.map_or_else(String::new, |member| self.node(member))
    }

    fn tool_call(&mut self, part: DocumentNode<'_>, id: &str, arguments: &str) -> MessagePart {
        MessagePart::ToolCall {
            id: self.member(part, id),
            name: self.member(part, "name"),
            arguments: self.member(part, arguments),
        }
    }

    /// The response of a tool, without images and files.
    pub(super) fn tool_response(
        &mut self,
        part: DocumentNode<'_>,
        id: &str,
        content: &str,
    ) -> MessagePart {
        MessagePart::ToolCallResponse {
            id: self.member(part, id),
            response: self.texts(part, content),
        }
    }

    /// A member that is a text, or a list of parts, of which the texts are joined.
    fn texts(&mut self, part: DocumentNode<'_>, name: &str) -> String {
        match part.get(name) {
            Some(list) if list.kind() == ValueKind::Array => {
                let parts = list.elements();
                let texts: Vec<String> = parts
                    .filter_map(|part| part.get("text"))
                    .map(|text| self.node(text))
                    .collect();
                texts.join("\n")
            }
            Some(text) if text.kind() == ValueKind::String => self.node(text),
            _ => String::new(),
        }
    }
}
