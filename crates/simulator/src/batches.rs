//! Batches of a file and message batches: each has another status with each poll, and its results at the end.

mod answer;

use super::api_error::ApiError;
use super::batch_operation::{BatchApi, BatchOperation};
use super::batch_store::SimulatedBatch;
use super::endpoint_result::SuccessfulResponse;
use super::json::JsonText;
use super::model_request::{required_list, required_text};
use super::provider_state::ProviderState;
use super::query;
use super::request_context::RequestContext;
use super::responses::ResponseStore;
use answer::{answers_to_file, answers_to_list};
use serde_json::Value;

/// The type of results.
const RESULTS_TYPE: &str = "application/x-jsonl";
/// Batches in a list whose request names no limit.
const LISTED: usize = 20;

/// Performs an operation on the batches of the account.
///
/// # Errors
/// `404` if the account does not have the batch or its file, `400` if its requests are invalid.
pub fn respond(
    (api, operation): (BatchApi, BatchOperation<'_>),
    body: impl FnOnce() -> Result<Value, ApiError>,
    call: &RequestContext<'_>,
    provider: &ProviderState,
) -> Result<SuccessfulResponse, ApiError> {
    let batches = &provider.batches;
    let json = match operation {
        BatchOperation::Create => {
            let batch = match api {
                BatchApi::File => create_from_file(&body()?, call, &provider.responses)?,
                BatchApi::Messages => create_from_list(&body()?, call)?,
            };
            batches.put(batch)
        }
        BatchOperation::List => {
            let query = call.head.uri.query().unwrap_or_default();
            let limit = query::number(query, "limit").unwrap_or(LISTED);
            let after = ["after", "after_id"].iter();
            let after = after.flat_map(|name| query::values(query, name)).next();
            batches.list(api, call.account, limit, after.as_deref())
        }
        BatchOperation::Get(id) => batches.poll(api, call.account, id, |content| {
            let id = call.ids.next("file-");
            call.resources
                .add_file(call.account, &id, "output.jsonl", "batch_output", content);
            id
        })?,
        BatchOperation::Cancel(id) => batches.cancel(api, call.account, id)?,
        BatchOperation::Delete(id) => batches.delete(api, call.account, id)?,
        BatchOperation::Results(id) => {
            let results = batches.results(api, call.account, id)?;
            return Ok(SuccessfulResponse::Content(RESULTS_TYPE, results));
        }
    };
    Ok(SuccessfulResponse::Whole(json))
}

fn create_from_file(
    body: &Value,
    call: &RequestContext<'_>,
    responses: &ResponseStore,
) -> Result<SimulatedBatch, ApiError> {
    let file = required_text(body, "input_file_id")?;
    let endpoint = required_text(body, "endpoint")?;
    required_text(body, "completion_window")?;
    let content = call.resources.file_content(call.account, file)?;
    let results = answers_to_file(&content, endpoint, call, responses)?;
    let id = call.ids.next("batch_");
    let mut batch = SimulatedBatch::new(BatchApi::File, call.account, id, results);
    batch.file = file.to_owned();
    batch.endpoint = endpoint.to_owned();
    batch.metadata = JsonText::serialize(body.get("metadata").unwrap_or(&Value::Null));
    Ok(batch)
}

fn create_from_list(body: &Value, call: &RequestContext<'_>) -> Result<SimulatedBatch, ApiError> {
    if !call.head.headers.contains_key("anthropic-version") {
        return Err(ApiError::invalid("anthropic-version: header is required"));
    }
    let results = answers_to_list(required_list(body, "requests")?, call)?;
    let id = call.ids.next("msgbatch_");
    Ok(SimulatedBatch::new(
        BatchApi::Messages,
        call.account,
        id,
        results,
    ))
}
