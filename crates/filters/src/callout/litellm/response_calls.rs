//! The calls of tools in a response, as chat completions write them.

use crate::callout::json_object::JsonObjectWriter;
use headgate_protocol::conversation::ConversationFormat;
use headgate_protocol::json::{DocumentNode, quoted};

/// The calls of a response, each as JSON text.
pub fn tool_calls(format: ConversationFormat, response: DocumentNode<'_>) -> Vec<Vec<u8>> {
    match format {
        ConversationFormat::Chat => {
            let choices = elements(response.get("choices"));
            let messages = choices.filter_map(|choice| choice.get("message"));
            let calls = messages.flat_map(|message| elements(message.get("tool_calls")));
            calls.map(|call| call.raw().to_vec()).collect()
        }
        ConversationFormat::Messages => elements(response.get("content"))
            .filter_map(|block| {
                let input = block.get("input")?;
                Some(call(
                    block.get("id"),
                    block.get("name"),
                    &quoted(&as_text(input)),
                ))
            })
            .collect(),
        ConversationFormat::Responses => elements(response.get("output"))
            .filter_map(|item| {
                let arguments = item.get("arguments").or_else(|| item.get("input"))?;
                Some(call(item.get("call_id"), item.get("name"), arguments.raw()))
            })
            .collect(),
    }
}

fn elements<'d>(list: Option<DocumentNode<'d>>) -> impl Iterator<Item = DocumentNode<'d>> {
    list.into_iter().flat_map(DocumentNode::elements)
}

fn as_text(value: DocumentNode<'_>) -> String {
    String::from_utf8_lossy(value.raw()).into_owned()
}

fn call(id: Option<DocumentNode<'_>>, name: Option<DocumentNode<'_>>, arguments: &[u8]) -> Vec<u8> {
    let raw =
        |value: Option<DocumentNode<'_>>| value.map_or(b"null".to_vec(), |it| it.raw().to_vec());
    let mut function = JsonObjectWriter::default();
    function.raw("name", &raw(name));
    function.raw("arguments", arguments);
    let mut call = JsonObjectWriter::default();
    call.raw("id", &raw(id));
    call.text("type", Some("function"));
    call.raw("function", &function.finish());
    call.finish()
}
