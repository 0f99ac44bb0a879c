//! The page `/callbacks`: events that wait for their delivery, and dead letters, which can be redriven.

use crate::callbacks::{CallbackRecords, Delivery};
use crate::observe::timestamp::rfc3339;
use crate::reload::Reloader;
use crate::serve::AppResponse;
use crate::state::StoreUnavailable;
use http::StatusCode;
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::{Duration, UNIX_EPOCH};

/// The maximum number of dead letters on the page.
const SHOWN_MAX: usize = 500;
/// The dead letters that are read at once to redrive them.
const PAGE: usize = 100;

/// Counts, and the first dead letters by their ids.
pub(super) async fn page(reloader: &Reloader) -> AppResponse {
    let records = CallbackRecords::new(reloader.state().clone());
    let read = async {
        let totals = records.totals().await?;
        let dead = records.dead_letters("", SHOWN_MAX).await?;
        let dead = dead.iter();
        let dead = dead.map(|(id, caller, delivery)| dead_letter(id, caller, delivery));
        Ok::<_, StoreUnavailable>(json!({
            "pending": totals.pending,
            "dead": totals.dead,
            "oldest_pending_seconds": totals.oldest_ms / 1_000,
            "dead_letters": dead.collect::<Vec<Value>>(),
        }))
    };
    match read.await {
        Ok(page) => AppResponse::json(StatusCode::OK, &page),
        Err(unavailable) => failed(&unavailable),
    }
}

/// Makes the dead letter that the query names due again, `id=evt_…`, or all of them, `all=true`.
pub(super) async fn redrive(reloader: &Reloader, query: &str) -> AppResponse {
    let records = CallbackRecords::new(reloader.state().clone());
    let redriven = match query.split_once('=') {
        Some(("id", id)) if Delivery::is_id(id) => records.redrive(id).await.map(u64::from),
        Some(("all", "true")) => redrive_all(&records).await,
        _ => {
            let error = "expected the query `id=evt_…` with the id of a dead letter, or `all=true`";
            return AppResponse::json(StatusCode::BAD_REQUEST, &json!({"error": error}));
        }
    };
    match redriven {
        Ok(0) if query.starts_with("id=") => AppResponse::json(
            StatusCode::NOT_FOUND,
            &json!({"error": "no dead letter has this id"}),
        ),
        Ok(count) => {
            reloader.callbacks().wake_deliveries();
            AppResponse::json(StatusCode::OK, &json!({"redriven": count}))
        }
        Err(unavailable) => failed(&unavailable),
    }
}

async fn redrive_all(records: &CallbackRecords) -> Result<u64, StoreUnavailable> {
    let mut redriven = 0;
    let mut after: Arc<str> = "".into();
    loop {
        let page = records.dead_letters(&after, PAGE).await?;
        let Some((last, ..)) = page.last() else {
            return Ok(redriven);
        };
        after = last.clone();
        for (id, ..) in &page {
            redriven += u64::from(records.redrive(id).await?);
        }
    }
}

/// Without the URL's path and query, and without the body: both are the caller's.
fn dead_letter(id: &str, caller: &str, delivery: &Delivery) -> Value {
    let created = UNIX_EPOCH + Duration::from_millis(delivery.created_ms);
    json!({
        "id": id,
        "caller": caller,
        "receiver": receiver(&delivery.url),
        "task_status": delivery.state.name(),
        "created": rfc3339(created),
        "attempts": delivery.attempts,
        "last_error": delivery.last_error,
    })
}

fn receiver(url: &str) -> String {
    let uri = url.parse::<http::Uri>().ok();
    let authority = uri.as_ref().and_then(http::Uri::authority);
    authority.map_or_else(String::new, ToString::to_string)
}

fn failed(unavailable: &StoreUnavailable) -> AppResponse {
    let error = json!({"error": unavailable.to_string()});
    AppResponse::json(StatusCode::SERVICE_UNAVAILABLE, &error)
}
