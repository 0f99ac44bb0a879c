//! Finds international bank account numbers (IBAN), by their check digits.

use std::ops::Range;

const SHORTEST: usize = 15;
const LONGEST: usize = 34;

/// Account numbers in capital letters, with or without single spaces.
pub fn find(text: &str) -> Vec<Range<usize>> {
    let bytes = text.as_bytes();
    let mut found = Vec::new();
    let mut at = 0;
    while at + SHORTEST <= bytes.len() {
        let end = if begins(bytes, at) {
            account_number_end(bytes, at)
        } else {
            None
        };
        match end {
            Some(end) => {
                found.push(at..end);
                at = end;
            }
            None => at += 1,
        }
    }
    found
}

/// Whether two letters and two digits are the start of a word.
fn begins(bytes: &[u8], at: usize) -> bool {
    bytes[at..at + 2].iter().all(u8::is_ascii_uppercase)
        && bytes[at + 2..at + 4].iter().all(u8::is_ascii_digit)
        && (at == 0 || !bytes[at - 1].is_ascii_alphanumeric())
}

/// The end of the longest account number that begins at a place.
fn account_number_end(bytes: &[u8], start: usize) -> Option<usize> {
    let mut account = Vec::with_capacity(LONGEST);
    let mut end = None;
    for (at, &byte) in bytes.iter().enumerate().skip(start) {
        let next = bytes.get(at + 1).copied().unwrap_or(b' ');
        if byte == b' ' {
            if next == b' ' {
                break;
            }
            continue;
        }
        if !(byte.is_ascii_uppercase() || byte.is_ascii_digit()) || account.len() == LONGEST {
            break;
        }
        account.push(byte);
        if !next.is_ascii_alphanumeric() && account.len() >= SHORTEST && has_valid_check(&account) {
            end = Some(at + 1);
        }
    }
    end
}

/// ISO 7064, modulo 97: the first four characters moved to the end, letters counted from 10.
fn has_valid_check(account: &[u8]) -> bool {
    let (head, rest) = account.split_at(4);
    let remainder = rest.iter().chain(head).fold(0, |remainder: u32, byte| {
        let digit = char::from(*byte).to_digit(36).unwrap_or_default();
        let shift = if digit > 9 { 100 } else { 10 };
        (remainder * shift + digit) % 97
    });
    remainder == 1
}

#[cfg(test)]
mod tests {
    use super::find;

    #[test]
    fn account_numbers_are_found_by_their_check_digits() {
        for (text, found) in [
            ("DE89370400440532013000", vec!["DE89370400440532013000"]),
            (
                "to GB29 NWBK 6016 1331 9268 19 please",
                vec!["GB29 NWBK 6016 1331 9268 19"],
            ),
            ("NO9386011117947", vec!["NO9386011117947"]),
            (
                "DE89 3704 0044 0532 0130 00 AND",
                vec!["DE89 3704 0044 0532 0130 00"],
            ),
            ("DE88370400440532013000", vec![]),
            ("XDE89370400440532013000", vec![]),
            ("DE89370400440532013000x", vec![]),
            ("DE89  3704 0044 0532 0130 00", vec![]),
            ("DE89", vec![]),
        ] {
            let ranges = find(text);
            let texts: Vec<_> = ranges.into_iter().map(|range| &text[range]).collect();
            assert_eq!(texts, found, "{text}");
        }
    }
}
