//! The files of finished tasks: behind signed URLs, which refuse credentials, or behind the credential; both in ranges.

use crate::api_error::ApiError;
use crate::endpoint_result::SuccessfulResponse;
use crate::http_response::SimulatedResponse;
use crate::media;
use crate::query as uri_query;
use crate::request_context::RequestContext;
use crate::vendors::descriptor::{PrivateVideo, VendorApi, signed_url};
use bytes::Bytes;
use http::request::Parts;
use http::{HeaderMap, HeaderValue, StatusCode, header};
use std::time::Duration;

/// Headers that carry a credential of one vendor or another.
const CREDENTIALS: [&str; 5] = [
    "authorization",
    "api-key",
    "x-api-key",
    "x-goog-api-key",
    "x-key",
];

/// The file behind a signed URL, or a `400` if a credential comes with the request.
pub fn signed_video(name: &str, head: &Parts) -> Result<SuccessfulResponse, ApiError> {
    let query = head.uri.query().unwrap_or_default();
    let mut names = CREDENTIALS.iter();
    let has_header = names.any(|name| head.headers.contains_key(*name));
    let has_key = uri_query::values(query, "key").next().is_some();
    let response = if has_header || has_key {
        refusal(
            StatusCode::BAD_REQUEST,
            "InvalidArgument",
            "Only one auth mechanism allowed; a signed URL takes no credential.",
        )
    } else if query.contains("X-Signature=simulated") {
        video(name, query, &head.headers)
    } else {
        refusal(StatusCode::FORBIDDEN, "AccessDenied", "Signature missing.")
    };
    Ok(SuccessfulResponse::Http(response, Duration::ZERO))
}

/// The file of a task that only its account can open, or a redirect to its signed URL.
///
/// # Errors
/// `404` if the account has no such file.
pub fn private_video(
    api: &'static VendorApi,
    file: PrivateVideo,
    call: &RequestContext,
) -> Result<SuccessfulResponse, ApiError> {
    let is_it = |id: &str| id.rsplit('/').next() == Some(file.name);
    let found = call.tasks.list(call.account, api.name, |task| {
        is_it(&task.id).then_some(task.plan.video_bytes)
    });
    let Some(bytes) = found.into_iter().next() else {
        return Err(ApiError::not_found(format!(
            "File {} not found.",
            file.name
        )));
    };
    let name = format!("{}.mp4", file.name);
    let url = signed_url(api, call.head, &name, bytes);
    let response = if file.redirects {
        let mut response = SimulatedResponse::full(StatusCode::FOUND, "text/html", "");
        let location = HeaderValue::from_str(&url).expect("ids and hosts are visible ASCII");
        response.headers.insert(header::LOCATION, location);
        response
    } else {
        let query = url.split_once('?').map_or("", |(_, query)| query);
        video(&name, query, &call.head.headers)
    };
    Ok(SuccessfulResponse::Http(response, Duration::ZERO))
}

/// The file, or the range of it that is asked for.
fn video(name: &str, query: &str, headers: &HeaderMap) -> SimulatedResponse {
    let (content_type, content) = media::file(name, query);
    let length = content.len();
    let mut response = match byte_range(headers, length) {
        None => SimulatedResponse::full(StatusCode::OK, content_type, content),
        Some(Ok((first, last))) => {
            let part = content.slice(first..=last);
            let range = format!("bytes {first}-{last}/{length}");
            partial(StatusCode::PARTIAL_CONTENT, content_type, part, &range)
        }
        Some(Err(UnsatisfiableRange)) => {
            let status = StatusCode::RANGE_NOT_SATISFIABLE;
            partial(
                status,
                content_type,
                Bytes::new(),
                &format!("bytes */{length}"),
            )
        }
    };
    let accept = HeaderValue::from_static("bytes");
    response.headers.insert(header::ACCEPT_RANGES, accept);
    response
}

fn partial(
    status: StatusCode,
    content_type: &'static str,
    content: Bytes,
    range: &str,
) -> SimulatedResponse {
    let mut response = SimulatedResponse::full(status, content_type, content);
    let range = HeaderValue::from_str(range).expect("digits and signs");
    response.headers.insert(header::CONTENT_RANGE, range);
    response
}

/// A range that begins after the end of the file.
#[derive(Debug, PartialEq, Eq)]
struct UnsatisfiableRange;

/// The first and the last byte of the one range that is asked for; `None` for the whole file.
fn byte_range(
    headers: &HeaderMap,
    length: usize,
) -> Option<Result<(usize, usize), UnsatisfiableRange>> {
    let range = headers.get(header::RANGE)?.to_str().ok()?;
    let (first, last) = range.strip_prefix("bytes=")?.split_once('-')?;
    let end = length.checked_sub(1)?;
    let (first, last) = match (first, last) {
        ("", suffix) => (length.saturating_sub(suffix.parse().ok()?), end),
        (first, "") => (first.parse().ok()?, end),
        (first, last) => (first.parse().ok()?, last.parse::<usize>().ok()?.min(end)),
    };
    let is_within = first <= last && first < length;
    Some(is_within.then_some((first, last)).ok_or(UnsatisfiableRange))
}

fn refusal(status: StatusCode, code: &str, message: &str) -> SimulatedResponse {
    let body = format!("<Error><Code>{code}</Code><Message>{message}</Message></Error>");
    SimulatedResponse::full(status, "application/xml", body)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_range_is_read_and_clamped_to_the_file() {
        for (range, expected) in [
            ("bytes=0-9", Some(Ok((0, 9)))),
            ("bytes=90-", Some(Ok((90, 99)))),
            ("bytes=90-500", Some(Ok((90, 99)))),
            ("bytes=-10", Some(Ok((90, 99)))),
            ("bytes=100-", Some(Err(UnsatisfiableRange))),
            ("bytes=-0", Some(Err(UnsatisfiableRange))),
            ("bytes=0-1,5-6", None),
            ("lines=0-1", None),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert(header::RANGE, HeaderValue::from_str(range).unwrap());
            assert_eq!(byte_range(&headers, 100), expected, "{range}");
        }
    }
}
