//! Refusals by a schema, as FastAPI writes them: vLLM, SGLang and Mistral list what is wrong with a request.

use serde::Deserialize;
use serde_json::Value;

/// Problems that a message names.
const PROBLEMS_MAX: usize = 3;
/// Bytes of a message.
const MESSAGE_BYTES_MAX: usize = 1024;

#[derive(Deserialize)]
struct ValidationError {
    detail: Vec<Problem>,
}

#[derive(Deserialize)]
struct Problem {
    #[serde(default)]
    loc: Vec<Value>,
    msg: String,
}

/// The first problems of a body that is such a list, each with its place.
pub(super) fn validation_message(body: &[u8]) -> Option<String> {
    let error: ValidationError = serde_json::from_slice(body).ok()?;
    let named = error.detail.iter().take(PROBLEMS_MAX).map(Problem::text);
    let mut message = named.collect::<Vec<_>>().join("; ");
    message.truncate(message.floor_char_boundary(MESSAGE_BYTES_MAX));
    (!message.is_empty()).then_some(message)
}

impl Problem {
    /// Such as `messages.0.role: field required`.
    fn text(&self) -> String {
        let steps = self.loc.iter().filter(|step| *step != "body");
        let steps = steps.map(|step| match step {
            Value::String(name) => name.clone(),
            other => other.to_string(),
        });
        let place = steps.collect::<Vec<_>>().join(".");
        match place.is_empty() {
            true => self.msg.clone(),
            false => format!("{place}: {}", self.msg),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_of_problems_is_one_message() {
        for (body, expected) in [
            (
                r#"{"detail":[{"loc":["body","messages",0,"role"],"msg":"field required"},{"msg":"b"}]}"#,
                Some("messages.0.role: field required; b"),
            ),
            (r#"{"detail":[{"loc":["body"],"msg":"a"}]}"#, Some("a")),
            (r#"{"detail":[]}"#, None),
            (r#"{"detail":"Not Found"}"#, None),
            ("no", None),
        ] {
            let message = validation_message(body.as_bytes());
            assert_eq!(message.as_deref(), expected, "{body}");
        }
        let long = format!(r#"{{"detail":[{{"msg":"{}"}}]}}"#, "é".repeat(2000));
        let message = validation_message(long.as_bytes()).unwrap();
        assert_eq!(message.len(), MESSAGE_BYTES_MAX);
    }
}
