//! Bytes as hexadecimal digits.

use std::fmt;

/// Prints bytes as lower-case hexadecimal digits, two for each byte.
#[derive(Clone, Copy, Debug)]
pub struct Hex<'a>(pub &'a [u8]);

impl fmt::Display for Hex<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_byte_has_two_digits() {
        for (bytes, digits) in [(&b""[..], ""), (b"\x00\x0f\xff", "000fff"), (b"az", "617a")] {
            assert_eq!(Hex(bytes).to_string(), digits);
        }
    }
}
