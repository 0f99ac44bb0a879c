//! The texts of a whole body, for a service.

use super::arguments::{decoded_arguments, plain_json};
use super::payload_selection::PayloadFormat;
use super::service_payload::{PlacedText, TextPlace};
use bytes::Bytes;
use headgate_protocol::Protocol;
use headgate_protocol::json::JsonDocument;
use headgate_protocol::response_text::{ResponseText, TextForm, visit_document};

/// The texts of a whole body.
pub(super) fn extract_texts(
    format: PayloadFormat,
    protocol: Option<Protocol>,
    body: &Bytes,
    document: Option<&JsonDocument>,
) -> Result<Vec<PlacedText>, String> {
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
            (None, Some(text)) => Ok(vec![PlacedText::fixed(text.to_owned())]),
            _ => Err("the response is not strict JSON".into()),
        };
    };
    let mut texts = Vec::new();
    let places = protocol.map(|it| it.descriptor().texts);
    visit_document(places, document, &mut |piece| {
        let ResponseText {
            text, form, place, ..
        } = piece;
        let place = |is_arguments| {
            let span = place.clone()?;
            Some(TextPlace { span, is_arguments })
        };
        let plain = match (form, format) {
            (TextForm::Plain, _) => {
                let place = place(false);
                let text = text.into_owned();
                return texts.push(PlacedText { text, place });
            }
            (TextForm::Json, PayloadFormat::Litellm) => plain_json(&text),
            (TextForm::Json, PayloadFormat::Headgate) => None,
        };
        match plain {
            Some(text) => {
                let place = place(true);
                texts.push(PlacedText { text, place });
            }
            None => texts.extend(decoded_arguments(&text).map(PlacedText::fixed)),
        }
    });
    Ok(texts)
}

#[cfg(test)]
mod tests {
    use super::*;
    use headgate_protocol::json::JsonLimits;

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
            let format = PayloadFormat::Headgate;
            let shown = extract_texts(format, Some(protocol), &body, Some(&document)).unwrap();
            let shown: Vec<&str> = shown.iter().map(|shown| &*shown.text).collect();
            assert_eq!(shown.join("\n"), text, "{protocol:?}");
        }
    }
}
