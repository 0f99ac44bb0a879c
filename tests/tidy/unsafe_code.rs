//! The rule that unsafe code is where docs/security.md says why.

use super::tree::{TextFile, assert_none, code_lines, read, sources};
use regex::Regex;
use std::collections::BTreeSet;

const PAGE: &str = "docs/security.md";

#[test]
fn unsafe_code_is_in_the_files_that_the_page_on_security_lists_and_in_no_other() {
    let sources = sources();
    let found = sources.iter().filter(|file| !file.is_test());
    let found = found.filter(|file| has_unsafe_code(file));
    let found: BTreeSet<String> = found.map(|file| file.path.clone()).collect();
    let listed = listed();
    let unlisted = found.difference(&listed);
    let unlisted = unlisted.map(|path| format!("{path}: {PAGE} does not say why"));
    let stale = listed.difference(&found);
    let stale = stale.map(|path| format!("{PAGE}: {path} has no unsafe code"));
    let offenders: Vec<String> = unlisted.chain(stale).collect();
    assert!(found.len() > 5, "the rule finds unsafe code: {found:?}");
    assert_none(
        "unsafe code has a reason on the page on security",
        &offenders,
    );
}

fn has_unsafe_code(file: &TextFile) -> bool {
    let word = Regex::new(r"\bunsafe\b").expect("the pattern is valid");
    let tests_begin = file.tests_begin();
    let mut code = code_lines(file).take_while(|(at, _)| *at < tests_begin);
    code.any(|(_, line)| word.is_match(line))
}

/// The files of the table.
fn listed() -> BTreeSet<String> {
    let page = read(PAGE);
    let (_, table) = page
        .split_once("\n## Unsafe code\n")
        .expect("the page has the table");
    let rows = table.lines().filter_map(|line| line.strip_prefix("| `"));
    let cells = rows.filter_map(|row| row.split(" |").next());
    let files = cells.flat_map(|cell| cell.split(", "));
    files
        .map(|file| file.trim_matches('`').to_owned())
        .collect()
}
