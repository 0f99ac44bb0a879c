//! Hints that name names: the near ones, or all of a few.

use headgate_protocol::nearest::nearest;

/// At most this many names are listed.
const LISTED: usize = 40;

/// ``did you mean `a`?``, or the known names if none is near and they are few.
pub fn did_you_mean<'known>(
    name: &str,
    known: impl IntoIterator<Item = &'known str>,
) -> Option<String> {
    let known: Vec<&str> = known.into_iter().collect();
    let near: Vec<String> = nearest(name, known.iter().copied(), 2)
        .iter()
        .map(|name| format!("`{name}`"))
        .collect();
    if !near.is_empty() {
        return Some(format!("did you mean {}?", near.join(" or ")));
    }
    list_names(&known)
}

/// All names, if they are few.
pub fn list_names(names: &[&str]) -> Option<String> {
    match names {
        [] => None,
        [only] => Some(format!("expected `{only}`")),
        names if names.len() > LISTED => None,
        names => Some(format!("expected one of {}", names.join(", "))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_names_are_asked_for_and_few_ones_listed() {
        let known = ["primary", "second"];
        let cases = [
            ("primry", "did you mean `primary`?"),
            ("other", "expected one of primary, second"),
        ];
        for (name, hint) in cases {
            assert_eq!(did_you_mean(name, known).unwrap(), hint);
        }
        assert_eq!(did_you_mean("other", []), None);
        assert_eq!(list_names(&["name"; LISTED + 1]), None);
    }
}
