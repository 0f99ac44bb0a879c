//! Finds the known names that are similar to an unknown one, for hints in errors.

/// Longer names are not compared, because they are hardly typos.
const COMPARED_CHARS: usize = 100;

/// The known names closest to `name`, closest first, at most `at_most` of them.
///
/// A name is close if at most a third of its characters differ, regardless of case. A change, an insertion, a removal
/// and a swap of two neighbours count as one difference each.
pub fn nearest<'a>(
    name: &str,
    known: impl IntoIterator<Item = &'a str>,
    at_most: usize,
) -> Vec<&'a str> {
    let length = name.chars().take(COMPARED_CHARS + 1).count();
    if length == 0 || length > COMPARED_CHARS {
        return Vec::new();
    }
    let mut close: Vec<(usize, &str)> = known
        .into_iter()
        .filter_map(|candidate| {
            let other_length = candidate.chars().take(2 * COMPARED_CHARS).count();
            let allowed = (length.max(other_length) / 3).max(1);
            Some((differences(name, candidate, allowed)?, candidate))
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

/// Whether two names have at most `allowed` differences, regardless of case.
pub fn is_close(left: &str, right: &str, allowed: usize) -> bool {
    differences(left, right, allowed).is_some()
}

/// The number of differences between two names, regardless of case; `None` if there are more than `allowed`.
pub fn differences(left: &str, right: &str, allowed: usize) -> Option<usize> {
    // The comparison costs the product of both lengths, so it is skipped if the lengths alone differ too much.
    if left.chars().count().abs_diff(right.chars().count()) > allowed {
        return None;
    }
    let distance = strsim::osa_distance(&left.to_lowercase(), &right.to_lowercase());
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
