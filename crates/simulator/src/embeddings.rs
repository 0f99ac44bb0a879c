//! Embeddings, as OpenAI's API reference defines them: a vector for each text, without streams.

use super::api_error::ApiError;
use super::endpoint_result::SuccessfulResponse;
use super::json::{JsonText, object};
use super::model_request::{missing, required_text};
use super::request_context::RequestContext;
use super::text;
use serde_json::Value;

/// The numbers of a vector.
const DIMENSIONS: usize = 8;

/// Responds to a request for embeddings.
pub fn embed(body: &Value, call: &RequestContext) -> Result<SuccessfulResponse, ApiError> {
    let model = required_text(body, "model")?;
    let texts = texts(body)?;
    let vectors = texts.iter().enumerate().map(|(index, text)| {
        object! {"object": "embedding", "index": index, "embedding": vector(text)}
    });
    let vectors: Vec<JsonText> = vectors.collect();
    let tokens: u64 = texts.iter().map(|text| text::tokens(text.len())).sum();
    let usage = object! {"prompt_tokens": tokens, "total_tokens": tokens};
    let usage = (!call.directives.no_usage).then_some(usage);
    Ok(SuccessfulResponse::Whole(object! {
        "object": "list", "data": vectors, "model": model, "usage": usage,
    }))
}

/// The text or texts of `input`.
fn texts(body: &Value) -> Result<Vec<&str>, ApiError> {
    let input = match body.get("input") {
        None => return Err(missing("input")),
        Some(Value::Array(texts)) => texts.iter().map(Value::as_str).collect(),
        Some(text) => Some(text.as_str().into_iter().collect()),
    };
    let input = input.filter(|texts: &Vec<&str>| !texts.is_empty());
    input.ok_or_else(|| {
        ApiError::invalid("'input' must be a string or a list of strings.")
            .param("input")
            .code("invalid_value")
    })
}

/// A vector that depends on the bytes of the text only.
fn vector(text: &str) -> [f64; DIMENSIONS] {
    let mut sums = [0_u32; DIMENSIONS];
    for (index, byte) in text.bytes().enumerate() {
        let sum = &mut sums[index % DIMENSIONS];
        *sum = sum.wrapping_add(u32::from(byte));
    }
    sums.map(|sum| f64::from(sum % 256) / 256.0)
}
