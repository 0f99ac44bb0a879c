//! `/requests`: the last requests as the access log has them, selected by their fields.

use super::AdminApp;
use super::page::AdminRequest;
use headgate_core::feature::pages::PageQueryParameter;
use headgate_core::serve::AppResponse;
use headgate_protocol::credential_names::decoded;
use http::StatusCode;
use serde_json::{Map, Value, json};

/// Number of requests on a page, unless `limit` is given, and at most.
const LIMIT: usize = 100;
const LIMIT_MAX: usize = 1000;
/// The fields that a request can be selected by, besides `status`.
const FIELDS: [&str; 8] = [
    "id",
    "caller",
    "route",
    "model",
    "channel",
    "protocol",
    "settlement",
    "error_code",
];

/// Parameters of the query.
pub(super) const PARAMETERS: &[PageQueryParameter] = &[
    PageQueryParameter::optional(
        "status",
        "A status such as `502`, or a class such as `5xx`.",
    ),
    PageQueryParameter::optional("limit", "Number of requests; 100 by default, at most 1000."),
    PageQueryParameter::optional("id", "Request id."),
    PageQueryParameter::optional("caller", "Name of a caller."),
    PageQueryParameter::optional("route", "Name of a route."),
    PageQueryParameter::optional("model", "Platform model."),
    PageQueryParameter::optional("channel", "Name of a channel."),
    PageQueryParameter::optional("protocol", "Protocol of the route."),
    PageQueryParameter::optional("settlement", "How the exchange ended."),
    PageQueryParameter::optional("error_code", "Code of the error."),
];

/// Which requests a page lists.
#[derive(Debug, Default, PartialEq, Eq)]
struct RecentRequestsQuery {
    /// Fields with the values that they must have.
    fields: Vec<(&'static str, String)>,
    /// Smallest and largest status.
    statuses: Option<(u64, u64)>,
    limit: Option<usize>,
}

pub(super) fn page(app: &AdminApp, request: &AdminRequest) -> AppResponse {
    match RecentRequestsQuery::parse(request.query()) {
        Ok(filter) => {
            let page = json!({"requests": filter.select(app)});
            AppResponse::json(StatusCode::OK, &page)
        }
        Err(error) => AppResponse::json(StatusCode::BAD_REQUEST, &json!({"error": error})),
    }
}

impl RecentRequestsQuery {
    fn parse(query: &str) -> Result<Self, String> {
        let mut filter = Self::default();
        for member in query.split('&').filter(|member| !member.is_empty()) {
            let (name, value) = member.split_once('=').unwrap_or((member, ""));
            let value = String::from_utf8(decoded(value.as_bytes()).collect());
            let value = value.map_err(|_| format!("`{name}` is not UTF-8"))?;
            match name {
                "limit" => filter.limit = Some(limit(&value)?),
                "status" => filter.statuses = Some(statuses(&value)?),
                _ => match FIELDS.iter().find(|field| **field == name) {
                    Some(field) => filter.fields.push((field, value)),
                    None => {
                        let fields = FIELDS.join("`, `");
                        return Err(format!(
                            "unknown parameter `{name}`; use `status`, `limit`, `{fields}`"
                        ));
                    }
                },
            }
        }
        Ok(filter)
    }

    fn select(&self, app: &AdminApp) -> Vec<Map<String, Value>> {
        let limit = self.limit.unwrap_or(LIMIT);
        app.access_log.recent.select(limit, |line| {
            let line = serde_json::from_slice(line).ok()?;
            self.matches(&line).then_some(line)
        })
    }

    fn matches(&self, line: &Map<String, Value>) -> bool {
        let status = line
            .get("status")
            .and_then(Value::as_u64)
            .unwrap_or_default();
        let is_status = self
            .statuses
            .is_none_or(|(least, most)| (least..=most).contains(&status));
        is_status
            && self
                .fields
                .iter()
                .all(|(name, value)| line.get(*name).and_then(Value::as_str) == Some(value))
    }
}

fn limit(text: &str) -> Result<usize, String> {
    let number = text
        .parse()
        .ok()
        .filter(|limit| (1..=LIMIT_MAX).contains(limit));
    number.ok_or_else(|| format!("`limit` must be a number from 1 to {LIMIT_MAX}"))
}

/// A status such as `429`, or a class such as `5xx`.
fn statuses(text: &str) -> Result<(u64, u64), String> {
    let class = text
        .strip_suffix("xx")
        .and_then(|class| class.parse::<u64>().ok());
    match (class, text.parse()) {
        (Some(class @ 1..=5), _) => Ok((class * 100, class * 100 + 99)),
        (None, Ok(status @ 100..=599)) => Ok((status, status)),
        _ => Err("`status` must be a status such as 429, or a class such as 5xx".into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_filter_selects_by_every_one_of_its_fields() {
        let line = json!({"status": 503, "caller": "ann", "model": "gpt-4o mini"});
        let line = line.as_object().expect("an object");
        for (query, matches) in [
            ("", true),
            ("caller=ann", true),
            ("caller=bob", false),
            ("caller=ann&status=503", true),
            ("caller=ann&status=5xx", true),
            ("caller=ann&status=4xx", false),
            ("model=gpt-4o%20mini", true),
            ("route=chat", false),
        ] {
            let filter = RecentRequestsQuery::parse(query).expect("a valid filter");
            assert_eq!(filter.matches(line), matches, "{query}");
        }
    }

    #[test]
    fn an_unusable_filter_is_an_error_that_names_the_parameter() {
        for (query, named) in [
            ("status=abc", "`status`"),
            ("status=9xx", "`status`"),
            ("status=99", "`status`"),
            ("limit=0", "`limit`"),
            ("limit=1001", "`limit`"),
            ("colour=red", "`colour`"),
            ("caller=%ff", "`caller`"),
        ] {
            let error = RecentRequestsQuery::parse(query).expect_err("an error");
            assert!(error.contains(named), "{query}: {error}");
        }
    }
}
