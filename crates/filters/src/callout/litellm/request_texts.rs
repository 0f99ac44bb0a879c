//! The texts of a request, each with its place.

use crate::callout::arguments::plain_json;
use crate::callout::service_payload::{PlacedText, TextPlace};
use headgate_protocol::json::{DocumentNode, JsonDocument, ValueKind};
use std::collections::HashSet;

/// Members whose strings are no text: ids, kinds, and content that is no text. In the arguments of tools all strings are texts.
const NO_TEXT: [&str; 25] = [
    "b64_json",
    "call_id",
    "detail",
    "encrypted_content",
    "file_data",
    "file_id",
    "file_uri",
    "file_url",
    "format",
    "id",
    "image_url",
    "media_type",
    "mimeType",
    "mime_type",
    "model",
    "object",
    "previous_response_id",
    "role",
    "server_tool_use_id",
    "signature",
    "status",
    "tool_call_id",
    "tool_use_id",
    "type",
    "url",
];
/// Members with the arguments or the results of a tool, or values of a prompt, whose names the caller chooses.
const ARGUMENTS: [&str; 6] = [
    "action",
    "args",
    "arguments",
    "input",
    "response",
    "variables",
];

/// The texts at and below these JSON pointers, in the order of the pointers, and below each as they are written.
pub fn placed_texts(document: &JsonDocument, pointers: &[String]) -> Vec<PlacedText> {
    let mut walk = RequestTextWalk {
        texts: Vec::new(),
        seen: HashSet::new(),
    };
    for pointer in pointers {
        if let Some(node) = document.root().pointer(pointer) {
            walk.value(node, "", None, false);
        }
    }
    walk.texts
}

struct RequestTextWalk {
    texts: Vec<PlacedText>,
    /// Starts of the texts, of which pointers may name one twice.
    seen: HashSet<usize>,
}

impl RequestTextWalk {
    fn value(
        &mut self,
        node: DocumentNode<'_>,
        name: &str,
        holder: Option<DocumentNode<'_>>,
        is_in_arguments: bool,
    ) {
        match node.kind() {
            ValueKind::String => {
                if is_in_arguments || is_text(name, holder) {
                    self.text(node, name == "arguments" && !is_in_arguments);
                }
            }
            ValueKind::Array => {
                for element in node.elements() {
                    self.value(element, name, holder, is_in_arguments);
                }
            }
            ValueKind::Object => {
                for (name, value) in node.members() {
                    let begins_arguments =
                        ARGUMENTS.contains(&&*name) && value.kind() == ValueKind::Object;
                    let is_in_arguments = is_in_arguments || begins_arguments;
                    self.value(value, &name, Some(node), is_in_arguments);
                }
            }
            ValueKind::Null | ValueKind::Bool | ValueKind::Number => {}
        }
    }

    fn text(&mut self, node: DocumentNode<'_>, is_arguments: bool) {
        let span = node.span();
        let Some(text) = node.as_str().filter(|text| !text.is_empty()) else {
            return;
        };
        if !self.seen.insert(span.start) {
            return;
        }
        let plain = is_arguments.then(|| plain_json(&text)).flatten();
        let is_arguments = plain.is_some();
        self.texts.push(PlacedText {
            text: plain.unwrap_or_else(|| text.into_owned()),
            place: Some(TextPlace { span, is_arguments }),
        });
    }
}

fn is_text(name: &str, holder: Option<DocumentNode<'_>>) -> bool {
    let is_holder = |class: &str| {
        let holder = holder.and_then(|holder| holder.get("type"));
        holder
            .and_then(DocumentNode::as_str)
            .is_some_and(|it| it == class)
    };
    match name {
        // Of a document; otherwise base64.
        "data" => is_holder("text"),
        "result" => !is_holder("image_generation_call"),
        _ => !NO_TEXT.contains(&name),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bytes::Bytes;
    use headgate_protocol::json::JsonLimits;

    fn texts(body: &'static str, pointers: &[&str]) -> Vec<(String, String)> {
        let body = Bytes::from_static(body.as_bytes());
        let document = JsonDocument::parse(body.clone(), &JsonLimits::default()).unwrap();
        let pointers: Vec<String> = pointers.iter().map(|it| (*it).to_owned()).collect();
        let placed = placed_texts(&document, &pointers).into_iter();
        placed
            .map(|text| {
                let span = text.place.unwrap().span;
                (text.text, String::from_utf8(body[span].to_vec()).unwrap())
            })
            .collect()
    }

    #[test]
    fn every_string_that_a_model_reads_is_a_text_with_its_place() {
        for (body, pointers, expected) in [
            (
                r#"{"messages":[{"role":"system","content":"a\u0062"},{"role":"user","name":"n","content":[{"type":"text","text":"c"},{"type":"image_url","image_url":{"url":"data:image/png;base64,AA==","detail":"low"}}]},{"role":"assistant","content":null,"tool_calls":[{"id":"t","type":"function","function":{"name":"f","arguments":"{\"\\u0061\":1}"}}]},{"role":"tool","tool_call_id":"t","content":"d"}],"user":"u"}"#,
                &["/messages", "/messages/0"][..],
                &[
                    ("ab", r#""a\u0062""#),
                    ("n", r#""n""#),
                    ("c", r#""c""#),
                    ("f", r#""f""#),
                    (r#"{"a":1}"#, r#""{\"\\u0061\":1}""#),
                    ("d", r#""d""#),
                ][..],
            ),
            (
                r#"{"messages":[{"role":"user","content":[{"type":"document","source":{"type":"text","media_type":"text/plain","data":"b"}},{"type":"image","source":{"type":"base64","media_type":"image/png","data":"AA=="}},{"type":"tool_result","tool_use_id":"t","content":[{"type":"text","text":"c"}]}]},{"role":"assistant","content":[{"type":"tool_use","id":"t","name":"f","input":{"id":"x","y":[{"url":"z"}]}}]}],"system":[{"type":"text","text":"a"}]}"#,
                &["/system", "/messages"],
                &[
                    ("a", r#""a""#),
                    ("b", r#""b""#),
                    ("c", r#""c""#),
                    ("f", r#""f""#),
                    ("x", r#""x""#),
                    ("z", r#""z""#),
                ],
            ),
            (
                r#"{"input":["a",{"type":"input_image","image_url":"https://e.example/b.png"},{"type":"image_generation_call","result":"AA=="},{"type":"function_call_output","call_id":"c","output":"b"}],"instructions":""}"#,
                &["/instructions", "/input"],
                &[("a", r#""a""#), ("b", r#""b""#)],
            ),
        ] {
            let expected: Vec<(String, String)> = expected
                .iter()
                .map(|(text, raw)| ((*text).to_owned(), (*raw).to_owned()))
                .collect();
            assert_eq!(texts(body, pointers), expected, "{body}");
        }
    }
}
