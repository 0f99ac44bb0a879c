//! The chunk grammar against tables, against a second parser made of regular expressions, and in random pieces.

use super::ChunkScanResult::{Data, End, Open, Violation};
use super::{ChunkGrammar, ChunkScanResult, EXTRAS_MAX, SIZE_LINE_MAX};
use proptest::prelude::*;
use regex::bytes::Regex;
use std::sync::LazyLock;

/// Complete valid bodies.
const LEGAL: &[&str] = &[
    "0\r\n\r\n",
    "000\r\n\r\n",
    "2\r\n{}\r\n0\r\n\r\n",
    "0000000000000002\r\n{}\r\n0\r\n\r\n",
    "a\r\n0123456789\r\nA\r\n0123456789\r\n0\r\n\r\n",
    "2\r\n\r\n\r\n0\r\n\r\n",
    "2;a\r\n{}\r\n0;b\r\n\r\n",
    "2;a=b\r\n{}\r\n0\r\n\r\n",
    "2;a;b=c;d\r\n{}\r\n0\r\n\r\n",
    "2 ;a\r\n{}\r\n0\r\n\r\n",
    "2 \t ; \t a \t = \t b \t ;c\r\n{}\r\n0\r\n\r\n",
    "2; a = \"\"\r\n{}\r\n0\r\n\r\n",
    "2;a=\"[b] ;,=\t\u{e9}\"\r\n{}\r\n0\r\n\r\n",
    "2;a=\"\\\"\\\\\\ \\\t\\\u{e9}\" ;b\r\n{}\r\n0\r\n\r\n",
    "2;!#$%&'*+-.^_`|~=!#$%&'*+-.^_`|~\r\n{}\r\n0\r\n\r\n",
    "0\r\nA:\r\n\r\n",
    "0\r\nA: b\r\nC-D:\te \u{e9}[\" \t\r\n\r\n",
];

/// Bodies that violate the grammar at their last byte.
const ILLEGAL: &[&str] = &[
    "\r",
    "\n",
    " ",
    ";",
    "g",
    "x",
    "-",
    "+",
    "\"",
    "0x",
    "2x",
    "2\n",
    "2 \r",
    "2 2",
    "2\t\n",
    "2;\r",
    "2;\n",
    "2;=",
    "2;;",
    "2; ;",
    "2;a=\r",
    "2;a=;",
    "2;a==",
    "2;a= \r",
    "2;a \r",
    "2;a b",
    "2;a=b \r",
    "2;a=b c",
    "2;a=b=",
    "2;a=b\"",
    "2;a\"",
    "2;\"",
    "2;[",
    "2;a=[",
    "2;a[",
    "2;a=\u{7f}",
    "2;a\0",
    "2;a=\"\0",
    "2;a=\"\u{7f}",
    "2;a=\"\r",
    "2;a=\"\n",
    "2;a=\"\\\r",
    "2;a=\"\\\0",
    "2;a=\"b\"c",
    "2;a=\"b\" \r",
    "2;a=\"b\"=",
    "2;a\n",
    "2\r\r",
    "2\r{",
    "2\r\n{}\n",
    "2\r\n{}x",
    "2\r\n{}\r\r",
    "2\r\n{}\r\n\r",
    "2\r\n{}\r\n\n",
    "0\n",
    "0 \r",
    "0\r\r",
    "0\r\n\n",
    "0\r\n\r\r",
    "0\r\n ",
    "0\r\n:",
    "0\r\nA\r",
    "0\r\nA\n",
    "0\r\nA ",
    "0\r\nA: b\n",
    "0\r\nA: b\r\r",
    "0\r\nA: b\r\n ",
    "0\r\nA: b\r\n\t",
    "0\r\nA: \0",
    "0\r\nA: \u{7f}",
    "0\r\nA: \u{1}",
    "0\r\n\u{e9}",
    "0\r\nA[",
    "00000000000000000",
];

/// Scans a body in pieces. An end is returned as the index in the whole body.
fn scanned<'a>(pieces: impl IntoIterator<Item = &'a [u8]>) -> ChunkScanResult {
    let mut grammar = ChunkGrammar::default();
    let mut before = 0;
    for piece in pieces {
        let mut at = 0;
        loop {
            match grammar.scan(piece, at) {
                Data(data) => at = data.end,
                Open => break,
                End(at) => return End(before + at),
                Violation => return Violation,
            }
        }
        before += piece.len();
    }
    Open
}

#[test]
fn the_data_of_all_chunks_is_the_body_however_it_comes() {
    let received = b"2;a=b\r\n{\r\r\n1\r\n\n\r\nA\r\n0123456789\r\n0\r\nC: d\r\n\r\n";
    for size in 1..=received.len() {
        let mut grammar = ChunkGrammar::default();
        let mut body = Vec::new();
        for piece in received.chunks(size) {
            let mut at = 0;
            while let Data(data) = grammar.scan(piece, at) {
                at = data.end;
                body.extend_from_slice(&piece[data]);
            }
        }
        assert_eq!(body, b"{\r\n0123456789", "by {size}");
    }
}

#[test]
fn a_legal_body_ends_where_its_last_line_break_is_however_it_comes() {
    for body in LEGAL {
        let body = body.as_bytes();
        let followed = [body, b"GET / HTTP/1.1\r\n"].concat();
        for size in 1..=followed.len() {
            let progress = scanned(followed.chunks(size));
            assert_eq!(
                progress,
                End(body.len()),
                "{} by {size}",
                body.escape_ascii()
            );
        }
        for cut in 0..body.len() {
            assert_eq!(
                scanned([&body[..cut]]),
                Open,
                "{}",
                body[..cut].escape_ascii()
            );
        }
    }
}

#[test]
fn an_illegal_body_is_refused_at_the_byte_that_breaks_the_grammar() {
    for body in ILLEGAL {
        let begin = &body[..body.len() - body.chars().next_back().unwrap().len_utf8()];
        let shown = body.escape_default();
        assert_eq!(scanned([begin.as_bytes()]), Open, "{shown}");
        for size in 1..=body.len() {
            assert_eq!(
                scanned(body.as_bytes().chunks(size)),
                Violation,
                "{shown} by {size}"
            );
        }
    }
}

#[test]
fn extensions_and_trailers_have_bounds() {
    let name = |bytes: usize| "a".repeat(bytes);
    let chunk = |extension: usize| format!("2;{}\r\n{{}}\r\n", name(extension));
    let last = "0\r\n\r\n";
    for (body, progress) in [
        (chunk(SIZE_LINE_MAX - 2) + last, None),
        (chunk(SIZE_LINE_MAX - 1) + last, Some(Violation)),
        (chunk(1000).repeat(EXTRAS_MAX / 1010) + last, None),
        (
            chunk(1000).repeat(EXTRAS_MAX / 1000 + 1) + last,
            Some(Violation),
        ),
        (format!("0\r\nA: {}\r\n\r\n", name(EXTRAS_MAX - 10)), None),
        (
            format!("0\r\nA: {}\r\n\r\n", name(EXTRAS_MAX)),
            Some(Violation),
        ),
        (
            "0\r\n".to_string() + &"A: b\r\n".repeat(EXTRAS_MAX / 5),
            Some(Violation),
        ),
    ] {
        let expected = progress.unwrap_or(End(body.len()));
        assert_eq!(scanned([body.as_bytes()]), expected, "{} bytes", body.len());
    }
}

#[test]
fn a_plain_body_may_have_any_number_of_chunks() {
    let body = "2\r\n{}\r\n".repeat(EXTRAS_MAX + 1) + "0\r\n\r\n";
    assert_eq!(scanned([body.as_bytes()]), End(body.len()));
}

static SIZE_LINE: LazyLock<Regex> = LazyLock::new(|| {
    let token = r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+";
    let quoted = r#""(?:[\t !#-\[\]-~\x80-\xff]|\\[\t -~\x80-\xff])*""#;
    let pattern = format!(
        r"\A(?-u)([0-9a-fA-F]{{1,16}})(?:[ \t]*;[ \t]*{token}(?:[ \t]*=[ \t]*(?:{token}|{quoted}))?)*\r\n"
    );
    Regex::new(&pattern).unwrap()
});
static TRAILERS: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"\A(?-u)(?:[!#$%&'*+\-.^_`|~0-9A-Za-z]+:[\t -~\x80-\xff]*\r\n)*\r\n").unwrap()
});

/// The end of a complete body, found by the second parser.
fn end_by_pattern(body: &[u8]) -> Option<usize> {
    let mut at = 0;
    loop {
        let line = SIZE_LINE.captures(&body[at..])?;
        at += line[0].len();
        let size = u64::from_str_radix(std::str::from_utf8(&line[1]).ok()?, 16).ok()?;
        if size == 0 {
            return Some(at + TRAILERS.find(&body[at..])?.end());
        }
        at = at.checked_add(usize::try_from(size).ok()?)?;
        body.get(at..)?.strip_prefix(b"\r\n")?;
        at += 2;
    }
}

/// Bodies made of elements that the grammar allows, and of some that it forbids.
fn bodies() -> impl Strategy<Value = Vec<u8>> {
    let part = prop_oneof![
        12 => prop::sample::select(vec!["2", "0", "a", "\r\n", "{}\r\n", "2\r\n{}\r\n", "0\r\n", "\r\n0\r\n\r\n"]),
        8 => prop::sample::select(vec![";", "=", "a", "\"", "\\", "[", " ", "\t", "b", "\u{e9}", ":"]),
        1 => prop::sample::select(vec!["\r", "\n", "\0", "\u{7f}", "-", "x"]),
    ];
    prop::collection::vec(part, 1..24).prop_map(|parts| parts.concat().into_bytes())
}

/// A valid body with at most one byte changed.
fn nearly_legal() -> impl Strategy<Value = Vec<u8>> {
    let body = prop::sample::select(LEGAL.to_vec());
    (
        body,
        any::<prop::sample::Index>(),
        prop::option::of(any::<u8>()),
    )
        .prop_map(|(body, place, byte)| {
            let mut body = body.as_bytes().to_vec();
            if let Some(byte) = byte {
                let at = place.index(body.len());
                body[at] = byte;
            }
            body
        })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn two_readers_see_the_same_end(body in prop_oneof![bodies(), nearly_legal()]) {
        let end = match scanned([&body[..]]) {
            End(at) => Some(at),
            _ => None,
        };
        prop_assert_eq!(end, end_by_pattern(&body), "{}", body.escape_ascii());
    }

    #[test]
    fn the_result_does_not_depend_on_how_the_body_is_cut(
        body in prop_oneof![bodies(), nearly_legal()],
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..6),
    ) {
        let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut.index(body.len() + 1)).collect();
        cuts.extend([0, body.len()]);
        cuts.sort_unstable();
        let pieces = cuts.windows(2).map(|pair| &body[pair[0]..pair[1]]);
        prop_assert_eq!(scanned(pieces), scanned([&body[..]]), "{}", body.escape_ascii());
    }
}
