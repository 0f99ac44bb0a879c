//! Finds where a request head begins and ends as it arrives.

use memchr::memmem::Finder;
use std::sync::LazyLock;

/// The line break before an empty line, and that line.
static EMPTY_LINE: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new(b"\n\r\n"));
/// The same without carriage returns, which RFC 9112, section 2.2 lets servers accept.
static BARE_EMPTY_LINE: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new(b"\n\n"));

/// Number of bytes of empty lines before a head, which RFC 9112, section 2.2 asks servers to ignore; `None` if another byte
/// than a line feed follows a carriage return among them. One at the end may begin another empty line.
pub(super) fn find_head_start(received: &[u8]) -> Option<usize> {
    let mut rest = received;
    loop {
        rest = match rest {
            [b'\n', rest @ ..] | [b'\r', b'\n', rest @ ..] => rest,
            [b'\r', _, ..] => return None,
            _ => return Some(received.len() - rest.len()),
        };
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
    fn empty_lines_before_a_head_are_skipped_and_a_lone_carriage_return_is_none_of_them() {
        for (received, start) in [
            ("", Some(0)),
            ("GET /", Some(0)),
            ("\r\nGET /", Some(2)),
            ("\n\r\n\nGET /", Some(4)),
            ("\r", Some(0)),
            ("\n\r", Some(1)),
            ("\rGET /", None),
            ("\r\rGET /", None),
            ("\r\n\r\r\nGET /", None),
            ("\n\r\r\nGET /", None),
        ] {
            assert_eq!(find_head_start(received.as_bytes()), start, "{received:?}");
        }
    }
}
