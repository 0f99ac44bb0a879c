//! The admin page `/alerts/test`: an event by which an operator tries a receiver.

use crate::event::{AlertEvent, test_body};
use crate::queue::AlertQueue;
use crate::receiver::AlertReceivers;
use crate::records;
use headgate_core::feature::pages::{
    ActionTargetParameter, AuditedAdminAction, FeatureAdminPage, FeatureAdminPageAccess,
    FeatureAdminPageRequest, PageQueryParameter,
};
use headgate_core::serve::AppResponse;
use http::{Method, StatusCode};
use serde_json::json;

/// The page.
pub(crate) const PAGES: &[FeatureAdminPage] = &[FeatureAdminPage {
    method: Method::POST,
    path: "/alerts/test",
    summary: "Sends an event of the type `test` to a receiver of alerts.",
    parameters: &[PageQueryParameter::required(
        "receiver",
        "Name of the receiver in `alerts`.",
    )],
    access: FeatureAdminPageAccess::Act(AuditedAdminAction {
        name: "test_alerts",
        subject: Some(ActionTargetParameter::new("receiver")),
        needs_key: true,
    }),
    respond: |request| Box::pin(test(request)),
}];

async fn test(request: FeatureAdminPageRequest<'_>) -> AppResponse {
    let error = |status, error: String| AppResponse::json(status, &json!({"error": error}));
    let receivers = request.values.get::<AlertReceivers>();
    let name = request.query.strip_prefix("receiver=").unwrap_or_default();
    if !receivers.by_name.contains_key(name) {
        let names: Vec<_> = receivers
            .by_name
            .keys()
            .map(|name| format!("`{name}`"))
            .collect();
        let known = match names.is_empty() {
            true => "`alerts` has none".to_owned(),
            false => format!("there are {}", names.join(", ")),
        };
        let reason =
            format!("expected the query `receiver=NAME` with the name of a receiver; {known}");
        return error(StatusCode::NOT_FOUND, reason);
    }
    let event = AlertEvent::new(name, test_body(&receivers.gateway));
    match records::store(request.state.records(), &event).await {
        Ok(true) => {
            request.values.get::<AlertQueue>().wake();
            AppResponse::json(
                StatusCode::OK,
                &json!({"event_id": event.id, "receiver": name}),
            )
        }
        Ok(false) => {
            let reason = "too many events wait for this receiver; see the process log";
            error(StatusCode::SERVICE_UNAVAILABLE, reason.to_owned())
        }
        Err(unavailable) => error(StatusCode::SERVICE_UNAVAILABLE, unavailable.to_string()),
    }
}
