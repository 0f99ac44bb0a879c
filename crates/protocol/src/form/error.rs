//! Why a form cannot be parsed, and at which offset.

use crate::fault::{Fault, FaultKind};
use std::error::Error;
use std::fmt;

/// The first error in a form.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FormError {
    /// The offset of the error, in bytes from 0.
    pub offset: usize,
    pub reason: FormSyntaxErrorKind,
}

/// Every way in which a form is invalid or ambiguous.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FormSyntaxErrorKind {
    LongBoundary,
    NoBeginning,
    /// The boundary occurs where it is not a delimiter, or other bytes follow it before the line end.
    BadDelimiter,
    TrailingBytes,
    NoEnd,
    TooManyParts,
    LongHead,
    BadHeader,
    RepeatedHeader,
    NoDisposition,
    BadDisposition,
    /// The name contains escapes, or is in another charset.
    BadName,
    /// A line ends within the parameter of a name.
    FoldedName,
    /// A field `_charset_` with another charset than UTF-8.
    DefaultCharset,
    TransferEncoding,
    /// A part is itself a multipart.
    NestedMultipart,
}

impl FormError {
    pub(super) fn at(offset: usize, reason: FormSyntaxErrorKind) -> Self {
        Self { offset, reason }
    }
}

impl fmt::Display for FormError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = match self.reason {
            FormSyntaxErrorKind::LongBoundary => "the boundary has more than 70 characters",
            FormSyntaxErrorKind::NoBeginning => {
                "no line with `--` and the boundary of the content type"
            }
            FormSyntaxErrorKind::BadDelimiter => {
                "the boundary occurs inside a part; put CR LF before and after each boundary line, and use a boundary that no file contains"
            }
            FormSyntaxErrorKind::TrailingBytes => {
                "the boundary occurs after the end of the form, or its last line has more than `--` after it"
            }
            FormSyntaxErrorKind::NoEnd => {
                "the form does not end with `--`, the boundary and `--`; the body may be truncated"
            }
            FormSyntaxErrorKind::TooManyParts => "more than 128 parts",
            FormSyntaxErrorKind::LongHead => {
                "the headers of a part exceed 8192 bytes or do not end with an empty line"
            }
            FormSyntaxErrorKind::BadHeader => {
                "a part has a header that is not `name: value` in UTF-8"
            }
            FormSyntaxErrorKind::RepeatedHeader => "a part has a duplicate header",
            FormSyntaxErrorKind::NoDisposition => "a part has no `Content-Disposition`",
            FormSyntaxErrorKind::BadDisposition => {
                "the `Content-Disposition` of a part must be `form-data; name=\"…\"`, with each parameter once"
            }
            FormSyntaxErrorKind::BadName => {
                "the name of a part has escapes or control characters; send it unescaped"
            }
            FormSyntaxErrorKind::FoldedName => {
                "a line ends within the name of a part; send `name=\"…\"` on one line"
            }
            FormSyntaxErrorKind::DefaultCharset => {
                "the field `_charset_` names another charset than UTF-8; send text in UTF-8, without this field"
            }
            FormSyntaxErrorKind::TransferEncoding => {
                "a part has a `Content-Transfer-Encoding` or a charset; send files as they are, and text in UTF-8"
            }
            FormSyntaxErrorKind::NestedMultipart => {
                "a part is itself multipart; send each file as a separate part"
            }
        };
        write!(
            f,
            "malformed multipart form at byte {}: {what}",
            self.offset
        )
    }
}

impl Error for FormError {}

impl From<FormError> for Fault {
    fn from(unreadable: FormError) -> Self {
        Self::new(FaultKind::Invalid, unreadable.to_string())
    }
}
