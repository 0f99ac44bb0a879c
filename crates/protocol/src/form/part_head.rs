//! Parses the headers of a form's part: its name, whether it is a file, and its content type.

use super::error::{FormError, FormSyntaxErrorKind};
use memchr::memmem;
use std::borrow::Cow;
use std::ops::Range;

/// The maximum size of the headers of one part, in bytes.
const HEAD_BYTES_MAX: usize = 8192;

/// The parsed headers of a part.
#[derive(Debug, PartialEq, Eq)]
pub struct PartHeaders {
    pub name: String,
    /// The range of the name in the headers, with its quotes.
    pub written_name: Range<usize>,
    /// The parameters `filename` and `filename*` as written, in order.
    pub file_name: Option<String>,
    pub content_type: Option<String>,
    /// Replacements for bytes of the headers that not all parsers read in the same way.
    pub rewrites: Vec<(Range<usize>, String)>,
}

impl PartHeaders {
    /// Parses the headers from `start` to their blank line; returns the offset at which the part's value begins.
    pub fn read(body: &[u8], start: usize) -> Result<(Self, usize), FormError> {
        let unreadable = |reason| FormError::at(start, reason);
        let most = body.len().min(start + HEAD_BYTES_MAX);
        let window = &body[start..most];
        let length =
            memmem::find(window, b"\r\n\r\n").ok_or(unreadable(FormSyntaxErrorKind::LongHead))?;
        let text = std::str::from_utf8(&window[..length])
            .map_err(|_| unreadable(FormSyntaxErrorKind::BadHeader))?;
        let (unfolded, folds) = unfolded(text).map_err(unreadable)?;
        // Without its line end, the blank before the name or its value remains, and parsers differ on it.
        if is_name_folded(text) {
            return Err(unreadable(FormSyntaxErrorKind::FoldedName));
        }
        let mut head = Self::parse(&unfolded).map_err(unreadable)?;
        // Each unfolded line before a position has removed a line end of two bytes.
        let place = |at: usize| {
            let before = folds.iter().enumerate();
            at + 2 * before.filter(|(nth, fold)| *fold - 2 * nth <= at).count()
        };
        let written = head.rewrites.iter_mut().map(|(range, _)| range);
        for range in written.chain([&mut head.written_name]) {
            *range = place(range.start)..place(range.end);
        }
        let line_ends = folds.iter().map(|fold| *fold..fold + 2);
        let is_left = |line_end: &Range<usize>| {
            let mut rewrites = head.rewrites.iter();
            !rewrites.any(|(range, _)| range.start <= line_end.start && line_end.end <= range.end)
        };
        let line_ends: Vec<_> = line_ends.filter(is_left).collect();
        let line_ends = line_ends.into_iter().map(|range| (range, String::new()));
        head.rewrites.extend(line_ends);
        Ok((head, start + length + 4))
    }

    fn parse(text: &str) -> Result<Self, FormSyntaxErrorKind> {
        let mut seen: Vec<String> = Vec::new();
        let (mut disposition, mut content_type, mut length) = (None, None, None);
        for line in text.split("\r\n") {
            let (name, value) = line.split_once(':').ok_or(FormSyntaxErrorKind::BadHeader)?;
            let value = value.trim_matches([' ', '\t']);
            if !is_token(name) || value.chars().any(|c| c.is_control() && c != '\t') {
                return Err(FormSyntaxErrorKind::BadHeader);
            }
            let name = name.to_ascii_lowercase();
            if seen.contains(&name) {
                return Err(FormSyntaxErrorKind::RepeatedHeader);
            }
            match name.as_str() {
                "content-disposition" => disposition = Some(ContentDisposition::parse(value)?),
                "content-type" => content_type = Some(value.to_owned()),
                // A second length, which some parsers use in place of the boundary.
                "content-length" => length = Some(line),
                "content-transfer-encoding" if !is_identity(value) => {
                    return Err(FormSyntaxErrorKind::TransferEncoding);
                }
                _ => {}
            }
            seen.push(name);
        }
        if content_type.as_deref().is_some_and(is_in_other_charset) {
            return Err(FormSyntaxErrorKind::TransferEncoding);
        }
        if content_type.as_deref().is_some_and(is_multipart) {
            return Err(FormSyntaxErrorKind::NestedMultipart);
        }
        let ContentDisposition {
            name,
            file_name,
            escaped,
        } = disposition.ok_or(FormSyntaxErrorKind::NoDisposition)?;
        let Range { start, end } = place_in(text, name);
        let quotes = usize::from(text[..start].ends_with('"'));
        let plain = |value: &str| (place_in(text, value), value.replace("\\\"", "%22"));
        let mut rewrites: Vec<_> = escaped.into_iter().map(plain).collect();
        rewrites.extend(length.map(|line| (whole_line(text, place_in(text, line)), String::new())));
        Ok(Self {
            name: name.to_owned(),
            written_name: start - quotes..end + quotes,
            file_name,
            content_type,
            rewrites,
        })
    }
}

/// The range of `piece` in `text`, of which it is a slice.
fn place_in(text: &str, piece: &str) -> Range<usize> {
    let start = piece.as_ptr().addr() - text.as_ptr().addr();
    start..start + piece.len()
}

/// The range of a line with one line end: that after it, or of the last line that before it.
fn whole_line(text: &str, line: Range<usize>) -> Range<usize> {
    match line.end < text.len() {
        true => line.start..line.end + 2,
        false => line.start.saturating_sub(2)..line.end,
    }
}

/// Whether a line ends within the parameter `name` or `filename`, before or after its `=`.
fn is_name_folded(text: &str) -> bool {
    let folds = ["\r\n ", "\r\n\t"];
    let mut folds = folds.iter().flat_map(|fold| text.match_indices(fold));
    folds.any(|(at, _)| {
        let before = text[..at].trim_end_matches([' ', '\t']);
        let after = text[at..].trim_start_matches(['\r', '\n', ' ', '\t']);
        before.ends_with('=') || after.starts_with('=')
    })
}

/// The headers with folded lines joined, and the offsets of the line ends that were removed (RFC 5322, section 2.2.3).
fn unfolded(text: &str) -> Result<(Cow<'_, str>, Vec<usize>), FormSyntaxErrorKind> {
    if !text.contains("\r\n ") && !text.contains("\r\n\t") {
        return Ok((text.into(), Vec::new()));
    }
    let (mut whole, mut folds) = (String::with_capacity(text.len()), Vec::new());
    let mut at = 0;
    for line in text.split("\r\n") {
        match line.starts_with([' ', '\t']) {
            // To some parsers a line of white space ends the headers.
            true if at == 0 || line.trim().is_empty() => {
                return Err(FormSyntaxErrorKind::BadHeader);
            }
            true => folds.push(at - 2),
            false if at > 0 => whole.push_str("\r\n"),
            false => {}
        }
        whole.push_str(line);
        at += line.len() + 2;
    }
    Ok((whole.into(), folds))
}

/// A parsed `form-data; name="…"; filename="…"`.
struct ContentDisposition<'t> {
    name: &'t str,
    file_name: Option<String>,
    /// A file name with escaped quotes, which end the name to some parsers.
    escaped: Option<&'t str>,
}

impl<'t> ContentDisposition<'t> {
    fn parse(value: &'t str) -> Result<Self, FormSyntaxErrorKind> {
        let (kind, mut rest) = value
            .split_once(';')
            .ok_or(FormSyntaxErrorKind::BadDisposition)?;
        if !kind.trim().eq_ignore_ascii_case("form-data") {
            return Err(FormSyntaxErrorKind::BadDisposition);
        }
        let mut seen: Vec<String> = Vec::new();
        let (mut name, mut escaped) = (None, None);
        let mut file_name: Option<String> = None;
        loop {
            let (parameter, value, remainder) = parameter(rest)?;
            if seen.contains(&parameter) {
                return Err(FormSyntaxErrorKind::BadDisposition);
            }
            if matches!(parameter.as_str(), "filename" | "filename*") {
                let written = file_name.get_or_insert_default();
                written.extend([&parameter, "=", value, ";"]);
            }
            match parameter.as_str() {
                "name" => name = Some(plain_name(value)?),
                // Some parsers search for a name inside any parameter.
                _ if has_name(value) => return Err(FormSyntaxErrorKind::BadDisposition),
                "filename" if value.contains('"') => escaped = Some(value),
                _ if value.contains('"') => return Err(FormSyntaxErrorKind::BadDisposition),
                "filename" | "filename*" => {}
                // Parsers differ on whether `name*` and its segments, `name*0`, override `name`.
                extended if extended.starts_with("name*") => {
                    return Err(FormSyntaxErrorKind::BadName);
                }
                other if other.contains("name") => return Err(FormSyntaxErrorKind::BadDisposition),
                // Other parameters, such as `size`, do not affect the field.
                _ => {}
            }
            seen.push(parameter);
            match remainder {
                Some(remainder) => rest = remainder,
                None => break,
            }
        }
        Ok(Self {
            name: name.ok_or(FormSyntaxErrorKind::BadDisposition)?,
            file_name,
            escaped,
        })
    }
}

/// Parses the first parameter of `text`: its name in lower case, its value, and the text after the semicolon.
fn parameter(text: &str) -> Result<(String, &str, Option<&str>), FormSyntaxErrorKind> {
    let (name, value) = text
        .split_once('=')
        .ok_or(FormSyntaxErrorKind::BadDisposition)?;
    let name = name.trim();
    if !is_token(name) {
        return Err(FormSyntaxErrorKind::BadDisposition);
    }
    let value = value.trim_start_matches([' ', '\t']);
    let (value, remainder) = match value.strip_prefix('"') {
        Some(quoted) => {
            let end = quoted_end(quoted).ok_or(FormSyntaxErrorKind::BadDisposition)?;
            let (value, remainder) = (&quoted[..end], &quoted[end + 1..]);
            (value, remainder.trim_matches([' ', '\t']))
        }
        None => {
            let end = value.find([';', ' ', '\t']).unwrap_or(value.len());
            let (value, remainder) = value.split_at(end);
            if !is_token(value) {
                return Err(FormSyntaxErrorKind::BadDisposition);
            }
            (value, remainder.trim_matches([' ', '\t']))
        }
    };
    let remainder = match remainder {
        "" => None,
        remainder => Some(
            remainder
                .strip_prefix(';')
                .ok_or(FormSyntaxErrorKind::BadDisposition)?,
        ),
    };
    Ok((name.to_ascii_lowercase(), value, remainder))
}

/// The end of a quoted text after its opening quote: the offset of the first quote that is not escaped.
fn quoted_end(text: &str) -> Option<usize> {
    let mut is_escaped = false;
    text.bytes().position(|byte| {
        let ends = byte == b'"' && !is_escaped;
        is_escaped = byte == b'\\' && !is_escaped;
        ends
    })
}

fn plain_name(name: &str) -> Result<&str, FormSyntaxErrorKind> {
    match is_plain_name(name) {
        true => Ok(name),
        false => Err(FormSyntaxErrorKind::BadName),
    }
}

/// Whether a parameter's value contains text that could be read as another parameter, `name=…`.
fn has_name(value: &str) -> bool {
    let remainder = |at: usize| value[at + 4..].trim_start_matches([' ', '\t']);
    let bytes = value.as_bytes();
    (0..bytes.len().saturating_sub(3)).any(|at| {
        bytes[at..at + 4].eq_ignore_ascii_case(b"name") && remainder(at).starts_with(['=', '*'])
    })
}

/// Whether a part would have parts of its own, which only some parsers read.
fn is_multipart(content_type: &str) -> bool {
    let kind = content_type.split('/').next().unwrap_or_default();
    kind.trim().eq_ignore_ascii_case("multipart")
}

/// Whether a name contains nothing that some parsers decode and others do not.
pub fn is_plain_name(name: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_graphic() && !"\\%\"".contains(c);
    !name.is_empty() && name.chars().all(is_plain)
}

/// Whether `text` is a token (RFC 9110, section 5.6.2).
fn is_token(text: &str) -> bool {
    let is_part = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    !text.is_empty() && text.bytes().all(is_part)
}

/// Whether a `Content-Transfer-Encoding` leaves the bytes unchanged.
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
