//! Known names that an unknown one was probably meant to be.

/// Longer names are not compared: nobody mistypes a word of this length.
const COMPARED_CHARS: usize = 100;

/// The known names closest to `name`, closest first, at most `at_most` of them.
///
/// Close is what differs, apart from case, in no more than a third of its characters. A change,
/// an insertion, a removal and a swap of two neighbours are one difference each.
pub fn nearest<'a>(
    name: &str,
    known: impl IntoIterator<Item = &'a str>,
    at_most: usize,
) -> Vec<&'a str> {
    let name = folded(name);
    if name.is_empty() || name.len() > COMPARED_CHARS {
        return Vec::new();
    }
    let mut close: Vec<(usize, &str)> = known
        .into_iter()
        .filter_map(|candidate| {
            let folded = folded(candidate);
            let allowed = (name.len().max(folded.len()) / 3).max(1);
            Some((distance_within(&name, &folded, allowed)?, candidate))
        })
        .collect();
    close.sort_unstable();
    close.dedup();
    close
        .into_iter()
        .take(at_most)
        .map(|(_, candidate)| candidate)
        .collect()
}

/// Whether two names differ in at most `allowed` places, case apart.
pub fn is_close(left: &str, right: &str, allowed: usize) -> bool {
    distance_within(&folded(left), &folded(right), allowed).is_some()
}

/// In how many places two names differ, case apart, if in no more than `allowed`.
pub fn differences(left: &str, right: &str, allowed: usize) -> Option<usize> {
    let folded = |name: &str| name.to_lowercase().chars().collect::<Vec<_>>();
    distance_within(&folded(left), &folded(right), allowed)
}

fn folded(name: &str) -> Vec<char> {
    name.chars()
        .take(COMPARED_CHARS + 1)
        .flat_map(char::to_lowercase)
        .collect()
}

/// The number of differences, if there are no more than `allowed`.
fn distance_within(left: &[char], right: &[char], allowed: usize) -> Option<usize> {
    if left.len().abs_diff(right.len()) > allowed {
        return None;
    }
    let mut before_last = vec![0; right.len() + 1];
    let mut last: Vec<usize> = (0..=right.len()).collect();
    let mut row = last.clone();
    for (i, &l) in left.iter().enumerate() {
        row[0] = i + 1;
        for (j, &r) in right.iter().enumerate() {
            let mut cost = (last[j] + usize::from(l != r))
                .min(last[j + 1] + 1)
                .min(row[j] + 1);
            if i > 0 && j > 0 && l == right[j - 1] && left[i - 1] == r {
                cost = cost.min(before_last[j - 1] + 1);
            }
            row[j + 1] = cost;
        }
        if row.iter().min() > Some(&allowed) {
            return None;
        }
        std::mem::swap(&mut before_last, &mut last);
        std::mem::swap(&mut last, &mut row);
    }
    let distance = last[right.len()];
    (distance <= allowed).then_some(distance)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn close_names_come_closest_first() {
        let known = [
            "chat-large",
            "chat-small",
            "chat-larger",
            "video-fast",
            "Chat-Large",
        ];
        let table: [(&str, usize, &[&str]); 8] = [
            (
                "chat-large",
                9,
                &["Chat-Large", "chat-large", "chat-larger"],
            ),
            ("CHAT-LARGE", 1, &["Chat-Large"]),
            ("chta-large", 2, &["Chat-Large", "chat-large"]),
            ("chat-smal", 9, &["chat-small"]),
            ("vidoe-fats", 9, &["video-fast"]),
            ("something-else", 9, &[]),
            ("", 9, &[]),
            ("chat-large", 0, &[]),
        ];
        for (name, at_most, close) in table {
            assert_eq!(nearest(name, known, at_most), close, "{name}");
        }
    }

    #[test]
    fn short_names_may_differ_in_one_character() {
        assert_eq!(nearest("o3", ["o1", "o4-mini", "x"], 3), ["o1"]);
        assert_eq!(nearest("a", ["b", "", "ab"], 3), ["", "ab", "b"]);
    }

    #[test]
    fn names_without_end_are_not_compared() {
        let long = "x".repeat(1 << 20);
        assert!(nearest(&long, [long.as_str()], 3).is_empty());
        assert!(nearest("x", [long.as_str()], 3).is_empty());
    }
}
