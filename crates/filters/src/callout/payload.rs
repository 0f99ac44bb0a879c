//! What is sent to a service, as JSON: what the operator chose of a request or response, and never a credential.

use super::json_object::JsonObjectWriter;
use super::litellm;
use super::payload_selection::{PayloadFormat, PayloadSelection};
use super::response_excerpt::ResponseExcerpt;
use super::service_payload::ServicePayload;
use headgate_core::filter::view::RequestView;
use headgate_protocol::Protocol;
use headgate_protocol::caller_key::CallerKeyToStrip;
use headgate_protocol::json::JsonDocument;

/// Paths of the gateway's own whose last segment is a token.
const TOKEN_PATHS: &str = "/_headgate/";

/// The route that calls.
pub struct CallingRoute<'a> {
    pub name: &'a str,
    pub protocol: Option<Protocol>,
}

/// The payload for a request with this body.
///
/// # Errors
/// The payload is too large.
pub fn for_request(
    sent: &PayloadSelection,
    route: &CallingRoute<'_>,
    request: &RequestView,
    document: Option<&JsonDocument>,
) -> Result<ServicePayload, String> {
    if sent.format == PayloadFormat::Litellm {
        return litellm::for_request(sent, route.protocol, request, document);
    }
    let fields = fields(sent, document)?;
    let request_json = request_json(sent, route.name, request, Some(&fields));
    Ok(payload("request", request, &request_json, None))
}

/// The payload for a response to a request.
///
/// # Errors
/// The payload is too large.
pub fn for_response(
    sent: &PayloadSelection,
    route: &CallingRoute<'_>,
    request: &RequestView,
    response: ResponseExcerpt<'_>,
) -> Result<ServicePayload, String> {
    let lengths = response.texts.iter().map(|text| text.text.len());
    // In lines of their own.
    if lengths.sum::<usize>() + response.texts.len().saturating_sub(1) > sent.bytes_max {
        return Err(sent.too_large());
    }
    if sent.format == PayloadFormat::Litellm {
        return Ok(litellm::for_response(
            sent,
            route.protocol,
            request,
            response,
        ));
    }
    let texts = response.texts.iter().map(|text| &*text.text);
    let text = texts.collect::<Vec<_>>().join("\n");
    let mut json = JsonObjectWriter::default();
    json.number("status", u64::from(response.status.as_u16()));
    json.text("text", Some(&text));
    match response.window {
        Some(window) => json.number("window", window),
        None => json.raw("fields", &fields(sent, response.document)?),
    }
    let phase = match response.window {
        Some(_) => "stream",
        None => "response",
    };
    let request_json = request_json(sent, route.name, request, None);
    Ok(payload(phase, request, &request_json, Some(json)))
}

fn payload(
    phase: &str,
    request: &RequestView,
    request_json: &[u8],
    response: Option<JsonObjectWriter>,
) -> ServicePayload {
    let mut json = JsonObjectWriter::default();
    json.number("version", 1);
    json.text("phase", Some(phase));
    json.raw("request", request_json);
    if let Some(response) = response {
        json.raw("response", &response.finish());
    }
    ServicePayload::new(request, json, Vec::new())
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
    let Some(document) = document else {
        return Ok(json.finish());
    };
    sent.check_size(document)?;
    for pointer in &sent.fields {
        if let Some(value) = document.root().pointer(pointer) {
            json.raw(pointer, value.raw());
        }
    }
    Ok(json.finish())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::callout::service_payload::PlacedText;
    use bytes::Bytes;
    use headgate_core::catalog::caller::Caller;
    use headgate_protocol::json::JsonLimits;
    use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode};
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
            ..PayloadSelection::default()
        }
    }

    const ROUTE: CallingRoute<'_> = CallingRoute {
        name: "chat",
        protocol: None,
    };

    #[test]
    fn a_payload_has_what_was_chosen_and_no_key() {
        let body = Bytes::from_static(br#"{"a": [1e2, "sk-caller"], "b": 1}"#);
        let document = JsonDocument::parse(body, &JsonLimits::default()).unwrap();
        let mut from_caller = request("/v1/x");
        from_caller.caller = Some(Arc::new(Caller::new("ann", &[])));
        let payload = for_request(&sent(100), &ROUTE, &from_caller, Some(&document));
        let payload: Value = serde_json::from_slice(&payload.unwrap().json).unwrap();
        let expected = json!({
            "version": 1, "phase": "request",
            "request": {
                "id": "req_1", "method": "POST", "path": "/v1/x", "route": "chat", "model": null, "caller": "ann",
                "headers": {"x-tenant": "blue, green"}, "fields": {"/a": [100.0, "[secret]"]},
            },
        });
        assert_eq!(payload, expected);
        assert!(for_request(&sent(5), &ROUTE, &request("/v1/x"), Some(&document)).is_err());
    }

    #[test]
    fn a_payload_of_a_stream_has_its_window() {
        let response = ResponseExcerpt {
            status: StatusCode::OK,
            texts: ["a", "b"].map(|text| PlacedText::fixed(text.into())).into(),
            document: None,
            window: Some(3),
        };
        let path = "/_headgate/media/token";
        let payload = for_response(&sent(100), &ROUTE, &request(path), response).unwrap();
        let payload: Value = serde_json::from_slice(&payload.json).unwrap();
        assert_eq!(payload["phase"], "stream");
        assert_eq!(payload["request"]["path"], "/_headgate/");
        let expected = json!({"status": 200, "text": "a\nb", "window": 3});
        assert_eq!(payload["response"], expected);
    }
}
