//! The grammar of RFC 9112 as regular expressions: a second parser, of streams that have arrived as a whole.

use super::reading::sort_by_name;
use bytes::Bytes;
use regex::bytes::{Captures, Regex};
use std::sync::LazyLock;

/// A request at the begin of a stream.
pub struct GrammarMatch {
    pub method: String,
    pub target: Bytes,
    /// With names in lower case, sorted by these.
    pub fields: Vec<(String, Bytes)>,
    /// `None` if the grammar of bodies does not match.
    pub body: Option<Bytes>,
    /// Size of the head, in bytes.
    pub head_bytes: usize,
    /// Size of the request with the empty lines before it, in bytes.
    pub bytes: usize,
}

const TOKEN: &str = r"[!#$%&'*+.^_`|~0-9A-Za-z-]+";
const TEXT: &str = r"[\t\x20-\x7e\x80-\xff]";

/// Section 2.2 lets a server take a line feed alone for the end of a line of the head, and ignore empty lines before it.
static HEAD: LazyLock<Regex> = LazyLock::new(|| {
    bytes_regex(&format!(
        r"^(?P<lead>(?:\r?\n)*)(?P<method>{TOKEN}) (?P<target>[\x21-\x7e]+) HTTP/1\.(?P<minor>[01])\r?\n(?P<fields>(?:{TOKEN}:{TEXT}*\r?\n)*)\r?\n"
    ))
});
static FIELD: LazyLock<Regex> =
    LazyLock::new(|| bytes_regex(&format!(r"({TOKEN}):[\t ]*({TEXT}*?)[\t ]*\r?\n")));
static EMPTY_LINE: LazyLock<Regex> = LazyLock::new(|| bytes_regex(r"\n\r?\n"));
/// Section 7.1.
static CHUNK_SIZE: LazyLock<Regex> = LazyLock::new(|| {
    bytes_regex(&format!(
        r#"^([0-9A-Fa-f]{{1,16}})(?:[\t ]*;[\t ]*{TOKEN}(?:[\t ]*=[\t ]*(?:{TOKEN}|"(?:[\t\x20-\x21\x23-\x5b\x5d-\x7e\x80-\xff]|\\{TEXT})*"))?)*\r\n"#
    ))
});
static TRAILERS: LazyLock<Regex> =
    LazyLock::new(|| bytes_regex(&format!(r"^(?:{TOKEN}:{TEXT}*\r\n)*\r\n")));

/// The first request of `stream`; `None` if no complete head is there.
pub fn first_request(stream: &[u8]) -> Option<GrammarMatch> {
    let head = HEAD.captures(stream)?;
    let part = |name: &str| head.name(name).map_or(&b""[..], |part| part.as_bytes());
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let field = |field: Captures<'_>| {
        let value = Bytes::copy_from_slice(&field[2]);
        (text(&field[1]).to_lowercase(), value)
    };
    let fields = sort_by_name(FIELD.captures_iter(part("fields")).map(field));
    let head_end = head[0].len();
    let body = body(part("minor"), &fields, &stream[head_end..]);
    Some(GrammarMatch {
        method: text(part("method")),
        target: Bytes::copy_from_slice(part("target")),
        fields,
        head_bytes: head_end - part("lead").len(),
        bytes: head_end + body.as_ref().map_or(0, |(_, bytes)| *bytes),
        body: body.map(|(body, _)| body.into()),
    })
}

/// Whether `stream` ends before its first head does.
pub fn is_open_head(stream: &[u8]) -> bool {
    !EMPTY_LINE.is_match(stream.trim_ascii_start())
}

/// The body of a request with these fields, and its size on the wire, in bytes (section 6.3).
fn body(minor_version: &[u8], fields: &[(String, Bytes)], rest: &[u8]) -> Option<(Vec<u8>, usize)> {
    let values = |wanted: &str| -> Vec<&[u8]> {
        let of_name = fields.iter().filter(|(name, _)| name == wanted);
        of_name.map(|(_, value)| &value[..]).collect()
    };
    match (
        &values("transfer-encoding")[..],
        &values("content-length")[..],
    ) {
        ([], []) => Some((Vec::new(), 0)),
        ([], [length]) if length.iter().all(u8::is_ascii_digit) => {
            let length = std::str::from_utf8(length).ok()?.parse().ok()?;
            Some((rest.get(..length)?.to_vec(), length))
        }
        ([coding], []) if minor_version == b"1" && coding.eq_ignore_ascii_case(b"chunked") => {
            chunked_body(rest)
        }
        _ => None,
    }
}

/// The data of a chunked body at the begin of `rest`, and its size on the wire, in bytes.
pub fn chunked_body(rest: &[u8]) -> Option<(Vec<u8>, usize)> {
    let mut body = Vec::new();
    let mut at = 0;
    loop {
        let line = CHUNK_SIZE.captures(&rest[at..])?;
        at += line[0].len();
        let size = std::str::from_utf8(&line[1]).ok()?;
        let size = usize::from_str_radix(size, 16).ok()?;
        if size == 0 {
            return Some((body, at + TRAILERS.find(&rest[at..])?.end()));
        }
        let end = at.checked_add(size)?;
        body.extend_from_slice(rest.get(at..end)?);
        at = end + 2;
        if rest.get(end..at)? != b"\r\n" {
            return None;
        }
    }
}

fn bytes_regex(pattern: &str) -> Regex {
    Regex::new(&format!("(?s-u){pattern}")).unwrap()
}
