//! The text of a whole body, for a service.

use bytes::Bytes;
use headgate_protocol::Protocol;
use headgate_protocol::json::escapes::decoded_escapes;
use headgate_protocol::json::{JsonDocument, JsonLimits};
use headgate_protocol::response_text::{TextForm, visit_document};

/// The texts of a whole body, in lines of their own.
pub(super) fn extract_text(
    protocol: Option<Protocol>,
    body: &Bytes,
    document: Option<&JsonDocument>,
) -> Result<String, String> {
    let Some(document) = document else {
        // Clients may decode what the service would see as other bytes: escapes, a byte order mark, UTF-16, events.
        let text = std::str::from_utf8(body).ok().filter(|text| {
            let start = text.trim_ascii_start();
            !start.starts_with(['{', '[', '\u{feff}'])
                && !text.contains('\0')
                && !start.starts_with("data:")
                && !start.starts_with("event:")
        });
        return match (protocol, text) {
            (None, Some(text)) => Ok(text.to_owned()),
            _ => Err("the response is not strict JSON".into()),
        };
    };
    let mut texts: Vec<String> = Vec::new();
    visit_document(
        protocol.map(|it| it.descriptor().texts),
        document,
        &mut |piece| {
            let text = piece.text.into_owned();
            if piece.form == TextForm::Plain {
                return texts.push(text);
            }
            let decoded = decoded_escapes(&text);
            let is_json = || {
                let json = Bytes::copy_from_slice(text.as_bytes());
                JsonDocument::parse(json, &JsonLimits::default()).is_ok()
            };
            let is_ambiguous = decoded != text && !is_json();
            texts.push(decoded);
            if is_ambiguous {
                // Not JSON after all: the tool may read it as it is written.
                texts.push(text);
            }
        },
    );
    Ok(texts.join("\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_of_tools_are_shown_decoded_with_their_keys() {
        for (protocol, body, text) in [
            (
                Protocol::Messages,
                r#"{"content":[{"type":"tool_use","id":"t","name":"f","input":{"\u0042AD":"\u0042AD","id":"x"}}]}"#,
                "f\n{\"BAD\":\"BAD\",\"id\":\"x\"}",
            ),
            (
                Protocol::Chat,
                r#"{"choices":[{"message":{"tool_calls":[{"function":{"name":"f","arguments":"{\"a\":\"\\u0042AD\"}"}}]}}]}"#,
                "f\n{\"a\":\"BAD\"}",
            ),
            (
                Protocol::Responses,
                r#"{"object":"response","output":[{"type":"function_call","name":"f","arguments":"{\"model\":\"\\u0042AD\"}"}]}"#,
                "f\n{\"model\":\"BAD\"}",
            ),
            // JSON in a string of the arguments.
            (
                Protocol::Messages,
                r#"{"content":[{"input":{"a":"{\"b\":\"\\u0042AD\"}"}}]}"#,
                "{\"a\":\"{\"b\":\"\\u0042AD\"}\"}\n{\"b\":\"BAD\"}",
            ),
            // No JSON: as it is written, too.
            (
                Protocol::Chat,
                r#"{"choices":[{"message":{"tool_calls":[{"function":{"arguments":"\\bad"}}]}}]}"#,
                "\u{8}ad\n\\bad",
            ),
        ] {
            let body = Bytes::from_static(body.as_bytes());
            let document = JsonDocument::parse(body.clone(), &JsonLimits::default()).unwrap();
            let shown = extract_text(Some(protocol), &body, Some(&document));
            assert_eq!(shown.as_deref(), Ok(text), "{protocol:?}");
        }
    }
}
