//! Why a body is not valid JSON for the gateway, and where.

use std::error::Error;
use std::fmt;

use crate::fault::{Fault, FaultKind};

/// The first error in a body.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JsonError {
    /// The offset of the error, in bytes from 0.
    pub offset: usize,
    /// The line, from 1.
    pub line: usize,
    /// The column in characters, from 1.
    pub column: usize,
    /// The JSON pointer of the object or array that contains the error; empty for the document itself.
    pub pointer: String,
    pub reason: JsonErrorKind,
}

/// Every way in which a body can be invalid.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum JsonErrorKind {
    Empty,
    ByteOrderMark,
    Utf16,
    InvalidUtf8,
    /// An unescaped byte below 0x20 in a string.
    ControlCharacter(u8),
    BadEscape,
    LoneSurrogate,
    BadNumber,
    BadLiteral,
    TrailingComma,
    TrailingBytes,
    Unexpected {
        wanted: ExpectedToken,
        found: u8,
    },
    UnexpectedEnd(ExpectedToken),
    /// The decoded key.
    DuplicateKey(String),
    /// Objects and arrays are nested deeper than this limit.
    TooDeep(usize),
    /// There are more values than this limit.
    TooManyValues(usize),
    /// The body has more bytes than an offset can represent.
    TooLong,
}

/// The token that the grammar expects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExpectedToken {
    Value,
    Key,
    Colon,
    CommaOrBrace,
    CommaOrBracket,
    ClosingQuote,
}

/// The maximum length of a key or pointer in a message, in characters.
const QUOTED_CHARS_MAX: usize = 120;

impl JsonError {
    pub(super) fn at(body: &[u8], offset: usize, pointer: String, reason: JsonErrorKind) -> Self {
        let before = &body[..offset.min(body.len())];
        let line_start = memchr::memrchr(b'\n', before).map_or(0, |newline| newline + 1);
        let is_leading = |byte: &&u8| **byte & 0xC0 != 0x80;
        Self {
            offset,
            line: 1 + memchr::memchr_iter(b'\n', before).count(),
            column: 1 + before[line_start..].iter().filter(is_leading).count(),
            pointer: shortened(&pointer),
            reason,
        }
    }
}

impl From<JsonError> for Fault {
    fn from(malformed: JsonError) -> Self {
        let kind = match malformed.reason {
            JsonErrorKind::TooManyValues(_) | JsonErrorKind::TooLong => FaultKind::TooLarge,
            _ => FaultKind::BadJson,
        };
        Fault::new(kind, malformed.to_string())
    }
}

impl Error for JsonError {}

impl fmt::Display for JsonError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.reason {
            JsonErrorKind::Empty
            | JsonErrorKind::ByteOrderMark
            | JsonErrorKind::Utf16
            | JsonErrorKind::TooManyValues(_)
            | JsonErrorKind::TooLong => return write!(f, "request body {}", self.reason),
            reason => write!(f, "request body is not valid JSON: {reason}")?,
        }
        write!(f, " at line {}, column {}", self.line, self.column)?;
        if !self.pointer.is_empty() {
            write!(f, " (in {})", self.pointer)?;
        }
        Ok(())
    }
}

impl fmt::Display for JsonErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => f.write_str("is empty; send a JSON object"),
            Self::ByteOrderMark => {
                f.write_str("begins with a byte order mark; send UTF-8 without it")
            }
            Self::Utf16 => f.write_str("is UTF-16; send UTF-8"),
            Self::InvalidUtf8 => f.write_str("invalid UTF-8"),
            Self::ControlCharacter(byte) => write!(f, "unescaped control character 0x{byte:02x}"),
            Self::BadEscape => f.write_str("unknown or incomplete escape"),
            Self::LoneSurrogate => f.write_str("unpaired surrogate escape"),
            Self::BadNumber => f.write_str("invalid number"),
            Self::BadLiteral => f.write_str(
                "invalid literal; expected true, false, null, a number, or text in double quotes",
            ),
            Self::TrailingComma => f.write_str("trailing comma"),
            Self::TrailingBytes => {
                f.write_str("unexpected data after the end of the JSON document")
            }
            Self::Unexpected { wanted, found } => {
                write!(f, "expected {wanted}, found {}", shown(*found))
            }
            Self::UnexpectedEnd(wanted) => {
                write!(f, "expected {wanted}, found the end of the body")
            }
            Self::DuplicateKey(key) => write!(f, "duplicate key {:?}", shortened(key)),
            Self::TooDeep(limit) => {
                write!(f, "nesting deeper than {limit} levels")
            }
            Self::TooManyValues(limit) => write!(f, "holds more than {limit} JSON values"),
            Self::TooLong => f.write_str("is longer than 4 GiB"),
        }
    }
}

impl fmt::Display for ExpectedToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Value => "a value",
            Self::Key => "a key in double quotes",
            Self::Colon => "a colon",
            Self::CommaOrBrace => "a comma or '}'",
            Self::CommaOrBracket => "a comma or ']'",
            Self::ClosingQuote => "a closing quote",
        })
    }
}

fn shown(byte: u8) -> String {
    if byte.is_ascii_graphic() {
        format!("'{}'", char::from(byte))
    } else {
        format!("byte 0x{byte:02x}")
    }
}

fn shortened(text: &str) -> String {
    match text.char_indices().nth(QUOTED_CHARS_MAX) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}
