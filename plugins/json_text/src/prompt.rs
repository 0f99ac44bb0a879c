//! Which strings of a request are text that a model reads.

use crate::walk::{Step, key};

/// Members of a body below which the text is, in all protocols.
const ROOTS: [&str; 5] = ["messages", "input", "system", "instructions", "prompt"];

/// Members whose strings are text. All other strings are names, ids, types, addresses or data.
pub const TEXT_FIELDS: [&str; 9] = [
    "arguments",
    "content",
    "input",
    "instructions",
    "output",
    "prompt",
    "system",
    "text",
    "thinking",
];

/// Whether a string at a path is text: its member is one of the fields, or it is within the input of a tool.
pub fn is_prompt_text(path: &[Step], is_field: impl Fn(&str) -> bool) -> bool {
    let Some((Step::Key(root), below)) = path.split_first() else {
        return false;
    };
    let is_tool_input = below.contains(&Step::Key("input")) && is_field("input");
    ROOTS.contains(root) && (is_tool_input || key(path).is_some_and(is_field))
}

#[cfg(test)]
mod tests {
    use super::{TEXT_FIELDS, is_prompt_text};
    use crate::walk::{ValueKind, walk};

    #[test]
    fn the_text_of_each_protocol_is_found() {
        let body = r#"{"model":"-","user":"-","system":[{"type":"-","text":"a"}],
            "messages":[{"role":"-","content":"b","name":"-"},
                {"content":[{"type":"-","text":"c"},{"image_url":{"url":"-"}},{"source":{"data":"-"}}]},
                {"content":[{"id":"-","name":"-","input":{"any":["d"]}},{"tool_use_id":"-","content":"e"}]},
                {"tool_calls":[{"id":"-","function":{"name":"-","arguments":"f"}}]}],
            "instructions":"g","prompt":["h"],"input":["i",{"type":"-","output":"j","call_id":"-"}],
            "metadata":{"content":"-"}}"#;
        let mut found = String::new();
        walk(body, &mut |path, value| {
            if value.kind == ValueKind::String
                && is_prompt_text(path, |name| TEXT_FIELDS.contains(&name))
            {
                found.push_str(&body[value.range]);
            }
        })
        .unwrap();
        assert_eq!(found, "abcdefghij");
    }
}
