//! Replaces the personal data of a request's text.

use crate::config::Redact;
use crate::placeholder::PlaceholderTable;
use json_text::{Edit, NotJson, ValueKind, apply, decode, is_prompt_text, walk};

/// The body with placeholders, and their table; no body if it has no personal data.
pub fn redact(redact: &Redact, body: &str) -> Result<(Option<String>, PlaceholderTable), NotJson> {
    let mut table = PlaceholderTable::new(body);
    let mut edits = Vec::new();
    walk(body, &mut |path, value| {
        let is_field = |name: &str| redact.fields.iter().any(|field| field == name);
        if value.kind != ValueKind::String || !is_prompt_text(path, is_field) {
            return;
        }
        let string = decode(&body[value.range.clone()]);
        for finding in redact.detector.find(&string.text) {
            let place = string.place(finding.range.clone());
            let data = &string.text[finding.range];
            edits.push(Edit {
                range: value.range.start + place.start..value.range.start + place.end,
                text: table.placeholder(finding.name, data).to_owned(),
            });
        }
    })?;
    let edited = (!edits.is_empty()).then(|| apply(body, &edits));
    Ok((edited, table))
}

#[cfg(test)]
mod tests {
    use super::redact;
    use crate::config::Redact;
    use crate::restore::restore;

    fn redacted(body: &str) -> Option<String> {
        redact(&Redact::new(b"").unwrap(), body).unwrap().0
    }

    #[test]
    fn only_the_text_is_edited() {
        for (body, expected) in [
            // Chat completions; white space, order and numbers stay.
            (
                r#"{ "user":"ann@x.io", "messages" : [{"content":"I am ann@x.io, not bob@x.io\n","role":"user"}],"temperature":1.50}"#,
                r#"{ "user":"ann@x.io", "messages" : [{"content":"I am [EMAIL_1], not [EMAIL_2]\n","role":"user"}],"temperature":1.50}"#,
            ),
            (
                r#"{"messages":[{"content":[{"type":"text","text":"ann@x.io"},{"type":"image_url","image_url":{"url":"ftp://ann@x.io"}}]}]}"#,
                r#"{"messages":[{"content":[{"type":"text","text":"[EMAIL_1]"},{"type":"image_url","image_url":{"url":"ftp://ann@x.io"}}]}]}"#,
            ),
            (
                r#"{"messages":[{"tool_calls":[{"function":{"arguments":"{\"to\":\"ann@x.io\"}"}}]}]}"#,
                r#"{"messages":[{"tool_calls":[{"function":{"arguments":"{\"to\":\"[EMAIL_1]\"}"}}]}]}"#,
            ),
            // Messages.
            (
                r#"{"system":"for ann@x.io","messages":[{"content":[{"type":"tool_use","input":{"to":{"mail":"bob@x.io"}}}]}]}"#,
                r#"{"system":"for [EMAIL_1]","messages":[{"content":[{"type":"tool_use","input":{"to":{"mail":"[EMAIL_2]"}}}]}]}"#,
            ),
            (
                r#"{"messages":[{"content":[{"type":"tool_result","content":[{"text":"ann@x.io"}]}]}]}"#,
                r#"{"messages":[{"content":[{"type":"tool_result","content":[{"text":"[EMAIL_1]"}]}]}]}"#,
            ),
            // Responses.
            (
                r#"{"input":"ann\u0040x.io é"}"#,
                r#"{"input":"[EMAIL_1] é"}"#,
            ),
            (
                r#"{"input":[{"content":[{"type":"input_text","text":"ann@x.io"}]},{"output":"bob@x.io"}],"instructions":"ann@x.io"}"#,
                r#"{"input":[{"content":[{"type":"input_text","text":"[EMAIL_1]"}]},{"output":"[EMAIL_2]"}],"instructions":"[EMAIL_1]"}"#,
            ),
            (r#"{"prompt":["ann@x.io"]}"#, r#"{"prompt":["[EMAIL_1]"]}"#),
        ] {
            assert_eq!(redacted(body).as_deref(), Some(expected));
        }
    }

    #[test]
    fn a_body_that_is_redacted_and_restored_is_the_same() {
        let config = br#"{"patterns":[{"name":"QUOTE","regex":"say .*?!"}]}"#;
        let settings = Redact::new(config).unwrap();
        for body in [
            r#"{"messages":[{"content":"ann@x.io,\tbob@x.io +49 30 1234567 \u00e9 [EMAIL_1]"}]}"#,
            r#"{"messages":[{"content":"card 4111 1111 1111 1111, DE89370400440532013000, say \"hi\"!"}]}"#,
            r#"{"input":[{"content":[{"text":"ann@x.ioann@x.io"},{"text":"[[ann@x.io]]"}]}]}"#,
        ] {
            let (redacted, table) = redact(&settings, body).unwrap();
            let redacted = redacted.unwrap();
            assert!(
                !redacted.contains("ann@") && !redacted.contains("4111"),
                "{redacted}"
            );
            assert_eq!(restore(&table, &redacted).unwrap().unwrap(), body);
        }
    }

    #[test]
    fn a_request_without_personal_data_has_no_edited_body() {
        for body in [
            r#"{"messages":[{"role":"user","content":"hello"}]}"#,
            r#"{"metadata":{"content":"ann@x.io"}}"#,
            r#"["ann@x.io"]"#,
            r#"{"input":[{"type":"input_image","image_url":"ann@x.io"}]}"#,
        ] {
            assert_eq!(redacted(body), None, "{body}");
        }
    }

    #[test]
    fn a_conversation_keeps_its_placeholders_as_it_grows() {
        let first = r#"{"messages":[{"content":"ann@x.io"}]}"#;
        let second =
            r#"{"messages":[{"content":"ann@x.io"},{"content":"of bob@x.io and ann@x.io"}]}"#;
        assert_eq!(
            redacted(first).unwrap(),
            r#"{"messages":[{"content":"[EMAIL_1]"}]}"#
        );
        assert_eq!(
            redacted(second).unwrap(),
            r#"{"messages":[{"content":"[EMAIL_1]"},{"content":"of [EMAIL_2] and [EMAIL_1]"}]}"#
        );
    }
}
