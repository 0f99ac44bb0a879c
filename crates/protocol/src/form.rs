//! Forms in `multipart/form-data` (RFC 7578), read strictly and in place: what two readers could read
//! differently is refused, what carries no part is left out, and every part keeps its place among the caller's bytes.

mod error;
mod part_head;

#[cfg(test)]
mod tests;

pub use error::{FormError, FormErrorKind};
pub use part_head::is_plain_name;

use crate::json::edit::JsonEdits;
use bytes::Bytes;
use memchr::memmem::Finder;
use part_head::PartHeaders;
use std::ops::Range;

/// Parts that a form may have; far more than any protocol has fields.
pub const PARTS_MAX: usize = 128;
/// The longest boundary (RFC 2046, 5.1.1).
const BOUNDARY_BYTES_MAX: usize = 70;

/// A form: its bytes without preamble and epilogue, and where each part lies.
pub struct MultipartForm {
    body: Bytes,
    parts: Vec<FormPart>,
    /// What stands instead of bytes that only some readers read in this way, such as nothing instead of white space
    /// between a delimiter and the end of its line.
    rewrites: ByteReplacements,
}

/// Bytes of a form, and what stands instead of them.
type ByteReplacements = Vec<(Range<usize>, String)>;

/// One part of a form.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FormPart {
    pub name: String,
    /// The name as its header has it, with quotes if it has any.
    pub written_name: Range<usize>,
    /// Whether it is a file: its head names one.
    pub is_file: bool,
    /// As written; none where the head says nothing.
    pub content_type: Option<String>,
    /// From its delimiter to the next one: what is cut out to leave the part away.
    pub whole: Range<usize>,
    pub value: Range<usize>,
}

impl MultipartForm {
    /// Reads a form whose parts are separated by `boundary`. What stands before the first delimiter and behind the
    /// last one is no part of a form (RFC 2046, 5.1.1), and is not kept.
    ///
    /// # Errors
    /// The first thing in it that is wrong, or that could be read in two ways.
    pub fn parse(body: Bytes, boundary: &str) -> Result<Self, FormError> {
        if boundary.len() > BOUNDARY_BYTES_MAX {
            return Err(FormError::at(0, FormErrorKind::LongBoundary));
        }
        let delimiter = format!("--{boundary}");
        let finder = Finder::new(&delimiter);
        let mut delimiters = finder.find_iter(&body);
        let first = delimiters
            .next()
            .ok_or(FormError::at(0, FormErrorKind::NoBeginning))?;
        if first > 0 && !body[..first].ends_with(b"\r\n") {
            return Err(FormError::at(first, FormErrorKind::BadDelimiter));
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
                    // To some readers the form goes on there.
                    Some(more) => return Err(FormError::at(more, FormErrorKind::BytesBehind)),
                }
            }
            if form.parts.len() == PARTS_MAX {
                return Err(FormError::at(start, FormErrorKind::TooManyParts));
            }
            let next = next.ok_or(FormError::at(body.len(), FormErrorKind::NoEnd))?;
            let (part, rewrites) = part(&body, start..next, line.end)?;
            form.parts.push(part);
            form.rewrites.extend(rewrites);
            start = next;
        };
        form.keep(first..end);
        Ok(form)
    }

    /// The bytes that were read, from the first delimiter to the line end of the last one.
    pub fn body(&self) -> &Bytes {
        &self.body
    }

    /// Puts the form into the words that every reader reads in the same way.
    pub fn normalise(&self, edits: &mut JsonEdits) {
        for (range, plain) in &self.rewrites {
            edits.replace(range.clone(), plain.clone());
        }
    }

    /// All parts in their order.
    pub fn parts(&self) -> &[FormPart] {
        &self.parts
    }

    /// The first part of this name.
    pub fn part(&self, name: &str) -> Option<&FormPart> {
        self.parts.iter().find(|part| part.name == name)
    }

    /// What a part holds.
    pub fn value(&self, part: &FormPart) -> Bytes {
        self.body.slice(part.value.clone())
    }

    /// Keeps these bytes, in which all parts lie.
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

/// What follows a boundary, to the end of its line.
struct DelimiterLine {
    /// Whether the form ends with it.
    is_last: bool,
    padding: Range<usize>,
    /// Behind the line's end, or where the body ends.
    end: usize,
}

impl DelimiterLine {
    /// Reads what stands at `at`, right behind a boundary. White space before the line's end is for transports to
    /// add, and for receivers to ignore (RFC 2046, 5.1.1).
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
            _ if is_last => Err(FormError::at(padding.end, FormErrorKind::BytesBehind)),
            _ => Err(FormError::at(padding.end, FormErrorKind::BadDelimiter)),
        }
    }
}

/// Reads the part that lies at `whole`, from delimiter to delimiter; its head begins at `head`.
fn part(
    body: &Bytes,
    whole: Range<usize>,
    head: usize,
) -> Result<(FormPart, ByteReplacements), FormError> {
    let (read, value) = PartHeaders::read(&body[..whole.end], head)?;
    if whole.end < value + 2 || !body[..whole.end].ends_with(b"\r\n") {
        return Err(FormError::at(whole.end, FormErrorKind::BadDelimiter));
    }
    let PartHeaders {
        name,
        written_name,
        is_file,
        content_type,
        rewrites,
    } = read;
    let within = |range: Range<usize>| head + range.start..head + range.end;
    let rewrites = rewrites.into_iter();
    let rewrites = rewrites.map(|(range, plain)| (within(range), plain));
    let part = FormPart {
        name,
        written_name: within(written_name),
        is_file,
        content_type,
        value: value..whole.end - 2,
        whole,
    };
    Ok((part, rewrites.collect()))
}

impl std::fmt::Debug for MultipartForm {
    /// Names sizes only: a form is the caller's and stays out of logs.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Form")
            .field("bytes", &self.body.len())
            .field("parts", &self.parts.len())
            .finish()
    }
}
