//! Forms in `multipart/form-data` (RFC 7578), read strictly and in place: what two readers could read
//! differently is refused, and every part keeps its place among the caller's bytes.

mod part_head;
mod unreadable;

#[cfg(test)]
mod tests;

pub use part_head::is_plain_name;
pub use unreadable::{Reason, Unreadable};

use bytes::Bytes;
use memchr::memmem::Finder;
use part_head::PartHead;
use std::ops::Range;

/// Parts that a form may have; far more than any protocol has fields.
pub const PARTS_MAX: usize = 128;
/// The longest boundary (RFC 2046, 5.1.1).
const BOUNDARY_BYTES_MAX: usize = 70;

/// A form: its bytes as they came, and where each part lies.
pub struct Form {
    body: Bytes,
    parts: Vec<Part>,
}

/// One part of a form.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    pub name: String,
    /// Whether it is a file: its head names one.
    pub is_file: bool,
    /// As written; none where the head says nothing.
    pub content_type: Option<String>,
    /// From its delimiter to the next one: what is cut out to leave the part away.
    pub whole: Range<usize>,
    pub value: Range<usize>,
}

impl Form {
    /// Reads a form whose parts are separated by `boundary`.
    ///
    /// # Errors
    /// The first thing in it that is wrong, or that could be read in two ways.
    pub fn parse(body: Bytes, boundary: &str) -> Result<Self, Unreadable> {
        if boundary.len() > BOUNDARY_BYTES_MAX {
            return Err(Unreadable::at(0, Reason::LongBoundary));
        }
        let mut parts: Vec<Part> = Vec::new();
        let delimiter = format!("--{boundary}");
        let finder = Finder::new(&delimiter);
        let mut delimiters = finder.find_iter(&body);
        if delimiters.next() != Some(0) {
            return Err(Unreadable::at(0, Reason::NoBeginning));
        }
        let mut start = 0;
        loop {
            let head_start = start + delimiter.len();
            match &body[head_start..] {
                [b'-', b'-'] | [b'-', b'-', b'\r', b'\n'] => break,
                [b'\r', b'\n', ..] => {}
                [b'-', b'-', ..] => return Err(Unreadable::at(head_start, Reason::BytesBehind)),
                _ => return Err(Unreadable::at(head_start, Reason::BadDelimiter)),
            }
            if parts.len() == PARTS_MAX {
                return Err(Unreadable::at(start, Reason::TooManyParts));
            }
            let next = delimiters
                .next()
                .ok_or(Unreadable::at(body.len(), Reason::NoEnd))?;
            parts.push(part(&body, start..next, head_start + 2)?);
            start = next;
        }
        Ok(Self { body, parts })
    }

    /// The bytes that were read, unchanged.
    pub fn body(&self) -> &Bytes {
        &self.body
    }

    /// All parts in their order.
    pub fn parts(&self) -> &[Part] {
        &self.parts
    }

    /// The first part of this name.
    pub fn part(&self, name: &str) -> Option<&Part> {
        self.parts.iter().find(|part| part.name == name)
    }

    /// What a part holds.
    pub fn value(&self, part: &Part) -> Bytes {
        self.body.slice(part.value.clone())
    }
}

/// Reads the part that lies at `whole`, from delimiter to delimiter; its head begins at `head`.
fn part(body: &Bytes, whole: Range<usize>, head: usize) -> Result<Part, Unreadable> {
    let (head, value) = PartHead::read(&body[..whole.end], head)?;
    if whole.end < value + 2 || !body[..whole.end].ends_with(b"\r\n") {
        return Err(Unreadable::at(whole.end, Reason::BadDelimiter));
    }
    let PartHead {
        name,
        is_file,
        content_type,
    } = head;
    Ok(Part {
        name,
        is_file,
        content_type,
        value: value..whole.end - 2,
        whole,
    })
}

impl std::fmt::Debug for Form {
    /// Names sizes only: a form is the caller's and stays out of logs.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Form")
            .field("bytes", &self.body.len())
            .field("parts", &self.parts.len())
            .finish()
    }
}
