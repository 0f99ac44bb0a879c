//! The grammar of a chunked body, RFC 9112, section 7.1, to the byte: Pingora's decoder takes more than it allows.

#[cfg(test)]
mod tests;

/// Hexadecimal digits of a chunk's size.
const DIGITS_MAX: u32 = 16;
/// A line with a chunk's size and extensions.
const SIZE_LINE_MAX: usize = 8 << 10;
/// Extensions and trailers of one body.
const EXTRAS_MAX: usize = 32 << 10;

/// A chunked body of which some has come.
#[derive(Default)]
pub(super) struct ChunkGrammar {
    state: State,
    /// Of the current chunk.
    size: u64,
    digits: u32,
    /// Of the current line of a size.
    line_bytes: usize,
    extra_bytes: usize,
}

/// What a piece of a chunked body was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ChunkProgress {
    /// The end is still to come.
    Open,
    /// The body ends before this byte of the piece.
    End(usize),
    /// The bytes break the grammar, or a bound of ours.
    Violation,
}

/// What comes next.
#[derive(Clone, Copy, Default)]
enum State {
    /// `chunk-size`, of which nothing has come.
    #[default]
    SizeBegin,
    Size,
    /// Blanks behind a size or a value, which only `;` may follow.
    BeforeSemicolon,
    /// `BWS chunk-ext-name`, behind `;`.
    NameBegin,
    Name,
    /// Blanks behind a name.
    AfterName,
    /// `BWS chunk-ext-val`, behind `=`.
    ValueBegin,
    Token,
    Quoted,
    /// Behind `\` in a quoted string.
    QuotedPair,
    QuotedEnd,
    SizeLineFeed,
    Data(u64),
    DataReturn,
    DataLineFeed,
    /// A trailer, or the empty line behind the last one.
    TrailerBegin,
    TrailerName,
    TrailerValue,
    TrailerLineFeed,
    LastLineFeed,
}

impl ChunkGrammar {
    /// Whether the body has neither extensions nor trailers so far.
    pub fn is_plain(&self) -> bool {
        self.extra_bytes == 0
    }

    /// Takes the next piece.
    pub fn scan(&mut self, piece: &[u8]) -> ChunkProgress {
        let mut at = 0;
        while at < piece.len() {
            if let State::Data(left) = self.state {
                let rest = piece.len() - at;
                let skipped = usize::try_from(left).map_or(rest, |left| left.min(rest));
                at += skipped;
                self.state = match left - skipped as u64 {
                    0 => State::DataReturn,
                    left => State::Data(left),
                };
                continue;
            }
            let byte = piece[at];
            at += 1;
            if let (State::LastLineFeed, b'\n') = (self.state, byte) {
                return ChunkProgress::End(at);
            }
            match self.next(byte) {
                Some(state) => self.state = state,
                None => return ChunkProgress::Violation,
            }
        }
        ChunkProgress::Open
    }

    fn next(&mut self, byte: u8) -> Option<State> {
        match self.state {
            State::SizeBegin | State::Size => self.size(byte),
            State::SizeLineFeed if byte == b'\n' => Some(self.end_size_line()),
            State::DataReturn if byte == b'\r' => Some(State::DataLineFeed),
            State::DataLineFeed if byte == b'\n' => Some(State::SizeBegin),
            State::SizeLineFeed | State::DataReturn | State::DataLineFeed | State::Data(_) => None,
            State::TrailerBegin
            | State::TrailerName
            | State::TrailerValue
            | State::TrailerLineFeed
            | State::LastLineFeed => self.trailer(byte),
            _ => self.extension(byte),
        }
    }

    fn size(&mut self, byte: u8) -> Option<State> {
        if let Some(digit) = char::from(byte).to_digit(16) {
            self.digits += 1;
            self.size = self.size << 4 | u64::from(digit);
            return (self.digits <= DIGITS_MAX).then_some(State::Size);
        }
        match (self.state, byte) {
            (State::Size, b'\r') => Some(State::SizeLineFeed),
            (State::Size, b';' | b' ' | b'\t') => self.extension(byte),
            _ => None,
        }
    }

    /// `chunk-ext = *( BWS ";" BWS chunk-ext-name [ BWS "=" BWS chunk-ext-val ] )`
    fn extension(&mut self, byte: u8) -> Option<State> {
        self.line_bytes += 1;
        self.extra_bytes += 1;
        if self.line_bytes > SIZE_LINE_MAX || self.extra_bytes > EXTRAS_MAX {
            return None;
        }
        match (self.state, byte) {
            (State::Quoted, b'"') => Some(State::QuotedEnd),
            (State::Quoted, b'\\') => Some(State::QuotedPair),
            (State::Quoted | State::QuotedPair, _) => is_text(byte).then_some(State::Quoted),
            (State::ValueBegin, b'"') => Some(State::Quoted),
            (State::NameBegin | State::ValueBegin, b' ' | b'\t') => Some(self.state),
            (State::NameBegin | State::Name, _) if is_token(byte) => Some(State::Name),
            (State::ValueBegin | State::Token, _) if is_token(byte) => Some(State::Token),
            (State::NameBegin | State::ValueBegin, _) => None,
            (State::Name | State::AfterName, b'=') => Some(State::ValueBegin),
            (State::Name | State::AfterName, b' ' | b'\t') => Some(State::AfterName),
            (_, b';') => Some(State::NameBegin),
            (_, b' ' | b'\t') => Some(State::BeforeSemicolon),
            (State::BeforeSemicolon | State::AfterName, _) => None,
            (_, b'\r') => Some(State::SizeLineFeed),
            _ => None,
        }
    }

    fn end_size_line(&mut self) -> State {
        let size = self.size;
        (self.size, self.digits, self.line_bytes) = (0, 0, 0);
        match size {
            0 => State::TrailerBegin,
            size => State::Data(size),
        }
    }

    /// `trailer-section = *( field-line CRLF )`, and the line break that ends the body.
    fn trailer(&mut self, byte: u8) -> Option<State> {
        if let (State::TrailerBegin, b'\r') = (self.state, byte) {
            return Some(State::LastLineFeed);
        }
        self.extra_bytes += 1;
        if self.extra_bytes > EXTRAS_MAX {
            return None;
        }
        match (self.state, byte) {
            (State::TrailerName, b':') => Some(State::TrailerValue),
            (State::TrailerBegin | State::TrailerName, _) => {
                is_token(byte).then_some(State::TrailerName)
            }
            (State::TrailerValue, b'\r') => Some(State::TrailerLineFeed),
            (State::TrailerValue, _) => is_text(byte).then_some(State::TrailerValue),
            (State::TrailerLineFeed, b'\n') => Some(State::TrailerBegin),
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
