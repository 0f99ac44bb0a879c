//! The admin page `/usage`.

use crate::day::UsageDay;
use crate::query::UsageQuery;
use crate::report::DailyUsageReport;
use crate::settings::DailyUsageSettings;
use crate::stored_rows::read_rows;
use crate::totals::UsageTotals;
use headgate_core::feature::pages::{
    FeatureAdminPage, FeatureAdminPageAccess, FeatureAdminPageRequest, PageQueryParameter,
};
use headgate_core::serve::AppResponse;
use headgate_core::state::StateStore;
use headgate_core::state::calendar::unix_ms;
use http::{Method, StatusCode};
use serde_json::json;
use std::sync::Arc;
use tokio::runtime::Handle;
use tokio::sync::Semaphore;
use tokio::task::spawn_blocking;

/// The reports that are made at a time: one. It outlives snapshots.
pub(crate) struct ConcurrentReports(Arc<Semaphore>);

impl Default for ConcurrentReports {
    fn default() -> Self {
        Self(Arc::new(Semaphore::new(1)))
    }
}

/// The page.
pub(crate) const PAGES: &[FeatureAdminPage] = &[FeatureAdminPage {
    method: Method::GET,
    path: "/usage",
    summary: "What callers, models and channels have used, by day in UTC.",
    parameters: &[
        PageQueryParameter::optional(
            "from",
            "First day, such as 2026-11-01. Default: 29 days before `to`.",
        ),
        PageQueryParameter::optional("to", "Last day. Default: today."),
        PageQueryParameter::optional(
            "by",
            "What rows are told apart by: some of `day,caller,model,channel`. Default: all of them.",
        ),
        PageQueryParameter::optional("caller", "Only rows of this caller."),
        PageQueryParameter::optional("model", "Only rows of this model."),
    ],
    access: FeatureAdminPageAccess::Read,
    respond: |request| Box::pin(page(request)),
}];

async fn page(request: FeatureAdminPageRequest<'_>) -> AppResponse {
    let error = |status, error: String| AppResponse::json(status, &json!({"error": error}));
    let query = match UsageQuery::read(request.query, UsageDay::at(unix_ms())) {
        Ok(query) => query,
        Err(reason) => return error(StatusCode::BAD_REQUEST, reason),
    };
    if request
        .values
        .get::<DailyUsageSettings>()
        .rows_max
        .is_none()
    {
        let reason = "usage is not counted; add the section `usage: {}` to routes.yaml";
        return error(StatusCode::NOT_FOUND, reason.to_owned());
    }
    let reports = request.values.get::<ConcurrentReports>();
    let (state, totals) = (request.state.clone(), request.values.get::<UsageTotals>());
    let runtime = Handle::current();
    // A large report takes seconds, which the thread of the admin pages does not have, and megabytes for each at a time.
    let permit = reports.0.clone().acquire_owned().await;
    let report = spawn_blocking(move || {
        let _permit = permit;
        runtime.block_on(report(&*state, &totals, query))
    });
    match report.await {
        Ok(Ok(page)) => AppResponse::full(StatusCode::OK, "application/json", page),
        Ok(Err((status, reason))) => error(status, reason),
        Err(panicked) => error(StatusCode::INTERNAL_SERVER_ERROR, panicked.to_string()),
    }
}

async fn report(
    state: &dyn StateStore,
    totals: &UsageTotals,
    query: UsageQuery,
) -> Result<String, (StatusCode, String)> {
    let days = (query.from, query.to);
    let mut report = DailyUsageReport::new(query);
    let read = read_rows(state.records(), totals, days, |day, row| {
        report.add(day, row)
    });
    read.await
        .map_err(|unavailable| (StatusCode::SERVICE_UNAVAILABLE, unavailable.to_string()))?;
    report
        .into_json()
        .map_err(|reason| (StatusCode::BAD_REQUEST, reason))
}
