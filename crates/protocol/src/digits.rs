//! Numbers that are written with decimal digits only.

/// The number; `None` if there is no digit or another byte, or if the number does not fit.
pub fn parse_digits(digits: &[u8]) -> Option<u64> {
    if digits.is_empty() {
        return None;
    }
    digits.iter().try_fold(0_u64, |number, byte| {
        let digit = byte.wrapping_sub(b'0');
        let shifted = number.checked_mul(10).filter(|_| digit < 10);
        shifted?.checked_add(digit.into())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_digits_of_a_number_that_fits_are_read() {
        for (text, expected) in [
            ("0", Some(0)),
            ("007", Some(7)),
            ("18446744073709551615", Some(u64::MAX)),
            ("18446744073709551616", None),
            ("", None),
            ("+1", None),
            ("-1", None),
            ("1.0", None),
            ("1 ", None),
            ("\u{661}", None),
        ] {
            assert_eq!(parse_digits(text.as_bytes()), expected, "{text}");
        }
    }
}
