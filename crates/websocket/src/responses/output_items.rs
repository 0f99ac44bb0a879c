//! The output of a response, as input of the next request.

use super::item_list::append_items;
use bytes::{Bytes, BytesMut};
use headgate_protocol::json::skim;
use std::ops::Range;

/// The items of a stream that are complete.
#[derive(Debug, Default)]
pub(super) struct OutputItems(BytesMut);

impl OutputItems {
    /// Takes the item of an event that completes one.
    pub fn add_event(&mut self, event: &[u8]) {
        let kind = skim::find_string(event, &["type"]);
        if kind == Some("response.output_item.done")
            && let Some(item) = skim::find(event, &["item"])
        {
            self.add(&event[item]);
        }
    }

    /// The items of the input and of the output, with commas between them. `last` is the event that completes the response;
    /// its output is that of the items, unless it is empty.
    pub fn after(&mut self, input: Bytes, last: &[u8]) -> Bytes {
        let output = skim::find(last, &["response", "output"]).unwrap_or_default();
        if let Some(elements) = elements(last, output) {
            self.0.clear();
            for element in elements {
                self.add(&last[element]);
            }
        }
        // `append_items` puts commas unless the list has just begun.
        let mut all = BytesMut::from(&b"["[..]);
        append_items(&mut all, &input);
        append_items(&mut all, &self.0);
        all.freeze().slice(1..)
    }

    fn add(&mut self, item: &[u8]) {
        if !can_be_input(item) {
            return;
        }
        if !self.0.is_empty() {
            self.0.extend_from_slice(b",");
        }
        self.0.extend_from_slice(item);
    }
}

/// The elements of a list that is not empty.
fn elements(event: &[u8], list: Range<usize>) -> Option<Vec<Range<usize>>> {
    let elements: Vec<_> = skim::elements(event, list).collect();
    (!elements.is_empty()).then_some(elements)
}

/// Whether a provider that has stored nothing takes an item: reasoning has its content only in encrypted form.
fn can_be_input(item: &[u8]) -> bool {
    let kind = skim::find_string(item, &["type"]);
    kind != Some("reasoning")
        || skim::find(item, &["encrypted_content"]).is_some_and(|content| {
            let content = &item[content];
            content.starts_with(b"\"") && content != b"\"\""
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_event_has_the_output_unless_it_is_empty() {
        let message = r#"{"type":"message","content":[]}"#;
        let open = r#"{"type":"reasoning","summary":[]}"#;
        let sealed = r#"{"type":"reasoning","encrypted_content":"x"}"#;
        for (items, output, expected) in [
            (
                vec![message],
                format!("[{sealed},{message}]"),
                vec![sealed, message],
            ),
            (
                vec![sealed, message],
                "[]".to_owned(),
                vec![sealed, message],
            ),
            (vec![open, message], "null".to_owned(), vec![message]),
            (vec![], format!("[{open}]"), vec![]),
        ] {
            let mut output_items = OutputItems::default();
            for item in items {
                let event = format!(r#"{{"type":"response.output_item.done","item":{item}}}"#);
                output_items.add_event(event.as_bytes());
            }
            output_items.add_event(br#"{"type":"response.output_item.added","item":{}}"#);
            let last =
                format!(r#"{{"type":"response.completed","response":{{"output":{output}}}}}"#);
            let input = Bytes::from_static(b"{\"i\":1}");
            let all = output_items.after(input, last.as_bytes());
            let expected = [vec![r#"{"i":1}"#], expected].concat().join(",");
            assert_eq!(all, expected);
        }
    }
}
