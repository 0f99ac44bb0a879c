//! Finds phone numbers and the numbers of payment cards.

use std::ops::Range;

/// Card numbers of 13 to 19 digits with a valid check digit, as one group or in groups of which all but the last have
/// at least four digits, separated by spaces or hyphens.
pub fn find_cards(text: &str) -> Vec<Range<usize>> {
    let bytes = text.as_bytes();
    let mut found = Vec::new();
    for run in runs(bytes) {
        let mut first = 0;
        while first < run.groups.len() {
            match card(bytes, &run.groups[first..]) {
                Some(count) => {
                    found.push(run.groups[first].start..run.groups[first + count - 1].end);
                    first += count;
                }
                None => first += 1,
            }
        }
    }
    found
}

/// Phone numbers: international ones with `+` and 8 to 15 digits; the form 555-010-9999 of North America, with any
/// separators; and national ones of 9 to 12 digits that begin with 0 and have separators.
pub fn find_phones(text: &str) -> Vec<Range<usize>> {
    let bytes = text.as_bytes();
    let runs = runs(bytes).into_iter();
    runs.filter_map(|run| phone(bytes, &run)).collect()
}

/// Groups of digits with separators between them.
struct Run {
    start: usize,
    has_plus: bool,
    groups: Vec<Range<usize>>,
}

fn runs(bytes: &[u8]) -> Vec<Run> {
    let mut runs = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        // Most bytes are none of these.
        if !bytes[at].is_ascii_digit() && !b"+(".contains(&bytes[at]) {
            at += 1;
            continue;
        }
        let is_start = !continues_word(&bytes[..at]);
        let digits = at + usize::from(b"+(".contains(&bytes[at]));
        let has_digit = bytes.get(digits).is_some_and(u8::is_ascii_digit);
        if !is_start || !has_digit {
            at += 1;
            continue;
        }
        let groups = groups(bytes, digits);
        let end = groups.last().map_or(at, |group| group.end);
        if !is_continued(&bytes[end..]) {
            let has_plus = bytes[at] == b'+';
            runs.push(Run {
                start: at,
                has_plus,
                groups,
            });
        }
        at = end;
    }
    runs
}

/// The groups of digits from a place, with one or two separators between them.
fn groups(bytes: &[u8], mut at: usize) -> Vec<Range<usize>> {
    let mut groups = Vec::new();
    loop {
        let digits = bytes[at..]
            .iter()
            .take_while(|byte| byte.is_ascii_digit())
            .count();
        groups.push(at..at + digits);
        at += digits;
        let is_separator = |byte: &&u8| b" -.()/".contains(byte);
        let separators = bytes[at..].iter().take(3).take_while(is_separator).count();
        let continues = bytes.get(at + separators).is_some_and(u8::is_ascii_digit);
        if !(1..=2).contains(&separators) || !continues {
            return groups;
        }
        at += separators;
    }
}

/// Whether the bytes before a number are a part of it, as those of a time: `10:` before `20`.
fn continues_word(before: &[u8]) -> bool {
    match before {
        [.., digit, b':'] => digit.is_ascii_digit(),
        [.., byte] => is_word(*byte),
        [] => false,
    }
}

/// Whether the bytes after a number are a part of it.
fn is_continued(after: &[u8]) -> bool {
    match after {
        [b':', digit, ..] => digit.is_ascii_digit(),
        [byte, ..] => is_word(*byte),
        [] => false,
    }
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

/// How many of the groups are a card number.
fn card(bytes: &[u8], groups: &[Range<usize>]) -> Option<usize> {
    let mut digits = Vec::with_capacity(19);
    let mut found = None;
    for (index, group) in groups.iter().enumerate() {
        if index > 0 {
            let before = &groups[index - 1];
            let separator = &bytes[before.end..group.start];
            if before.len() < 4 || !matches!(separator, b" " | b"-") {
                break;
            }
        }
        digits.extend_from_slice(&bytes[group.clone()]);
        if digits.len() > 19 {
            break;
        }
        if digits.len() >= 13 && has_valid_check(&digits) {
            found = Some(index + 1);
        }
    }
    found
}

/// Luhn's check: every second digit from the right is doubled.
fn has_valid_check(digits: &[u8]) -> bool {
    let sum: u32 = digits
        .iter()
        .rev()
        .enumerate()
        .map(|(index, digit)| {
            let digit = u32::from(digit - b'0') * (1 + index as u32 % 2);
            digit / 10 + digit % 10
        })
        .sum();
    sum.is_multiple_of(10) && digits.iter().any(|digit| *digit != b'0')
}

fn phone(bytes: &[u8], run: &Run) -> Option<Range<usize>> {
    let lengths: Vec<usize> = run.groups.iter().map(ExactSizeIterator::len).collect();
    let digits: usize = lengths.iter().sum();
    let end = run.groups.last()?.end;
    let first = bytes[run.groups[0].start];
    if run.has_plus {
        return international(run);
    }
    let is_american = match lengths[..] {
        [3, 3, 4] => first >= b'2',
        [1, 3, 3, 4] => first == b'1',
        _ => false,
    };
    let is_national = first == b'0'
        && (9..=12).contains(&digits)
        && (2..=6).contains(&lengths.len())
        && lengths.iter().all(|length| *length >= 2)
        && !bytes[run.start..end].contains(&b'.');
    (is_american || is_national).then_some(run.start..end)
}

/// As many groups as have at most 15 digits, since another number may follow.
fn international(run: &Run) -> Option<Range<usize>> {
    let mut digits = 0;
    let mut end = None;
    for group in &run.groups {
        digits += group.len();
        if digits > 15 {
            break;
        }
        if digits >= 8 {
            end = Some(group.end);
        }
    }
    end.map(|end| run.start..end)
}

#[cfg(test)]
mod tests {
    use super::{find_cards, find_phones};

    fn texts(text: &str, find: fn(&str) -> Vec<std::ops::Range<usize>>) -> Vec<&str> {
        find(text).into_iter().map(|range| &text[range]).collect()
    }

    #[test]
    fn cards_are_found_by_their_check_digit() {
        for (text, found) in [
            ("4111111111111111", vec!["4111111111111111"]),
            ("card:4111111111111111", vec!["4111111111111111"]),
            ("4111-1111-1111-1111.", vec!["4111-1111-1111-1111"]),
            ("3782 822463 10005", vec!["3782 822463 10005"]),
            (
                "card 4111 1111 1111 1111 12/26",
                vec!["4111 1111 1111 1111"],
            ),
            ("卡号4111111111111111。", vec!["4111111111111111"]),
            (
                "4111111111111111 5500000000000004",
                vec!["4111111111111111", "5500000000000004"],
            ),
            ("4111111111111112", vec![]),
            ("id4111111111111111", vec![]),
            ("4111111111111111a", vec![]),
            ("0000000000000000", vec![]),
            ("1 2 3 4 5 6 7 8 9 0 1 2 8", vec![]),
        ] {
            assert_eq!(texts(text, find_cards), found, "{text}");
        }
    }

    #[test]
    fn phones_are_found_by_their_forms() {
        for (text, found) in [
            ("+49 30 1234567", vec!["+49 30 1234567"]),
            ("+86-138-0013-8000,", vec!["+86-138-0013-8000"]),
            ("电话+8613800138000。", vec!["+8613800138000"]),
            ("(555) 010-9999", vec!["(555) 010-9999"]),
            ("1-555-010-9999", vec!["1-555-010-9999"]),
            ("030/123 45 67", vec!["030/123 45 67"]),
            ("+44 20 7946 0958 20261231", vec!["+44 20 7946 0958"]),
            ("+1234567", vec![]),
            ("2026-01-15 10:20", vec![]),
            ("01-02-2026 11:30", vec![]),
            ("192.168.100.200", vec![]),
            ("0.1234567890", vec![]),
            ("0 1 2 3 4 5 6 7 8 9", vec![]),
            ("5550109999", vec![]),
            ("3 + 4", vec![]),
        ] {
            assert_eq!(texts(text, find_phones), found, "{text}");
        }
    }
}
