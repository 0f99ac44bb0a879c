//! Which bytes of a configuration file are secret: by the names of keys, typos of them included.
//!
//! The schema knows its secrets exactly, but a misspelt key is outside it and a broken file has none.

use super::node::{Content, Node};
use crate::protocol::nearest::is_close;
use regex::Regex;
use std::ops::Range;
use std::sync::LazyLock;

/// Keys beneath a credential that hold no secret.
const OPEN_KEYS: [&str; 2] = ["file", "name"];

/// A key and the white space after its colon.
static KEY: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r#"([A-Za-z0-9_-]+)["']?[ \t]*:(?:[ \t]+|$)"#).expect("the pattern is constant")
});

/// Secret scalars of a tree that was read from this text.
pub fn in_tree(root: &Node, text: &str) -> Vec<Range<usize>> {
    let mut secrets = Vec::new();
    collect(root, text, false, &mut secrets);
    secrets
}

/// The scalars of a value that is secret as a whole.
pub fn in_secret(node: &Node, text: &str) -> Vec<Range<usize>> {
    let mut secrets = Vec::new();
    collect(node, text, true, &mut secrets);
    secrets
}

/// What looks secret in a text that is not valid YAML. Rather too much than too little.
pub fn in_text(text: &str) -> Vec<Range<usize>> {
    let mut secrets = Vec::new();
    let mut start = 0;
    let mut block: Option<usize> = None;
    for line in text.split_inclusive('\n') {
        let content = line.trim_end();
        let indent = content.len() - content.trim_start().len();
        match block {
            Some(outer) if indent > outer || content.is_empty() => {
                secrets.push(start + first_value(content)..start + content.len());
            }
            _ => {
                block = None;
                if let Some(value) = secret_value(content) {
                    let is_open = value == content.len()
                        || content[value..].starts_with(['|', '>', '"', '\'']);
                    block = is_open.then_some(indent);
                    secrets.push(start + value..start + content.len());
                }
            }
        }
        secrets.extend(user_info(content).map(|range| start + range.start..start + range.end));
        start += line.len();
    }
    secrets
}

/// Whether a scalar is nothing but a variable's name, which may be shown.
pub fn is_reference(scalar: &str) -> bool {
    let inner = scalar.trim_matches(['"', '\'', ' ']);
    let name = inner
        .strip_prefix("${")
        .and_then(|rest| rest.strip_suffix('}'));
    name.is_some_and(|name| {
        let is_word = |character: char| character.is_ascii_alphanumeric() || character == '_';
        !name.is_empty() && name.chars().all(is_word)
    })
}

fn collect(node: &Node, text: &str, secret: bool, secrets: &mut Vec<Range<usize>>) {
    match &node.content {
        Content::Map(entries) => {
            for entry in entries {
                let open = OPEN_KEYS.contains(&entry.key.as_str());
                let secret = !open && (secret || is_secret_key(&entry.key));
                collect(&entry.value, text, secret, secrets);
            }
        }
        Content::List(items) => {
            for item in items {
                collect(item, text, secret, secrets);
            }
        }
        Content::Null | Content::Bool(_) => {}
        Content::Number(_) | Content::Text(_) => {
            let written = text.get(node.range.clone()).unwrap_or_default();
            if secret && !is_reference(written) {
                // A block scalar reaches into the indentation of the line below it.
                secrets.push(node.range.start..node.range.start + written.trim_end().len());
            } else if let Some(range) = user_info(written) {
                let at = node.range.start;
                secrets.push(at + range.start..at + range.end);
            }
        }
    }
}

/// Whether values under this key are secrets, the key perhaps misspelt.
fn is_secret_key(key: &str) -> bool {
    // A key's hash is none, but the key itself is often pasted in its place.
    const WHOLE: [(&str, usize); 5] = [
        ("credential", 2),
        ("bearer", 1),
        ("api_key", 1),
        ("key_sha256", 2),
        ("password", 2),
    ];
    const ENDS: [&str; 8] = [
        "credentials",
        "api-key",
        "apikey",
        "token",
        "secret",
        "password",
        "authorization",
        "cookie",
    ];
    let key = key.to_ascii_lowercase();
    ENDS.iter().any(|end| key.ends_with(end))
        || WHOLE
            .iter()
            .any(|(word, edits)| is_close(&key, word, *edits))
}

/// Where the secret of a line starts, if one of its keys announces a secret.
fn secret_value(line: &str) -> Option<usize> {
    let mut within_secret = false;
    KEY.captures_iter(line).find_map(|found| {
        let key = &found[1];
        let start = found.get(0)?.end();
        let value = line[start..].trim_end_matches(['}', ' ']);
        let is_secret =
            !OPEN_KEYS.contains(&key) && (within_secret || key == "value" || is_secret_key(key));
        if value.starts_with('{') {
            within_secret |= is_secret;
            return None;
        }
        let is_shown = is_reference(value) || is_reference(&format!("{value}}}"));
        // What an anchor names may be a secret where its alias stands.
        let is_anchored = value.starts_with('&');
        ((is_secret || is_anchored) && !is_shown).then_some(start)
    })
}

/// Where the value of a line starts; a line without a key is all value.
fn first_value(line: &str) -> usize {
    let indent = line.len() - line.trim_start().len();
    KEY.find(line).map_or(indent, |found| found.end())
}

/// The `user:password` of a URL in this text.
fn user_info(text: &str) -> Option<Range<usize>> {
    let start = text.find("://")? + 3;
    let rest = &text[start..];
    let authority = rest
        .find(['/', '?', '#', '"', '\'', ' ', ','])
        .unwrap_or(rest.len());
    let length = rest[..authority].rfind('@')?;
    Some(start..start + length)
}

#[cfg(test)]
mod tests {
    use super::super::source::Source;
    use super::*;

    const SECRET: &str = "sk-123";

    fn shown(text: &str, secrets: Vec<Range<usize>>) -> String {
        let mut source = Source::new(text);
        source.mask(secrets);
        let lines = 1..=text.lines().count() as u32;
        let line = |line| {
            let place = super::super::source::Place {
                line,
                column: 1,
                length: 1,
            };
            source.snippet(place).unwrap().text
        };
        lines.map(line).collect::<Vec<_>>().join("\n")
    }

    fn in_valid(text: &str) -> String {
        let root: Node = serde_saphyr::from_str(text).unwrap();
        shown(text, in_tree(&root, text))
    }

    #[test]
    fn secrets_are_masked_wherever_they_are_written() {
        let cases = [
            "credential: {bearer: sk-123}",
            "credental: {anything: sk-123}",
            "credential:\n  header: {name: x-key, value: sk-123}",
            "credential:\n  bearer: |\n    sk-123\n    sk-123",
            "bearr: 'sk-123'",
            "key_sha256: sk-123",
            "headers: {Authorization: Bearer sk-123, x-api-key: \"sk-123\"}",
            "base_url: https://user:sk-123@host/v1",
            "credential: {bearer: \"${KEY:-sk-123}\"}",
            "x: &x sk-123\ncredential: {api_key: *x}",
            "state: {redis: {pasword: sk-123}}",
        ];
        for text in cases {
            for shown in [in_valid(text), shown(text, in_text(text))] {
                assert!(!shown.contains(SECRET), "{shown}");
                assert!(shown.contains("[secret]"), "{shown}");
            }
        }
    }

    #[test]
    fn what_is_no_secret_stays_readable() {
        let cases = [
            "credential: {bearer: \"${KEY}\"}",
            "credential:\n  bearer: ${KEY}\nweight: 3",
            "credential: {bearer: {file: keys/primary}}",
            "headers: {x-title: gate}",
            "base_url: https://host/v1",
            "tls: {key: gate.pem}",
        ];
        for text in cases {
            assert_eq!(in_valid(text), text);
        }
    }

    #[test]
    fn a_broken_file_is_masked_by_its_text() {
        let text =
            "credential:\n  bearr: sk-123\n  other: sk-123\nweight: 3\na: {api_key: sk-123, b: [";
        let expected =
            "credential:\n  bearr: [secret]\n  other: [secret]\nweight: 3\na: {api_key: [secret]";
        assert_eq!(shown(text, in_text(text)), expected);
    }
}
