//! Whether an error may repeat a text of the request.

use super::received_error::ReceivedError;
use memchr::memchr2;
use std::borrow::Cow;

/// Shorter texts of a request, such as roles, occur in errors by chance.
const TEXT_BYTES_MIN: usize = 8;
/// A provider may cut a long text, so that only so much of its beginning is compared.
const TEXT_BYTES_MAX: usize = 24;
/// Larger requests are not searched.
const REQUEST_BYTES_MAX: usize = 1 << 20;

/// So much of an error without messages in known places is searched.
const ERROR_BYTES_MAX: usize = 4096;

/// Whether a message of `error` may repeat a text of `request`, other than the name of its model. `true` if that cannot be
/// ruled out, since the request is large or no JSON object.
pub fn may_quote(error: &[u8], request: &[u8]) -> bool {
    if request.len() > REQUEST_BYTES_MAX || !request.trim_ascii_start().starts_with(b"{") {
        return true;
    }
    let messages = ReceivedError::from_event(error).messages;
    let mut messages: Vec<_> = messages.into_iter().map(|(_, message)| message).collect();
    if messages.is_empty() {
        let start = &error[..error.len().min(ERROR_BYTES_MAX)];
        messages.push(String::from_utf8_lossy(start));
    }
    let mut texts = RequestTextIterator {
        rest: request,
        key: b"",
    };
    texts.any(|text| {
        let start = &text[..text.floor_char_boundary(TEXT_BYTES_MAX)];
        start.len() >= TEXT_BYTES_MIN && messages.iter().any(|message| message.contains(start))
    })
}

/// The texts in a JSON document, without keys and the names of models.
struct RequestTextIterator<'a> {
    rest: &'a [u8],
    /// The last key.
    key: &'a [u8],
}

impl<'a> Iterator for RequestTextIterator<'a> {
    type Item = Cow<'a, str>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let start = memchr::memchr(b'"', self.rest)?;
            let length = string_length(&self.rest[start + 1..])?;
            let quoted = &self.rest[start..start + length + 2];
            self.rest = &self.rest[start + length + 2..];
            let inner = &quoted[1..=length];
            if self.rest.trim_ascii_start().starts_with(b":") {
                self.key = inner;
                continue;
            }
            let text = match inner.contains(&b'\\') {
                true => serde_json::from_slice(quoted).ok().map(Cow::Owned),
                false => std::str::from_utf8(inner).ok().map(Cow::Borrowed),
            };
            if let Some(text) = text
                && self.key != b"model"
            {
                return Some(text);
            }
        }
    }
}

/// The length of a string whose opening quote is before `json`; `None` if it does not end.
fn string_length(json: &[u8]) -> Option<usize> {
    let mut at = 0;
    loop {
        at += memchr2(b'"', b'\\', json.get(at..)?)?;
        match json[at] {
            b'"' => return Some(at),
            _ => at += 2,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_repeated_text_of_the_request_differs_from_the_words_of_the_provider() {
        let error = |message: &str| {
            serde_json::json!({"error": {"type": "not_found_error", "message": message}})
                .to_string()
        };
        let request = r#"{"model":"claude-3-opus-20240229","user":"model: claude-4","messages":[{"role":"user",
            "content":"Your credit b\u0061lance is too low, they s\"aid"}],"tools":[{"name":"short"}]}"#;
        for (message, is_quoted) in [
            ("model: claude-3-opus-20240229", false),
            ("The model `claude-3-opus-20240229` does not exist.", false),
            ("model: claude-4", true),
            ("Invalid value: 'model: claude-4'.", true),
            ("Your credit balance is too low, they said", true),
            ("Your credit balance is too lo…", true),
            ("Your credit balance is gone", false),
            ("short messages of the user", false),
        ] {
            let error = error(message);
            let quotes = may_quote(error.as_bytes(), request.as_bytes());
            assert_eq!(quotes, is_quoted, "{message}");
        }
    }

    #[test]
    fn a_request_that_cannot_be_searched_may_be_quoted() {
        let error: &[u8] = br#"{"error":{"message":"model: claude-3"}}"#;
        let large = format!("{{\"prompt\":\"{}\"}}", "x".repeat(REQUEST_BYTES_MAX));
        for (error, request, is_quoted) in [
            (error, r#"{"model":"claude-3"}"#, false),
            (error, r#"{"model":"claude-3","user":"cut of"#, false),
            (error, "--boundary\r\n", true),
            (error, "", true),
            (error, &large, true),
            (b"", r#"{"user":"somebody"}"#, false),
            (b"<p>no page /somebody", r#"{"user":"somebody"}"#, true),
        ] {
            assert_eq!(may_quote(error, request.as_bytes()), is_quoted);
        }
    }
}
