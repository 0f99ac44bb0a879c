//! What of a caller stays in use while its source has it in a form that is refused: the keys that the source still has.

use crate::callers::CallerConfig;
use crate::snapshot::caller_keys::key_digests;
use headgate_core::catalog::caller::KeyDigest;
use std::collections::HashSet;
use std::sync::Arc;

/// The last accepted state of a caller without the keys that its new one lacks; `None` if it has none left.
pub(super) fn remaining(last: &CallerConfig, new: &CallerConfig) -> Option<Arc<CallerConfig>> {
    let kept: HashSet<_> = key_digests(new).filter_map(|(_, digest)| digest).collect();
    let is_kept = |digest: Option<KeyDigest>| digest.is_some_and(|digest| kept.contains(&digest));
    let digests = key_digests(last).map(|(_, digest)| is_kept(digest));
    with_keys(last, digests.collect())
}

/// The state of a caller with the keys that stand in a text outside of comments; `None` if there are none.
pub(super) fn present_keys(last: &CallerConfig, text: &str) -> Option<Arc<CallerConfig>> {
    let text = without_comments(text);
    let words: HashSet<&str> = text.split(is_separator).collect();
    let is_there = |key: Option<&String>| key.is_some_and(|key| words.contains(key.as_str()));
    let only = last.key_sha256.iter().map(|key| is_there(Some(key)));
    let named = last.keys.iter();
    let named = named.map(|key| is_there(key.key_sha256.as_ref().or(key.certificate.as_ref())));
    with_keys(last, only.chain(named).collect())
}

/// A caller with some of its keys, in the order of [`key_digests`].
fn with_keys(caller: &CallerConfig, is_kept: Vec<bool>) -> Option<Arc<CallerConfig>> {
    let mut rest = caller.clone();
    let (only, named) = is_kept.split_at(usize::from(caller.key_sha256.is_some()));
    rest.key_sha256 = rest.key_sha256.filter(|_| only.first() == Some(&true));
    let mut named = named.iter();
    rest.keys.retain(|_| named.next() == Some(&true));
    let has_keys = rest.key_sha256.is_some() || !rest.keys.is_empty();
    has_keys.then(|| Arc::new(rest))
}

fn without_comments(text: &str) -> String {
    let lines = text.lines().map(|line| {
        let comment = line.match_indices('#').find(|(at, _)| {
            let before = line[..*at].chars().next_back();
            before.is_none_or(char::is_whitespace)
        });
        comment.map_or(line, |(at, _)| &line[..at])
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// Characters of YAML around a value. A name in a certificate that has one of them does not stand in the text.
fn is_separator(character: char) -> bool {
    character.is_whitespace() || "\"'{}[],".contains(character)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::caller_file::parse_caller;
    use serde_json::json;

    #[test]
    fn keys_stay_that_stand_in_the_text_outside_of_comments() {
        let (first, second) = ("a".repeat(64), "b".repeat(64));
        let caller = json!({"name": "ann", "models": ["*"], "keys": [
            {"label": "1", "key_sha256": first},
            {"label": "2", "key_sha256": second},
            {"label": "3", "certificate": "dns:ann.example"},
        ]});
        let caller = parse_caller(&caller).ok().unwrap();
        for (text, kept) in [
            (String::new(), vec![]),
            ("# emptied\n".to_owned(), vec![]),
            (format!("# key_sha256: {first}\n"), vec![]),
            (
                format!("name: ann\nkeys: [{{label: \"1\", key_sha256: {first}}}, {{"),
                vec!["1"],
            ),
            (
                format!("  key_sha256: {first}\n  - {{key_sha256: \"{second}\"\n"),
                vec!["1", "2"],
            ),
            (format!("  key_sha256: {first} # {second}\n: ["), vec!["1"]),
            (format!("{first}b"), vec![]),
            ("- {certificate: dns:ann.example, x".to_owned(), vec!["3"]),
            ("- {certificate: dns:ann.example.org".to_owned(), vec![]),
        ] {
            let rest = present_keys(&caller, &text);
            let labels = rest.iter().flat_map(|rest| &rest.keys);
            let labels: Vec<&str> = labels.map(|key| key.label.as_str()).collect();
            assert_eq!(labels, kept, "{text}");
        }
    }
}
