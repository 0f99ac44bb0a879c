//! The body of a local reply, in the shape of the request's protocol, and which bodies are JSON.

use crate::decode::encode;

/// The body of an error. Callers of `/v1/messages` read another shape than all others, which has no code.
pub fn error_body(path: &str, kind: &str, code: &str, message: &str) -> String {
    let [kind, code, message] = [kind, code, message].map(|text| {
        let mut string = String::new();
        encode(text, &mut string);
        string
    });
    let path = path.split('?').next().unwrap_or_default();
    if path.ends_with("/v1/messages") {
        return format!(r#"{{"type":"error","error":{{"type":"{kind}","message":"{message}"}}}}"#);
    }
    format!(r#"{{"error":{{"message":"{message}","type":"{kind}","code":"{code}"}}}}"#)
}

/// Whether a body is JSON: by its content type, or by its first byte, since providers read JSON without that header.
pub fn is_json(content_type: Option<&str>, body: &[u8]) -> bool {
    let first = body.iter().find(|byte| !byte.is_ascii_whitespace());
    content_type.is_some_and(is_json_type) || matches!(first, Some(b'{' | b'['))
}

/// Whether a content type is that of JSON.
pub fn is_json_type(content_type: &str) -> bool {
    let essence = content_type.split(';').next().unwrap_or_default();
    let essence = essence.trim().to_ascii_lowercase();
    essence == "application/json" || essence.ends_with("+json")
}

#[cfg(test)]
mod tests {
    use super::{error_body, is_json};

    #[test]
    fn the_shape_is_that_of_the_path() {
        let chat = r#"{"error":{"message":"\"m\"","type":"k","code":"c"}}"#;
        let messages = r#"{"type":"error","error":{"type":"k","message":"\"m\""}}"#;
        for (path, body) in [
            ("/v1/chat/completions", chat),
            ("/v1/messages", messages),
            ("/v1/messages?beta=true", messages),
            ("/v1/messages/batches", chat),
        ] {
            assert_eq!(error_body(path, "k", "c", "\"m\""), body, "{path}");
        }
    }

    #[test]
    fn a_body_is_json_by_its_type_or_its_first_byte() {
        for (content_type, body, expected) in [
            (Some("application/json"), "x", true),
            (Some("Application/JSON; charset=utf-8"), "", true),
            (Some("application/problem+json"), "", true),
            (Some("text/plain"), " \n{", true),
            (None, "[", true),
            (None, "", false),
            (Some("multipart/form-data; boundary=json"), "--json", false),
        ] {
            assert_eq!(
                is_json(content_type, body.as_bytes()),
                expected,
                "{content_type:?}"
            );
        }
    }
}
