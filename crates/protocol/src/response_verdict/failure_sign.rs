//! Signs of a failure in a body that has no result.

use crate::json::skim;
use std::ops::Range;

/// Members with a code of the provider's own.
const CODES: [&[u8]; 9] = [
    b"code",
    b"status_code",
    b"error_code",
    b"errorCode",
    b"errcode",
    b"err_code",
    b"errno",
    b"ret_code",
    b"retcode",
];
/// Members with a text about an error, if there is no result.
const MESSAGES: [&[u8]; 8] = [
    b"message",
    b"Message",
    b"reason",
    b"msg",
    b"error_msg",
    b"errmsg",
    b"error_message",
    b"detail",
];
/// Texts that codes of successes have, in lower case.
const SUCCESS_WORDS: [&str; 5] = ["", "0", "200", "ok", "success"];

/// The signs in the members that were walked.
#[derive(Debug, Default)]
struct FailureSigns {
    /// A member that only failures have.
    is_reported: bool,
    /// Whether the body's code is that of a failure; `None` without a code.
    is_code_failed: Option<bool>,
    has_message: bool,
}

/// Whether the members of an object without a result make it a failure. A message counts only if no code says that it is
/// about a success.
pub fn has_failure_sign(json: &[u8]) -> bool {
    let mut signs = FailureSigns::default();
    for (key, value) in skim::members(json, 0..json.len()) {
        signs.note(json, key, value);
    }
    signs.is_reported || signs.is_code_failed.unwrap_or(signs.has_message)
}

impl FailureSigns {
    /// Takes a member of the body.
    fn note(&mut self, json: &[u8], key: &[u8], value: Range<usize>) {
        let text = &json[value.clone()];
        self.is_reported |= match key {
            b"error" => is_report(text) || text == b"true" || matches!(text, [b'1'..=b'9', ..]),
            // The others are those of AWS, of its functions, and of Apigee.
            b"errors" | b"Error" | b"__type" | b"errorMessage" | b"fault" => is_report(text),
            // The first is that of vLLM, the second that of the messages protocol.
            b"object" | b"type" => text == b"\"error\"",
            b"status" if text.starts_with(b"\"") => {
                matches!(text, b"\"failed\"" | b"\"fail\"" | b"\"error\"")
            }
            b"success" | b"ok" => text == b"false",
            // A task of DashScope, in place of a result.
            b"output" => skim::members(json, value)
                .any(|(key, value)| key == b"task_status" && json[value] == *b"\"FAILED\""),
            // MiniMax, Spark, Tencent Cloud, Volcengine.
            b"base_resp" => inner_code(json, value, b"status_code"),
            b"header" => inner_code(json, value, b"code"),
            b"Response" | b"ResponseMetadata" => {
                skim::members(json, value).any(|(key, _)| key == b"Error")
            }
            _ => {
                self.note_text(json, key, value);
                false
            }
        };
    }

    fn note_text(&mut self, json: &[u8], key: &[u8], value: Range<usize>) {
        let is_numeric_status = key == b"status" && !json[value.clone()].starts_with(b"\"");
        if is_numeric_status || CODES.contains(&key) {
            if let Some(is_failed) = is_failed_code(json, value) {
                let known = self.is_code_failed.unwrap_or(false);
                self.is_code_failed = Some(known || is_failed);
            }
        } else if MESSAGES.contains(&key) {
            // An object is a message of the conversation, as in successes of the APIs of Cohere and Ollama.
            let is_conversation = key == b"message" && json[value.start] == b'{';
            self.has_message |= !is_conversation && is_report(&json[value]);
        }
    }
}

/// The HTTP status that the code of an error is, from 400 to 599: `{"error":{"code":429}}`, `{"code":"503"}`.
pub fn reported_status(body: &[u8]) -> Option<u16> {
    const PLACES: [&[&str]; 6] = [
        &["error", "code"],
        &["error", "status"],
        &["error", "status_code"],
        &["code"],
        &["status"],
        &["status_code"],
    ];
    PLACES.iter().find_map(|place| {
        let value = skim::find(body, place)?;
        let text = std::str::from_utf8(&body[value]).ok()?;
        let status = text.trim_matches('"').parse().ok()?;
        (400..600).contains(&status).then_some(status)
    })
}

/// Whether a value is a text, a list or an object that is not empty.
fn is_report(text: &[u8]) -> bool {
    let inner = match text {
        [b'"', inner @ .., b'"'] | [b'{', inner @ .., b'}'] | [b'[', inner @ .., b']'] => inner,
        _ => return false,
    };
    !inner.trim_ascii().is_empty()
}

fn inner_code(json: &[u8], object: Range<usize>, name: &[u8]) -> bool {
    let code = skim::members(json, object).find(|(key, _)| *key == name);
    code.is_some_and(|(_, value)| is_failed_code(json, value) == Some(true))
}

/// Whether a code is that of a failure; `None` if it is neither a number nor a text.
fn is_failed_code(json: &[u8], value: Range<usize>) -> Option<bool> {
    if let Some(word) = skim::plain_string(json, value.clone()) {
        return Some(!SUCCESS_WORDS.contains(&word.to_ascii_lowercase().as_str()));
    }
    let number: f64 = std::str::from_utf8(&json[value]).ok()?.parse().ok()?;
    Some(!(number == 0.0 || (200.0..300.0).contains(&number)))
}
