//! The bytes of one HTTP/1.1 response as they come: whether its chunks are the plainest there are.
//!
//! Pingora's decoder takes chunks that the grammar forbids (RFC 9112, 7.1), and ends a body where another
//! reader would not. Extensions and trailers, which nobody sends, count as odd here too.

/// What a provider sends for one request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ResponseBytes {
    /// Within the head; so many bytes of its current line have come, a CR among them or not.
    Head {
        line: usize,
        is_return: bool,
    },
    Size {
        size: u64,
        digits: u32,
    },
    SizeEnd(u64),
    Data(u64),
    DataReturn,
    DataEnd,
    LastReturn,
    LastEnd,
    /// Behind the last byte of a chunked body.
    End,
    /// No chunked body, or one that is odd.
    Other,
}

impl ResponseBytes {
    pub fn new() -> Self {
        Self::Head {
            line: 0,
            is_return: false,
        }
    }

    /// Takes the next bytes of the connection.
    pub fn take(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() && *self != Self::Other {
            let taken = match *self {
                Self::Head { line, is_return } => self.take_head(line, is_return, bytes),
                Self::Data(left) => {
                    let taken =
                        usize::try_from(left).map_or(bytes.len(), |left| left.min(bytes.len()));
                    *self = match left - taken as u64 {
                        0 => Self::DataReturn,
                        left => Self::Data(left),
                    };
                    taken
                }
                state => {
                    *self = state.next(bytes[0]);
                    1
                }
            };
            bytes = &bytes[taken..];
        }
    }

    fn take_head(&mut self, line: usize, is_return: bool, bytes: &[u8]) -> usize {
        let end = memchr::memchr(b'\n', bytes);
        let part = &bytes[..end.unwrap_or(bytes.len())];
        let line = line + part.len();
        let is_return = match part.first() {
            Some(first) if line == part.len() => *first == b'\r',
            _ => is_return,
        };
        *self = match end {
            None => Self::Head { line, is_return },
            // The empty line.
            Some(_) if line == 0 || line == 1 && is_return => Self::Size { size: 0, digits: 0 },
            Some(_) => Self::new(),
        };
        part.len() + usize::from(end.is_some())
    }

    fn next(self, byte: u8) -> Self {
        match (self, byte) {
            (Self::Size { size, digits }, b'\r') if digits > 0 => Self::SizeEnd(size),
            (Self::Size { size, digits }, _) if digits < u64::BITS / 4 => {
                match char::from(byte).to_digit(16) {
                    Some(digit) => Self::Size {
                        size: size << 4 | u64::from(digit),
                        digits: digits + 1,
                    },
                    None => Self::Other,
                }
            }
            (Self::SizeEnd(0), b'\n') => Self::LastReturn,
            (Self::SizeEnd(size), b'\n') => Self::Data(size),
            (Self::DataReturn, b'\r') => Self::DataEnd,
            (Self::DataEnd, b'\n') => Self::Size { size: 0, digits: 0 },
            (Self::LastReturn, b'\r') => Self::LastEnd,
            (Self::LastEnd, b'\n') => Self::End,
            _ => Self::Other,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::ResponseBytes;

    #[test]
    fn a_chunked_body_has_ended_where_its_plainest_form_does() {
        for (body, ends) in [
            ("0\r\n\r\n", true),
            ("2\r\n{}\r\n0\r\n\r\n", true),
            ("00A\r\n0123456789\r\n1\r\n\n\r\n000\r\n\r\n", true),
            ("", false),
            ("2\r\n{}\r\n", false),
            ("2\r\n{}\r\n0\r\n", false),
            ("2\r\n{}\r\n0\r\n\r\nX", false),
            ("2\r\n{}\r\n\r\n", false),
            ("\r\n", false),
            ("2\n{}\n0\n\n", false),
            ("2 \r\n{}\r\n0\r\n\r\n", false),
            ("2;a\r\n{}\r\n0\r\n\r\n", false),
            ("2\r\n{}\r\n0\r\na: b\r\n\r\n", false),
            ("0x2\r\n{}\r\n0\r\n\r\n", false),
            ("00000000000000000\r\n\r\n", false),
            ("{}", false),
        ] {
            for head in ["HTTP/1.1 200 OK\r\nA: b\r\n\r\n", "HTTP/1.1 200 OK\n\n"] {
                let response = format!("{head}{body}");
                for size in [1, 2, 3, 5, 7, response.len()] {
                    let mut bytes = ResponseBytes::new();
                    for piece in response.as_bytes().chunks(size) {
                        bytes.take(piece);
                    }
                    assert_eq!(
                        bytes == ResponseBytes::End,
                        ends,
                        "{body:?} in pieces of {size}"
                    );
                }
            }
        }
    }
}
