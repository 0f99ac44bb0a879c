//! The page `/callbacks`: events that wait for their delivery, and dead letters, which can be redriven.

use super::{CallbackRecordStore, CallbackWorkerQueue, Delivery, RedriveOutcome};
use headgate_core::feature::pages::{
    ActionTargetParameter, AuditedAdminAction, FeatureAdminPage, FeatureAdminPageAccess,
    FeatureAdminPageRequest, PageQueryParameter,
};
use headgate_core::serve::AppResponse;
use headgate_core::state::StoreUnavailable;
use headgate_core::timestamp::rfc3339;
use http::{Method, StatusCode};
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::{Duration, UNIX_EPOCH};
use tokio::task::JoinSet;

/// The maximum number of dead letters on a page, and that are redriven by one request.
const PAGE_MAX: usize = 100;

/// The page, and the action on it.
pub(crate) static PAGES: &[FeatureAdminPage] = &[
    FeatureAdminPage {
        method: Method::GET,
        path: "/callbacks",
        summary: "Deliveries that wait, and those that failed for good.",
        parameters: &[PAGE_BEFORE],
        access: FeatureAdminPageAccess::Read,
        respond: |request| Box::pin(page(request)),
    },
    FeatureAdminPage {
        method: Method::POST,
        path: "/callbacks/redrive",
        summary: "Delivers again what failed for good: one event, or a page of them.",
        parameters: &[
            PageQueryParameter::optional("id", "Id of one event."),
            PAGE_BEFORE,
        ],
        access: FeatureAdminPageAccess::Act(AuditedAdminAction {
            name: "redrive_callbacks",
            subject: Some(ActionTargetParameter {
                parameter: "id",
                is_name: Delivery::is_id,
            }),
            needs_key: true,
        }),
        respond: |request| Box::pin(redrive(request)),
    },
];

const PAGE_BEFORE: PageQueryParameter =
    PageQueryParameter::optional("after", "Id of the last one of the page before.");

/// Which dead letters a request redrives.
#[derive(Debug, PartialEq, Eq)]
enum RedriveSelection<'a> {
    One(&'a str),
    /// A page of all of them, from the first after this id.
    PageAfter(&'a str),
}

/// Counts, and a page of dead letters in the order of their ids, from the first after the id in the query.
async fn page(request: FeatureAdminPageRequest<'_>) -> AppResponse {
    let records = CallbackRecordStore::new(request.state.clone());
    let after = request.query;
    let after = after.strip_prefix("after=").unwrap_or_default();
    let read = async {
        let totals = records.totals().await?;
        let dead = records.dead_letters(after, PAGE_MAX).await?;
        let next = next_after(&dead);
        let dead = dead.iter();
        let dead = dead.map(|(id, caller, delivery)| dead_letter(id, caller, delivery));
        Ok::<_, StoreUnavailable>(json!({
            "pending": totals.pending,
            "dead": totals.dead,
            "oldest_pending_seconds": totals.oldest_ms / 1_000,
            "dead_letters": dead.collect::<Vec<Value>>(),
            "next": next,
        }))
    };
    match read.await {
        Ok(page) => AppResponse::json(StatusCode::OK, &page),
        Err(unavailable) => failed(&unavailable),
    }
}

/// Makes the dead letter that the query names due again, `id=evt_…`, or a page of all of them, `all=true`.
async fn redrive(request: FeatureAdminPageRequest<'_>) -> AppResponse {
    let records = CallbackRecordStore::new(request.state.clone());
    let redriven = match RedriveSelection::from_query(request.query) {
        Some(RedriveSelection::One(id)) => redrive_one(&records, id).await,
        Some(RedriveSelection::PageAfter(after)) => redrive_page(&records, after).await,
        None => {
            let error = "expected the query `id=evt_…` with the id of a dead letter, or `all=true`, or `all=true&after=evt_…`";
            return AppResponse::json(StatusCode::BAD_REQUEST, &json!({"error": error}));
        }
    };
    // Also after a failure: some may be due.
    request
        .values
        .get::<CallbackWorkerQueue>()
        .wake_deliveries();
    redriven.unwrap_or_else(|unavailable| failed(&unavailable))
}

impl<'a> RedriveSelection<'a> {
    fn from_query(query: &'a str) -> Option<Self> {
        if query == "all=true" {
            return Some(Self::PageAfter(""));
        }
        let (id, is_one) = match query.strip_prefix("all=true&after=") {
            Some(after) => (after, false),
            None => (query.strip_prefix("id=")?, true),
        };
        Delivery::is_id(id).then_some(match is_one {
            true => Self::One(id),
            false => Self::PageAfter(id),
        })
    }
}

async fn redrive_one(
    records: &CallbackRecordStore,
    id: &str,
) -> Result<AppResponse, StoreUnavailable> {
    let (status, error) = match records.redrive(id).await? {
        RedriveOutcome::Redriven => {
            return Ok(AppResponse::json(StatusCode::OK, &json!({"redriven": 1})));
        }
        RedriveOutcome::NotFound => (StatusCode::NOT_FOUND, "no dead letter has this id"),
        RedriveOutcome::NoBody => (
            StatusCode::CONFLICT,
            "the event has no body, since its status was too large or unreadable; have the caller query the task",
        ),
        RedriveOutcome::NoRoom => (
            StatusCode::CONFLICT,
            "too many events of the caller wait for their delivery; try again when some are delivered",
        ),
    };
    Ok(AppResponse::json(status, &json!({"error": error})))
}

/// Redrives a page of dead letters; the store writes them together.
async fn redrive_page(
    records: &CallbackRecordStore,
    after: &str,
) -> Result<AppResponse, StoreUnavailable> {
    let page = records.dead_letters(after, PAGE_MAX).await?;
    let next = next_after(&page).map(str::to_owned);
    let mut running = JoinSet::new();
    for (id, ..) in page {
        let records = records.clone();
        running.spawn(async move { records.redrive(&id).await });
    }
    let mut redriven = 0;
    while let Some(ended) = running.join_next().await {
        if let Ok(outcome) = ended {
            redriven += u64::from(outcome? == RedriveOutcome::Redriven);
        }
    }
    let result = json!({"redriven": redriven, "next": next});
    Ok(AppResponse::json(StatusCode::OK, &result))
}

/// The id after which the next page begins; `None` after the last page.
fn next_after(page: &[(Arc<str>, Arc<str>, Delivery)]) -> Option<&str> {
    let (last, ..) = page.last()?;
    (page.len() == PAGE_MAX).then_some(last)
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

#[cfg(test)]
mod tests {
    use super::RedriveSelection::{self, One, PageAfter};

    #[test]
    fn a_query_selects_one_dead_letter_or_a_page_of_all() {
        for (query, expected) in [
            ("id=evt_0", Some(One("evt_0"))),
            ("all=true", Some(PageAfter(""))),
            ("all=true&after=evt_0", Some(PageAfter("evt_0"))),
            ("all=true&after=", None),
            ("all=true&after=x", None),
            ("all=false", None),
            ("after=evt_0", None),
            ("id=", None),
            ("", None),
        ] {
            assert_eq!(RedriveSelection::from_query(query), expected, "{query}");
        }
    }
}
