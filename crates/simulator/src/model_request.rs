//! A request to the simulated model, independent of its protocol.

use super::api_error::ApiError;
use serde_json::Value;

/// The parts of a request that affect the simulated model's output.
pub struct ModelRequest<'b> {
    pub last_user_text: String,
    pub input_tokens: u64,
    pub max_tokens: Option<u64>,
    pub tools: Vec<ToolDefinition<'b>>,
    pub tool_choice: ToolChoice<'b>,
    /// Whether a tool result follows the last user text.
    pub tool_result_came: bool,
    pub shape: OutputFormat<'b>,
}

/// A function that the model may call.
#[derive(Clone, Copy)]
pub struct ToolDefinition<'b> {
    pub name: &'b str,
    pub schema: Option<&'b Value>,
}

/// Which tool the model may or must call.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ToolChoice<'b> {
    Never,
    Auto,
    Any,
    ByName(&'b str),
}

/// The required format of the output.
#[derive(Clone, Copy)]
pub enum OutputFormat<'b> {
    Prose,
    AnyObject,
    Fitting(&'b Value),
}

impl<'b> ModelRequest<'b> {
    /// The tool that the model calls, if any.
    pub fn tool_to_call(&self) -> Option<ToolDefinition<'b>> {
        let first = self.tools.first().copied();
        match self.tool_choice {
            ToolChoice::Never => None,
            ToolChoice::Any => first,
            ToolChoice::ByName(name) => self.tools.iter().copied().find(|tool| tool.name == name),
            ToolChoice::Auto if self.tool_result_came => None,
            ToolChoice::Auto => first.filter(|_| speaks_of_tools(&self.last_user_text)),
        }
    }

    /// The tools that a model calls that may call several at once: those that the user names, or else one.
    pub fn tools_to_call(&self) -> Vec<ToolDefinition<'b>> {
        let may_choose = match self.tool_choice {
            ToolChoice::Never | ToolChoice::ByName(_) => false,
            ToolChoice::Any => true,
            ToolChoice::Auto => !self.tool_result_came,
        };
        let is_word = |letter: char| letter.is_alphanumeric() || matches!(letter, '_' | '-');
        let words = self.last_user_text.split(|letter| !is_word(letter));
        let mut named = self.tools.clone();
        named.retain(|tool| may_choose && words.clone().any(|word| word == tool.name));
        if named.is_empty() {
            named.extend(self.tool_to_call());
        }
        named
    }
}

/// The required text member `key`.
pub fn required_text<'b>(body: &'b Value, key: &'static str) -> Result<&'b str, ApiError> {
    let text = body
        .get(key)
        .and_then(Value::as_str)
        .filter(|text| !text.is_empty());
    text.ok_or_else(|| missing(key))
}

/// The required list member `key`, which must not be empty.
pub fn required_list<'b>(body: &'b Value, key: &'static str) -> Result<&'b [Value], ApiError> {
    let list = body
        .get(key)
        .and_then(Value::as_array)
        .filter(|list| !list.is_empty());
    list.map(Vec::as_slice).ok_or_else(|| missing(key))
}

/// The error for a request without its member `key`.
pub fn missing(key: &'static str) -> ApiError {
    ApiError::invalid(format!("Missing required parameter: '{key}'."))
        .param(key)
        .code("missing_required_parameter")
}

/// The text member `key` of `value`, or an empty text.
pub fn text_at<'b>(value: &'b Value, key: &str) -> &'b str {
    value.get(key).and_then(Value::as_str).unwrap_or_default()
}

/// The list member `key` of `value`, or an empty list.
pub fn list_at<'b>(value: &'b Value, key: &str) -> &'b [Value] {
    value
        .get(key)
        .and_then(Value::as_array)
        .map_or(&[], Vec::as_slice)
}

/// Whether the member `key` of `value` is `true`.
pub fn is_set(value: &Value, key: &str) -> bool {
    value.get(key).and_then(Value::as_bool).unwrap_or(false)
}

/// The text of a message's content: a string, or the text parts of a list.
pub fn content_text(message: &Value) -> String {
    match message.get("content") {
        Some(Value::String(text)) => text.clone(),
        Some(Value::Array(parts)) => {
            let texts = parts.iter().filter_map(|part| part.get("text")?.as_str());
            texts.collect::<Vec<_>>().join(" ")
        }
        _ => String::new(),
    }
}

/// The number of bytes of all text in `value` without keys, from which its tokens are estimated.
pub fn text_bytes(value: &Value) -> usize {
    match value {
        Value::String(text) => text.len(),
        Value::Array(items) => items.iter().map(text_bytes).sum(),
        Value::Object(members) => members.values().map(text_bytes).sum(),
        Value::Null | Value::Bool(_) | Value::Number(_) => 0,
    }
}

/// The tool choice in the OpenAI protocols; `name_at` is the pointer to the name in the object form.
pub fn openai_tool_choice<'b>(body: &'b Value, name_at: &str) -> ToolChoice<'b> {
    match body.get("tool_choice") {
        Some(Value::String(word)) if word == "none" => ToolChoice::Never,
        Some(Value::String(word)) if word == "required" => ToolChoice::Any,
        Some(choice @ Value::Object(_)) => match choice.pointer(name_at).and_then(Value::as_str) {
            Some(name) => ToolChoice::ByName(name),
            None if choice.get("mode").is_some_and(|mode| mode == "required") => ToolChoice::Any,
            None => ToolChoice::Auto,
        },
        _ => ToolChoice::Auto,
    }
}

/// The required format of the output; `schema_at` is the pointer to the schema in `format`.
pub fn shape<'b>(format: Option<&'b Value>, schema_at: &str) -> OutputFormat<'b> {
    let Some(format) = format else {
        return OutputFormat::Prose;
    };
    match (text_at(format, "type"), format.pointer(schema_at)) {
        ("json_schema", Some(schema)) => OutputFormat::Fitting(schema),
        ("json_schema" | "json_object", _) => OutputFormat::AnyObject,
        _ => OutputFormat::Prose,
    }
}

fn speaks_of_tools(text: &str) -> bool {
    text.split(|letter: char| !letter.is_alphanumeric())
        .any(|word| {
            ["weather", "tool", "tools"]
                .iter()
                .any(|sign| word.eq_ignore_ascii_case(sign))
        })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn ask<'b>(text: &str, choice: ToolChoice<'b>, tool_result_came: bool) -> ModelRequest<'b> {
        let names = ["first", "second"];
        ModelRequest {
            last_user_text: text.to_owned(),
            input_tokens: 1,
            max_tokens: None,
            tools: names
                .map(|name| ToolDefinition { name, schema: None })
                .to_vec(),
            tool_choice: choice,
            tool_result_came,
            shape: OutputFormat::Prose,
        }
    }

    #[test]
    fn a_tool_is_called_when_forced_or_spoken_of() {
        for (text, choice, came, called) in [
            ("hello", ToolChoice::Auto, false, None),
            (
                "What is the WEATHER?",
                ToolChoice::Auto,
                false,
                Some("first"),
            ),
            ("a stool", ToolChoice::Auto, false, None),
            ("use the tool", ToolChoice::Auto, true, None),
            ("use the tool", ToolChoice::Never, false, None),
            ("hello", ToolChoice::Any, false, Some("first")),
            ("hello", ToolChoice::ByName("second"), false, Some("second")),
            ("hello", ToolChoice::ByName("third"), false, None),
        ] {
            let tool = ask(text, choice, came).tool_to_call();
            assert_eq!(tool.map(|tool| tool.name), called, "{text} {choice:?}");
        }
    }

    #[test]
    fn several_tools_are_called_if_the_user_names_them() {
        for (text, choice, came, called) in [
            (
                "second, then first",
                ToolChoice::Auto,
                false,
                &["first", "second"][..],
            ),
            ("use the tool", ToolChoice::Auto, false, &["first"]),
            ("call second", ToolChoice::Any, true, &["second"]),
            ("call second", ToolChoice::Auto, true, &[]),
            (
                "call second",
                ToolChoice::ByName("first"),
                false,
                &["first"],
            ),
            ("first and second", ToolChoice::Never, false, &[]),
            ("firstly", ToolChoice::Auto, false, &[]),
        ] {
            let tools = ask(text, choice, came).tools_to_call();
            let names: Vec<&str> = tools.iter().map(|tool| tool.name).collect();
            assert_eq!(names, called, "{text} {choice:?}");
        }
    }

    #[test]
    fn the_tool_choice_is_read_in_all_its_forms() {
        for (written, read) in [
            (json!({}), ToolChoice::Auto),
            (json!({"tool_choice": "auto"}), ToolChoice::Auto),
            (json!({"tool_choice": "none"}), ToolChoice::Never),
            (json!({"tool_choice": "required"}), ToolChoice::Any),
            (
                json!({"tool_choice": {"function": {"name": "f"}}}),
                ToolChoice::ByName("f"),
            ),
            (
                json!({"tool_choice": {"type": "allowed_tools", "mode": "required"}}),
                ToolChoice::Any,
            ),
        ] {
            assert_eq!(
                openai_tool_choice(&written, "/function/name"),
                read,
                "{written}"
            );
        }
    }
}
