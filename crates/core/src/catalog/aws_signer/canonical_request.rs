//! The form of a request that AWS signs, as it computes it from what it receives.

use headgate_protocol::percent_encoding::{decoded_bytes, push_component};
use std::collections::BTreeMap;

/// A canonical request, whose digest is signed.
pub(super) struct CanonicalRequest {
    pub bytes: Vec<u8>,
    /// The names of its headers, such as `host;x-amz-date`.
    pub signed_headers: String,
}

impl CanonicalRequest {
    /// The form of a request with these headers, whose names are in lower case; `digest` is that of its body in hex.
    pub fn new<'h>(
        method: &str,
        path: &str,
        query: &str,
        headers: impl IntoIterator<Item = (&'h str, &'h [u8])>,
        digest: &str,
    ) -> Self {
        let mut by_name: BTreeMap<&str, Vec<u8>> = BTreeMap::new();
        for (name, value) in headers {
            let value = trimmed(value);
            let values = by_name.entry(name);
            values
                .and_modify(|values| {
                    values.push(b',');
                    values.extend(&value);
                })
                .or_insert(value);
        }
        let names: Vec<&str> = by_name.keys().copied().collect();
        let signed_headers = names.join(";");
        let mut bytes = format!("{method}\n{path}\n{query}\n").into_bytes();
        for (name, value) in &by_name {
            bytes.extend(name.as_bytes());
            bytes.push(b':');
            bytes.extend(value);
            bytes.push(b'\n');
        }
        bytes.extend(format!("\n{signed_headers}\n{digest}").into_bytes());
        Self {
            bytes,
            signed_headers,
        }
    }
}

/// A path as it is sent, without empty and relative segments, and encoded once more, as all services but S3 have it.
pub(super) fn canonical_path(path: &str) -> String {
    let mut segments = Vec::new();
    for segment in path.split('/') {
        match segment {
            "" | "." => {}
            ".." => drop(segments.pop()),
            other => segments.push(other),
        }
    }
    let ends_open = ["/", "/.", "/.."].iter().any(|end| path.ends_with(end));
    let end = if ends_open && !segments.is_empty() {
        "/"
    } else {
        ""
    };
    encoded_path(&format!("/{}{end}", segments.join("/")))
}

/// A path with all but its slashes encoded.
pub(super) fn encoded_path(path: &str) -> String {
    let mut encoded = String::with_capacity(path.len() + 16);
    for (index, segment) in path.split('/').enumerate() {
        if index > 0 {
            encoded.push('/');
        }
        push_component(&mut encoded, segment.as_bytes());
    }
    encoded
}

/// A query with its members in order, each part in the one encoding of AWS.
pub(super) fn canonical_query(query: &str) -> String {
    let members = query.split('&').filter(|member| !member.is_empty());
    let mut members: Vec<(String, String)> = members
        .map(|member| {
            let (name, value) = member.split_once('=').unwrap_or((member, ""));
            (reencoded(name), reencoded(value))
        })
        .collect();
    members.sort();
    let members = members
        .iter()
        .map(|(name, value)| format!("{name}={value}"));
    members.collect::<Vec<_>>().join("&")
}

/// Part of a query in the encoding of AWS; a `+` is a blank, as AWS reads it.
fn reencoded(part: &str) -> String {
    let mut encoded = String::with_capacity(part.len());
    let plain = decoded_bytes(part.replace('+', " ").as_bytes());
    push_component(&mut encoded, &plain);
    encoded
}

/// A value without blanks around it, and with one where there are several.
fn trimmed(value: &[u8]) -> Vec<u8> {
    let words = value.split(u8::is_ascii_whitespace);
    let words: Vec<&[u8]> = words.filter(|word| !word.is_empty()).collect();
    words.join(&b' ')
}
