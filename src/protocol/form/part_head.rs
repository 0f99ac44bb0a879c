//! The headers of a form's part: its name, whether it is a file, and its content type.

use super::unreadable::{Reason, Unreadable};
use memchr::memmem;
use std::ops::Range;

/// Bytes of the headers of one part.
const HEAD_BYTES_MAX: usize = 8192;

/// What the headers of a part say.
#[derive(Debug, PartialEq, Eq)]
pub struct PartHead {
    pub name: String,
    /// Among the headers' bytes, with quotes if it has any.
    pub written_name: Range<usize>,
    pub is_file: bool,
    pub content_type: Option<String>,
}

impl PartHead {
    /// Reads the headers from `start` to their blank line; gives where the part's value begins.
    pub fn read(body: &[u8], start: usize) -> Result<(Self, usize), Unreadable> {
        let unreadable = |reason| Unreadable::at(start, reason);
        let most = body.len().min(start + HEAD_BYTES_MAX);
        let window = &body[start..most];
        let length = memmem::find(window, b"\r\n\r\n").ok_or(unreadable(Reason::LongHead))?;
        let text =
            std::str::from_utf8(&window[..length]).map_err(|_| unreadable(Reason::BadHeader))?;
        let head = Self::parse(text).map_err(unreadable)?;
        Ok((head, start + length + 4))
    }

    fn parse(text: &str) -> Result<Self, Reason> {
        let mut seen: Vec<String> = Vec::new();
        let (mut disposition, mut content_type) = (None, None);
        for line in text.split("\r\n") {
            let (name, value) = line.split_once(':').ok_or(Reason::BadHeader)?;
            let value = value.trim_matches([' ', '\t']);
            if !is_token(name) || value.chars().any(|c| c.is_control() && c != '\t') {
                return Err(Reason::BadHeader);
            }
            let name = name.to_ascii_lowercase();
            if seen.contains(&name) {
                return Err(Reason::RepeatedHeader);
            }
            match name.as_str() {
                "content-disposition" => disposition = Some(Disposition::parse(value)?),
                "content-type" => content_type = Some(value.to_owned()),
                "content-transfer-encoding" if !is_identity(value) => return Err(Reason::Encoded),
                _ => {}
            }
            seen.push(name);
        }
        if content_type.as_deref().is_some_and(is_in_other_charset) {
            return Err(Reason::Encoded);
        }
        if content_type.as_deref().is_some_and(is_multipart) {
            return Err(Reason::Nested);
        }
        let Disposition { name, is_file } = disposition.ok_or(Reason::NoDisposition)?;
        // The name is a piece of the text, so that its place in it is known.
        let start = name.as_ptr().addr() - text.as_ptr().addr();
        let end = start + name.len();
        let quotes = usize::from(text[..start].ends_with('"'));
        Ok(Self {
            name: name.to_owned(),
            written_name: start - quotes..end + quotes,
            is_file,
            content_type,
        })
    }
}

/// `form-data; name="…"; filename="…"`
struct Disposition<'t> {
    name: &'t str,
    is_file: bool,
}

impl<'t> Disposition<'t> {
    fn parse(value: &'t str) -> Result<Self, Reason> {
        let (kind, mut rest) = value.split_once(';').ok_or(Reason::BadDisposition)?;
        if !kind.trim().eq_ignore_ascii_case("form-data") {
            return Err(Reason::BadDisposition);
        }
        let mut seen: Vec<String> = Vec::new();
        let mut name = None;
        loop {
            let (parameter, value, behind) = parameter(rest)?;
            if seen.contains(&parameter) {
                return Err(Reason::BadDisposition);
            }
            match parameter.as_str() {
                "name" => name = Some(plain_name(value)?),
                // Some readers look for a name within any parameter.
                _ if has_name(value) => return Err(Reason::BadDisposition),
                "filename" | "filename*" => {}
                // Readers differ on whether `name*` and its pieces, `name*0`, overrule `name`.
                extended if extended.starts_with("name*") => return Err(Reason::BadName),
                other if other.contains("name") => return Err(Reason::BadDisposition),
                // `size` and its like say nothing of the field.
                _ => {}
            }
            seen.push(parameter);
            match behind {
                Some(behind) => rest = behind,
                None => break,
            }
        }
        Ok(Self {
            name: name.ok_or(Reason::BadDisposition)?,
            is_file: seen
                .iter()
                .any(|name| matches!(name.as_str(), "filename" | "filename*")),
        })
    }
}

/// The first parameter of `text`: its name in lower case, its value, and what is behind its semicolon.
fn parameter(text: &str) -> Result<(String, &str, Option<&str>), Reason> {
    let (name, value) = text.split_once('=').ok_or(Reason::BadDisposition)?;
    let name = name.trim();
    if !is_token(name) {
        return Err(Reason::BadDisposition);
    }
    let value = value.trim_start_matches([' ', '\t']);
    let (value, behind) = match value.strip_prefix('"') {
        Some(quoted) => {
            let (value, behind) = quoted.split_once('"').ok_or(Reason::BadDisposition)?;
            // To some readers the quote was escaped, and the text goes on.
            if value.ends_with('\\') {
                return Err(Reason::BadDisposition);
            }
            (value, behind.trim_matches([' ', '\t']))
        }
        None => {
            let end = value.find([';', ' ', '\t']).unwrap_or(value.len());
            let (value, behind) = value.split_at(end);
            if !is_token(value) {
                return Err(Reason::BadDisposition);
            }
            (value, behind.trim_matches([' ', '\t']))
        }
    };
    let behind = match behind {
        "" => None,
        behind => Some(behind.strip_prefix(';').ok_or(Reason::BadDisposition)?),
    };
    Ok((name.to_ascii_lowercase(), value, behind))
}

fn plain_name(name: &str) -> Result<&str, Reason> {
    match is_plain_name(name) {
        true => Ok(name),
        false => Err(Reason::BadName),
    }
}

/// Whether the value of a parameter holds what could be read as another one, `name=…`.
fn has_name(value: &str) -> bool {
    let behind = |at: usize| value[at + 4..].trim_start_matches([' ', '\t']);
    let bytes = value.as_bytes();
    (0..bytes.len().saturating_sub(3)).any(|at| {
        bytes[at..at + 4].eq_ignore_ascii_case(b"name") && behind(at).starts_with(['=', '*'])
    })
}

/// Whether a part would have parts of its own, which only some readers look into.
fn is_multipart(content_type: &str) -> bool {
    let kind = content_type.split('/').next().unwrap_or_default();
    kind.trim().eq_ignore_ascii_case("multipart")
}

/// Whether a name has nothing that some readers decode and others do not.
pub fn is_plain_name(name: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_graphic() && !"\\%\"".contains(c);
    !name.is_empty() && name.chars().all(is_plain)
}

/// A token of RFC 9110, 5.6.2.
fn is_token(text: &str) -> bool {
    let is_part = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    !text.is_empty() && text.bytes().all(is_part)
}

/// Whether a `Content-Transfer-Encoding` leaves the bytes as they are.
fn is_identity(encoding: &str) -> bool {
    ["7bit", "8bit", "binary"]
        .iter()
        .any(|identity| encoding.eq_ignore_ascii_case(identity))
}

fn is_in_other_charset(content_type: &str) -> bool {
    let charset = content_type.split(';').skip(1).find_map(|parameter| {
        let (name, value) = parameter.split_once('=')?;
        name.trim().eq_ignore_ascii_case("charset").then_some(value)
    });
    charset.is_some_and(|charset| {
        let charset = charset.trim().trim_matches('"');
        !["utf-8", "us-ascii"]
            .iter()
            .any(|known| charset.eq_ignore_ascii_case(known))
    })
}
