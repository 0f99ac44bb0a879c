//! Names of documents in the letters that the protocol takes, each once in a request.

use std::collections::{HashMap, HashSet};

/// Letters of a name.
const NAME_LEN_MAX: usize = 200;
/// Room for the number that tells names apart.
const NUMBER_LEN: usize = 16;
/// The name of a document that has none.
const UNNAMED: &str = "document";

/// The names that a request has.
#[derive(Debug, Default)]
pub(super) struct DocumentNames {
    used: HashSet<String>,
    /// How many documents have a name.
    count: usize,
    /// The number after the last one of each name that came again.
    next: HashMap<String, usize>,
}

impl DocumentNames {
    /// The name for a document: without its extension, with other letters replaced, and with a number if it is used.
    pub fn allowed(&mut self, name: Option<&str>) -> String {
        self.count += 1;
        let name = name.map(plain_name).filter(|name| !name.is_empty());
        let name = name.unwrap_or_else(|| UNNAMED.to_owned());
        if self.used.insert(name.clone()) {
            return name;
        }
        let start: String = name.chars().take(NAME_LEN_MAX - NUMBER_LEN).collect();
        // Names of callers can have such numbers, too; one of the next numbers is free.
        let next = self.next.entry(start.clone()).or_default();
        let mut number = self.count.max(*next);
        loop {
            let numbered = format!("{start} ({number})");
            number += 1;
            if self.used.insert(numbered.clone()) {
                *next = number;
                return numbered;
            }
        }
    }
}

fn plain_name(name: &str) -> String {
    let stem = match name.rsplit_once('.') {
        Some((stem, extension)) if is_extension(extension) && !stem.is_empty() => stem,
        Some(_) | None => name,
    };
    let mut plain = String::new();
    for letter in stem.chars() {
        let letter = match letter {
            letter if letter.is_ascii_alphanumeric() => letter,
            '-' | '(' | ')' | '[' | ']' => letter,
            letter if letter.is_whitespace() => ' ',
            _ => '-',
        };
        let is_second_space = letter == ' ' && (plain.is_empty() || plain.ends_with(' '));
        if !is_second_space && plain.len() < NAME_LEN_MAX {
            plain.push(letter);
        }
    }
    plain.trim_end().to_owned()
}

fn is_extension(end: &str) -> bool {
    (1..=4).contains(&end.len()) && end.bytes().all(|byte| byte.is_ascii_alphanumeric())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_have_letters_that_the_protocol_takes() {
        let long = "n".repeat(300);
        for (name, allowed) in [
            (None, "document"),
            (Some(""), "document"),
            (Some("  "), "document"),
            (Some("report"), "report"),
            (Some("report.pdf"), "report"),
            (
                Some("Q3 report (final) [2].v2.pdf"),
                "Q3 report (final) [2]-v2",
            ),
            (Some("a  b\t\nc"), "a b c"),
            (Some("über_uns/../x"), "-ber-uns----x"),
            (Some(".pdf"), "-pdf"),
            (Some(&long), &long[..200]),
        ] {
            assert_eq!(DocumentNames::default().allowed(name), allowed, "{name:?}");
        }
    }

    #[test]
    fn each_document_has_a_name_of_its_own() {
        let mut names = DocumentNames::default();
        let given = ["a.pdf", "a (3).pdf", "a.txt", "a", "a"];
        let allowed = given.map(|name| names.allowed(Some(name)));
        assert_eq!(allowed, ["a", "a (3)", "a (4)", "a (5)", "a (6)"]);
    }
}
