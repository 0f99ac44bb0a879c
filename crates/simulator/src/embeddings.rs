//! Embeddings, as OpenAI's API reference defines them: a vector for each text, without streams.

use super::api_error::ApiError;
use super::endpoint_result::SuccessfulResponse;
use super::json::{JsonText, object};
use super::model_request::{required_text, text_at};
use super::request_context::RequestContext;
use super::text_inputs;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

/// The numbers of a vector, without `dimensions`.
const DIMENSIONS: usize = 8;
/// The most that `dimensions` may be.
const DIMENSIONS_MAX: u64 = 4096;

/// Responds to a request for embeddings.
pub fn embed(body: &Value, call: &RequestContext) -> Result<SuccessfulResponse, ApiError> {
    let model = required_text(body, "model")?;
    let inputs = text_inputs::read(body, "input")?;
    let dimensions = dimensions(body)?;
    // SDKs request base64 unless told otherwise, and some read nothing else then.
    let is_base64 = text_at(body, "encoding_format") == "base64";
    let vectors = inputs.iter().enumerate().map(|(index, input)| {
        let vector = vector(&input.text, dimensions);
        let vector = match is_base64 {
            true => JsonText::serialize(&encoded(&vector)),
            false => JsonText::serialize(&vector),
        };
        object! {"object": "embedding", "index": index, "embedding": vector}
    });
    let vectors: Vec<JsonText> = vectors.collect();
    let tokens: u64 = inputs.iter().map(|input| input.tokens).sum();
    let usage = object! {"prompt_tokens": tokens, "total_tokens": tokens};
    let usage = (!call.directives.no_usage).then_some(usage);
    Ok(SuccessfulResponse::Whole(object! {
        "object": "list", "data": vectors, "model": model, "usage": usage,
    }))
}

fn dimensions(body: &Value) -> Result<usize, ApiError> {
    let Some(wanted) = body.get("dimensions").filter(|value| !value.is_null()) else {
        return Ok(DIMENSIONS);
    };
    let wanted = wanted.as_u64().filter(|n| (1..=DIMENSIONS_MAX).contains(n));
    let wanted = wanted.and_then(|n| usize::try_from(n).ok());
    wanted.ok_or_else(|| {
        let expected = format!("'dimensions' must be an integer from 1 to {DIMENSIONS_MAX}.");
        let error = ApiError::invalid(expected).param("dimensions");
        error.code("invalid_value")
    })
}

/// A vector that depends on the bytes of the text only.
fn vector(text: &str, dimensions: usize) -> Vec<f32> {
    let mut sums = vec![0_u8; dimensions];
    for (index, byte) in text.bytes().enumerate() {
        let sum = &mut sums[index % dimensions];
        *sum = sum.wrapping_add(byte);
    }
    sums.into_iter().map(|sum| f32::from(sum) / 256.0).collect()
}

/// The numbers as little-endian floats of 32 bits, in base64.
fn encoded(vector: &[f32]) -> String {
    let bytes: Vec<u8> = vector.iter().flat_map(|n| n.to_le_bytes()).collect();
    STANDARD.encode(bytes)
}
