//! Finds where a request head begins and ends as it arrives.

use memchr::memmem::Finder;
use std::sync::LazyLock;

/// The line break before an empty line, and that line.
static EMPTY_LINE: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new(b"\n\r\n"));
/// The same without carriage returns, which RFC 9112, section 2.2 lets servers accept.
static BARE_EMPTY_LINE: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new(b"\n\n"));

/// Empty lines before a head; RFC 9112, section 2.2 asks servers to ignore these.
#[derive(Default)]
pub(super) struct EmptyLines {
    /// The last byte of the earlier pieces.
    last: Option<u8>,
}

impl EmptyLines {
    /// Number of bytes of empty lines at the start of the next piece; `None` if a carriage return among them is followed by
    /// another byte than a line feed.
    pub fn skip(&mut self, received: &[u8]) -> Option<usize> {
        for (at, byte) in received.iter().enumerate() {
            match (self.last, byte) {
                (Some(b'\r'), b'\n') | (None | Some(b'\n'), b'\r' | b'\n') => {}
                (Some(b'\r'), _) => return None,
                _ => return Some(at),
            }
            self.last = Some(*byte);
        }
        Some(received.len())
    }
}

/// The length of the head at the start of `received`, whose first `scanned` bytes do not contain its end; `None` if it is
/// not complete.
pub(super) fn find_head_end(received: &[u8], scanned: usize) -> Option<usize> {
    // Its end may have begun there.
    let from = scanned.saturating_sub(2);
    let rest = &received[from..];
    let end = EMPTY_LINE.find(rest).map(|at| at + 3);
    let bare = BARE_EMPTY_LINE.find(&rest[..end.unwrap_or(rest.len())]);
    let end = bare.map(|at| at + 2).or(end)?;
    Some(from + end)
}

#[cfg(test)]
mod tests {
    use super::*;

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
            for scanned in 0..head.len() {
                let end = find_head_end(received.as_bytes(), scanned);
                assert_eq!(end, Some(head.len()), "{received:?} after {scanned}");
            }
        }
        for open in [
            "GET / HTTP/1.1\r\nHost: a\r\n\r",
            "GET / HTTP/1.1\r\nA: b\r\n\rx\n",
        ] {
            for scanned in 0..=open.len() {
                assert_eq!(find_head_end(open.as_bytes(), scanned), None, "{open:?}");
            }
        }
    }

    #[test]
    fn empty_lines_before_a_head_are_skipped() {
        for (lines, rest) in [
            ("", "GET / HTTP/1.1\r\n\r\n"),
            ("\r\n", "GET / HTTP/1.1\r\n\r\n"),
            ("\n\r\n\n", "GET / HTTP/1.1\r\n\r\n"),
        ] {
            let received = format!("{lines}{rest}");
            for cut in 0..=lines.len() {
                let mut lines_before = EmptyLines::default();
                let (first, second) = received.as_bytes().split_at(cut);
                assert_eq!(lines_before.skip(first), Some(cut));
                assert_eq!(lines_before.skip(second), Some(lines.len() - cut));
            }
        }
    }

    #[test]
    fn a_carriage_return_before_a_head_is_part_of_an_empty_line() {
        for received in ["\rGET /", "\r\rGET /", "\r\n\r\r\nGET /", "\n\r\r\nGET /"] {
            for cut in 0..received.len() {
                let mut lines_before = EmptyLines::default();
                let (first, second) = received.as_bytes().split_at(cut);
                let skipped = [first, second].map(|piece| lines_before.skip(piece));
                assert!(skipped.contains(&None), "{received:?} cut at {cut}");
            }
        }
    }
}
