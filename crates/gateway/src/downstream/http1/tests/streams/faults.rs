//! Faults, of which a stream has one at most: each violates a rule of RFC 9110 or RFC 9112, or a limit.

use super::choices::StreamChoices;
use super::reading::StreamReadingEnd;
use super::request_plan::{HOST, RequestPlan, SMUGGLED, chunk, generate_content};

/// Request lines (RFC 9112, sections 2.3 and 3).
const LINES: &[&str] = &[
    "GET  /smuggled HTTP/1.1",
    "GET /smuggled  HTTP/1.1",
    "GET /smuggled HTTP/1.1 ",
    "GET /smuggled HTTP/1.1\t",
    "GET\t/smuggled HTTP/1.1",
    "GET /smuggled\tHTTP/1.1",
    "GET /smuggled /smuggled HTTP/1.1",
    "GET /smuggled",
    "GET HTTP/1.1",
    "GET  HTTP/1.1",
    " GET /smuggled HTTP/1.1",
    " /smuggled HTTP/1.1",
    "G(T /smuggled HTTP/1.1",
    "G\u{e9}T /smuggled HTTP/1.1",
    "GET /smuggled\0 HTTP/1.1",
    "GET /smuggled\u{7f} HTTP/1.1",
    "GET /smuggled\u{e9} HTTP/1.1",
    "GET /smuggled?\u{e9} HTTP/1.1",
    "GET /smuggled?\u{7f} HTTP/1.1",
    "\rGET /smuggled HTTP/1.1",
    "GET /smuggled\rHTTP/1.1",
    "GET /smuggled HTTP/1.1\r",
    "GET /smuggled\r HTTP/1.1",
    "GET /smuggled http/1.1",
    "GET /smuggled HTTP/1.2",
    "GET /smuggled HTTP/2.0",
    "GET /smuggled HTTP/0.9",
    "GET /smuggled HTTP/11",
    "GET /smuggled HTTP/1.10",
    "GET /smuggled HTTP/1,1",
    "GET /smuggled HTTPS/1.1",
    "CONNECT http://a.example:80/smuggled HTTP/1.1",
    "PRI * HTTP/2.0",
    "\u{16}\u{3}\u{1}",
];
/// Targets (RFC 9112, section 3.2), and such as have no normal form.
const TARGETS: &[&str] = &[
    "smuggled",
    "*",
    "/smuggled#a",
    "//smuggled",
    "/smuggled/../b",
    "/smuggled/./b",
    "/smuggled/%2e%2e/b",
    "/smuggled/%zz",
    "/smuggled/%5C",
    "/smuggled/%ff",
    "/smuggled\\b",
    "http://other.example/smuggled",
    "http://u@a.example:80/smuggled",
    "http:///smuggled",
    "ftp://a.example:80/smuggled",
    "a.example:80",
];
/// Field lines (RFC 9112, section 5; RFC 9110, section 5).
const FIELDS: &[&str] = &[
    "A",
    ":",
    ": b",
    "A : b",
    "A\t: b",
    " A: b",
    "\tA: b",
    "A b: c",
    "A(: b",
    "A\u{e9}: b",
    "A\0: b",
    "A: b\0c",
    "A: b\rc",
    "A: b\r\rc",
    "A: b\u{1}",
    "A: b\u{7f}",
    "Content-Length : 3",
    "Transfer-Encoding : chunked",
    "\rA: b",
    "A\r: b",
];
/// What is sent for the field `host` (RFC 9112, section 3.2).
const HOSTS: &[&[&str]] = &[
    &[],
    &["Host:"],
    &["Host: a.example:80", "Host: a.example:80"],
    &["Host: a", "host: b"],
    &["Host: a, b"],
    &["Host: a b"],
    &["Host: a/b"],
    &["Host: u@a"],
];
/// What is sent for the fields that frame the body (RFC 9112, sections 6.1 to 6.3).
const FRAMINGS: &[&[&str]] = &[
    &["Content-Length:"],
    &["Content-Length: +3"],
    &["Content-Length: -1"],
    &["Content-Length: 3, 3"],
    &["Content-Length: 3;"],
    &["Content-Length: 0x3"],
    &["Content-Length: 3 3"],
    &["Content-Length: 3.0"],
    &["Content-Length: 18446744073709551616"],
    &["Content-Length: 3", "Content-Length: 3"],
    &["Content-Length: 3", "content-length: 4"],
    &["Content_Length: 3"],
    &["Transfer_Encoding: chunked"],
    &["Transfer-Encoding: chunked", "Content-Length: 3"],
    &["Content-Length: 0", "Transfer-Encoding: chunked"],
    &["Transfer-Encoding:"],
    &["Transfer-Encoding: identity"],
    &["Transfer-Encoding: xchunked"],
    &["Transfer-Encoding: gzip, chunked"],
    &["Transfer-Encoding: chunked, gzip"],
    &["Transfer-Encoding: chunked, chunked"],
    &["Transfer-Encoding: chunked;a=b"],
    &["Transfer-Encoding: \"chunked\""],
    &["Transfer-Encoding: chunked", "Transfer-Encoding: chunked"],
    &["Transfer-Encoding: chunked", "transfer-encoding: identity"],
];
/// Chunks, and what may follow the last one (RFC 9112, section 7.1).
const CHUNKS: &[&str] = &[
    "\r\n",
    "\n",
    ";a\r\n",
    "x\r\n",
    "-1\r\n",
    "+3\r\nabc\r\n",
    " 3\r\nabc\r\n",
    "3 \r\nabc\r\n",
    "3\t\r\nabc\r\n",
    "0x3\r\nabc\r\n",
    "3h\r\nabc\r\n",
    "3\nabc\r\n",
    "3\rabc\r\n",
    "3\r\rabc\r\n",
    "3;a\nabc\r\n",
    "3;a\rb\r\nabc\r\n",
    "3;\r\nabc\r\n",
    "3;a=\r\nabc\r\n",
    "3;a=\"b\r\nabc\r\n",
    "3 a\r\nabc\r\n",
    "3\r\nabcd\r\n",
    "3\r\nab\r\nx",
    "3\r\nabc\n",
    "3\r\nabc\rx",
    "3\r\nabc0\r\n\r\n",
    "00000000000000003\r\nabc\r\n",
    "10000000000000000\r\nabc\r\n",
    "0\n\r\n",
    "0\r\n\n",
    "0\r\n\0",
    "0\r\nA\r\n\r\n",
    "0\r\nA : b\r\n\r\n",
    "0\r\n: b\r\n\r\n",
    "0\r\n A: b\r\n\r\n",
    "0\r\nA: b\n\r\n",
    "0\r\nA: b\rc\r\n\r\n",
    "0\r\nA: b\0\r\n\r\n",
    "0\r\nA: b\r\n\n",
    "0\r\n\rx",
];
/// Maximum number of fields of a head.
const FIELDS_MAX: usize = 256;
/// Maximum size of all extensions and trailers of a body, in bytes.
const CHUNK_EXTRAS_MAX: usize = 32 << 10;

/// Gives `plan` one fault, and returns how the reading ends.
pub fn plant(choices: &mut StreamChoices<'_>, plan: &mut RequestPlan) -> StreamReadingEnd {
    let target = String::from_utf8_lossy(&plan.meaning.target).into_owned();
    match choices.below(16) {
        0..3 => {
            plan.line = choices.one(LINES).as_bytes().to_vec();
            plan.line_ends = ["\r\n"; 2];
            plan.host = vec![HOST];
        }
        3 => {
            let line = String::from_utf8(plan.line.clone()).unwrap();
            let faulty = choices.one(TARGETS);
            plan.host = vec![HOST];
            plan.line = line
                .replacen(&format!(" {target} "), &format!(" {faulty} "), 1)
                .into_bytes();
        }
        4..6 => {
            let at = choices.below(plan.fields.len() + 1);
            plan.fields
                .insert(at, choices.one(FIELDS).as_bytes().to_vec());
        }
        6 => {
            plan.line = format!("{} {target} HTTP/1.1", plan.meaning.method).into_bytes();
            plan.host = choices.one(HOSTS).to_vec();
        }
        7..10 => {
            let framing = choices.one(FRAMINGS).iter();
            plan.framing = framing.map(|line| (*line).to_owned()).collect();
            plan.body = SMUGGLED.as_bytes().to_vec();
        }
        10 => {
            plan.line = format!("{} {target} HTTP/1.0", plan.meaning.method).into_bytes();
            plan.framing = vec!["Transfer-Encoding: chunked".to_owned()];
        }
        11 if choices.is_one_in(2) => plan.pad(1 + choices.below(3)),
        11 => {
            let count = FIELDS_MAX + 1 - plan.fields.len();
            plan.fields
                .extend(std::iter::repeat_n(b"a:".to_vec(), count));
        }
        _ => {
            plant_in_chunks(choices, plan);
            return StreamReadingEnd::RefusedBody;
        }
    }
    StreamReadingEnd::RefusedHead
}

fn plant_in_chunks(choices: &mut StreamChoices<'_>, plan: &mut RequestPlan) {
    let target = String::from_utf8_lossy(&plan.meaning.target).into_owned();
    plan.line = format!("{} {target} HTTP/1.1", plan.meaning.method).into_bytes();
    plan.host = vec![HOST];
    plan.framing = vec!["Transfer-Encoding: chunked".to_owned()];
    plan.meaning.body = None;
    plan.body = Vec::new();
    for _ in 0..choices.below(3) {
        let content = generate_content(choices);
        if !content.is_empty() {
            plan.body.extend_from_slice(&chunk(choices, &content));
        }
    }
    let text = match choices.is_one_in(16) {
        true => format!("0\r\nA:{}\r\n\r\n", "a".repeat(CHUNK_EXTRAS_MAX)),
        false => choices.one(CHUNKS).to_owned(),
    };
    plan.body.extend_from_slice(text.as_bytes());
}
