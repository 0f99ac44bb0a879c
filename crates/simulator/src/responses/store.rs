//! Stored responses: retrieved, cancelled, deleted and continued by their id.

use crate::api_error::ApiError;
use crate::json::{JsonText, object};
use crate::model_request;
use bytes::Bytes;
use serde_json::{Value, json};
use std::collections::{HashMap, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};
use tokio::time::Instant;

const MAX_RESPONSES: usize = 1_000;

/// The maximum size of all responses and their requests in bytes; the oldest are removed first.
const MAX_BYTES: usize = 128 << 20;

/// The stored responses; the oldest are removed first.
#[derive(Default)]
pub struct ResponseStore(Mutex<ResponseTable>);

/// A stored response.
pub struct StoredResponse {
    /// The final response object.
    pub finished: Bytes,
    /// The body of the request that created it.
    pub request: Bytes,
    pub background: Option<BackgroundResponse>,
}

/// A background response.
pub struct BackgroundResponse {
    /// When it ends.
    pub due: Instant,
    /// The response object until then.
    pub running: Bytes,
    /// The response object if it is cancelled before.
    pub cancelled: Bytes,
    pub is_cancelled: bool,
}

#[derive(Default)]
struct ResponseTable {
    responses: HashMap<String, StoredResponse>,
    /// Keys in the order of storing, with those that were deleted.
    order: VecDeque<String>,
    bytes: usize,
}

impl ResponseStore {
    pub fn put(&self, account: &str, id: &str, response: StoredResponse) {
        let mut table = self.lock();
        table.bytes += response.bytes();
        let key = key(account, id);
        table.responses.insert(key.clone(), response);
        table.order.push_back(key);
        while table.order.len() > MAX_RESPONSES || table.bytes > MAX_BYTES {
            let Some(oldest) = table.order.pop_front() else {
                break;
            };
            table.remove(&oldest);
        }
    }

    pub fn holds(&self, account: &str, id: &str) -> bool {
        self.lock().responses.contains_key(&key(account, id))
    }

    /// The response object as it is now.
    ///
    /// # Errors
    /// `404` if no such response is stored, here and below.
    pub fn get(&self, account: &str, id: &str) -> Result<Bytes, ApiError> {
        let table = self.lock();
        let stored = table
            .responses
            .get(&key(account, id))
            .ok_or_else(|| unknown(id))?;
        Ok(stored.now())
    }

    /// Cancels a background response; one that has ended is not changed.
    ///
    /// # Errors
    /// `400` if it is not a background response.
    pub fn cancel(&self, account: &str, id: &str) -> Result<Bytes, ApiError> {
        let mut table = self.lock();
        let stored = table
            .responses
            .get_mut(&key(account, id))
            .ok_or_else(|| unknown(id))?;
        let background = stored.background.as_mut();
        let background =
            background.ok_or_else(|| ApiError::invalid("Cannot cancel a synchronous response."))?;
        background.is_cancelled |= Instant::now() < background.due;
        Ok(stored.now())
    }

    /// Deletes the response.
    pub fn delete(&self, account: &str, id: &str) -> Result<JsonText, ApiError> {
        self.lock()
            .remove(&key(account, id))
            .ok_or_else(|| unknown(id))?;
        Ok(object! {"id": id, "object": "response", "deleted": true})
    }

    /// The input items, the latest first.
    pub fn input_items(&self, account: &str, id: &str) -> Result<JsonText, ApiError> {
        let request = {
            let table = self.lock();
            let stored = table
                .responses
                .get(&key(account, id))
                .ok_or_else(|| unknown(id))?;
            stored.request.clone()
        };
        let request: Value = serde_json::from_slice(&request).unwrap_or_default();
        let items = listed_items(&request, id);
        let item_id =
            |item: Option<&Value>| item.map(|item| model_request::text_at(item, "id").to_owned());
        Ok(object! {
            "object": "list",
            "data": items,
            "first_id": item_id(items.first()),
            "last_id": item_id(items.last()),
            "has_more": false,
        })
    }

    fn lock(&self) -> MutexGuard<'_, ResponseTable> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ResponseTable {
    fn remove(&mut self, id: &str) -> Option<StoredResponse> {
        let stored = self.responses.remove(id)?;
        self.bytes -= stored.bytes();
        Some(stored)
    }
}

impl StoredResponse {
    fn bytes(&self) -> usize {
        self.finished.len() + self.request.len()
    }

    fn now(&self) -> Bytes {
        let state = match &self.background {
            Some(background) if background.is_cancelled => &background.cancelled,
            Some(background) if Instant::now() < background.due => &background.running,
            _ => &self.finished,
        };
        state.clone()
    }
}

/// The key of a response, by account: an account sees only its own responses.
fn key(account: &str, id: &str) -> String {
    format!("{account} {id}")
}

fn unknown(id: &str) -> ApiError {
    ApiError::not_found(format!("Response with id '{id}' not found."))
}

fn listed_items(request: &Value, id: &str) -> Vec<Value> {
    let message = |text: &str| json!({"role": "user", "content": text});
    let given = match request.get("input") {
        Some(Value::String(text)) => vec![message(text)],
        Some(Value::Array(items)) => items.clone(),
        _ => vec![],
    };
    let numbered = given.into_iter().enumerate();
    let mut items: Vec<_> = numbered
        .map(|(n, item)| listed(item, &format!("item_{id}_{n}")))
        .collect();
    items.reverse();
    items
}

/// An input item in a list: with an id, a type and its text as a content part.
fn listed(mut item: Value, id: &str) -> Value {
    let Some(members) = item.as_object_mut() else {
        return item;
    };
    members.entry("id").or_insert_with(|| id.into());
    if members.contains_key("role") {
        members.entry("type").or_insert_with(|| "message".into());
        members
            .entry("status")
            .or_insert_with(|| "completed".into());
    }
    if let Some(content) = members.get_mut("content")
        && let Some(text) = content.as_str()
    {
        *content = json!([{"type": "input_text", "text": text}]);
    }
    item
}
