//! Bytes as hexadecimal digits.

use std::fmt;

const DIGITS: &[u8; 16] = b"0123456789abcdef";

/// Prints bytes as lower-case hexadecimal digits, two for each byte.
#[derive(Clone, Copy, Debug)]
pub struct HexDisplay<'a>(pub &'a [u8]);

impl fmt::Display for HexDisplay<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

/// Writes bytes as lower-case hexadecimal digits into `text`, as far as it has room, without a formatter.
pub fn write_digits(bytes: &[u8], text: &mut [u8]) {
    for (byte, digits) in bytes.iter().zip(text.chunks_exact_mut(2)) {
        digits[0] = DIGITS[usize::from(byte >> 4)];
        digits[1] = DIGITS[usize::from(byte & 15)];
    }
}

/// The bytes that hexadecimal digits write, of either case; `None` for another text.
pub fn parse(digits: &[u8]) -> Option<Vec<u8>> {
    let byte = |pair: &[u8]| {
        let [high, low] = pair else {
            return None;
        };
        let digit = |byte: u8| char::from(byte).to_digit(16);
        u8::try_from(digit(*high)? << 4 | digit(*low)?).ok()
    };
    digits.chunks(2).map(byte).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_byte_has_two_digits() {
        for (bytes, digits) in [(&b""[..], ""), (b"\x00\x0f\xff", "000fff"), (b"az", "617a")] {
            assert_eq!(HexDisplay(bytes).to_string(), digits);
            let mut written = vec![0; digits.len()];
            write_digits(bytes, &mut written);
            assert_eq!(written, digits.as_bytes());
            assert_eq!(parse(digits.as_bytes()).as_deref(), Some(bytes));
        }
        assert_eq!(parse(b"Ff0A").as_deref(), Some(&b"\xff\x0a"[..]));
        for other in ["0", "000", "0g", "+f", " f"] {
            assert_eq!(parse(other.as_bytes()), None, "{other}");
        }
    }
}
