//! Checks the header fields of an HTTP/2 request, one by one and as a list (RFC 9113, section 8).

/// Size of a field in addition to its name and value (RFC 9113, section 6.5.2).
const FIELD_OVERHEAD: usize = 32;
/// Maximum number of fields of a request; real clients send about thirty.
pub const FIELDS_MAX: usize = 100;

/// The kinds of field names that the checks distinguish.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FieldNameKind {
    Path,
    Scheme,
    OtherPseudo,
    /// Frames or routes a message, and is therefore not allowed in trailers (RFC 9110, section 6.5.1).
    Framing,
    Regular,
}

/// Why a request head is rejected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MalformedHeadReason {
    Fragment,
    NoSlash,
    TargetCharacter,
    Scheme,
    ValueBlank,
}

/// Data of a header field without its text.
#[derive(Debug, Clone, Copy)]
pub(super) struct HeaderFieldSummary {
    pub name: FieldNameKind,
    pub name_bytes: usize,
    /// Size of the field in a header list and in the dynamic table.
    pub bytes: usize,
    malformed: Option<MalformedHeadReason>,
}

/// Totals of a header block's fields so far.
#[derive(Debug, Default)]
pub(super) struct FieldBlockTotals {
    pub fields: usize,
    pub bytes: usize,
    /// The first error of the block as a request head.
    pub malformed: Option<MalformedHeadReason>,
    /// Whether the block has fields that trailers must not have.
    pub frames: bool,
}

impl FieldNameKind {
    pub fn classify(name: &[u8]) -> Self {
        match name {
            b":path" => Self::Path,
            b":scheme" => Self::Scheme,
            [b':', ..] => Self::OtherPseudo,
            b"content-length" | b"transfer-encoding" | b"te" | b"host" => Self::Framing,
            _ => Self::Regular,
        }
    }
}

impl MalformedHeadReason {
    const ALL: [Self; 5] = [
        Self::Fragment,
        Self::NoSlash,
        Self::TargetCharacter,
        Self::Scheme,
        Self::ValueBlank,
    ];

    /// The digit of this error in [`super::MALFORMED`].
    pub(super) fn digit(self) -> u8 {
        let at = Self::ALL.iter().position(|known| *known == self);
        b'0' + at.map_or(0, |at| at as u8)
    }

    /// The error of a digit in [`super::MALFORMED`].
    pub fn from_digit(digit: &[u8]) -> Option<Self> {
        Self::ALL.into_iter().find(|known| [known.digit()] == digit)
    }

    pub fn message(self) -> &'static str {
        match self {
            Self::Fragment => "`:path` must not have a fragment; remove `#` and what follows",
            Self::NoSlash => "`:path` must begin with `/`",
            Self::TargetCharacter => {
                "`:path` has spaces or control characters; percent-encode them"
            }
            Self::Scheme => "`:scheme` must be `http` or `https`",
            Self::ValueBlank => "a header value begins or ends with whitespace; remove it",
        }
    }
}

/// Checks a field.
pub(super) fn inspect(name: FieldNameKind, name_bytes: usize, value: &[u8]) -> HeaderFieldSummary {
    let is_blank = |byte: Option<&u8>| matches!(byte, Some(b' ' | b'\t'));
    let malformed = match name {
        FieldNameKind::Path => path(value),
        FieldNameKind::Scheme => {
            let known = [&b"https"[..], b"http"];
            let known = known.iter().any(|known| value.eq_ignore_ascii_case(known));
            (!known).then_some(MalformedHeadReason::Scheme)
        }
        _ => (is_blank(value.first()) || is_blank(value.last()))
            .then_some(MalformedHeadReason::ValueBlank),
    };
    HeaderFieldSummary {
        name,
        name_bytes,
        bytes: name_bytes + value.len() + FIELD_OVERHEAD,
        malformed,
    }
}

fn path(path: &[u8]) -> Option<MalformedHeadReason> {
    if path.contains(&b'#') {
        return Some(MalformedHeadReason::Fragment);
    }
    if path.iter().any(|byte| *byte <= b' ' || *byte == 0x7f) {
        return Some(MalformedHeadReason::TargetCharacter);
    }
    (path.first() != Some(&b'/')).then_some(MalformedHeadReason::NoSlash)
}

impl HeaderFieldSummary {
    /// A field whose value is too large to be decoded.
    pub fn skipped(name: FieldNameKind, name_bytes: usize, value_bytes: usize) -> Self {
        Self {
            name,
            name_bytes,
            bytes: name_bytes + value_bytes + FIELD_OVERHEAD,
            malformed: None,
        }
    }
}

impl FieldBlockTotals {
    pub fn add(&mut self, field: &HeaderFieldSummary) {
        self.fields += 1;
        self.bytes += field.bytes;
        self.malformed = self.malformed.or(field.malformed);
        self.frames |= field.name != FieldNameKind::Regular;
    }
}
