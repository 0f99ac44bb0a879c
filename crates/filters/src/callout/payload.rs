//! What is sent to a service, as JSON: what the operator chose of a request or response, and never a credential.

use super::settings::PayloadSelection;
use bytes::Bytes;
use headgate_core::filter::view::RequestView;
use headgate_protocol::caller_key::CallerKeyToStrip;
use headgate_protocol::json::{JsonDocument, quoted};
use http::StatusCode;

/// Paths of the gateway's own whose last segment is a token.
const TOKEN_PATHS: &str = "/_headgate/";

/// What a service sees of a response: its text, or that of a window.
pub struct ResponseExcerpt<'a> {
    pub status: StatusCode,
    pub text: &'a str,
    pub document: Option<&'a JsonDocument>,
    /// The number of the window, if the response is a stream.
    pub window: Option<u64>,
}

/// The payload for a request with this body.
///
/// # Errors
/// The payload is too large.
pub fn for_request(
    sent: &PayloadSelection,
    route: &str,
    request: &RequestView,
    document: Option<&JsonDocument>,
) -> Result<Bytes, String> {
    let fields = fields(sent, document)?;
    let request_json = request_json(sent, route, request, Some(&fields));
    Ok(payload("request", request, request_json, None))
}

/// The payload for a response to a request.
///
/// # Errors
/// The payload is too large.
pub fn for_response(
    sent: &PayloadSelection,
    route: &str,
    request: &RequestView,
    response: &ResponseExcerpt<'_>,
) -> Result<Bytes, String> {
    if response.text.len() > sent.bytes_max {
        return Err(too_large(sent));
    }
    let mut json = JsonObjectWriter::default();
    json.number("status", u64::from(response.status.as_u16()));
    json.text("text", Some(response.text));
    match response.window {
        Some(window) => json.number("window", window),
        None => json.raw("fields", &fields(sent, response.document)?),
    }
    let phase = match response.window {
        Some(_) => "stream",
        None => "response",
    };
    let request_json = request_json(sent, route, request, None);
    Ok(payload(phase, request, request_json, Some(json.finish())))
}

fn payload(
    phase: &str,
    request: &RequestView,
    request_json: Vec<u8>,
    response: Option<Vec<u8>>,
) -> Bytes {
    let mut json = JsonObjectWriter::default();
    json.number("version", 1);
    json.text("phase", Some(phase));
    json.raw("request", &request_json);
    if let Some(response) = response {
        json.raw("response", &response);
    }
    if request.caller.is_none() {
        // Without a known caller, a header could make any text look like a key, and hide it.
        return json.finish().into();
    }
    // Callers may repeat their key anywhere, with escapes, too.
    let key = CallerKeyToStrip::from_headers(&request.headers);
    key.masked_json(json.finish()).into()
}

fn request_json(
    sent: &PayloadSelection,
    route: &str,
    request: &RequestView,
    fields: Option<&[u8]>,
) -> Vec<u8> {
    let path = match request.path.starts_with(TOKEN_PATHS) {
        true => TOKEN_PATHS,
        false => &request.path,
    };
    let mut json = JsonObjectWriter::default();
    json.text("id", Some(&request.id));
    json.text("method", Some(request.method.as_str()));
    json.text("path", Some(path));
    json.text("route", Some(route));
    json.text("model", request.model().map(|model| &*model.name));
    json.text(
        "caller",
        request.caller.as_ref().map(|caller| &*caller.name),
    );
    json.raw("headers", &headers(sent, request));
    if let Some(fields) = fields {
        json.raw("fields", fields);
    }
    json.finish()
}

/// The chosen headers that the request has. A header with several values is a list.
fn headers(sent: &PayloadSelection, request: &RequestView) -> Vec<u8> {
    let key = CallerKeyToStrip::from_headers(&request.headers);
    let mut json = JsonObjectWriter::default();
    for name in &sent.headers {
        let values = request.headers.get_all(name).iter();
        let values = values.filter(|value| !key.is_in(value.as_bytes()));
        let values: Vec<_> = values
            .map(|value| String::from_utf8_lossy(value.as_bytes()))
            .collect();
        if !values.is_empty() {
            json.text(name.as_str(), Some(&values.join(", ")));
        }
    }
    json.finish()
}

/// The chosen fields that the body has, each under its pointer, as they are written.
fn fields(sent: &PayloadSelection, document: Option<&JsonDocument>) -> Result<Vec<u8>, String> {
    let mut json = JsonObjectWriter::default();
    let mut bytes = 0;
    for pointer in &sent.fields {
        let Some(value) = document.and_then(|document| document.root().pointer(pointer)) else {
            continue;
        };
        bytes += value.raw().len();
        if bytes > sent.bytes_max {
            return Err(too_large(sent));
        }
        json.raw(pointer, value.raw());
    }
    Ok(json.finish())
}

fn too_large(sent: &PayloadSelection) -> String {
    format!("the payload has more than {} bytes", sent.bytes_max)
}

/// A JSON object that is written member by member.
#[derive(Default)]
struct JsonObjectWriter(Vec<u8>);

impl JsonObjectWriter {
    fn raw(&mut self, name: &str, json: &[u8]) {
        self.0.push(if self.0.is_empty() { b'{' } else { b',' });
        self.0.extend_from_slice(&quoted(name));
        self.0.push(b':');
        self.0.extend_from_slice(json);
    }

    fn text(&mut self, name: &str, text: Option<&str>) {
        match text {
            Some(text) => self.raw(name, &quoted(text)),
            None => self.raw(name, b"null"),
        }
    }

    fn number(&mut self, name: &str, number: u64) {
        self.raw(name, number.to_string().as_bytes());
    }

    fn finish(mut self) -> Vec<u8> {
        if self.0.is_empty() {
            self.0.push(b'{');
        }
        self.0.push(b'}');
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use headgate_core::catalog::caller::Caller;
    use headgate_protocol::json::JsonLimits;
    use http::{HeaderMap, HeaderName, HeaderValue, Method};
    use serde_json::{Value, json};
    use std::sync::Arc;

    fn request(path: &str) -> RequestView {
        let mut headers = HeaderMap::new();
        for (name, value) in [
            ("authorization", "Bearer sk-caller"),
            ("x-tenant", "blue"),
            ("x-tenant", "green"),
            ("x-copy", "sk-caller"),
        ] {
            headers.append(
                HeaderName::from_static(name),
                HeaderValue::from_static(value),
            );
        }
        let method = Method::POST;
        RequestView::new(
            "req_1".into(),
            method,
            path.into(),
            None,
            headers,
            Vec::new(),
            None,
        )
    }

    fn sent(bytes_max: usize) -> PayloadSelection {
        PayloadSelection {
            fields: vec!["/a".into(), "/none".into()],
            headers: ["x-tenant", "x-copy", "x-none"]
                .map(HeaderName::from_static)
                .into(),
            bytes_max,
        }
    }

    #[test]
    fn a_payload_has_what_was_chosen_and_no_key() {
        let body = Bytes::from_static(br#"{"a": [1e2, "sk-caller"], "b": 1}"#);
        let document = JsonDocument::parse(body, &JsonLimits::default()).unwrap();
        let mut from_caller = request("/v1/x");
        from_caller.caller = Some(Arc::new(Caller::new("ann", &[])));
        let payload = for_request(&sent(100), "chat", &from_caller, Some(&document));
        let payload: Value = serde_json::from_slice(&payload.unwrap()).unwrap();
        let expected = json!({
            "version": 1, "phase": "request",
            "request": {
                "id": "req_1", "method": "POST", "path": "/v1/x", "route": "chat", "model": null, "caller": "ann",
                "headers": {"x-tenant": "blue, green"}, "fields": {"/a": [100.0, "[secret]"]},
            },
        });
        assert_eq!(payload, expected);
        assert!(for_request(&sent(5), "chat", &request("/v1/x"), Some(&document)).is_err());
    }

    #[test]
    fn a_payload_of_a_stream_has_its_window() {
        let response = ResponseExcerpt {
            status: StatusCode::OK,
            text: "a\nb",
            document: None,
            window: Some(3),
        };
        let path = "/_headgate/media/token";
        let payload = for_response(&sent(100), "chat", &request(path), &response).unwrap();
        let payload: Value = serde_json::from_slice(&payload).unwrap();
        assert_eq!(payload["phase"], "stream");
        assert_eq!(payload["request"]["path"], "/_headgate/");
        let expected = json!({"status": 200, "text": "a\nb", "window": 3});
        assert_eq!(payload["response"], expected);
    }
}
