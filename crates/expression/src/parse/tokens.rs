//! The tokens of CEL, with what the parser does not limit: nesting, number and length.

use super::error_at;
use crate::error::CompileError;

/// How deep brackets may be nested.
const NESTING: usize = 32;
/// How often `?:` may be used, since each one in the last branch of another nests.
const CONDITIONALS: usize = 32;
/// How many tokens an expression may have.
const TOKENS: usize = 1_024;
/// The longest string literal as written, in bytes.
const LITERAL_BYTES: usize = 1 << 10;

/// Operators and brackets, the longer ones first.
const SIGNS: [&str; 25] = [
    "==", "!=", "<=", ">=", "&&", "||", "<", ">", "[", "]", "{", "}", "(", ")", ".", ",", "-", "!",
    "?", ":", "+", "*", "/", "%", "=",
];

/// A token of the text, in bytes.
pub(super) struct SourceToken {
    pub start: usize,
    pub end: usize,
    /// Whether it is a name or keyword.
    pub is_word: bool,
}

/// Splits a text into its tokens without white space and comments.
pub(super) fn tokens(text: &str) -> Result<Vec<SourceToken>, CompileError> {
    let mut tokens: Vec<SourceToken> = Vec::new();
    let mut open: Vec<(usize, u8)> = Vec::new();
    let mut conditionals = 0;
    let mut at = skip_blank(text, 0);
    while at < text.len() {
        let (length, is_word) = token_length(text, at)?;
        let token = &text[at..at + length];
        nest(text, at, token, &mut open)?;
        conditionals += usize::from(token == "?");
        if conditionals > CONDITIONALS {
            let message = format!("the expression has more than {CONDITIONALS} `?:`");
            return Err(error_at(text, at, message));
        }
        if tokens.len() == TOKENS {
            let message = format!("the expression has more than {TOKENS} tokens");
            return Err(error_at(text, at, message));
        }
        tokens.push(SourceToken {
            start: at,
            end: at + length,
            is_word,
        });
        at = skip_blank(text, at + length);
    }
    match open.pop() {
        Some((offset, bracket)) => {
            let message = format!("`{}` is not closed", char::from(bracket));
            Err(error_at(text, offset, message))
        }
        None => Ok(tokens),
    }
}

/// The offset of the next token.
fn skip_blank(text: &str, mut at: usize) -> usize {
    loop {
        let rest = &text[at..];
        let blank = rest.trim_start_matches([' ', '\t', '\r', '\n', '\u{c}']);
        at += rest.len() - blank.len();
        if !blank.starts_with("//") {
            return at;
        }
        at += blank.find('\n').unwrap_or(blank.len());
    }
}

/// Opens or closes a bracket.
fn nest(
    text: &str,
    at: usize,
    token: &str,
    open: &mut Vec<(usize, u8)>,
) -> Result<(), CompileError> {
    match token {
        "(" | "[" | "{" if open.len() == NESTING => {
            let message = format!("brackets are nested deeper than {NESTING}");
            Err(error_at(text, at, message))
        }
        "(" | "[" | "{" => {
            open.push((at, token.as_bytes()[0]));
            Ok(())
        }
        ")" | "]" | "}" => match (open.pop(), token) {
            (Some((_, b'(')), ")") | (Some((_, b'[')), "]") | (Some((_, b'{')), "}") => Ok(()),
            _ => Err(error_at(text, at, format!("unexpected `{token}`"))),
        },
        _ => Ok(()),
    }
}

/// The length of the token at an offset, and whether it is a word.
fn token_length(text: &str, at: usize) -> Result<(usize, bool), CompileError> {
    let rest = &text[at..];
    let first = rest.chars().next().expect("the text has not ended");
    if let Some(length) = literal_length(text, at)? {
        return Ok((length, false));
    }
    if first.is_ascii_alphabetic() || first == '_' {
        return Ok((word_length(rest), true));
    }
    if first.is_ascii_digit() || first == '.' && rest[1..].starts_with(|c: char| c.is_ascii_digit())
    {
        return Ok((number_length(rest), false));
    }
    let sign = SIGNS.iter().find(|sign| rest.starts_with(**sign));
    match sign {
        Some(&"=") => Err(CompileError {
            hint: Some("write `==` to compare".into()),
            ..error_at(text, at, "`=` is not an operator")
        }),
        Some(sign) => Ok((sign.len(), false)),
        None => Err(unexpected(text, at, first)),
    }
}

fn unexpected(text: &str, at: usize, character: char) -> CompileError {
    let hint = match character {
        '&' => Some("write `&&`"),
        '|' => Some("write `||`"),
        '`' => Some("write x[\"name\"] for a member whose name is not a word"),
        '“' | '”' | '‘' | '’' => Some("put strings into \" or '"),
        _ => None,
    };
    let message = match character {
        '`' => "unexpected backtick".into(),
        _ => format!("unexpected character `{}`", character.escape_default()),
    };
    CompileError {
        hint: hint.map(Into::into),
        ..error_at(text, at, message)
    }
}

fn word_length(rest: &str) -> usize {
    let in_word = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
    rest.bytes().take_while(|byte| in_word(byte)).count()
}

/// The length of a number; the parser decides whether it is one.
fn number_length(rest: &str) -> usize {
    let bytes = rest.as_bytes();
    let is_hex = rest.starts_with("0x");
    let mut length = 0;
    while let Some(&byte) = bytes.get(length) {
        let after_exponent = !is_hex && length > 0 && matches!(bytes[length - 1], b'e' | b'E');
        let belongs = byte.is_ascii_alphanumeric()
            || byte == b'.' && bytes.get(length + 1).is_some_and(u8::is_ascii_digit)
            || after_exponent && matches!(byte, b'+' | b'-');
        if !belongs {
            break;
        }
        length += 1;
    }
    length
}

/// The length of the string literal at an offset with its prefix, if there is one.
fn literal_length(text: &str, at: usize) -> Result<Option<usize>, CompileError> {
    let rest = &text[at..];
    let prefix = rest
        .bytes()
        .take(2)
        .take_while(|byte| matches!(byte, b'r' | b'R' | b'b' | b'B'))
        .count();
    let quoted = &rest[prefix..];
    let Some(quote) = ["\"\"\"", "'''", "\"", "'"]
        .into_iter()
        .find(|quote| quoted.starts_with(quote))
    else {
        return Ok(None);
    };
    if rest[..prefix].contains(['b', 'B']) {
        return Err(error_at(text, at, "bytes are not supported"));
    }
    let begin = at + prefix + quote.len();
    let end = closing_quote(text, begin, quote, prefix > 0)?
        .ok_or_else(|| error_at(text, at, "the string is not closed"))?;
    if end - begin > LITERAL_BYTES {
        let kib = LITERAL_BYTES >> 10;
        let message = format!("the string literal is longer than {kib} KiB");
        return Err(error_at(text, at, message));
    }
    Ok(Some(end + quote.len() - at))
}

/// The offset of the closing quote.
fn closing_quote(
    text: &str,
    begin: usize,
    quote: &str,
    is_raw: bool,
) -> Result<Option<usize>, CompileError> {
    let mut at = begin;
    loop {
        let rest = &text[at..];
        if rest.starts_with(quote) {
            return Ok(Some(at));
        }
        match rest.chars().next() {
            None => return Ok(None),
            Some('\n' | '\r') if quote.len() == 1 => return Ok(None),
            Some('\\') if !is_raw => {
                match escape_length(rest) {
                    Some(length) => at += length,
                    None => {
                        return Err(CompileError {
                        hint: Some("write `\\\\` for a backslash, or r\"…\" for a string without escapes".into()),
                        ..error_at(text, at, "the string has an unknown escape")
                    });
                    }
                }
            }
            Some(character) => at += character.len_utf8(),
        }
    }
}

/// The length of the escape at the start of a text.
fn escape_length(text: &str) -> Option<usize> {
    let hex = |digits: usize| {
        let code = text.get(2..2 + digits)?;
        let is_hex = code.bytes().all(|byte| byte.is_ascii_hexdigit());
        let value = u32::from_str_radix(code, 16).ok().filter(|_| is_hex)?;
        char::from_u32(value).map(|_| 2 + digits)
    };
    match text.as_bytes().get(1)? {
        b'a' | b'b' | b'f' | b'n' | b'r' | b't' | b'v' | b'"' | b'\'' | b'\\' | b'?' | b'`' => {
            Some(2)
        }
        b'x' | b'X' => hex(2),
        b'u' => hex(4),
        b'U' => hex(8),
        b'0'..=b'3' => {
            let octal = text.get(1..4)?;
            octal
                .bytes()
                .all(|byte| matches!(byte, b'0'..=b'7'))
                .then_some(4)
        }
        _ => None,
    }
}
