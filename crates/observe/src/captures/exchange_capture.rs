//! What is captured of one exchange. Secrets are masked when it is read, and in headers when it is recorded.

use crate::token_path::without_token;
use headgate_core::request_id::RequestId;
use headgate_protocol::credential_names::names_credential;
use headgate_protocol::secret_shape::{MASK, masked};
use http::{HeaderMap, StatusCode};
use serde_json::{Map, Value, json};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

/// Maximum number of bytes of one body.
const BODY_BYTES_MAX: usize = 64 << 10;
/// Maximum number of steps; an exchange has few.
const STEPS_MAX: usize = 64;

/// What is captured of one exchange.
pub struct ExchangeCapture {
    id: RequestId,
    started: Instant,
    /// What is left of the bytes of the whole capture.
    bytes_left: Arc<AtomicUsize>,
    content: Mutex<CapturedContent>,
}

#[derive(Default)]
struct CapturedContent {
    steps: Vec<CapturedStep>,
    response: CapturedBody,
    /// Milliseconds after the start, of the first and of the last piece of the response.
    response_ms: Option<[f64; 2]>,
    access_log: Option<Vec<u8>>,
}

/// One step of an exchange, such as a request to a provider.
struct CapturedStep {
    after_ms: f64,
    name: &'static str,
    fields: Map<String, Value>,
    body: Option<CapturedBody>,
}

/// The beginning of a body.
#[derive(Default)]
struct CapturedBody {
    bytes: Vec<u8>,
    /// Length of the whole body, as far as it was seen.
    length: usize,
}

/// The head of a message, and how to recognise secrets in it.
pub struct HeadToCapture<'h> {
    pub fields: Map<String, Value>,
    pub headers: &'h HeaderMap,
    /// Whether the value of a header contains a credential of the gateway.
    pub reveals: &'h dyn Fn(&[u8]) -> bool,
}

impl ExchangeCapture {
    pub(super) fn new(id: RequestId, bytes_left: Arc<AtomicUsize>) -> Self {
        Self {
            id,
            started: Instant::now(),
            bytes_left,
            content: Mutex::default(),
        }
    }

    /// Adds a step with a head.
    pub fn head(&self, name: &'static str, head: HeadToCapture<'_>) {
        let headers = self.headers(head.headers, head.reveals);
        let mut fields = head.fields;
        fields.insert("headers".into(), headers);
        self.step(name, fields, None);
    }

    /// Adds a step with a head and the pieces of a body.
    pub fn head_and_body<'b>(
        &self,
        name: &'static str,
        head: HeadToCapture<'_>,
        body: impl Iterator<Item = &'b [u8]>,
    ) {
        let headers = self.headers(head.headers, head.reveals);
        let mut fields = head.fields;
        fields.insert("headers".into(), headers);
        let mut captured = CapturedBody::default();
        body.for_each(|piece| self.append(&mut captured, piece));
        self.step(name, fields, Some(captured));
    }

    /// Adds the body of the caller's request.
    pub fn request_body(&self, body: &[u8]) {
        let mut captured = CapturedBody::default();
        self.append(&mut captured, body);
        self.step("request_body", Map::new(), Some(captured));
    }

    /// Adds a step without a head.
    pub fn event(&self, name: &'static str, fields: Map<String, Value>) {
        self.step(name, fields, None);
    }

    /// Adds the head of the response that the caller gets.
    pub fn response_head(&self, status: StatusCode, headers: &HeaderMap) {
        let fields = Map::from_iter([("status".to_owned(), json!(status.as_u16()))]);
        let head = HeadToCapture {
            fields,
            headers,
            reveals: &|_| false,
        };
        self.head("response", head);
    }

    /// Adds a piece of the response that the caller gets.
    pub fn response_piece(&self, piece: &[u8]) {
        let at = self.after_ms();
        let mut content = self.lock();
        let mut response = std::mem::take(&mut content.response);
        self.append(&mut response, piece);
        content.response = response;
        let first = content.response_ms.map_or(at, |[first, _]| first);
        content.response_ms = Some([first, at]);
    }

    /// Ends the capture with the line of the access log.
    pub fn end(&self, access_log: Vec<u8>) {
        self.lock().access_log = Some(access_log);
    }

    /// The capture as JSON, without secrets.
    pub fn json(&self) -> Value {
        let content = self.lock();
        let steps: Vec<Value> = content.steps.iter().map(CapturedStep::json).collect();
        let access_log = content.access_log.as_deref();
        let access_log = access_log.and_then(|line| serde_json::from_slice::<Value>(line).ok());
        let [first, last] = content
            .response_ms
            .map_or([None, None], |times| times.map(Some));
        json!({
            "id": &*self.id,
            "steps": steps,
            "response_body": content.response.json(),
            "response_first_piece_ms": first,
            "response_last_piece_ms": last,
            "access_log": access_log,
        })
    }

    fn step(&self, name: &'static str, fields: Map<String, Value>, body: Option<CapturedBody>) {
        let after_ms = self.after_ms();
        let mut content = self.lock();
        if content.steps.len() < STEPS_MAX {
            content.steps.push(CapturedStep {
                after_ms,
                name,
                fields,
                body,
            });
        }
    }

    /// The headers as JSON, as far as there is room for them.
    fn headers(&self, headers: &HeaderMap, reveals: &dyn Fn(&[u8]) -> bool) -> Value {
        let mut shown = Vec::new();
        for (name, value) in headers {
            let value = value.as_bytes();
            let is_secret = names_credential(name.as_str().as_bytes()) || reveals(value);
            let value = match is_secret {
                true => MASK.to_owned(),
                false => masked(&String::from_utf8_lossy(value)).into_owned(),
            };
            let bytes = name.as_str().len() + value.len();
            if self.take(bytes) < bytes {
                break;
            }
            shown.push(json!([name.as_str(), value]));
        }
        shown.into()
    }

    fn append(&self, body: &mut CapturedBody, piece: &[u8]) {
        body.length += piece.len();
        let wanted = piece.len().min(BODY_BYTES_MAX - body.bytes.len());
        let taken = self.take(wanted);
        body.bytes.extend_from_slice(&piece[..taken]);
    }

    /// Takes up to `wanted` bytes of what is left.
    fn take(&self, wanted: usize) -> usize {
        let less = |left: usize| Some(left.saturating_sub(wanted));
        let before = self
            .bytes_left
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, less);
        before.unwrap_or_default().min(wanted)
    }

    fn after_ms(&self) -> f64 {
        self.started.elapsed().as_micros() as f64 / 1000.0
    }

    fn lock(&self) -> MutexGuard<'_, CapturedContent> {
        self.content.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl CapturedStep {
    fn json(&self) -> Value {
        let mut step = self.fields.clone();
        step.insert("step".into(), self.name.into());
        step.insert("after_ms".into(), self.after_ms.into());
        if let Some(body) = &self.body {
            step.insert("body".into(), body.json());
        }
        step.into()
    }
}

impl CapturedBody {
    fn json(&self) -> Value {
        let text = String::from_utf8_lossy(&self.bytes);
        json!({
            "text": masked(&text),
            "length": self.length,
            "is_cut": self.bytes.len() < self.length,
        })
    }
}

/// A path and query without secrets.
pub fn shown_target(path: &str, query: Option<&str>) -> String {
    let path = without_token(path);
    match query {
        None => masked(path).into_owned(),
        Some(query) => masked(&format!("{path}?{query}")).into_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn capture(bytes: usize) -> ExchangeCapture {
        ExchangeCapture::new("req_1".into(), Arc::new(AtomicUsize::new(bytes)))
    }

    #[test]
    fn secrets_are_masked_wherever_they_are() {
        let capture = capture(10_000);
        let mut headers = HeaderMap::new();
        for (name, value) in [
            ("authorization", "Bearer sk-live-1234567890"),
            ("x-api-key", "abc"),
            ("cookie", "session=1"),
            ("x-custom", "my-credential"),
            ("x-plain", "plain"),
        ] {
            headers.insert(name, value.parse().expect("a value"));
        }
        let head = HeadToCapture {
            fields: Map::new(),
            headers: &headers,
            reveals: &|value| value == b"my-credential",
        };
        let body = br#"{"api_key": "sk-live-0987654321"}"#;
        capture.head_and_body("request", head, body.chunks(20));
        capture.response_piece(b"the key sk-li");
        capture.response_piece(b"ve-1122334455 is yours");
        let json = capture.json();
        let text = json.to_string();
        for secret in [
            "1234567890",
            "abc",
            "session=1",
            "my-credential",
            "0987654321",
            "1122334455",
        ] {
            assert!(!text.contains(secret), "{secret} is in {text}");
        }
        assert!(text.contains("plain"), "{text}");
        assert_eq!(
            json["response_body"]["text"],
            format!("the key {MASK} is yours")
        );
        assert_eq!(
            shown_target("/v1/x", Some("key=abcdef")),
            format!("/v1/x?key={MASK}")
        );
    }

    #[test]
    fn a_body_is_cut_at_its_limit_and_at_that_of_the_capture() {
        for (room, expected) in [(usize::MAX, BODY_BYTES_MAX), (1_000, 1_000)] {
            let capture = capture(room);
            capture.response_piece(&vec![b'x'; 40_000]);
            capture.response_piece(&vec![b'x'; 40_000]);
            let body = &capture.json()["response_body"];
            assert_eq!(body["text"].as_str().map(str::len), Some(expected));
            assert_eq!(
                (&body["length"], &body["is_cut"]),
                (&json!(80_000), &json!(true))
            );
        }
    }
}
