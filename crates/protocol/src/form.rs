//! Strict, zero-copy parsing of `multipart/form-data` (RFC 7578).
//!
//! Ambiguous forms are refused, because two parsers could read them differently. Every part keeps its byte range in the
//! caller's body.

mod boundary;
mod error;
mod fields;
mod part_head;
mod writer;

#[cfg(test)]
mod tests;

pub use boundary::boundary;
pub use error::{FormError, FormSyntaxErrorKind};
pub use fields::describe_fields;
pub use part_head::is_plain_name;
pub use writer::{FormBoundary, InvalidFormFile, WrittenForm};

use crate::json::edit::JsonEdits;
use bytes::Bytes;
use memchr::memmem::Finder;
use part_head::PartHeaders;
use std::ops::Range;

/// The maximum number of parts, far more than any protocol has fields.
pub const PARTS_MAX: usize = 128;
/// The maximum length of a boundary (RFC 2046, section 5.1.1).
const BOUNDARY_BYTES_MAX: usize = 70;

/// The field with the charset of all others (RFC 7578, section 4.6), which only some parsers obey.
const CHARSET_FIELD: &str = "_charset_";

/// A form: its bytes without preamble and epilogue, and the ranges of its parts.
pub struct MultipartForm {
    body: Bytes,
    parts: Vec<FormPart>,
    /// Replacements for bytes that not all parsers read in the same way, such as white space after a delimiter, which
    /// is removed.
    rewrites: ByteReplacements,
}

/// Byte ranges of a form, and their replacements.
type ByteReplacements = Vec<(Range<usize>, String)>;

/// A part of a form.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FormPart {
    pub name: String,
    /// The range of the name in the header, with its quotes.
    pub written_name: Range<usize>,
    /// The parameters `filename` and `filename*` as written, in order; `None` if the part is no file.
    pub file_name: Option<String>,
    /// The Content-Type as written; `None` if the part has none.
    pub content_type: Option<String>,
    /// From the part's delimiter to the next one: the range to remove in order to omit the part.
    pub whole: Range<usize>,
    pub value: Range<usize>,
}

impl MultipartForm {
    /// Parses a form whose parts are separated by `boundary`. The preamble before the first delimiter and the epilogue
    /// after the last one are not part of the form (RFC 2046, section 5.1.1), and are dropped.
    ///
    /// # Errors
    /// The first syntax error or ambiguity.
    pub fn parse(body: Bytes, boundary: &str) -> Result<Self, FormError> {
        if boundary.len() > BOUNDARY_BYTES_MAX {
            return Err(FormError::at(0, FormSyntaxErrorKind::LongBoundary));
        }
        let delimiter = format!("--{boundary}");
        let finder = Finder::new(&delimiter);
        let mut delimiters = finder.find_iter(&body);
        let first = delimiters
            .next()
            .ok_or(FormError::at(0, FormSyntaxErrorKind::NoBeginning))?;
        if first > 0 && !body[..first].ends_with(b"\r\n") {
            return Err(FormError::at(first, FormSyntaxErrorKind::BadDelimiter));
        }
        let mut form = Self {
            body: body.clone(),
            parts: Vec::new(),
            rewrites: Vec::new(),
        };
        let mut start = first;
        let end = loop {
            let line = DelimiterLine::read(&body, start + delimiter.len())?;
            if !line.padding.is_empty() {
                form.rewrites.push((line.padding.clone(), String::new()));
            }
            let next = delimiters.next();
            if line.is_last {
                match next {
                    None => break line.end,
                    // Some parsers continue to read the form after the closing delimiter.
                    Some(more) => {
                        return Err(FormError::at(more, FormSyntaxErrorKind::TrailingBytes));
                    }
                }
            }
            if form.parts.len() == PARTS_MAX {
                return Err(FormError::at(start, FormSyntaxErrorKind::TooManyParts));
            }
            let next = next.ok_or(FormError::at(body.len(), FormSyntaxErrorKind::NoEnd))?;
            let (part, rewrites) = part(&body, start..next, line.end)?;
            form.parts.push(part);
            form.rewrites.extend(rewrites);
            start = next;
        };
        form.keep(first..end);
        Ok(form)
    }

    /// The bytes from the first delimiter to the end of the closing delimiter's line.
    pub fn body(&self) -> &Bytes {
        &self.body
    }

    /// Adds edits that make the form unambiguous for all parsers.
    pub fn normalise(&self, edits: &mut JsonEdits) {
        for (range, plain) in &self.rewrites {
            edits.replace(range.clone(), plain.clone());
        }
    }

    /// All parts, in order.
    pub fn parts(&self) -> &[FormPart] {
        &self.parts
    }

    /// The first part of this name.
    pub fn part(&self, name: &str) -> Option<&FormPart> {
        self.parts.iter().find(|part| part.name == name)
    }

    /// The content of a part.
    pub fn value(&self, part: &FormPart) -> Bytes {
        self.body.slice(part.value.clone())
    }

    /// Drops all bytes outside of `kept`, which contains all parts.
    fn keep(&mut self, kept: Range<usize>) {
        self.body = self.body.slice(kept.clone());
        let parts = self.parts.iter_mut().flat_map(|part| {
            let FormPart {
                written_name,
                whole,
                value,
                ..
            } = part;
            [written_name, whole, value]
        });
        let rewritten = self.rewrites.iter_mut().map(|(range, _)| range);
        for range in parts.chain(rewritten) {
            *range = range.start - kept.start..range.end - kept.start;
        }
    }
}

/// What follows a boundary, up to the end of its line.
struct DelimiterLine {
    /// Whether it closes the form.
    is_last: bool,
    padding: Range<usize>,
    /// The offset after the line end, or the end of the body.
    end: usize,
}

impl DelimiterLine {
    /// Parses the rest of a delimiter line at `at`, directly after the boundary. Transports may add white space before
    /// the line end, and receivers ignore it (RFC 2046, section 5.1.1).
    fn read(body: &[u8], at: usize) -> Result<Self, FormError> {
        let is_last = body[at..].starts_with(b"--");
        let from = at + if is_last { 2 } else { 0 };
        let is_blank = |byte: &&u8| matches!(byte, b' ' | b'\t');
        let blanks = body[from..].iter().take_while(is_blank).count();
        let padding = from..from + blanks;
        match &body[padding.end..] {
            [b'\r', b'\n', ..] => Ok(Self {
                is_last,
                end: padding.end + 2,
                padding,
            }),
            [] if is_last => Ok(Self {
                is_last,
                end: padding.end,
                padding,
            }),
            _ if is_last => Err(FormError::at(
                padding.end,
                FormSyntaxErrorKind::TrailingBytes,
            )),
            _ => Err(FormError::at(
                padding.end,
                FormSyntaxErrorKind::BadDelimiter,
            )),
        }
    }
}

/// Whether a charset's name is that of UTF-8, or of a part of it.
fn is_utf8(charset: &[u8]) -> bool {
    let known: [&[u8]; 2] = [b"utf-8", b"us-ascii"];
    known
        .iter()
        .any(|known| charset.trim_ascii().eq_ignore_ascii_case(known))
}

/// Parses the part at `whole`, from delimiter to delimiter; its headers begin at `head`.
fn part(
    body: &Bytes,
    whole: Range<usize>,
    head: usize,
) -> Result<(FormPart, ByteReplacements), FormError> {
    let (read, value) = PartHeaders::read(&body[..whole.end], head)?;
    if whole.end < value + 2 || !body[..whole.end].ends_with(b"\r\n") {
        return Err(FormError::at(whole.end, FormSyntaxErrorKind::BadDelimiter));
    }
    if read.name.eq_ignore_ascii_case(CHARSET_FIELD) && !is_utf8(&body[value..whole.end - 2]) {
        return Err(FormError::at(head, FormSyntaxErrorKind::DefaultCharset));
    }
    let PartHeaders {
        name,
        written_name,
        file_name,
        content_type,
        rewrites,
    } = read;
    let within = |range: Range<usize>| head + range.start..head + range.end;
    let rewrites = rewrites.into_iter();
    let rewrites = rewrites.map(|(range, plain)| (within(range), plain));
    let part = FormPart {
        name,
        written_name: within(written_name),
        file_name,
        content_type,
        value: value..whole.end - 2,
        whole,
    };
    Ok((part, rewrites.collect()))
}

impl FormPart {
    pub fn is_file(&self) -> bool {
        self.file_name.is_some()
    }
}

impl std::fmt::Debug for MultipartForm {
    /// Prints only sizes: a form is the caller's content and must not be logged.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Form")
            .field("bytes", &self.body.len())
            .field("parts", &self.parts.len())
            .finish()
    }
}
