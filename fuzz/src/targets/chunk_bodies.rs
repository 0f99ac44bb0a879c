//! Chunked bodies: accepted where a second decoder accepts them, with the same data, in whatever pieces they arrive.

use crate::input::cuts;
use headgate_http_body::chunk_grammar::{ChunkGrammar, ChunkScanResult};

/// Size of extensions and trailers below which the limits of the gateway do not count, in bytes.
const EXTRAS_BYTES_MAX: usize = 8 << 10;

/// What a decoder makes of a body: its data, and how it ends.
#[derive(Debug, PartialEq, Eq)]
struct DecodedBody {
    data: Vec<u8>,
    end: BodyEnd,
}

#[derive(Debug, PartialEq, Eq)]
enum BodyEnd {
    /// Before this index.
    At(usize),
    Open,
    Violation,
}

pub fn run(input: &[u8]) {
    let whole = decode(&[input]);
    for pieces in cuts(input) {
        assert_eq!(decode(&pieces), whole, "the body in pieces");
    }
    let reference = ReferenceDecoder { body: input, at: 0 }.decode();
    match &whole.end {
        BodyEnd::At(end) => {
            let (data, reference_end) = reference.unwrap_or_else(|| panic!("it is no body"));
            assert_eq!((&whole.data, *end), (&data, reference_end));
        }
        _ if input.len() < EXTRAS_BYTES_MAX => assert_eq!(reference, None),
        _ => {}
    }
}

fn decode(pieces: &[&[u8]]) -> DecodedBody {
    let mut grammar = ChunkGrammar::default();
    let mut data = Vec::new();
    let mut before = 0;
    for piece in pieces {
        let mut at = 0;
        loop {
            match grammar.scan(piece, at) {
                ChunkScanResult::Data(range) => {
                    assert!(at <= range.start && range.start < range.end);
                    at = range.end;
                    data.extend_from_slice(&piece[range]);
                }
                ChunkScanResult::Open => break,
                ChunkScanResult::End(end) => {
                    let end = BodyEnd::At(before + end);
                    return DecodedBody { data, end };
                }
                ChunkScanResult::Violation => {
                    let end = BodyEnd::Violation;
                    return DecodedBody { data, end };
                }
            }
        }
        before += piece.len();
    }
    let end = BodyEnd::Open;
    DecodedBody { data, end }
}

/// A decoder by recursive descent over the rules of RFC 9112, section 7.1, of a body that has arrived as a whole.
struct ReferenceDecoder<'b> {
    body: &'b [u8],
    at: usize,
}

impl ReferenceDecoder<'_> {
    /// The data of a whole body and the index of its end.
    fn decode(mut self) -> Option<(Vec<u8>, usize)> {
        let mut data = Vec::new();
        loop {
            let digits = self.take_while(|byte| byte.is_ascii_hexdigit());
            if !(1..=16).contains(&digits.len()) {
                return None;
            }
            let size = usize::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()?;
            self.extensions()?;
            if size == 0 {
                break;
            }
            let end = self.at.checked_add(size)?;
            data.extend_from_slice(self.body.get(self.at..end)?);
            self.at = end;
            self.literal(b"\r\n")?;
        }
        while self.literal(b"\r\n").is_none() {
            self.token()?;
            self.literal(b":")?;
            self.take_while(is_text);
            self.literal(b"\r\n")?;
        }
        Some((data, self.at))
    }

    /// `chunk-ext`, and the end of the line.
    fn extensions(&mut self) -> Option<()> {
        while self.literal(b"\r\n").is_none() {
            self.blanks();
            self.literal(b";")?;
            self.blanks();
            self.token()?;
            let name_end = self.at;
            self.blanks();
            if self.literal(b"=").is_none() {
                self.at = name_end;
                continue;
            }
            self.blanks();
            match self.literal(b"\"") {
                Some(()) => self.quoted_rest()?,
                None => self.token()?,
            }
        }
        Some(())
    }

    fn quoted_rest(&mut self) -> Option<()> {
        loop {
            self.take_while(|byte| is_text(byte) && byte != b'"' && byte != b'\\');
            if self.literal(b"\"").is_some() {
                return Some(());
            }
            self.literal(b"\\")?;
            let escaped = *self.body.get(self.at)?;
            is_text(escaped).then(|| self.at += 1)?;
        }
    }

    fn token(&mut self) -> Option<()> {
        let is_token =
            |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
        (!self.take_while(is_token).is_empty()).then_some(())
    }

    fn blanks(&mut self) {
        self.take_while(|byte| matches!(byte, b' ' | b'\t'));
    }

    fn literal(&mut self, text: &[u8]) -> Option<()> {
        self.body[self.at..]
            .starts_with(text)
            .then(|| self.at += text.len())
    }

    fn take_while(&mut self, is_taken: impl Fn(u8) -> bool) -> &[u8] {
        let start = self.at;
        let rest = &self.body[start..];
        self.at += rest.iter().take_while(|byte| is_taken(**byte)).count();
        &self.body[start..self.at]
    }
}

fn is_text(byte: u8) -> bool {
    matches!(byte, b'\t' | b' '..=b'~' | 0x80..)
}
