//! Moderations, as OpenAI's API reference defines them: a result for each input. A text with the word `flagged` is.

use super::api_error::ApiError;
use super::endpoint_result::SuccessfulResponse;
use super::json::{JsonText, object};
use super::model_request::{missing, required_text};
use super::request_context::RequestContext;
use serde_json::Value;

/// Responds to a request for a moderation.
pub fn moderate(body: &Value, call: &RequestContext) -> Result<SuccessfulResponse, ApiError> {
    let model = required_text(body, "model")?;
    let inputs = match body.get("input").ok_or_else(|| missing("input"))? {
        Value::Array(inputs) => inputs.iter().collect(),
        input => vec![input],
    };
    let results: Vec<JsonText> = inputs.into_iter().map(result).collect();
    Ok(SuccessfulResponse::Whole(object! {
        "id": call.ids.next("modr-"), "model": model, "results": results,
    }))
}

fn result(input: &Value) -> JsonText {
    let is_flagged = input.to_string().contains("flagged");
    let score = if is_flagged { 0.98 } else { 0.01 };
    object! {
        "flagged": is_flagged,
        "categories": object! {"violence": is_flagged, "harassment": false},
        "category_scores": object! {"violence": score, "harassment": 0.01},
        "category_applied_input_types": object! {"violence": ["text"], "harassment": ["text"]},
    }
}
