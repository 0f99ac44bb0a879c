//! The batches of all accounts.

use super::api_error::ApiError;
use super::batch_operation::BatchApi;
use super::clock;
use super::json::{JsonText, NULL, object};
use bytes::Bytes;
use http::StatusCode;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The maximum number of batches; the oldest are removed first.
const BATCHES_MAX: usize = 1_000;

/// All batches of all accounts, the oldest first.
#[derive(Default)]
pub struct BatchStore(Mutex<Vec<SimulatedBatch>>);

/// A batch. Its status changes with each poll.
pub struct SimulatedBatch {
    api: BatchApi,
    account: String,
    id: String,
    pub file: String,
    pub endpoint: String,
    pub metadata: JsonText,
    polls: u32,
    is_cancelled: bool,
    results: BatchResults,
    output: Option<String>,
    created_at: u64,
    created: String,
}

/// The results of a batch, one on each line.
#[derive(Default)]
pub struct BatchResults {
    pub lines: Vec<JsonText>,
    pub input_tokens: u64,
    pub output_tokens: u64,
}

impl BatchResults {
    /// The content of the file of results.
    pub fn content(&self) -> Bytes {
        let mut content = Vec::new();
        for line in &self.lines {
            content.extend_from_slice(line.as_bytes());
            content.push(b'\n');
        }
        content.into()
    }
}

impl SimulatedBatch {
    pub fn new(api: BatchApi, account: &str, id: String, results: BatchResults) -> Self {
        Self {
            api,
            account: account.to_owned(),
            id,
            file: String::new(),
            endpoint: String::new(),
            metadata: JsonText::serialize(&NULL),
            polls: 0,
            is_cancelled: false,
            results,
            output: None,
            created_at: clock::unix_seconds(),
            created: clock::utc_time(clock::unix_millis()),
        }
    }

    /// Whether the batch has ended, by the number of its polls.
    fn has_ended(&self) -> bool {
        self.polls >= if self.is_cancelled { 1 } else { 2 }
    }

    fn json(&self) -> JsonText {
        match self.api {
            BatchApi::File => self.file_batch(),
            BatchApi::Messages => self.message_batch(),
        }
    }

    fn file_batch(&self) -> JsonText {
        let status = match (self.is_cancelled, self.has_ended(), self.polls) {
            (true, true, _) => "cancelled",
            (true, false, _) => "cancelling",
            (false, true, _) => "completed",
            (false, false, 0) => "validating",
            (false, false, _) => "in_progress",
        };
        let total = self.results.lines.len();
        let completed = if status == "completed" { total } else { 0 };
        let (input, output) = match status {
            "completed" => (self.results.input_tokens, self.results.output_tokens),
            _ => (0, 0),
        };
        let usage = object! {
            "input_tokens": input, "input_tokens_details": object! {"cached_tokens": 0_u64},
            "output_tokens": output, "output_tokens_details": object! {"reasoning_tokens": 0_u64},
            "total_tokens": input + output,
        };
        object! {
            "id": self.id, "object": "batch", "endpoint": self.endpoint, "errors": NULL,
            "input_file_id": self.file, "completion_window": "24h", "status": status,
            "output_file_id": self.output, "error_file_id": NULL, "created_at": self.created_at,
            "expires_at": self.created_at + 86_400,
            "request_counts": object! {"total": total, "completed": completed, "failed": 0_u64},
            "usage": usage, "metadata": self.metadata,
        }
    }

    fn message_batch(&self) -> JsonText {
        let total = self.results.lines.len();
        let status = match (self.has_ended(), self.is_cancelled) {
            (true, _) => "ended",
            (false, true) => "canceling",
            (false, false) => "in_progress",
        };
        let (succeeded, canceled) = match (self.has_ended(), self.is_cancelled) {
            (true, false) => (total, 0),
            (true, true) => (0, total),
            (false, _) => (0, 0),
        };
        let url = format!(
            "https://api.provider.example/v1/messages/batches/{}/results",
            self.id
        );
        object! {
            "id": self.id, "type": "message_batch", "processing_status": status,
            "request_counts": object! {
                "processing": total - succeeded - canceled, "succeeded": succeeded, "errored": 0_u64,
                "canceled": canceled, "expired": 0_u64,
            },
            "ended_at": self.has_ended().then_some(&self.created), "created_at": self.created,
            "expires_at": self.created, "archived_at": NULL,
            "cancel_initiated_at": self.is_cancelled.then_some(&self.created),
            "results_url": self.has_ended().then_some(url),
        }
    }
}

impl BatchStore {
    /// Adds a batch.
    pub fn put(&self, batch: SimulatedBatch) -> JsonText {
        let mut batches = self.lock();
        let json = batch.json();
        batches.push(batch);
        if batches.len() > BATCHES_MAX {
            batches.remove(0);
        }
        json
    }

    /// The next status of a batch; `write` stores its results as a file, and returns the id.
    pub fn poll(
        &self,
        api: BatchApi,
        account: &str,
        id: &str,
        write: impl FnOnce(Bytes) -> String,
    ) -> Result<JsonText, ApiError> {
        let mut batches = self.lock();
        let batch = find(&mut batches, api, account, id)?;
        batch.polls += 1;
        let has_output = api == BatchApi::File && batch.has_ended() && !batch.is_cancelled;
        if has_output && batch.output.is_none() {
            batch.output = Some(write(batch.results.content()));
        }
        Ok(batch.json())
    }

    pub fn cancel(&self, api: BatchApi, account: &str, id: &str) -> Result<JsonText, ApiError> {
        let mut batches = self.lock();
        let batch = find(&mut batches, api, account, id)?;
        if batch.has_ended() {
            let message = "Cannot cancel a batch that has ended.";
            return Err(ApiError::new(StatusCode::CONFLICT, message));
        }
        batch.is_cancelled = true;
        batch.polls = 0;
        Ok(batch.json())
    }

    pub fn delete(&self, api: BatchApi, account: &str, id: &str) -> Result<JsonText, ApiError> {
        let mut batches = self.lock();
        if !find(&mut batches, api, account, id)?.has_ended() {
            return Err(ApiError::invalid(
                "A batch that is in progress cannot be deleted.",
            ));
        }
        batches.retain(|batch| batch.id != id);
        Ok(object! {"id": id, "type": "message_batch_deleted"})
    }

    pub fn results(&self, api: BatchApi, account: &str, id: &str) -> Result<Bytes, ApiError> {
        let mut batches = self.lock();
        let batch = find(&mut batches, api, account, id)?;
        match batch.has_ended() {
            true => Ok(batch.results.content()),
            false => Err(ApiError::not_found("The batch has no results yet.")),
        }
    }

    /// The batches of an account after `after`, the newest first.
    pub fn list(
        &self,
        api: BatchApi,
        account: &str,
        limit: usize,
        after: Option<&str>,
    ) -> JsonText {
        let batches = self.lock();
        let own = batches.iter().rev();
        let own = own.filter(|batch| batch.account == account && batch.api == api);
        let own: Vec<&SimulatedBatch> = own.collect();
        let start = after.and_then(|id| own.iter().position(|batch| batch.id == id));
        let rest = &own[start.map_or(0, |index| index + 1)..];
        let page = &rest[..rest.len().min(limit)];
        let data: Vec<JsonText> = page.iter().map(|batch| batch.json()).collect();
        object! {
            "object": "list", "data": data,
            "first_id": page.first().map(|batch| &batch.id),
            "last_id": page.last().map(|batch| &batch.id),
            "has_more": rest.len() > page.len(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Vec<SimulatedBatch>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn find<'b>(
    batches: &'b mut [SimulatedBatch],
    api: BatchApi,
    account: &str,
    id: &str,
) -> Result<&'b mut SimulatedBatch, ApiError> {
    let mut batches = batches.iter_mut();
    let found =
        batches.find(|batch| batch.api == api && batch.account == account && batch.id == id);
    found.ok_or_else(|| ApiError::not_found(format!("No batch found with id '{id}'.")))
}
