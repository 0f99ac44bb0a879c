//! Requests of a HAR file, as browsers and proxies export them: with headers and bodies, and the status of the response.

use super::sample::{append, parse_method};
use super::{RequestSample, SampleOrLogLine};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use http::{HeaderMap, Uri, header};
use serde::Deserialize;

/// Headers of a connection, which a dry run has not.
const CONNECTION_HEADERS: [http::HeaderName; 5] = [
    header::HOST,
    header::CONNECTION,
    header::CONTENT_LENGTH,
    header::TRANSFER_ENCODING,
    header::TE,
];

/// A whole file; other fields are ignored.
#[derive(Deserialize)]
struct HarFile {
    log: HarLog,
}

#[derive(Deserialize)]
struct HarLog {
    entries: Vec<HarEntry>,
}

/// A request and its response.
#[derive(Deserialize)]
pub struct HarEntry {
    request: HarRequest,
    response: Option<HarResponse>,
}

#[derive(Deserialize)]
struct HarRequest {
    method: String,
    url: String,
    #[serde(default)]
    headers: Vec<HarHeader>,
    #[serde(rename = "postData")]
    post_data: Option<HarPostData>,
}

#[derive(Deserialize)]
struct HarHeader {
    name: String,
    value: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct HarPostData {
    mime_type: Option<String>,
    text: Option<String>,
    encoding: Option<String>,
}

#[derive(Deserialize)]
struct HarResponse {
    #[serde(default)]
    status: i32,
}

/// The entries of a HAR file; `None` if the text is not one.
pub fn entries(text: &str) -> Option<Vec<HarEntry>> {
    let file: HarFile = serde_json::from_str(text.trim_start_matches('\u{feff}')).ok()?;
    Some(file.log.entries)
}

/// The request of an entry.
///
/// # Errors
/// A part of the entry is invalid.
pub fn recorded(entry: HarEntry) -> Result<SampleOrLogLine, String> {
    let HarRequest {
        method,
        url,
        headers: listed,
        post_data,
    } = entry.request;
    let uri: Uri = url.parse().map_err(|_| "the URL is invalid".to_owned())?;
    let path = uri.path_and_query().map_or("/", |path| path.as_str());
    let mut headers = HeaderMap::new();
    // HTTP/2 has method, path and host as fields that begin with a colon.
    for HarHeader { name, value } in listed.iter().filter(|one| !one.name.starts_with(':')) {
        append(&mut headers, name, value)?;
    }
    for name in CONNECTION_HEADERS {
        headers.remove(name);
    }
    let body = match post_data {
        None => None,
        Some(data) => {
            if let Some(media_type) = data.mime_type.filter(|text| !text.is_empty())
                && !headers.contains_key(header::CONTENT_TYPE)
            {
                append(&mut headers, "content-type", &media_type)?;
            }
            let text = data.text.unwrap_or_default();
            Some(match data.encoding.as_deref() {
                Some("base64") => STANDARD
                    .decode(text)
                    .map_err(|_| "`postData.text` is not base64".to_owned())?
                    .into(),
                _ => Bytes::from(text),
            })
        }
    };
    let sample = RequestSample {
        method: parse_method(&method)?,
        path: path.to_owned(),
        headers,
        has_all_headers: true,
        caller: None,
        client_address: None,
        body,
    };
    // Status 0 is that of a request without a response.
    let status = entry.response.and_then(|response| {
        let status = u16::try_from(response.status).ok()?;
        (status > 0).then_some(status)
    });
    Ok(SampleOrLogLine::Whole(sample, status))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_is_a_request_with_headers_and_body() {
        let text = r#"{"log": {"version": "1.2", "entries": [{
            "startedDateTime": "2026-08-01T00:00:00Z",
            "request": {"method": "POST", "url": "https://gate.example/v1/x?a=b", "httpVersion": "h2",
                "headers": [{"name": ":authority", "value": "gate.example"}, {"name": "Host", "value": "x"},
                            {"name": "X-Team", "value": "blue"}],
                "postData": {"mimeType": "application/json", "text": "{\"a\": 1}"}},
            "response": {"status": 200}}]}}"#;
        let entry = entries(text).unwrap().pop().unwrap();
        let Ok(SampleOrLogLine::Whole(sample, Some(200))) = recorded(entry) else {
            panic!("a whole request");
        };
        assert_eq!(sample.path, "/v1/x?a=b");
        let mut names: Vec<_> = sample.headers.keys().map(|name| name.as_str()).collect();
        names.sort_unstable();
        assert_eq!(names, ["content-type", "x-team"]);
        assert_eq!(&sample.body.unwrap()[..], br#"{"a": 1}"#);
        assert!(entries(r#"{"path": "/"}"#).is_none());
    }
}
