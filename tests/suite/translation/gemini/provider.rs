//! A provider of Gemini's protocol that checks requests as Google does.

use super::super::stream_response;
use crate::harness::http_response::json_response;
use crate::harness::{ScriptedProvider, ScriptedResponse};
use serde_json::{Value, json};
use std::sync::Arc;

/// What the provider answers.
#[derive(Clone)]
pub struct GeminiAnswer {
    /// Parts of the content, each in a chunk of its own if the request is for a stream.
    pub parts: Vec<Value>,
    pub finish: &'static str,
    pub usage: Value,
}

impl GeminiAnswer {
    fn whole(&self) -> Value {
        let content = json!({"role": "model", "parts": self.parts});
        json!({
            "candidates": [{"content": content, "finishReason": self.finish, "index": 0}],
            "usageMetadata": self.usage, "modelVersion": "m", "responseId": "r1",
        })
    }

    fn chunks(&self) -> Vec<Value> {
        let last = self.parts.len() - 1;
        let chunks = self.parts.iter().enumerate().map(|(at, part)| {
            let mut candidate = json!({"content": {"role": "model", "parts": [part]}, "index": 0});
            let mut usage = json!({"promptTokenCount": self.usage["promptTokenCount"]});
            if at == last {
                candidate["finishReason"] = json!(self.finish);
                usage = self.usage.clone();
            }
            json!({"candidates": [candidate], "usageMetadata": usage, "modelVersion": "m", "responseId": "r1"})
        });
        chunks.collect()
    }
}

/// Answers each request that Google would accept, and others with 400.
pub async fn answering(answer: GeminiAnswer) -> ScriptedProvider {
    let respond = move |request: &str| match request_fault(request) {
        Some(message) => refusal(&message),
        None if is_stream(request) => stream_response(&answer.chunks(), ""),
        None => json_response(200, answer.whole()),
    };
    ScriptedProvider::start(vec![ScriptedResponse::Call(Arc::new(respond))]).await
}

/// Answers each request with this body, in one chunk if it is for a stream.
pub async fn gemini(body: Value) -> ScriptedProvider {
    let respond = move |request: &str| match is_stream(request) {
        true => stream_response(std::slice::from_ref(&body), ""),
        false => json_response(200, &body),
    };
    ScriptedProvider::start(vec![ScriptedResponse::Call(Arc::new(respond))]).await
}

fn is_stream(request: &str) -> bool {
    request
        .lines()
        .next()
        .is_some_and(|line| line.contains(":streamGenerateContent?alt=sse"))
}

fn refusal(message: &str) -> Vec<u8> {
    let error = json!({"code": 400, "message": message, "status": "INVALID_ARGUMENT"});
    json_response(400, json!({"error": error}))
}

/// Why Google would refuse a request: contents alternate and end with the user, results follow their calls, one for each, and
/// the first call of each step in the last turn has its signature.
fn request_fault(request: &str) -> Option<String> {
    let (_, body) = request.split_once("\r\n\r\n")?;
    let body: Value = serde_json::from_str(body).ok()?;
    let contents = body["contents"].as_array()?;
    let names = |content: &Value, kind: &str| -> Vec<Value> {
        let parts = content["parts"].as_array().into_iter().flatten();
        parts
            .filter(|part| part.get(kind).is_some())
            .map(|part| part[kind]["name"].clone())
            .collect()
    };
    for (at, content) in contents.iter().enumerate() {
        let role = if at % 2 == 0 { "user" } else { "model" };
        if content["role"] != role {
            return Some(
                "Please ensure that multiturn requests alternate between user and model.".into(),
            );
        }
        let calls = match at {
            0 => Vec::new(),
            _ => names(&contents[at - 1], "functionCall"),
        };
        if names(content, "functionResponse") != calls {
            return Some("Please ensure that the number of function response parts is equal to the number of function call parts of the function call turn.".into());
        }
        let mut parts = content["parts"].as_array().into_iter().flatten();
        let first_call = parts.find(|part| part.get("functionCall").is_some());
        if let Some(call) = first_call.filter(|call| call.get("thoughtSignature").is_none()) {
            return Some(format!(
                "Function call is missing a thought_signature in functionCall parts: {}",
                call["functionCall"]["name"]
            ));
        }
    }
    (contents.len() % 2 == 0)
        .then(|| "Please ensure that multiturn requests end with a user role.".into())
}
