//! A sample request: an object with method, path, headers, caller, client address and body.

use super::RequestSample;
use bytes::Bytes;
use headgate_protocol::json::{JsonDocument, JsonLimits};
use http::{HeaderMap, HeaderName, HeaderValue, Method};
use serde::Deserialize;
use serde_json::Value;
use std::collections::BTreeMap;
use std::net::IpAddr;

/// A sample request as written.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SampleRequestJson {
    /// Default: POST with a body, else GET.
    method: Option<String>,
    path: String,
    #[serde(default)]
    headers: BTreeMap<String, SampleHeaderValues>,
    caller: Option<String>,
    client_address: Option<IpAddr>,
    /// JSON, or a text that is sent as it is.
    body: Option<Value>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum SampleHeaderValues {
    One(String),
    Several(Vec<String>),
}

/// The request of `line`, which is `value`.
///
/// # Errors
/// A field is unknown, missing or invalid.
pub fn parse(line: &str, value: Value, limits: &JsonLimits) -> Result<RequestSample, String> {
    let object: SampleRequestJson =
        serde_json::from_value(value).map_err(|error| error.to_string())?;
    if !object.path.starts_with('/') {
        return Err("`path` must begin with `/`".into());
    }
    let body = match &object.body {
        None => None,
        Some(Value::String(text)) => Some(Bytes::from(text.clone())),
        Some(_) => Some(body_bytes(line, limits)?),
    };
    let method = object.method.as_deref().unwrap_or(match body {
        Some(_) => "POST",
        None => "GET",
    });
    let mut headers = HeaderMap::new();
    for (name, values) in &object.headers {
        let values = match values {
            SampleHeaderValues::One(value) => std::slice::from_ref(value),
            SampleHeaderValues::Several(values) => values,
        };
        for value in values {
            append(&mut headers, name, value)?;
        }
    }
    Ok(RequestSample {
        method: parse_method(method)?,
        path: object.path,
        headers,
        has_all_headers: false,
        caller: object.caller,
        client_address: object.client_address,
        body,
    })
}

/// # Errors
/// The text is not a method.
pub fn parse_method(text: &str) -> Result<Method, String> {
    Method::from_bytes(text.as_bytes()).map_err(|_| format!("invalid method `{text}`"))
}

/// Adds a header.
///
/// # Errors
/// The name or the value is invalid; the message does not have the value.
pub fn append(headers: &mut HeaderMap, name: &str, value: &str) -> Result<(), String> {
    let parsed = HeaderName::from_bytes(name.as_bytes());
    let parsed = parsed.map_err(|_| format!("invalid header name `{name}`"))?;
    let value = HeaderValue::from_str(value);
    let value = value.map_err(|_| format!("the value of header `{name}` is invalid"))?;
    headers.append(parsed, value);
    Ok(())
}

/// The body as it stands in the line, with its spaces and the order of its keys.
fn body_bytes(line: &str, limits: &JsonLimits) -> Result<Bytes, String> {
    let document = JsonDocument::parse(Bytes::copy_from_slice(line.as_bytes()), limits);
    let document = document.map_err(|error| format!("{error}; write such a body as a text"))?;
    let body = document.root().get("body");
    Ok(body.map_or_else(Bytes::new, |body| Bytes::copy_from_slice(body.raw())))
}
