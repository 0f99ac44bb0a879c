//! Ranks of documents: `/v1/rerank` as Jina's API defines it, with tokens, and `/v2/rerank` as Cohere's, with billed units.

use super::api_error::ApiError;
use super::endpoint::RerankApi;
use super::endpoint_result::SuccessfulResponse;
use super::json::{JsonText, OrderedJsonObject, object};
use super::model_request::{required_list, required_text, text_bytes};
use super::request_context::RequestContext;
use super::text;
use serde_json::Value;
use std::cmp::Reverse;

/// Responds to a request for ranks: documents with more words of the query come first.
pub fn rank(
    api: RerankApi,
    body: &Value,
    call: &RequestContext,
) -> Result<SuccessfulResponse, ApiError> {
    let model = required_text(body, "model")?;
    let query = required_text(body, "query")?;
    let documents = required_list(body, "documents")?;
    let mut ranks: Vec<(usize, usize)> = documents
        .iter()
        .map(|it| common(query, it))
        .enumerate()
        .collect();
    ranks.sort_by_key(|(_, words)| Reverse(*words));
    let wanted = body.get("top_n").and_then(Value::as_u64);
    ranks.truncate(wanted.map_or(ranks.len(), |wanted| wanted as usize));
    let results = ranks.into_iter().map(|(index, words)| {
        let score = words as f64 / (words + 1) as f64;
        object! {"index": index, "relevance_score": score}
    });
    let results: Vec<JsonText> = results.collect();
    let tokens = text::tokens(query.len() + documents.iter().map(text_bytes).sum::<usize>());
    let mut json = OrderedJsonObject::new();
    match api {
        RerankApi::Jina => {
            json.member("model", model);
            json.member("object", "list");
            json.member(
                "usage",
                &object! {"total_tokens": tokens, "prompt_tokens": tokens},
            );
            json.member("results", &results);
        }
        RerankApi::Cohere => {
            json.member("id", &call.ids.next("rerank-"));
            json.member("results", &results);
            let meta = object! {
                "api_version": object! {"version": "2"},
                "billed_units": object! {"search_units": 1},
                "tokens": object! {"input_tokens": tokens},
            };
            json.member("meta", &meta);
        }
    }
    Ok(SuccessfulResponse::Whole(json.end()))
}

/// The number of words of the query that a document has.
fn common(query: &str, document: &Value) -> usize {
    let document = document.to_string();
    query
        .split_whitespace()
        .filter(|word| document.contains(word))
        .count()
}
