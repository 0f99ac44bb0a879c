//! Percent-encoding (RFC 3986, section 2.1).

use std::borrow::Cow;

/// Decodes an encoded text. Invalid escapes stay as they are; bytes that are not UTF-8 become U+FFFD.
pub fn decoded(text: &str) -> Cow<'_, str> {
    match text.contains('%') {
        false => Cow::Borrowed(text),
        true => match String::from_utf8_lossy(&decoded_bytes(text.as_bytes())) {
            Cow::Borrowed(text) => Cow::Owned(text.to_owned()),
            Cow::Owned(text) => Cow::Owned(text),
        },
    }
}

/// Decodes encoded bytes. Invalid escapes stay as they are.
pub fn decoded_bytes(text: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text;
    while let [first, after @ ..] = rest {
        let escaped = match rest {
            [b'%', high, low, ..] => hex_digit(*high).zip(hex_digit(*low)),
            _ => None,
        };
        match escaped {
            Some((high, low)) => {
                bytes.push(high << 4 | low);
                rest = &rest[3..];
            }
            None => {
                bytes.push(*first);
                rest = after;
            }
        }
    }
    bytes
}

/// Appends `text` as one segment of a path: what RFC 3986, section 3.3 does not allow in it is encoded.
pub fn push_encoded(path: &mut String, text: &str) {
    push_encoded_but(path, text.as_bytes(), b"-._~!$&'()*+,;=:@");
}

/// Appends `part` as a name or value of a query or a form: all but the unreserved characters of RFC 3986, section 2.3 is
/// encoded.
pub fn push_component(text: &mut String, part: &[u8]) {
    push_encoded_but(text, part, b"-._~");
}

/// Appends `part`, of which all is encoded but letters, digits and `plain`.
fn push_encoded_but(text: &mut String, part: &[u8], plain: &[u8]) {
    const DIGITS: &[u8; 16] = b"0123456789ABCDEF";
    for byte in part {
        if byte.is_ascii_alphanumeric() || plain.contains(byte) {
            text.push(char::from(*byte));
        } else {
            let digit = |value: u8| char::from(DIGITS[usize::from(value)]);
            text.extend(['%', digit(byte >> 4), digit(byte & 0xf)]);
        }
    }
}

fn hex_digit(digit: u8) -> Option<u8> {
    char::from(digit).to_digit(16).map(|value| value as u8)
}
