//! A table of bodies in the style of JSONTestSuite: those to accept, and those to refuse with their reason.

use super::super::{ExpectedToken, JsonErrorKind as Reason};
use super::{parse, read_back, refusal};

const ACCEPTED: &[&str] = &[
    "null",
    "true",
    "false",
    "0",
    "-0",
    "-1",
    "12",
    "1.5",
    "0.1",
    "1e5",
    "1E+5",
    "1e-5",
    "1.25e3",
    "-0.0e0",
    "1e400",
    "-1e-400",
    "123456789012345678901234567890",
    "\"\"",
    "\"a\"",
    "\"\\u0000\"",
    "\"\\uD83D\\uDE00\"",
    "\"\\uFFFF\"",
    "\"\u{7f}\"",
    "\"\u{2028}\"",
    "\"\u{10ffff}\"",
    "\"\\\\\"",
    "\"\\\"\"",
    "\"\\/\"",
    "\"/\"",
    "\"\u{feff}\"",
    "[]",
    "[ ]",
    "[[]]",
    "[1,2]",
    "[\t1\r\n,\n2 ]",
    "[[],{},\"\",0,null]",
    "[null, 1, \"1\", {}]",
    "{}",
    "{ }",
    "{\"\":0}",
    "{\"a\":{\"a\":{\"a\":1}}}",
    "{\"a\":1,\"A\":2}",
    "{\"é\":1,\"e\u{301}\":2}",
    "{\"a\":[],\"b\":{},\"c\":\"\"}",
    "  {\"a\" : 1}\n",
    "{\"a\\\"\":1,\"a\":2}",
    "[{\"a\":1},{\"a\":1}]",
];

#[test]
fn well_formed_bodies_are_accepted_and_read_as_serde_json_reads_them() {
    for body in ACCEPTED {
        let document = parse(body.as_bytes()).unwrap_or_else(|error| panic!("{body}: {error}"));
        assert_eq!(document.body(), body.as_bytes());
        if let Ok(value) = serde_json::from_str::<serde_json::Value>(body) {
            assert_eq!(read_back(document.root()), value, "{body}");
        }
    }
}

#[test]
fn malformed_bodies_are_refused_at_the_byte_that_is_wrong() {
    for (body, offset, reason) in refused() {
        let malformed = refusal(body);
        let shown = String::from_utf8_lossy(body);
        assert_eq!(
            (malformed.offset, malformed.reason),
            (offset, reason),
            "{shown}"
        );
    }
}

fn refused() -> Vec<(&'static [u8], usize, Reason)> {
    let unexpected = |wanted, found| Reason::Unexpected { wanted, found };
    vec![
        (b"", 0, Reason::Empty),
        (b" \n", 2, Reason::Empty),
        (b"\xEF\xBB\xBF{}", 0, Reason::ByteOrderMark),
        (b"\xFF\xFE{\0}\0", 0, Reason::Utf16),
        (b"\xFE\xFF\0{\0}", 0, Reason::Utf16),
        (b"{\0}\0", 0, Reason::Utf16),
        (b"\0{\0}", 0, Reason::Utf16),
        (b"\"\xff\"", 1, Reason::InvalidUtf8),
        (b"\"\xc0\xaf\"", 1, Reason::InvalidUtf8),
        (b"\"\xe0\x80\xaf\"", 1, Reason::InvalidUtf8),
        (b"\"\xed\xa0\x80\"", 1, Reason::InvalidUtf8),
        (b"\"\xf4\x90\x80\x80\"", 1, Reason::InvalidUtf8),
        (b"\"ab\xe6\x97\"", 3, Reason::InvalidUtf8),
        (b"{\"\xff\":1}", 2, Reason::InvalidUtf8),
        (b"[\xff]", 1, Reason::InvalidUtf8),
        (b"\"a\0b\"", 2, Reason::ControlCharacter(0)),
        (b"\"a\nb\"", 2, Reason::ControlCharacter(b'\n')),
        (b"\"a\tb\"", 2, Reason::ControlCharacter(b'\t')),
        (b"\"\x1f\"", 1, Reason::ControlCharacter(0x1f)),
        (b"\"\\x41\"", 1, Reason::BadEscape),
        (b"\"\\'\"", 1, Reason::BadEscape),
        (b"\"\\u12\"", 1, Reason::BadEscape),
        (b"\"\\u12G4\"", 1, Reason::BadEscape),
        (b"\"\\u+123\"", 1, Reason::BadEscape),
        (b"\"\\U0041\"", 1, Reason::BadEscape),
        (b"\"\\ud800\"", 1, Reason::LoneSurrogate),
        (b"\"\\ud800\\n\"", 1, Reason::LoneSurrogate),
        (b"\"\\ud800\\ud800\"", 1, Reason::LoneSurrogate),
        (b"\"a\\udc00\"", 2, Reason::LoneSurrogate),
        (b"\"\\ud800x\"", 1, Reason::LoneSurrogate),
        (
            b"\"abc",
            4,
            Reason::UnexpectedEnd(ExpectedToken::ClosingQuote),
        ),
        (
            b"\"abc\\",
            4,
            Reason::UnexpectedEnd(ExpectedToken::ClosingQuote),
        ),
        (
            b"\"abc\\\"",
            6,
            Reason::UnexpectedEnd(ExpectedToken::ClosingQuote),
        ),
        (b"01", 0, Reason::BadNumber),
        (b"-", 0, Reason::BadNumber),
        (b"-01", 0, Reason::BadNumber),
        (b"1.", 0, Reason::BadNumber),
        (b"1.e1", 0, Reason::BadNumber),
        (b"1e", 0, Reason::BadNumber),
        (b"1e+", 0, Reason::BadNumber),
        (b"-x", 0, Reason::BadNumber),
        (b"1x", 1, Reason::TrailingBytes),
        (b"0x1", 1, Reason::TrailingBytes),
        (b"+1", 0, unexpected(ExpectedToken::Value, b'+')),
        (b".5", 0, unexpected(ExpectedToken::Value, b'.')),
        (b"NaN", 0, Reason::BadLiteral),
        (b"Infinity", 0, Reason::BadLiteral),
        (b"-Infinity", 0, Reason::BadNumber),
        (b"tru", 0, Reason::BadLiteral),
        (b"True", 0, Reason::BadLiteral),
        (b"nul", 0, Reason::BadLiteral),
        (b"truex", 4, Reason::TrailingBytes),
        (b"'a'", 0, unexpected(ExpectedToken::Value, b'\'')),
        (b"[", 1, Reason::UnexpectedEnd(ExpectedToken::Value)),
        (
            b"[1",
            2,
            Reason::UnexpectedEnd(ExpectedToken::CommaOrBracket),
        ),
        (b"[1,", 3, Reason::UnexpectedEnd(ExpectedToken::Value)),
        (b"[1,]", 3, Reason::TrailingComma),
        (b"[,1]", 1, unexpected(ExpectedToken::Value, b',')),
        (b"[1 2]", 3, unexpected(ExpectedToken::CommaOrBracket, b'2')),
        (b"[1}", 2, unexpected(ExpectedToken::CommaOrBracket, b'}')),
        (b"[1]]", 3, Reason::TrailingBytes),
        (b"]", 0, unexpected(ExpectedToken::Value, b']')),
        (b"{", 1, Reason::UnexpectedEnd(ExpectedToken::Key)),
        (b"{\"a\"", 4, Reason::UnexpectedEnd(ExpectedToken::Colon)),
        (b"{\"a\":", 5, Reason::UnexpectedEnd(ExpectedToken::Value)),
        (
            b"{\"a\":1",
            6,
            Reason::UnexpectedEnd(ExpectedToken::CommaOrBrace),
        ),
        (b"{\"a\":1,}", 7, Reason::TrailingComma),
        (b"{a:1}", 1, unexpected(ExpectedToken::Key, b'a')),
        (b"{1:1}", 1, unexpected(ExpectedToken::Key, b'1')),
        (b"{\"a\" 1}", 5, unexpected(ExpectedToken::Colon, b'1')),
        (b"{\"a\":}", 5, unexpected(ExpectedToken::Value, b'}')),
        (
            b"{\"a\":1]",
            6,
            unexpected(ExpectedToken::CommaOrBrace, b']'),
        ),
        (b"{,}", 1, unexpected(ExpectedToken::Key, b',')),
        (b"{} {}", 3, Reason::TrailingBytes),
        (b"{}\0", 2, Reason::TrailingBytes),
        (b"{} // x", 3, Reason::TrailingBytes),
        (b"[/**/]", 1, unexpected(ExpectedToken::Value, b'/')),
        (b"[\x0c]", 1, unexpected(ExpectedToken::Value, 0x0c)),
        (b"{\"a\":1,\"a\":1}", 7, Reason::DuplicateKey("a".into())),
        (
            b"{\"model\":1,\"\\u006dodel\":1}",
            11,
            Reason::DuplicateKey("model".into()),
        ),
        (
            b"[{\"x\":{\"\":1,\"\":1}}]",
            12,
            Reason::DuplicateKey("".into()),
        ),
        (
            b"{\"\\n\":1,\"\\u000a\":1}",
            8,
            Reason::DuplicateKey("\n".into()),
        ),
    ]
}
