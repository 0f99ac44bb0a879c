//! The record of a received request: its content, and when and how its response ended.

use super::clock::monotonic_millis;
use super::directive_resolver;
use super::endpoint::Endpoint;
use super::json::{JsonText, object};
use bytes::Bytes;
use http::request::Parts;
use sha2::{Digest, Sha256};
use std::fmt::Write;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

/// A received request.
pub struct ReceivedExchangeRecord {
    pub n: u64,
    head: Arc<Parts>,
    pub body_bytes: usize,
    /// `None` if only the hash is kept.
    body: Mutex<Option<Bytes>>,
    sha256: OnceLock<String>,
    started_ms: u64,
    progress: Mutex<ResponseProgress>,
}

/// How the response to a request ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ResponseEnd {
    Complete,
    Cut,
    ClientLeft,
}

#[derive(Default)]
struct ResponseProgress {
    model: Option<String>,
    first_byte_ms: Option<u64>,
    ended: Option<(ResponseEnd, u64)>,
}

impl ReceivedExchangeRecord {
    /// The record of request `n`, received now.
    pub fn new(n: u64, head: Arc<Parts>, body: Bytes) -> Self {
        Self {
            n,
            head,
            body_bytes: body.len(),
            body: Mutex::new(Some(body)),
            sha256: OnceLock::new(),
            started_ms: monotonic_millis(),
            progress: Mutex::default(),
        }
    }

    /// The body, if it was kept.
    pub fn body(&self) -> Option<Bytes> {
        self.body_slot().clone()
    }

    /// The record as a JSON object.
    pub fn json(&self) -> JsonText {
        let progress = self.progress();
        let ended = match progress.ended {
            None => "open",
            Some((ResponseEnd::Complete, _)) => "complete",
            Some((ResponseEnd::Cut, _)) => "cut",
            Some((ResponseEnd::ClientLeft, _)) => "client_left",
        };
        let path = self.head.uri.path_and_query();
        let (_, plain_path) = directive_resolver::split_path(self.head.uri.path());
        let endpoint = Endpoint::find(&self.head.method, plain_path).ok();
        object! {
            "n": self.n,
            "method": self.head.method.as_str(),
            "path": path.map_or("/", |path| path.as_str()),
            "endpoint": endpoint.map(Endpoint::name),
            "headers": self.headers(),
            "body_bytes": self.body_bytes,
            "body_sha256": self.hash(),
            "model": progress.model,
            "started_ms": self.started_ms,
            "first_byte_ms": progress.first_byte_ms,
            "ended": ended,
            "ended_ms": progress.ended.map(|(_, at)| at),
        }
    }

    /// The headers as an object; repeated values are joined with `, `.
    fn headers(&self) -> serde_json::Value {
        let headers = &self.head.headers;
        let joined = |name| {
            let values = headers.get_all(name).iter();
            let texts: Vec<_> = values
                .map(|value| String::from_utf8_lossy(value.as_bytes()))
                .collect();
            texts.join(", ")
        };
        let members = headers
            .keys()
            .map(|name| (name.as_str().to_owned(), joined(name).into()));
        serde_json::Value::Object(members.collect())
    }

    /// Drops the body and keeps its hash.
    pub fn drop_body(&self) {
        self.hash();
        *self.body_slot() = None;
    }

    /// Records the model that the request names.
    pub fn names_model(&self, model: &str) {
        self.progress().model = Some(model.to_owned());
    }

    /// Records the time of the response's first byte.
    pub fn first_byte(&self) {
        self.progress().first_byte_ms = Some(monotonic_millis());
    }

    /// Records how and when the response ended.
    pub fn end(&self, ending: ResponseEnd) {
        self.progress().ended = Some((ending, monotonic_millis()));
    }

    /// The SHA-256 of the body in hexadecimal, computed on first use.
    fn hash(&self) -> &str {
        self.sha256
            .get_or_init(|| sha256(&self.body().unwrap_or_default()))
    }

    fn body_slot(&self) -> MutexGuard<'_, Option<Bytes>> {
        self.body.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn progress(&self) -> MutexGuard<'_, ResponseProgress> {
        self.progress.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn sha256(bytes: &[u8]) -> String {
    Sha256::digest(bytes)
        .iter()
        .fold(String::new(), |mut hex, byte| {
            write!(hex, "{byte:02x}").expect("writing to a string cannot fail");
            hex
        })
}
