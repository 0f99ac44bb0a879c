//! Why a form is not read, and where.

use crate::fault::{Fault, FaultKind};
use std::error::Error;
use std::fmt;

/// The first thing that is wrong with a form.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unreadable {
    /// Bytes before the fault, from 0.
    pub offset: usize,
    pub reason: Reason,
}

/// Every way in which a form is wrong, or could be read in two ways.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    LongBoundary,
    NoBeginning,
    /// The boundary's text where it is no delimiter, or with something between it and the line's end.
    BadDelimiter,
    BytesBehind,
    NoEnd,
    TooManyParts,
    LongHead,
    BadHeader,
    RepeatedHeader,
    NoDisposition,
    BadDisposition,
    /// A name with escapes, or in another charset.
    BadName,
    Encoded,
    /// A part that is a multipart itself.
    Nested,
}

impl Unreadable {
    pub(super) fn at(offset: usize, reason: Reason) -> Self {
        Self { offset, reason }
    }
}

impl fmt::Display for Unreadable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = match self.reason {
            Reason::LongBoundary => "its boundary has more than 70 characters",
            Reason::NoBeginning => "it has no line of `--` and its boundary",
            Reason::BadDelimiter => {
                "the boundary stands where it separates no parts; begin and end its line with CR LF, and choose one that no file contains"
            }
            Reason::BytesBehind => {
                "the boundary stands behind the form's end, or its last line has more than `--` behind it"
            }
            Reason::NoEnd => "it does not end with `--`, its boundary and `--`",
            Reason::TooManyParts => "it has more than 128 parts",
            Reason::LongHead => "the headers of a part are longer than 8192 bytes, or have no end",
            Reason::BadHeader => "a part has a header that is no `name: value` in UTF-8",
            Reason::RepeatedHeader => "a part has the same header twice",
            Reason::NoDisposition => "a part has no `Content-Disposition`",
            Reason::BadDisposition => {
                "the `Content-Disposition` of a part is no `form-data; name=\"…\"`, or can be read in two ways"
            }
            Reason::BadName => {
                "the name of a part has escapes or no plain characters; send it as it is"
            }
            Reason::Encoded => {
                "a part has a `Content-Transfer-Encoding` or a charset; send files as they are, and text in UTF-8"
            }
            Reason::Nested => "a part is a multipart itself; send each file as a part of the form",
        };
        write!(f, "the form cannot be read at byte {}: {what}", self.offset)
    }
}

impl Error for Unreadable {}

impl From<Unreadable> for Fault {
    fn from(unreadable: Unreadable) -> Self {
        Self::new(FaultKind::Invalid, unreadable.to_string())
    }
}
