//! The results of a batch: each request is answered as if it came alone.

use crate::api_error::ApiError;
use crate::batch_store::BatchResults;
use crate::chat;
use crate::endpoint_result::SuccessfulResponse;
use crate::json::{JsonText, NULL, object};
use crate::messages;
use crate::model_request::{required_text, text_at};
use crate::request_context::RequestContext;
use crate::responses::{self, ResponseStore};
use crate::{completions, embeddings, moderations};
use bytes::Bytes;
use serde_json::Value;

/// The results of the lines of a file.
pub fn answers_to_file(
    file: &Bytes,
    endpoint: &str,
    call: &RequestContext<'_>,
    store: &ResponseStore,
) -> Result<BatchResults, ApiError> {
    let mut results = BatchResults::default();
    let text = String::from_utf8_lossy(file);
    for line in text.lines().filter(|line| !line.trim().is_empty()) {
        let line: Value = serde_json::from_str(line)
            .map_err(|error| ApiError::invalid(format!("This line is not parseable: {error}.")))?;
        if text_at(&line, "url") != endpoint {
            return Err(ApiError::invalid("The URL of a line is not the endpoint."));
        }
        let custom_id = required_text(&line, "custom_id")?;
        let body = line.get("body").unwrap_or(&Value::Null);
        let answer = match endpoint {
            "/v1/chat/completions" => chat::complete(body, call)?,
            "/v1/completions" => completions::complete(body, call)?,
            "/v1/embeddings" => embeddings::embed(body, call)?,
            "/v1/moderations" => moderations::moderate(body, call)?,
            "/v1/responses" => responses::create(body, &body.to_string().into(), call, store)?,
            _ => return Err(ApiError::invalid("Unknown endpoint.").param("endpoint")),
        };
        let answer = whole(answer)?;
        add_usage(&mut results, &answer);
        let response =
            object! {"status_code": 200_u64, "request_id": call.request_id, "body": answer};
        results.lines.push(object! {
            "id": call.ids.next("batch_req_"), "custom_id": custom_id, "response": response,
            "error": NULL,
        });
    }
    Ok(results)
}

/// The results of a list of requests.
pub fn answers_to_list(
    list: &[Value],
    call: &RequestContext<'_>,
) -> Result<BatchResults, ApiError> {
    let mut results = BatchResults::default();
    for entry in list {
        let custom_id = required_text(entry, "custom_id")?;
        let message = messages::create(entry.get("params").unwrap_or(&Value::Null), call)?;
        let message = whole(message)?;
        add_usage(&mut results, &message);
        let result = object! {"type": "succeeded", "message": message};
        results
            .lines
            .push(object! {"custom_id": custom_id, "result": result});
    }
    Ok(results)
}

fn whole(answer: SuccessfulResponse) -> Result<JsonText, ApiError> {
    match answer {
        SuccessfulResponse::Whole(json) => Ok(json),
        _ => Err(ApiError::invalid("A batch has no streams.").param("stream")),
    }
}

fn add_usage(results: &mut BatchResults, answer: &JsonText) {
    let answer: Value = serde_json::from_slice(answer.as_bytes()).unwrap_or_default();
    let usage = answer.get("usage").unwrap_or(&Value::Null);
    let count = |names: [&str; 2]| {
        let mut counts = names.iter().filter_map(|name| usage.get(*name)?.as_u64());
        counts.next().unwrap_or_default()
    };
    results.input_tokens += count(["prompt_tokens", "input_tokens"]);
    results.output_tokens += count(["completion_tokens", "output_tokens"]);
}
