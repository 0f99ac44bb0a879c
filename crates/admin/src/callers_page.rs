//! `/callers`: callers of the state store are listed, shown, made, changed and deleted.

use super::AdminApp;
use super::page::{AdminRequest, PageResponse};
use headgate_config::directory::CallerProblem;
use headgate_core::feature::pages::PageQueryParameter;
use headgate_core::serve::AppResponse;
use headgate_core::timestamp::rfc3339;
use headgate_issuance::change::{AppliedChange, ChangeRefusal, ChangeRequest, NewCallerKey};
use headgate_issuance::issuance::Issuance;
use headgate_issuance::issued_caller::IssuedCaller;
use headgate_issuance::lookup::{FoundCaller, PAGE_MAX};
use headgate_protocol::credential_names::decoded;
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use serde_json::{Map, Value, json};
use std::future::Future;
use std::sync::Arc;
use std::time::{Duration, UNIX_EPOCH};

pub(super) const LIST_PARAMETERS: &[PageQueryParameter] = &[
    PageQueryParameter::optional(
        "after",
        "Only callers with later names: `next` of the page before.",
    ),
    PageQueryParameter::optional(
        "limit",
        "The maximum number of callers, up to 200. Default: 200.",
    ),
];
const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");
const KEY_BYTES_MAX: usize = 255;
/// The longest name that is looked for or logged.
const NAME_BYTES_MAX: usize = 1_024;

/// Why a request is refused before it is looked at as a change.
enum InvalidChangeRequest {
    Malformed(&'static str),
    /// No caller can have the name in the path.
    UnknownName,
}

pub(super) fn list(app: AdminApp, request: Arc<AdminRequest>) -> PageResponse {
    Box::pin(async move {
        let after = request.parameter("after").unwrap_or_default();
        let limit = match request.parameter("limit").map(|limit| limit.parse()) {
            None => PAGE_MAX,
            Some(Ok(limit @ 1..=PAGE_MAX)) => limit,
            Some(_) => {
                let reason = format!("`limit` is a number from 1 to {PAGE_MAX}");
                return error(StatusCode::BAD_REQUEST, &reason);
            }
        };
        match app.issuance.list(&after, limit).await {
            Ok(page) => {
                let callers: Vec<Value> = page.callers.iter().map(found_view).collect();
                let page = json!({"callers": callers, "next": page.next});
                AppResponse::json(StatusCode::OK, &page)
            }
            Err(refusal) => refused(&refusal),
        }
    })
}

pub(super) fn show(app: AdminApp, request: Arc<AdminRequest>) -> PageResponse {
    Box::pin(async move {
        let name = match name(&request) {
            Ok(name) => name,
            Err(invalid) => return invalid.response(),
        };
        match app.issuance.find(&name).await {
            Ok(found) => {
                let page = AppResponse::json(StatusCode::OK, &found_view(&found));
                with_version(page, &found.caller)
            }
            Err(taken @ ChangeRefusal::Taken { .. }) => {
                error(StatusCode::NOT_FOUND, &taken.to_string())
            }
            Err(refusal) => refused(&refusal),
        }
    })
}

pub(super) fn create(app: AdminApp, request: Arc<AdminRequest>) -> PageResponse {
    Box::pin(async move {
        let change = match change_request(&request) {
            Ok(change) => change,
            Err(invalid) => return invalid.response(),
        };
        if let Some(name) = name_in(&change.body) {
            // Nobody else sets it: the path of the page names no caller.
            let _ = request.subject.set(name);
        }
        let created = completed(&app.issuance, |issuance| async move {
            issuance.create(change).await
        });
        match created.await {
            Ok(applied) => {
                let status = match applied.is_repeated {
                    true => StatusCode::OK,
                    false => StatusCode::CREATED,
                };
                let response = applied_response(status, &applied);
                let location = format!("/callers/{}", applied.caller.name);
                match HeaderValue::from_str(&location) {
                    Ok(location) => response.with_header(header::LOCATION, location),
                    Err(_) => response,
                }
            }
            Err(refusal) => refused(&refusal),
        }
    })
}

pub(super) fn change(app: AdminApp, request: Arc<AdminRequest>) -> PageResponse {
    Box::pin(async move {
        let (name, change) = match named_change(&request) {
            Ok(found) => found,
            Err(invalid) => return invalid.response(),
        };
        let changed = completed(&app.issuance, |issuance| async move {
            issuance.change(&name, change).await
        });
        match changed.await {
            Ok(applied) => applied_response(StatusCode::OK, &applied),
            Err(refusal) => refused(&refusal),
        }
    })
}

pub(super) fn delete(app: AdminApp, request: Arc<AdminRequest>) -> PageResponse {
    Box::pin(async move {
        let (name, change) = match named_change(&request) {
            Ok(found) => found,
            Err(invalid) => return invalid.response(),
        };
        let deleted = completed(&app.issuance, |issuance| async move {
            issuance.delete(&name, change).await
        });
        match deleted.await {
            Ok(applied) => AppResponse::json(StatusCode::OK, &view(&applied.caller)),
            Err(refusal) => refused(&refusal),
        }
    })
}

/// Runs a change to its end, also if the client disconnects: it consists of several writes.
async fn completed<F>(
    issuance: &Arc<Issuance>,
    change: impl FnOnce(Arc<Issuance>) -> F,
) -> Result<AppliedChange, ChangeRefusal>
where
    F: Future<Output = Result<AppliedChange, ChangeRefusal>> + Send + 'static,
{
    let running = tokio::spawn(change(issuance.clone()));
    running.await.unwrap_or(Err(ChangeRefusal::Interrupted))
}

/// The name in the path, decoded.
fn name(request: &AdminRequest) -> Result<String, InvalidChangeRequest> {
    let segment = request.http.uri().path().strip_prefix("/callers/");
    let name = segment.and_then(|segment| {
        let name = decoded(segment.as_bytes()).collect();
        String::from_utf8(name).ok()
    });
    name.filter(|name| name.len() <= NAME_BYTES_MAX)
        .ok_or(InvalidChangeRequest::UnknownName)
}

/// The caller that a request is about, and the change.
fn named_change(request: &AdminRequest) -> Result<(String, ChangeRequest), InvalidChangeRequest> {
    Ok((name(request)?, change_request(request)?))
}

fn name_in(body: &[u8]) -> Option<String> {
    let body: Value = serde_json::from_slice(body).ok()?;
    let name = body.get("name")?.as_str()?;
    (name.len() <= NAME_BYTES_MAX).then(|| name.to_owned())
}

fn change_request(request: &AdminRequest) -> Result<ChangeRequest, InvalidChangeRequest> {
    let headers = request.http.headers();
    let body = request.http.body();
    if !body.is_empty() && !is_json(headers) {
        let reason = "expected `Content-Type: application/json`";
        return Err(InvalidChangeRequest::Malformed(reason));
    }
    let key = only(headers, &IDEMPOTENCY_KEY)?;
    if key.is_some_and(|key| key.is_empty() || key.len() > KEY_BYTES_MAX) {
        let reason = "an `Idempotency-Key` has 1 to 255 characters";
        return Err(InvalidChangeRequest::Malformed(reason));
    }
    let version = only(headers, &header::IF_MATCH)?.map(|tag| {
        let number = tag.strip_prefix('"').and_then(|tag| tag.strip_suffix('"'));
        number.and_then(|number| number.parse().ok())
    });
    if version == Some(None) {
        let reason = "`If-Match` has the `ETag` of a caller, such as \"12\"";
        return Err(InvalidChangeRequest::Malformed(reason));
    }
    Ok(ChangeRequest {
        body: body.to_vec(),
        idempotency_key: key.map(str::to_owned),
        version: version.flatten(),
    })
}

/// The value of a header that a request has at most once.
fn only<'h>(
    headers: &'h HeaderMap,
    name: &HeaderName,
) -> Result<Option<&'h str>, InvalidChangeRequest> {
    let mut values = headers.get_all(name).iter();
    match (values.next(), values.next()) {
        (None, _) => Ok(None),
        (Some(only), None) => only.to_str().map(Some).map_err(|_| {
            InvalidChangeRequest::Malformed(
                "`Idempotency-Key` and `If-Match` have visible ASCII characters",
            )
        }),
        (Some(_), Some(_)) => Err(InvalidChangeRequest::Malformed(
            "`Idempotency-Key` and `If-Match` are sent at most once",
        )),
    }
}

fn is_json(headers: &HeaderMap) -> bool {
    let content_type = headers.get(header::CONTENT_TYPE);
    let content_type = content_type.and_then(|value| value.to_str().ok());
    let media_type = content_type.and_then(|text| text.split(';').next());
    let media_type = media_type.map(str::trim).unwrap_or_default();
    ["application/json", "application/merge-patch+json"]
        .iter()
        .any(|json| media_type.eq_ignore_ascii_case(json))
}

fn applied_response(status: StatusCode, applied: &AppliedChange) -> AppResponse {
    let mut page = view(&applied.caller);
    let shown = |made: &NewCallerKey| json!({"label": made.label, "key": made.key});
    page["new_keys"] = applied.new_keys.iter().map(shown).collect();
    page["repeated"] = applied.is_repeated.into();
    page["warnings"] = applied.warnings.iter().map(problem).collect();
    with_version(AppResponse::json(status, &page), &applied.caller)
}

/// A caller as it is found.
fn found_view(found: &FoundCaller) -> Value {
    let mut page = view(&found.caller);
    if let Some(place) = &found.shadowed_by {
        page["shadowed_by"] = json!(place);
    }
    page
}

/// A caller without digests and secrets.
fn view(caller: &IssuedCaller) -> Value {
    let mut page = Map::new();
    page.insert("name".into(), json!(caller.name));
    for (member, value) in caller.entry.iter().flatten() {
        let shown = match member.as_str() {
            "keys" => value.as_array().into_iter().flatten().map(key).collect(),
            "webhook_secrets" => {
                let secrets = value.as_array().into_iter().flatten();
                secrets.map(|_| json!("[masked]")).collect()
            }
            _ => value.clone(),
        };
        page.insert(member.clone(), shown);
    }
    page.insert("id".into(), json!(caller.id));
    page.insert("identity".into(), json!(caller.identity()));
    page.insert("version".into(), json!(caller.version));
    page.insert("created".into(), json!(time(caller.created_ms)));
    page.insert("changed".into(), json!(time(caller.changed_ms)));
    page.insert("deleted".into(), json!(caller.is_deleted()));
    Value::Object(page)
}

/// A key without its digest.
fn key(entry: &Value) -> Value {
    let mut entry = entry.as_object().cloned().unwrap_or_default();
    entry.remove("key_sha256");
    Value::Object(entry)
}

fn problem(problem: &CallerProblem) -> Value {
    json!({
        "pointer": problem.pointer,
        "reason": problem.reason,
        "hint": problem.hint,
    })
}

fn time(unix_ms: u64) -> String {
    rfc3339(UNIX_EPOCH + Duration::from_millis(unix_ms))
}

fn with_version(response: AppResponse, caller: &IssuedCaller) -> AppResponse {
    match HeaderValue::from_str(&format!("\"{}\"", caller.version)) {
        Ok(tag) => response.with_header(header::ETAG, tag),
        Err(_) => response,
    }
}

fn refused(refusal: &ChangeRefusal) -> AppResponse {
    let status = match refusal {
        ChangeRefusal::Unreadable(_) | ChangeRefusal::Invalid(_) => StatusCode::BAD_REQUEST,
        ChangeRefusal::Unknown(_) => StatusCode::NOT_FOUND,
        ChangeRefusal::NotConfigured
        | ChangeRefusal::NoSealingKeys
        | ChangeRefusal::Taken { .. }
        | ChangeRefusal::Exists(_)
        | ChangeRefusal::Foreign(_)
        | ChangeRefusal::Outdated(_)
        | ChangeRefusal::MadeAndDeleted(_)
        | ChangeRefusal::Conflict
        | ChangeRefusal::Full(_) => StatusCode::CONFLICT,
        ChangeRefusal::OtherVersion { .. } => StatusCode::PRECONDITION_FAILED,
        ChangeRefusal::KeyReused => StatusCode::UNPROCESSABLE_ENTITY,
        ChangeRefusal::Unavailable(_) | ChangeRefusal::Interrupted => {
            StatusCode::SERVICE_UNAVAILABLE
        }
        ChangeRefusal::NoRandomNumbers => StatusCode::INTERNAL_SERVER_ERROR,
    };
    let ChangeRefusal::Invalid(problems) = refusal else {
        return error(status, &refusal.to_string());
    };
    let problems: Vec<Value> = problems.iter().map(problem).collect();
    let page = json!({"error": refusal.to_string(), "problems": problems});
    AppResponse::json(status, &page)
}

impl InvalidChangeRequest {
    fn response(self) -> AppResponse {
        match self {
            Self::Malformed(reason) => error(StatusCode::BAD_REQUEST, reason),
            Self::UnknownName => error(StatusCode::NOT_FOUND, "no caller has such a name"),
        }
    }
}

fn error(status: StatusCode, reason: &str) -> AppResponse {
    AppResponse::json(status, &json!({"error": reason}))
}
