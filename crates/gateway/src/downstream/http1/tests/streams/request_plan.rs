//! Plans of valid requests, and their bytes.

use super::choices::StreamChoices;
use super::reading::{AcceptedRequest, HEAD_BYTES_MAX, sort_by_name};
use bytes::Bytes;

/// A request that no server may find: only bodies and refused requests have it.
pub const SMUGGLED: &str = "GET /smuggled HTTP/1.1\r\nHost: a\r\n\r\n";

const METHODS: &[&str] = &[
    "GET",
    "POST",
    "HEAD",
    "PUT",
    "OPTIONS",
    "CONNECT",
    "get",
    "M-SEARCH!",
];
/// Targets, and their paths and queries in normal form.
const TARGETS: &[(&str, &str, Option<&str>)] = &[
    ("/", "/", None),
    ("/v1/chat/completions", "/v1/chat/completions", None),
    ("/a?b=c?{d}", "/a", Some("b=c?{d}")),
    ("/a/?", "/a/", Some("")),
    ("/%61%20", "/a%20", None),
    ("/a:b@c", "/a:b@c", None),
];
/// Targets with the host of the request.
const URLS: &[(&str, &str, Option<&str>)] = &[
    ("http://a.example:80/b?c", "/b", Some("c")),
    ("HTTPS://a.example:80", "/", None),
];
/// The field `host` of the targets that have a host.
pub const HOST: &str = "Host: a.example:80";
/// Fields without a meaning for the session.
const FIELDS: &[&str] = &[
    "A: b",
    "A:b",
    "a:",
    "!#$%&'*+-.^_`|~09: \t b c\td \t",
    "Cookie: a=\u{e9}; b=\"c\"",
    "Expect: 100-continue",
    "Content-Type: application/json",
    "Content-Length-X: 7",
    "X-Transfer-Encoding: chunked",
    "Upgrade: websocket",
];
const CHUNK_EXTENSIONS: &[&str] = &[
    "",
    ";a",
    ";a=b",
    " ; a = \"b\\\";\"",
    ";a=\"GET / HTTP/1.1\"",
];
const TRAILERS: &[&str] = &[
    "",
    "A: b\r\n",
    "A:\r\nContent-Length: 7\r\n",
    "A: GET / HTTP/1.1\r\nHost: a\r\n",
];

/// A request, before it is written.
pub struct RequestPlan {
    /// Empty lines before the head.
    pub lead: &'static str,
    pub line: Vec<u8>,
    pub host: Vec<&'static str>,
    /// The fields that tell how the body ends.
    pub framing: Vec<String>,
    pub connection: Vec<&'static str>,
    pub fields: Vec<Vec<u8>>,
    /// Ends of lines, in turn.
    pub line_ends: [&'static str; 2],
    /// The body on the wire.
    pub body: Vec<u8>,
    /// What a server makes of it; the fields are added when it is written.
    pub meaning: AcceptedRequest,
    pub is_last: bool,
}

impl RequestPlan {
    pub fn generate(choices: &mut StreamChoices<'_>) -> Self {
        let is_old = choices.is_one_in(8);
        let method = choices.one(METHODS);
        let targets = match method != "CONNECT" && choices.is_one_in(6) {
            true => URLS,
            false => TARGETS,
        };
        let (target, path, query) = choices.one(targets);
        let version = if is_old { "1.0" } else { "1.1" };
        let has_host = !is_old || choices.is_one_in(2);
        let (framing, body, content) = generate_body(choices, is_old);
        let connection = generate_connection(choices);
        let has = |option: &str| {
            connection
                .iter()
                .any(|line| line.to_lowercase().contains(option))
        };
        let is_last = has("close") || is_old && !has("keep-alive");
        let count = choices.below(4);
        let field = |_| choices.one(FIELDS).as_bytes().to_vec();
        Self {
            line: format!("{method} {target} HTTP/{version}").into_bytes(),
            host: if has_host { vec![HOST] } else { Vec::new() },
            framing,
            is_last,
            connection,
            fields: (0..count).map(field).collect(),
            lead: choices.one(&["", "", "", "", "\r\n", "\n", "\r\n\n\r\n"]),
            line_ends: choices.one(&[
                ["\r\n", "\r\n"],
                ["\r\n", "\r\n"],
                ["\r\n", "\n"],
                ["\n", "\n"],
            ]),
            body,
            meaning: AcceptedRequest {
                method: method.to_owned(),
                target: target.into(),
                path: path.to_owned(),
                query: query.map(str::to_owned),
                fields: Vec::new(),
                body: Some(content.into()),
            },
        }
    }

    /// What the client sends.
    pub fn bytes(&self) -> Vec<u8> {
        [self.lead.as_bytes(), &self.head(), &self.body].concat()
    }

    /// The head, without the empty lines before it.
    pub fn head(&self) -> Vec<u8> {
        let mut head = Vec::new();
        let lines = [self.line.clone()].into_iter().chain(self.field_lines());
        for (line, end) in lines.chain([Vec::new()]).zip(self.line_ends.iter().cycle()) {
            head.extend_from_slice(&line);
            head.extend_from_slice(end.as_bytes());
        }
        head
    }

    /// Adds a field, so that the head exceeds its limit by `excess` bytes.
    pub fn pad(&mut self, excess: usize) {
        self.line_ends = ["\r\n"; 2];
        let missing = HEAD_BYTES_MAX + excess - self.head().len();
        self.fields
            .push(format!("P:{}", "p".repeat(missing - "P:\r\n".len())).into_bytes());
    }

    /// What a server makes of the request.
    pub fn meaning(&self) -> AcceptedRequest {
        let fields = self.field_lines().map(|line| {
            let colon = line.iter().position(|byte| *byte == b':').unwrap();
            let name = String::from_utf8_lossy(&line[..colon]).to_lowercase();
            let value = Bytes::copy_from_slice(line[colon + 1..].trim_ascii());
            (name, value)
        });
        AcceptedRequest {
            fields: sort_by_name(fields),
            ..self.meaning.clone()
        }
    }

    fn field_lines(&self) -> impl Iterator<Item = Vec<u8>> {
        let framing = self.framing.iter().map(|line| line.as_bytes().to_vec());
        let rest = self
            .host
            .iter()
            .chain(&self.connection)
            .map(|line| line.as_bytes().to_vec());
        let mut lines: Vec<_> = rest
            .chain(framing)
            .chain(self.fields.iter().cloned())
            .collect();
        let by = self.line.len() % lines.len().max(1);
        lines.rotate_left(by);
        lines.into_iter()
    }
}

fn generate_connection(choices: &mut StreamChoices<'_>) -> Vec<&'static str> {
    match choices.below(16) {
        0..12 => vec![],
        12 => vec!["Connection: close"],
        13 => vec!["Connection: x, \tKeep-Alive"],
        14 => vec!["Connection: keep-alive", "connection:x,Close ,y"],
        _ => vec!["Connection: keep-alive"],
    }
}

/// The fields that frame a body, the body on the wire, and its content.
fn generate_body(choices: &mut StreamChoices<'_>, is_old: bool) -> (Vec<String>, Vec<u8>, Vec<u8>) {
    let (field, body, content) = match choices.below(if is_old { 4 } else { 8 }) {
        0 => return (vec![], vec![], vec![]),
        1 => ("Content-Length: 0".to_owned(), vec![], vec![]),
        2 | 3 => {
            let names = [
                "Content-Length:",
                "content-length: ",
                "CONTENT-LENGTH:\t",
                "Content-Length: 00",
            ];
            let name = choices.one(&names);
            let content = generate_content(choices);
            (format!("{name}{}", content.len()), content.clone(), content)
        }
        _ => {
            let fields = [
                "Transfer-Encoding: chunked",
                "transfer-encoding:Chunked",
                "TRANSFER-ENCODING: CHUNKED ",
            ];
            let field = choices.one(&fields);
            let (body, content) = generate_chunks(choices);
            (field.to_owned(), body, content)
        }
    };
    (vec![field], body, content)
}

/// A chunked body on the wire, and its content.
fn generate_chunks(choices: &mut StreamChoices<'_>) -> (Vec<u8>, Vec<u8>) {
    let (mut body, mut all) = (Vec::new(), Vec::new());
    for _ in 0..choices.below(4) {
        let content = generate_content(choices);
        if !content.is_empty() {
            body.extend_from_slice(&chunk(choices, &content));
            all.extend_from_slice(&content);
        }
    }
    let size = choices.one(&["0", "000", "0000000000000000"]);
    let (extension, trailers) = (choices.one(CHUNK_EXTENSIONS), choices.one(TRAILERS));
    let last = format!("{size}{extension}\r\n{trailers}\r\n");
    body.extend_from_slice(last.as_bytes());
    (body, all)
}

/// A chunk on the wire.
pub fn chunk(choices: &mut StreamChoices<'_>, content: &[u8]) -> Vec<u8> {
    let size = content.len();
    let size = match choices.below(4) {
        0 => format!("{size:X}"),
        1 => format!("{size:x}"),
        2 => format!("0{size:x}"),
        _ => format!("{size:016X}"),
    };
    let line = format!("{size}{}\r\n", choices.one(CHUNK_EXTENSIONS));
    [line.as_bytes(), content, b"\r\n"].concat()
}

/// Content that parsers could take for something else.
pub fn generate_content(choices: &mut StreamChoices<'_>) -> Vec<u8> {
    match choices.below(16) {
        0..4 => b"abc".to_vec(),
        4 => b"\r\n".to_vec(),
        5 => format!("0\r\n\r\n{SMUGGLED}").into_bytes(),
        6 => format!("\r\n0\r\n\r\n{SMUGGLED}").into_bytes(),
        7 => vec![b'x'; 1 + choices.below(300)],
        8 if choices.is_one_in(8) => vec![b'y'; 60_000 + choices.below(20_000)],
        8 => vec![],
        9 => choices.take(5).to_vec(),
        _ => SMUGGLED.as_bytes().to_vec(),
    }
}
