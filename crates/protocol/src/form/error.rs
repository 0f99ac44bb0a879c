//! Why a form is not read, and where.

use crate::fault::{Fault, FaultKind};
use std::error::Error;
use std::fmt;

/// The first thing that is wrong with a form.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FormError {
    /// Bytes before the fault, from 0.
    pub offset: usize,
    pub reason: FormErrorKind,
}

/// Every way in which a form is wrong, or could be read in two ways.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FormErrorKind {
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

impl FormError {
    pub(super) fn at(offset: usize, reason: FormErrorKind) -> Self {
        Self { offset, reason }
    }
}

impl fmt::Display for FormError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = match self.reason {
            FormErrorKind::LongBoundary => "its boundary has more than 70 characters",
            FormErrorKind::NoBeginning => "it has no line of `--` and its boundary",
            FormErrorKind::BadDelimiter => {
                "the boundary stands where it separates no parts; begin and end its line with CR LF, and choose one that no file contains"
            }
            FormErrorKind::BytesBehind => {
                "the boundary stands behind the form's end, or its last line has more than `--` behind it"
            }
            FormErrorKind::NoEnd => "it does not end with `--`, its boundary and `--`",
            FormErrorKind::TooManyParts => "it has more than 128 parts",
            FormErrorKind::LongHead => {
                "the headers of a part are longer than 8192 bytes, or have no end"
            }
            FormErrorKind::BadHeader => "a part has a header that is no `name: value` in UTF-8",
            FormErrorKind::RepeatedHeader => "a part has the same header twice",
            FormErrorKind::NoDisposition => "a part has no `Content-Disposition`",
            FormErrorKind::BadDisposition => {
                "the `Content-Disposition` of a part is no `form-data; name=\"…\"`, or can be read in two ways"
            }
            FormErrorKind::BadName => {
                "the name of a part has escapes or no plain characters; send it as it is"
            }
            FormErrorKind::Encoded => {
                "a part has a `Content-Transfer-Encoding` or a charset; send files as they are, and text in UTF-8"
            }
            FormErrorKind::Nested => {
                "a part is a multipart itself; send each file as a part of the form"
            }
        };
        write!(f, "the form cannot be read at byte {}: {what}", self.offset)
    }
}

impl Error for FormError {}

impl From<FormError> for Fault {
    fn from(unreadable: FormError) -> Self {
        Self::new(FaultKind::Invalid, unreadable.to_string())
    }
}
