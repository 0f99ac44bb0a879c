//! Log in for browsers: `POST /login` exchanges a key for a session cookie, `POST /logout` ends the session.

use super::access::AdminUser;
use super::page::AdminRequest;
use super::refusal::{TEXT, internal_error};
use super::session::SESSION_TTL;
use super::{AdminApp, audit};
use headgate_config::snapshot::admin::AdminRole;
use headgate_core::serve::AppResponse;
use headgate_protocol::credential_names::decoded;
use http::{HeaderMap, HeaderValue, StatusCode, header};
use serde_json::{Value, json};
use std::time::Instant;

/// Who the request is from, and what they may do. Needs no key, so that a page can show that one is needed.
pub(super) fn session(app: &AdminApp, request: &AdminRequest) -> AppResponse {
    let rules = &app.reloader.current().admin;
    let (role, is_key) = match &request.user {
        AdminUser::KeyHolder(key) => (Some(key.role), true),
        AdminUser::Loopback | AdminUser::WithoutKeys => (Some(AdminRole::Read), false),
        AdminUser::Unknown => (None, false),
    };
    let page = json!({
        "key": is_key.then(|| request.user.name()),
        "role": role.map(AdminRole::name),
        "needs_key": rules.has_keys(),
        "may_reload": !is_key && role.is_some() || role == Some(AdminRole::Act),
    });
    AppResponse::json(StatusCode::OK, &page)
}

/// Opens a session for the key in the body, a form or JSON.
pub(super) fn log_in(app: &AdminApp, request: &AdminRequest) -> AppResponse {
    let snapshot = app.reloader.current();
    let rules = &snapshot.admin;
    if !rules.has_keys() {
        let text = "there are no `server.admin_keys`, so nobody can log in\n";
        return AppResponse::full(StatusCode::CONFLICT, TEXT, text);
    }
    let is_form = is_form(request.http.headers());
    let Some(key) = key_in(request.http.body(), is_form) else {
        let text = "expected the key in the body: JSON such as {\"key\": \"sk-hg-…\"}, or a form with the field `key`\n";
        return AppResponse::full(StatusCode::BAD_REQUEST, TEXT, text);
    };
    let key = match app
        .access
        .verified_key(key.trim().as_bytes(), &request.client, rules)
    {
        Ok(key) => key,
        Err(refusal) => return refusal.response(),
    };
    let id = match app.access.sessions.open(key.digest, Instant::now()) {
        Ok(id) => id,
        Err(error) => return internal_error(&error),
    };
    let response = match is_form {
        true => AppResponse::full(StatusCode::SEE_OTHER, TEXT, "logged in\n")
            .with_header(header::LOCATION, HeaderValue::from_static("/")),
        false => {
            let page = json!({"key": &*key.name, "role": key.role.name()});
            AppResponse::json(StatusCode::OK, &page)
        }
    };
    let user = AdminUser::KeyHolder(key);
    audit::write_line("login", None, &user, &request.client, Some(response.status));
    with_cookie(response, app, request, &id, SESSION_TTL.as_secs())
}

/// Ends the session in the cookie.
pub(super) fn log_out(app: &AdminApp, request: &AdminRequest) -> AppResponse {
    for id in app.access.session_ids(request.http.headers()) {
        app.access.sessions.close(id);
    }
    let response = AppResponse::json(StatusCode::OK, &json!({"key": null}));
    if matches!(request.user, AdminUser::KeyHolder(_)) {
        let status = Some(response.status);
        audit::write_line("logout", None, &request.user, &request.client, status);
    }
    with_cookie(response, app, request, "", 0)
}

fn with_cookie(
    response: AppResponse,
    app: &AdminApp,
    request: &AdminRequest,
    id: &str,
    seconds: u64,
) -> AppResponse {
    let name = app.access.cookie_name();
    let secure = match is_secure(request) {
        true => "; Secure",
        false => "",
    };
    let cookie =
        format!("{name}={id}; Max-Age={seconds}; Path=/; HttpOnly; SameSite=Strict{secure}");
    match HeaderValue::from_str(&cookie) {
        Ok(cookie) => response.with_header(header::SET_COOKIE, cookie),
        Err(_) => response,
    }
}

/// Whether the browser has a connection with TLS, here or at a proxy in front.
fn is_secure(request: &AdminRequest) -> bool {
    let origin = request.http.headers().get(header::ORIGIN);
    request.client.is_tls || origin.is_some_and(|origin| origin.as_bytes().starts_with(b"https://"))
}

fn is_form(headers: &HeaderMap) -> bool {
    let kind = headers.get(header::CONTENT_TYPE);
    kind.is_some_and(|kind| {
        kind.as_bytes()
            .starts_with(b"application/x-www-form-urlencoded")
    })
}

fn key_in(body: &[u8], is_form: bool) -> Option<String> {
    if !is_form {
        let body: Value = serde_json::from_slice(body).ok()?;
        return Some(body["key"].as_str()?.to_owned());
    }
    let mut members = body.split(|byte| *byte == b'&');
    let value = members.find_map(|member| member.strip_prefix(b"key="))?;
    let spaced = value
        .iter()
        .map(|byte| if *byte == b'+' { b' ' } else { *byte });
    let spaced: Vec<u8> = spaced.collect();
    String::from_utf8(decoded(&spaced).collect()).ok()
}

#[cfg(test)]
mod tests {
    use super::key_in;

    #[test]
    fn a_key_is_read_from_a_form_and_from_json() {
        for (body, is_form, expected) in [
            (r#"{"key": "sk-a"}"#, false, Some("sk-a")),
            (r#"{"key": 1}"#, false, None),
            ("key=sk-a", false, None),
            ("key=sk-a", true, Some("sk-a")),
            ("next=%2F&key=sk%2Da+b", true, Some("sk-a b")),
            ("monkey=sk-a", true, None),
            ("", true, None),
        ] {
            assert_eq!(
                key_in(body.as_bytes(), is_form).as_deref(),
                expected,
                "{body}"
            );
        }
    }
}
