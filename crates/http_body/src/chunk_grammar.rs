//! Strict grammar of chunked bodies (RFC 9112, section 7.1).

#[cfg(test)]
mod tests;

use std::ops::Range;

/// Maximum number of hexadecimal digits of a chunk size.
const DIGITS_MAX: u32 = 16;
/// Maximum length of a chunk size with its extensions, in bytes.
const SIZE_LINE_MAX: usize = 8 << 10;
/// Maximum size of all extensions and trailers of a body, in bytes.
const EXTRAS_MAX: usize = 32 << 10;

/// State of a chunked body that is arriving.
#[derive(Default)]
pub struct ChunkGrammar {
    state: ChunkState,
    /// Size of the current chunk.
    size: u64,
    digits: u32,
    /// Length of the current size line.
    line_bytes: usize,
    extra_bytes: usize,
}

/// What a piece of a chunked body has next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ChunkScanResult {
    /// Data of a chunk at these indices of the piece; the scan goes on behind them.
    Data(Range<usize>),
    /// The body continues in the next piece.
    Open,
    /// The body ends before this index of the piece.
    End(usize),
    /// The bytes violate the grammar, or exceed a limit of the gateway.
    Violation,
}

/// The next element of the grammar.
#[derive(Clone, Copy, Default)]
enum ChunkState {
    /// `chunk-size`, before its first digit.
    #[default]
    SizeBegin,
    Size,
    /// Blanks after a size or a value; only `;` may follow.
    BeforeSemicolon,
    /// `BWS chunk-ext-name`, after `;`.
    NameBegin,
    Name,
    /// Blanks after a name.
    AfterName,
    /// `BWS chunk-ext-val`, after `=`.
    ValueBegin,
    Token,
    Quoted,
    /// After `\` in a quoted string.
    QuotedPair,
    QuotedEnd,
    SizeLineFeed,
    Data(u64),
    DataReturn,
    DataLineFeed,
    /// A trailer field, or the empty line after the last one.
    TrailerBegin,
    TrailerName,
    TrailerValue,
    TrailerLineFeed,
    LastLineFeed,
}

impl ChunkGrammar {
    /// Scans `piece` from `start` to the next data of a chunk.
    pub fn scan(&mut self, piece: &[u8], start: usize) -> ChunkScanResult {
        let mut at = start;
        while at < piece.len() {
            if let ChunkState::Data(left) = self.state {
                let rest = piece.len() - at;
                let length = usize::try_from(left).map_or(rest, |left| left.min(rest));
                self.state = match left - length as u64 {
                    0 => ChunkState::DataReturn,
                    left => ChunkState::Data(left),
                };
                return ChunkScanResult::Data(at..at + length);
            }
            let byte = piece[at];
            at += 1;
            if let (ChunkState::LastLineFeed, b'\n') = (self.state, byte) {
                return ChunkScanResult::End(at);
            }
            match self.next(byte) {
                Some(state) => self.state = state,
                None => return ChunkScanResult::Violation,
            }
        }
        ChunkScanResult::Open
    }

    fn next(&mut self, byte: u8) -> Option<ChunkState> {
        match self.state {
            ChunkState::SizeBegin | ChunkState::Size => self.size(byte),
            ChunkState::SizeLineFeed if byte == b'\n' => Some(self.end_size_line()),
            ChunkState::DataReturn if byte == b'\r' => Some(ChunkState::DataLineFeed),
            ChunkState::DataLineFeed if byte == b'\n' => Some(ChunkState::SizeBegin),
            ChunkState::SizeLineFeed
            | ChunkState::DataReturn
            | ChunkState::DataLineFeed
            | ChunkState::Data(_) => None,
            ChunkState::TrailerBegin
            | ChunkState::TrailerName
            | ChunkState::TrailerValue
            | ChunkState::TrailerLineFeed
            | ChunkState::LastLineFeed => self.trailer(byte),
            _ => self.extension(byte),
        }
    }

    fn size(&mut self, byte: u8) -> Option<ChunkState> {
        if let Some(digit) = char::from(byte).to_digit(16) {
            self.digits += 1;
            self.size = self.size << 4 | u64::from(digit);
            return (self.digits <= DIGITS_MAX).then_some(ChunkState::Size);
        }
        match (self.state, byte) {
            (ChunkState::Size, b'\r') => Some(ChunkState::SizeLineFeed),
            (ChunkState::Size, b';' | b' ' | b'\t') => self.extension(byte),
            _ => None,
        }
    }

    /// `chunk-ext = *( BWS ";" BWS chunk-ext-name [ BWS "=" BWS chunk-ext-val ] )`
    fn extension(&mut self, byte: u8) -> Option<ChunkState> {
        self.line_bytes += 1;
        self.extra_bytes += 1;
        if self.line_bytes > SIZE_LINE_MAX || self.extra_bytes > EXTRAS_MAX {
            return None;
        }
        match (self.state, byte) {
            (ChunkState::Quoted, b'"') => Some(ChunkState::QuotedEnd),
            (ChunkState::Quoted, b'\\') => Some(ChunkState::QuotedPair),
            (ChunkState::Quoted | ChunkState::QuotedPair, _) => {
                is_text(byte).then_some(ChunkState::Quoted)
            }
            (ChunkState::ValueBegin, b'"') => Some(ChunkState::Quoted),
            (ChunkState::NameBegin | ChunkState::ValueBegin, b' ' | b'\t') => Some(self.state),
            (ChunkState::NameBegin | ChunkState::Name, _) if is_token(byte) => {
                Some(ChunkState::Name)
            }
            (ChunkState::ValueBegin | ChunkState::Token, _) if is_token(byte) => {
                Some(ChunkState::Token)
            }
            (ChunkState::NameBegin | ChunkState::ValueBegin, _) => None,
            (ChunkState::Name | ChunkState::AfterName, b'=') => Some(ChunkState::ValueBegin),
            (ChunkState::Name | ChunkState::AfterName, b' ' | b'\t') => Some(ChunkState::AfterName),
            (_, b';') => Some(ChunkState::NameBegin),
            (_, b' ' | b'\t') => Some(ChunkState::BeforeSemicolon),
            (ChunkState::BeforeSemicolon | ChunkState::AfterName, _) => None,
            (_, b'\r') => Some(ChunkState::SizeLineFeed),
            _ => None,
        }
    }

    fn end_size_line(&mut self) -> ChunkState {
        let size = self.size;
        (self.size, self.digits, self.line_bytes) = (0, 0, 0);
        match size {
            0 => ChunkState::TrailerBegin,
            size => ChunkState::Data(size),
        }
    }

    /// `trailer-section = *( field-line CRLF )`, and the CRLF that ends the body.
    fn trailer(&mut self, byte: u8) -> Option<ChunkState> {
        if let (ChunkState::TrailerBegin, b'\r') = (self.state, byte) {
            return Some(ChunkState::LastLineFeed);
        }
        self.extra_bytes += 1;
        if self.extra_bytes > EXTRAS_MAX {
            return None;
        }
        match (self.state, byte) {
            (ChunkState::TrailerName, b':') => Some(ChunkState::TrailerValue),
            (ChunkState::TrailerBegin | ChunkState::TrailerName, _) => {
                is_token(byte).then_some(ChunkState::TrailerName)
            }
            (ChunkState::TrailerValue, b'\r') => Some(ChunkState::TrailerLineFeed),
            (ChunkState::TrailerValue, _) => is_text(byte).then_some(ChunkState::TrailerValue),
            (ChunkState::TrailerLineFeed, b'\n') => Some(ChunkState::TrailerBegin),
            _ => None,
        }
    }
}

/// `tchar` of RFC 9110, section 5.6.2.
fn is_token(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte)
}

/// Blanks, visible characters, and `obs-text`.
fn is_text(byte: u8) -> bool {
    matches!(byte, b'\t' | b' '..=b'~' | 0x80..)
}
