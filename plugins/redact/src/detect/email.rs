//! Finds addresses of electronic mail.

use std::ops::Range;

/// Addresses in ASCII with a domain of at least two labels, the last of letters.
pub fn find(text: &str) -> Vec<Range<usize>> {
    let bytes = text.as_bytes();
    let mut found = Vec::new();
    let mut from = 0;
    while let Some(offset) = text[from..].find('@') {
        let at = from + offset;
        let start = local_part(bytes, from, at);
        let end = domain(text, at + 1);
        if start < at && end > at + 1 {
            found.push(start..end);
        }
        from = end.max(at + 1);
    }
    found
}

fn local_part(bytes: &[u8], from: usize, at: usize) -> usize {
    let belongs = |byte: &u8| byte.is_ascii_alphanumeric() || b"._%+-'".contains(byte);
    let length = bytes[from..at]
        .iter()
        .rev()
        .take_while(|byte| belongs(byte))
        .count();
    let dots = bytes[at - length..at]
        .iter()
        .take_while(|byte| b".'".contains(byte))
        .count();
    at - length + dots
}

/// The end of the domain that begins at a place, or that place if there is none.
fn domain(text: &str, start: usize) -> usize {
    let belongs = |byte: &u8| byte.is_ascii_alphanumeric() || b".-".contains(byte);
    let length = text.as_bytes()[start..]
        .iter()
        .take_while(|byte| belongs(byte))
        .count();
    let domain = text[start..start + length].trim_end_matches(['.', '-']);
    let (labels, last) = domain.rsplit_once('.').unwrap_or_default();
    let is_valid = last.len() >= 2
        && last.bytes().all(|byte| byte.is_ascii_alphabetic())
        && labels
            .split('.')
            .all(|label| !label.is_empty() && !label.starts_with('-'));
    if is_valid {
        start + domain.len()
    } else {
        start
    }
}

#[cfg(test)]
mod tests {
    use super::find;

    #[test]
    fn addresses_are_found_and_nothing_else() {
        for (text, found) in [
            ("ann@example.com", vec!["ann@example.com"]),
            (
                "<o'neil.b+x@mail.example.co.uk>.",
                vec!["o'neil.b+x@mail.example.co.uk"],
            ),
            ("a@b.io,c@d.de; e@f", vec!["a@b.io", "c@d.de"]),
            ("邮箱ann@example.com。", vec!["ann@example.com"]),
            ("'ann@example.com'", vec!["ann@example.com"]),
            ("ann@localhost", vec![]),
            ("@example.com", vec![]),
            ("a@@b.io", vec![]),
            ("a@b..io", vec![]),
            ("a@1.2.3.4", vec![]),
            ("@", vec![]),
        ] {
            let ranges = find(text);
            let texts: Vec<_> = ranges.into_iter().map(|range| &text[range]).collect();
            assert_eq!(texts, found, "{text}");
        }
    }
}
