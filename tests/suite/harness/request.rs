//! Builds requests byte by byte.

use headgate_protocol::Protocol;
use serde_json::{Value, json};

/// The key of the caller `ann`, who may use every model.
pub const ANN: &str = "sk-ann-canary-5f1c7e";
/// The key of the caller `bob`, who may use only `demo-small`.
pub const BOB: &str = "sk-bob-canary-90ab3d";
/// The admin key of `operator`, who may act.
pub const OPERATOR: &str = "sk-operator-canary-c81e52";
/// The admin key of `viewer`, who may read.
pub const VIEWER: &str = "sk-viewer-canary-2d97f0";

/// A request with `ann`'s key, unless `key` sets another one.
#[derive(Clone)]
pub struct Request {
    pub method: String,
    pub target: String,
    pub headers: Vec<(String, String)>,
    pub body: Option<Vec<u8>>,
    /// The chunk size of a chunked body; `None` sends Content-Length.
    chunk: Option<usize>,
}

/// The path of a protocol.
pub fn path_of(protocol: Protocol) -> &'static str {
    match protocol {
        Protocol::Chat => "/v1/chat/completions",
        Protocol::Messages => "/v1/messages",
        Protocol::Responses => "/v1/responses",
        Protocol::Gemini | Protocol::Converse => panic!("its test has the model in the path"),
        Protocol::Realtime => "/v1/realtime",
        Protocol::ImageEdit => "/v1/images/edits",
        Protocol::Video => "/v1/video/generations",
        Protocol::Videos => "/v1/videos",
        Protocol::FamilyA => "/v1/family-a/video/generations",
        Protocol::FamilyB => "/v1/family-b/video/generations",
        Protocol::Declared(_) => panic!("its test names the path"),
    }
}

/// A small valid body.
pub fn body_of(protocol: Protocol) -> Value {
    match protocol {
        Protocol::Chat => {
            json!({"model": "demo-large", "messages": [{"role": "user", "content": "Hello"}]})
        }
        Protocol::Messages => {
            json!({"model": "demo-large", "max_tokens": 1000, "messages": [{"role": "user", "content": "Hello"}]})
        }
        Protocol::Responses => json!({"model": "demo-large", "input": "Hello"}),
        Protocol::Realtime => json!({"model": "demo-large"}),
        Protocol::Gemini | Protocol::Converse => panic!("its test has the body"),
        Protocol::ImageEdit => {
            json!({"model": "demo-large", "prompt": "Hello", "images": [{"image_url": "https://x.example/a.png"}]})
        }
        Protocol::Video | Protocol::Videos => json!({"model": "demo-large", "prompt": "Hello"}),
        Protocol::FamilyA => {
            json!({"model": "demo-large", "content": [{"type": "text", "text": "Hello"}]})
        }
        Protocol::FamilyB => json!({"model": "demo-large", "input": {"prompt": "Hello"}}),
        Protocol::Declared(_) => panic!("its test has the body"),
    }
}

impl Request {
    pub fn new(method: &str, target: &str) -> Self {
        Self {
            method: method.into(),
            target: target.into(),
            headers: vec![
                ("Host".into(), "gate.test".into()),
                ("Authorization".into(), format!("Bearer {ANN}")),
            ],
            body: None,
            chunk: None,
        }
    }

    pub fn get(target: &str) -> Self {
        Self::new("GET", target)
    }

    /// A request with a JSON body, sent as it is.
    pub fn post(target: &str, body: impl Into<Vec<u8>>) -> Self {
        let request = Self::new("POST", target).header("Content-Type", "application/json");
        Self {
            body: Some(body.into()),
            ..request
        }
    }

    /// A request with `body` to the path of a protocol, with the headers that it requires.
    pub fn to(protocol: Protocol, body: impl Into<Vec<u8>>) -> Self {
        let request = Self::post(path_of(protocol), body);
        match protocol {
            Protocol::Messages => request.header("anthropic-version", "2023-06-01"),
            _ => request,
        }
    }

    /// A small valid request.
    pub fn ask(protocol: Protocol) -> Self {
        Self::to(protocol, body_of(protocol).to_string())
    }

    /// A small valid request for a stream.
    pub fn ask_stream(protocol: Protocol) -> Self {
        let mut body = body_of(protocol);
        body["stream"] = true.into();
        Self::to(protocol, body.to_string())
    }

    pub fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.into(), value.into()));
        self
    }

    pub fn with_body(mut self, body: Vec<u8>) -> Self {
        self.body = Some(body);
        self
    }

    pub fn without(mut self, name: &str) -> Self {
        self.headers
            .retain(|(known, _)| !known.eq_ignore_ascii_case(name));
        self
    }

    /// Sets another key, as a bearer token.
    pub fn key(self, key: &str) -> Self {
        self.without("authorization")
            .header("Authorization", &format!("Bearer {key}"))
    }

    /// Sets directives for the simulated provider.
    pub fn simulate(self, directives: &str) -> Self {
        self.header("x-simulate", directives)
    }

    /// Sends the body in chunks of `size` bytes.
    pub fn chunked(mut self, size: usize) -> Self {
        self.chunk = Some(size);
        self
    }

    /// Whether the request has a Content-Length.
    pub fn declares_length(&self) -> bool {
        self.chunk.is_none()
    }

    /// The head, with its framing headers.
    pub fn head(&self) -> Vec<u8> {
        let mut head = format!("{} {} HTTP/1.1\r\n", self.method, self.target);
        for (name, value) in &self.headers {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        match (&self.body, self.chunk) {
            (Some(_), Some(_)) => head.push_str("Transfer-Encoding: chunked\r\n"),
            (Some(body), None) => head.push_str(&format!("Content-Length: {}\r\n", body.len())),
            (None, _) => {}
        }
        head.push_str("\r\n");
        head.into_bytes()
    }

    /// The body, with its framing.
    pub fn framed_body(&self) -> Vec<u8> {
        let Some(body) = &self.body else {
            return Vec::new();
        };
        let Some(size) = self.chunk else {
            return body.clone();
        };
        let mut framed = Vec::with_capacity(body.len() * 2);
        for piece in body.chunks(size) {
            framed.extend_from_slice(format!("{:x}\r\n", piece.len()).as_bytes());
            framed.extend_from_slice(piece);
            framed.extend_from_slice(b"\r\n");
        }
        framed.extend_from_slice(b"0\r\n\r\n");
        framed
    }

    pub fn bytes(&self) -> Vec<u8> {
        let mut bytes = self.head();
        bytes.extend(self.framed_body());
        bytes
    }
}
