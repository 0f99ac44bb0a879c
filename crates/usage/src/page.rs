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
use headgate_core::state::calendar::unix_ms;
use http::{Method, StatusCode};
use serde_json::json;

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
    let totals = request.values.get::<UsageTotals>();
    let days = (query.from, query.to);
    let mut report = DailyUsageReport::new(query);
    let read = read_rows(request.state.records(), &totals, days, |day, row| {
        report.add(day, row)
    });
    if let Err(unavailable) = read.await {
        return error(StatusCode::SERVICE_UNAVAILABLE, unavailable.to_string());
    }
    match report.into_json() {
        Ok(page) => AppResponse::json(StatusCode::OK, &page),
        Err(reason) => error(StatusCode::BAD_REQUEST, reason),
    }
}
