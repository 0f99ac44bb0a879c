//! The headers of a form's part: its name, whether it is a file, and its content type.

use super::error::{FormError, FormErrorKind};
use memchr::memmem;
use std::borrow::Cow;
use std::ops::Range;

/// Bytes of the headers of one part.
const HEAD_BYTES_MAX: usize = 8192;

/// What the headers of a part say.
#[derive(Debug, PartialEq, Eq)]
pub struct PartHeaders {
    pub name: String,
    /// Among the headers' bytes, with quotes if it has any.
    pub written_name: Range<usize>,
    pub is_file: bool,
    pub content_type: Option<String>,
    /// What stands instead of pieces of the headers that only some readers read in this way.
    pub rewrites: Vec<(Range<usize>, String)>,
}

impl PartHeaders {
    /// Reads the headers from `start` to their blank line; gives where the part's value begins.
    pub fn read(body: &[u8], start: usize) -> Result<(Self, usize), FormError> {
        let unreadable = |reason| FormError::at(start, reason);
        let most = body.len().min(start + HEAD_BYTES_MAX);
        let window = &body[start..most];
        let length =
            memmem::find(window, b"\r\n\r\n").ok_or(unreadable(FormErrorKind::LongHead))?;
        let text = std::str::from_utf8(&window[..length])
            .map_err(|_| unreadable(FormErrorKind::BadHeader))?;
        let (unfolded, folds) = unfolded(text).map_err(unreadable)?;
        let mut head = Self::parse(&unfolded).map_err(unreadable)?;
        // Each fold before a place has taken its line end out.
        let place = |at: usize| {
            let before = folds.iter().enumerate();
            at + 2 * before.filter(|(nth, fold)| *fold - 2 * nth <= at).count()
        };
        let written = head.rewrites.iter_mut().map(|(range, _)| range);
        for range in written.chain([&mut head.written_name]) {
            *range = place(range.start)..place(range.end);
        }
        let line_ends = folds.iter().map(|fold| (*fold..fold + 2, String::new()));
        head.rewrites.extend(line_ends);
        Ok((head, start + length + 4))
    }

    fn parse(text: &str) -> Result<Self, FormErrorKind> {
        let mut seen: Vec<String> = Vec::new();
        let (mut disposition, mut content_type) = (None, None);
        for line in text.split("\r\n") {
            let (name, value) = line.split_once(':').ok_or(FormErrorKind::BadHeader)?;
            let value = value.trim_matches([' ', '\t']);
            if !is_token(name) || value.chars().any(|c| c.is_control() && c != '\t') {
                return Err(FormErrorKind::BadHeader);
            }
            let name = name.to_ascii_lowercase();
            if seen.contains(&name) {
                return Err(FormErrorKind::RepeatedHeader);
            }
            match name.as_str() {
                "content-disposition" => disposition = Some(ContentDisposition::parse(value)?),
                "content-type" => content_type = Some(value.to_owned()),
                "content-transfer-encoding" if !is_identity(value) => {
                    return Err(FormErrorKind::Encoded);
                }
                _ => {}
            }
            seen.push(name);
        }
        if content_type.as_deref().is_some_and(is_in_other_charset) {
            return Err(FormErrorKind::Encoded);
        }
        if content_type.as_deref().is_some_and(is_multipart) {
            return Err(FormErrorKind::Nested);
        }
        let ContentDisposition {
            name,
            is_file,
            escaped,
        } = disposition.ok_or(FormErrorKind::NoDisposition)?;
        let Range { start, end } = place_in(text, name);
        let quotes = usize::from(text[..start].ends_with('"'));
        let plain = |value: &str| (place_in(text, value), value.replace("\\\"", "%22"));
        Ok(Self {
            name: name.to_owned(),
            written_name: start - quotes..end + quotes,
            is_file,
            content_type,
            rewrites: escaped.into_iter().map(plain).collect(),
        })
    }
}

/// Where a piece of `text` lies in it.
fn place_in(text: &str, piece: &str) -> Range<usize> {
    let start = piece.as_ptr().addr() - text.as_ptr().addr();
    start..start + piece.len()
}

/// The headers with each in one line, and where a line's end was taken out for that (RFC 5322, 2.2.3).
fn unfolded(text: &str) -> Result<(Cow<'_, str>, Vec<usize>), FormErrorKind> {
    if !text.contains("\r\n ") && !text.contains("\r\n\t") {
        return Ok((text.into(), Vec::new()));
    }
    let (mut whole, mut folds) = (String::with_capacity(text.len()), Vec::new());
    let mut at = 0;
    for line in text.split("\r\n") {
        match line.starts_with([' ', '\t']) {
            // To some readers a line of white space ends the headers.
            true if at == 0 || line.trim().is_empty() => return Err(FormErrorKind::BadHeader),
            true => folds.push(at - 2),
            false if at > 0 => whole.push_str("\r\n"),
            false => {}
        }
        whole.push_str(line);
        at += line.len() + 2;
    }
    Ok((whole.into(), folds))
}

/// `form-data; name="…"; filename="…"`
struct ContentDisposition<'t> {
    name: &'t str,
    is_file: bool,
    /// A file name with escaped quotes, which end it to some readers.
    escaped: Option<&'t str>,
}

impl<'t> ContentDisposition<'t> {
    fn parse(value: &'t str) -> Result<Self, FormErrorKind> {
        let (kind, mut rest) = value.split_once(';').ok_or(FormErrorKind::BadDisposition)?;
        if !kind.trim().eq_ignore_ascii_case("form-data") {
            return Err(FormErrorKind::BadDisposition);
        }
        let mut seen: Vec<String> = Vec::new();
        let (mut name, mut escaped) = (None, None);
        loop {
            let (parameter, value, behind) = parameter(rest)?;
            if seen.contains(&parameter) {
                return Err(FormErrorKind::BadDisposition);
            }
            match parameter.as_str() {
                "name" => name = Some(plain_name(value)?),
                // Some readers look for a name within any parameter.
                _ if has_name(value) => return Err(FormErrorKind::BadDisposition),
                "filename" if value.contains('"') => escaped = Some(value),
                _ if value.contains('"') => return Err(FormErrorKind::BadDisposition),
                "filename" | "filename*" => {}
                // Readers differ on whether `name*` and its pieces, `name*0`, overrule `name`.
                extended if extended.starts_with("name*") => return Err(FormErrorKind::BadName),
                other if other.contains("name") => return Err(FormErrorKind::BadDisposition),
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
            name: name.ok_or(FormErrorKind::BadDisposition)?,
            is_file: seen
                .iter()
                .any(|name| matches!(name.as_str(), "filename" | "filename*")),
            escaped,
        })
    }
}

/// The first parameter of `text`: its name in lower case, its value, and what is behind its semicolon.
fn parameter(text: &str) -> Result<(String, &str, Option<&str>), FormErrorKind> {
    let (name, value) = text.split_once('=').ok_or(FormErrorKind::BadDisposition)?;
    let name = name.trim();
    if !is_token(name) {
        return Err(FormErrorKind::BadDisposition);
    }
    let value = value.trim_start_matches([' ', '\t']);
    let (value, behind) = match value.strip_prefix('"') {
        Some(quoted) => {
            let end = quoted_end(quoted).ok_or(FormErrorKind::BadDisposition)?;
            let (value, behind) = (&quoted[..end], &quoted[end + 1..]);
            (value, behind.trim_matches([' ', '\t']))
        }
        None => {
            let end = value.find([';', ' ', '\t']).unwrap_or(value.len());
            let (value, behind) = value.split_at(end);
            if !is_token(value) {
                return Err(FormErrorKind::BadDisposition);
            }
            (value, behind.trim_matches([' ', '\t']))
        }
    };
    let behind = match behind {
        "" => None,
        behind => Some(
            behind
                .strip_prefix(';')
                .ok_or(FormErrorKind::BadDisposition)?,
        ),
    };
    Ok((name.to_ascii_lowercase(), value, behind))
}

/// Where a quoted text ends that began before: at the first quote that is not escaped.
fn quoted_end(text: &str) -> Option<usize> {
    let mut is_escaped = false;
    text.bytes().position(|byte| {
        let ends = byte == b'"' && !is_escaped;
        is_escaped = byte == b'\\' && !is_escaped;
        ends
    })
}

fn plain_name(name: &str) -> Result<&str, FormErrorKind> {
    match is_plain_name(name) {
        true => Ok(name),
        false => Err(FormErrorKind::BadName),
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
