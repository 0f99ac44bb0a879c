//! Scans a request head as it arrives: its end, its size, and the characters of its request line.

use memchr::memchr_iter;

/// State of a head that is arriving.
#[derive(Default)]
pub(super) struct HeadScanner {
    bytes: usize,
    /// Number of bytes of the current line in earlier pieces.
    line_bytes: usize,
    /// The last byte of the earlier pieces.
    last: u8,
    request_line: RequestLineScanner,
}

/// Result of scanning a piece of a head.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum HeadScanResult {
    /// The head continues in the next piece.
    Open,
    /// The head ends before this index of the piece.
    End(usize),
}

/// RFC 9112, section 3: `method SP request-target SP HTTP-version`, without other white space.
#[derive(Default)]
struct RequestLineScanner {
    is_whole: bool,
    spaces: usize,
    has_forbidden: bool,
    /// A carriage return was read; it must be the last byte of the line.
    has_return: bool,
}

impl HeadScanner {
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    pub fn has_valid_request_line(&self) -> bool {
        let RequestLineScanner {
            is_whole,
            spaces,
            has_forbidden,
            ..
        } = self.request_line;
        is_whole && spaces == 2 && !has_forbidden
    }

    /// Number of bytes of empty lines before the head; RFC 9112, section 2.2 asks servers to ignore these.
    pub fn skip_empty_lines(&mut self, received: &[u8]) -> usize {
        for (at, byte) in received.iter().enumerate() {
            match byte {
                b'\r' if self.last != b'\r' => {}
                b'\n' => {}
                _ => {
                    self.request_line.has_forbidden = self.last == b'\r';
                    self.last = 0;
                    return at;
                }
            }
            self.last = *byte;
        }
        received.len()
    }

    /// Scans the next piece.
    pub fn scan(&mut self, piece: &[u8]) -> HeadScanResult {
        let mut start = 0;
        for end in memchr_iter(b'\n', piece) {
            let line = &piece[start..end];
            let is_empty = match (self.line_bytes, line) {
                (0, [] | [b'\r']) => true,
                (1, []) => self.last == b'\r',
                _ => false,
            };
            start = end + 1;
            if is_empty {
                self.bytes += start;
                return HeadScanResult::End(start);
            }
            self.line_bytes = 0;
            if !self.request_line.is_whole {
                self.request_line.scan(line);
                self.request_line.is_whole = true;
            }
        }
        let rest = &piece[start..];
        if !self.request_line.is_whole {
            self.request_line.scan(rest);
        }
        self.bytes += piece.len();
        self.line_bytes += rest.len();
        self.last = piece.last().copied().unwrap_or(self.last);
        HeadScanResult::Open
    }
}

impl RequestLineScanner {
    fn scan(&mut self, piece: &[u8]) {
        let Some((last, before)) = piece.split_last() else {
            return;
        };
        self.has_forbidden |= self.has_return;
        self.has_return = *last == b'\r';
        let visible = match self.has_return {
            true => before,
            false => piece,
        };
        for byte in visible {
            self.spaces += usize::from(*byte == b' ');
            self.has_forbidden |= !(b' '..=b'~').contains(byte);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Scans `received` in pieces of `size` bytes; returns the length of the head and whether its request line is
    /// valid.
    fn scanned(received: &[u8], size: usize) -> (Option<usize>, bool) {
        let mut scan = HeadScanner::default();
        let mut before = 0;
        for piece in received.chunks(size) {
            if let HeadScanResult::End(at) = scan.scan(piece) {
                assert_eq!(scan.bytes(), before + at);
                return (Some(before + at), scan.has_valid_request_line());
            }
            before += piece.len();
        }
        (None, scan.has_valid_request_line())
    }

    #[test]
    fn a_head_ends_behind_its_first_empty_line_however_it_comes() {
        for (head, rest) in [
            ("GET / HTTP/1.1\r\nHost: a\r\n\r\n", "{}"),
            ("GET / HTTP/1.1\r\n\r\n", "\r\n\r\n"),
            ("GET / HTTP/1.1\nHost: a\n\n", "\n"),
            ("GET / HTTP/1.1\nHost: a\n\r\n", "GET"),
            ("GET / HTTP/1.1\r\nHost: a\r\n\n", "\r\n"),
            ("GET / HTTP/1.1\r\nHost: a\r\r\n\r\n", ""),
        ] {
            let received = format!("{head}{rest}");
            for size in 1..=received.len() {
                let (end, _) = scanned(received.as_bytes(), size);
                assert_eq!(end, Some(head.len()), "{received:?} by {size}");
            }
        }
        for open in [
            "GET / HTTP/1.1\r\nHost: a\r\n\r",
            "GET / HTTP/1.1\r\nA: b\r\n\rx\n",
        ] {
            for size in 1..=open.len() {
                assert_eq!(scanned(open.as_bytes(), size).0, None, "{open:?} by {size}");
            }
        }
    }

    #[test]
    fn a_request_line_has_two_single_spaces_and_no_other_blank() {
        for (line, valid) in [
            ("GET / HTTP/1.1", true),
            ("GET /a%20b?c={d} HTTP/1.1", true),
            ("GET  HTTP/1.1", true),
            ("GET / HTTP/1.1 ", false),
            (" GET / HTTP/1.1", false),
            ("GET  / HTTP/1.1", false),
            ("GET /  HTTP/1.1", false),
            ("GET /pa th HTTP/1.1", false),
            ("GET /?a b HTTP/1.1", false),
            ("GET\t/ HTTP/1.1", false),
            ("GET /a\tb HTTP/1.1", false),
            ("GET /\tHTTP/1.1", false),
            ("GET / HTTP/1.1\t", false),
            ("GET /a\rb HTTP/1.1", false),
            ("GET /\r HTTP/1.1", false),
            ("GET / HTTP/1.1\r", false),
            ("GET /\0 HTTP/1.1", false),
            ("GET /\u{b} HTTP/1.1", false),
            ("GET /\u{7f} HTTP/1.1", false),
            ("GET /\u{e9} HTTP/1.1", false),
            ("GET /", false),
            ("GET", false),
        ] {
            let head = format!("{line}\r\nHost: a\r\n\r\n");
            for size in 1..=head.len() {
                assert_eq!(
                    scanned(head.as_bytes(), size).1,
                    valid,
                    "{line:?} by {size}"
                );
            }
        }
    }

    #[test]
    fn empty_lines_before_a_head_are_skipped() {
        for (lines, rest, valid) in [
            ("", "GET / HTTP/1.1\r\n\r\n", true),
            ("\r\n", "GET / HTTP/1.1\r\n\r\n", true),
            ("\r\n\r\n\n", "GET / HTTP/1.1\r\n\r\n", true),
            ("\r", "GET / HTTP/1.1\r\n\r\n", false),
            ("\r", "\rGET / HTTP/1.1\r\n\r\n", false),
        ] {
            let received = format!("{lines}{rest}");
            for cut in 0..=lines.len() {
                let mut scan = HeadScanner::default();
                let (first, second) = received.as_bytes().split_at(cut);
                assert_eq!(scan.skip_empty_lines(first), cut);
                assert_eq!(scan.skip_empty_lines(second), lines.len() - cut);
                let end = scan.scan(rest.as_bytes());
                assert_eq!(end, HeadScanResult::End(rest.len()));
                assert_eq!(scan.has_valid_request_line(), valid, "{received:?}");
            }
        }
    }
}
