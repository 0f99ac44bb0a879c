//! The texts of a request with their roles.

use crate::role::Role;
use json_text::{NotJson, Step, TEXT_FIELDS, Value, ValueKind, is_prompt_text, walk};
use std::collections::HashMap;
use std::ops::Range;

/// A text of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PromptText {
    pub role: Role,
    /// The bytes of the JSON string, without its quotation marks.
    pub range: Range<usize>,
}

/// The texts of a body in their order.
pub fn read(body: &str) -> Result<Vec<PromptText>, NotJson> {
    let mut members = Members::default();
    walk(body, &mut |path, value| members.add(body, path, value))?;
    let texts = members.texts.iter().map(|(place, range)| PromptText {
        role: members.role(place),
        range: range.clone(),
    });
    Ok(texts.collect())
}

/// Where a text is: the member of the body, and the positions of the message and of the block in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Place<'b> {
    root: &'b str,
    message: Option<usize>,
    block: Option<usize>,
}

/// The texts, and what tells their roles, which may come after them.
#[derive(Debug, Default)]
struct Members<'b> {
    texts: Vec<(Place<'b>, Range<usize>)>,
    /// Roles and types of messages, types of blocks.
    words: HashMap<(Place<'b>, &'b str), &'b str>,
}

impl<'b> Members<'b> {
    fn add(&mut self, body: &'b str, path: &[Step<'b>], value: Value) {
        let Some(place) = Place::from_path(path).filter(|_| value.kind == ValueKind::String) else {
            return;
        };
        match path {
            [_, Step::Index(_), Step::Key(name @ ("role" | "type"))]
            | [
                _,
                Step::Index(_),
                Step::Key("content"),
                Step::Index(_),
                Step::Key(name @ "type"),
            ] => {
                self.words.insert((place, name), &body[value.range]);
            }
            _ if is_prompt_text(path, |name| TEXT_FIELDS.contains(&name)) => {
                self.texts.push((place, value.range));
            }
            _ => (),
        }
    }

    fn role(&self, place: &Place<'b>) -> Role {
        let message = Place {
            block: None,
            ..*place
        };
        let word = |place, name| self.words.get(&(place, name)).copied();
        if word(*place, "type") == Some("tool_result") {
            return Role::Tool;
        }
        match (word(message, "role"), word(message, "type")) {
            (Some("system"), _) => Role::System,
            (Some("developer"), _) => Role::Developer,
            (Some("assistant"), _) => Role::Assistant,
            (Some("tool" | "function"), _) => Role::Tool,
            (None, Some("function_call" | "custom_tool_call" | "reasoning")) => Role::Assistant,
            (None, Some("function_call_output" | "custom_tool_call_output")) => Role::Tool,
            _ if matches!(place.root, "system" | "instructions") => Role::System,
            _ => Role::User,
        }
    }
}

impl<'b> Place<'b> {
    fn from_path(path: &[Step<'b>]) -> Option<Self> {
        let (Step::Key(root), below) = path.split_first()? else {
            return None;
        };
        let (message, block) = match below {
            [
                Step::Index(message),
                Step::Key("content"),
                Step::Index(block),
                ..,
            ] => (Some(*message), Some(*block)),
            [Step::Index(message), ..] => (Some(*message), None),
            _ => (None, None),
        };
        Some(Self {
            root,
            message,
            block,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::read;
    use crate::role::Role::{Assistant, Developer, System, Tool, User};

    #[test]
    fn each_text_has_its_role() {
        for (body, texts) in [
            (
                r#"{"messages":[{"content":"a","role":"system"},{"role":"developer","content":"b"},{"role":"user","content":[{"type":"text","text":"c"}]},{"role":"assistant","tool_calls":[{"type":"function","function":{"arguments":"d"}}]},{"role":"tool","content":"e"}]}"#,
                vec![
                    ("a", System),
                    ("b", Developer),
                    ("c", User),
                    ("d", Assistant),
                    ("e", Tool),
                ],
            ),
            (
                r#"{"system":[{"type":"text","text":"a"}],"messages":[{"content":[{"content":[{"type":"text","text":"b"}],"type":"tool_result"},{"type":"text","text":"c"}],"role":"user"},{"role":"assistant","content":[{"type":"tool_use","input":{"x":"d"}}]}]}"#,
                vec![("a", System), ("b", Tool), ("c", User), ("d", Assistant)],
            ),
            (
                r#"{"instructions":"a","input":[{"role":"user","content":"b"},{"type":"function_call","arguments":"c"},{"type":"function_call_output","output":"d"}]}"#,
                vec![("a", System), ("b", User), ("c", Assistant), ("d", Tool)],
            ),
            (r#"{"input":"a"}"#, vec![("a", User)]),
            (r#"{"prompt":"a","model":"m"}"#, vec![("a", User)]),
        ] {
            let found: Vec<_> = read(body)
                .unwrap()
                .into_iter()
                .map(|text| (&body[text.range], text.role))
                .collect();
            assert_eq!(found, texts, "{body}");
        }
    }
}
