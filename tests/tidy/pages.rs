//! Pages that people read whole stay short; a decision has its figures, a dependency its reason, a named file exists.

use super::tree::{TextFile, assert_none, files_below, read, sources};
use regex::Regex;

const ARCHITECTURE_BYTES_MAX: usize = 15_000;
const README_LINES_MAX: usize = 150;
const DECISIONS: &str = "docs/decisions";
const DECISION_HEADINGS: [&str; 3] = ["## Decision", "## Figures", "## What would reopen it"];
/// Words without which a comment states no reason.
const REASON_WORDS_MIN: usize = 3;

#[test]
fn the_architecture_and_the_readme_are_pages_that_a_person_can_hold() {
    let bytes = read("ARCHITECTURE.md").len();
    assert!(
        bytes <= ARCHITECTURE_BYTES_MAX,
        "ARCHITECTURE.md has {bytes} bytes, at most {ARCHITECTURE_BYTES_MAX}; reasons belong into {DECISIONS}"
    );
    let lines = read("README.md").lines().count();
    assert!(
        lines <= README_LINES_MAX,
        "README.md has {lines} lines, at most {README_LINES_MAX}; the rest belongs into docs"
    );
}

#[test]
fn every_decision_has_its_date_its_figures_what_would_reopen_it_and_its_row() {
    let date = Regex::new(r"(?m)^Decided (\d{4}-\d\d-\d\d(?: to \d{4}-\d\d-\d\d)?)\.$").unwrap();
    let index = read(&format!("{DECISIONS}/README.md"));
    let summary = read("docs/SUMMARY.md");
    let mut offenders = Vec::new();
    for page in decisions() {
        let mut expect = |is_met: bool, what: &str| {
            if !is_met {
                offenders.push(format!("{}:1: {what}", page.path));
            }
        };
        let name = page.path.rsplit('/').next().unwrap_or_default();
        let decided = date.captures(&page.text).map(|found| found[1].to_owned());
        expect(decided.is_some(), "has no line `Decided YYYY-MM-DD.`");
        let row = format!("]({name}) | {} |", decided.unwrap_or_default());
        expect(
            index.contains(&row),
            "has no row with its dates in README.md",
        );
        expect(
            summary.contains(&format!("(decisions/{name})")),
            "has no line in docs/SUMMARY.md",
        );
        let headings = page.text.lines().filter(|line| line.starts_with("## "));
        expect(
            headings.eq(DECISION_HEADINGS),
            &format!("has other headings than {DECISION_HEADINGS:?}"),
        );
        let sections = page.text.split("\n## ").skip(1);
        let is_empty = |section: &str| section.lines().skip(1).all(|line| line.trim().is_empty());
        expect(!sections.into_iter().any(is_empty), "has an empty section");
    }
    assert_none("each decision is complete and can be found", &offenders);
}

#[test]
fn every_dependency_has_its_reason_at_its_line() {
    let mut manifests = files_below(".");
    manifests.retain(|file| file.path.ends_with("Cargo.toml"));
    let mut offenders = Vec::new();
    for file in &manifests {
        let without = dependencies_without_reason(&file.text);
        offenders.extend(
            without.map(|(line, name)| format!("{}:{line}: {name} has no comment", file.path)),
        );
    }
    assert_none("a comment says what a dependency is for", &offenders);
}

#[test]
fn a_reason_is_a_comment_above_a_dependency_or_after_it() {
    let manifest = "\
[package]
name = \"x\"

[dependencies]
# Parses what this crate reads, and much more
# besides.
above = \"1\"
bare = \"1\"
ours = { path = \"../ours\" }
shared = { workspace = true }
dotted.workspace = true
after = \"1\" # decodes images of providers
# Todo.
empty = { version = \"1\", features = [
    \"a\",
] }

[target.'cfg(unix)'.dev-dependencies]
last = \"1\"

[dependencies.long]
version = \"1\"
";
    let found: Vec<_> = dependencies_without_reason(manifest).collect();
    let expected = [(8, "bare"), (14, "empty"), (19, "last"), (21, "long")];
    assert_eq!(found, expected);
}

#[test]
fn every_source_file_that_a_page_for_contributors_names_exists() {
    let named = Regex::new(r"`([\w/-]+\.rs)`").unwrap();
    let known: Vec<String> = files_below("tests")
        .into_iter()
        .chain(files_below("fuzz"))
        .chain(sources())
        .map(|file| format!("/{}", short_path(&file.path)))
        .collect();
    let mut pages = files_below(".");
    pages.retain(|file| ["ARCHITECTURE.md", "CONTRIBUTING.md"].contains(&&*file.path));
    pages.extend(decisions());
    let mut offenders = Vec::new();
    for page in pages {
        for (line, text) in page.lines() {
            for found in named.captures_iter(text) {
                let path = format!("/{}", short_path(&found[1]));
                if !known.iter().any(|known| known.ends_with(&path)) {
                    offenders.push(format!("{}:{line}: {}", page.path, &found[1]));
                }
            }
        }
    }
    assert_none("files that pages name are there", &offenders);
}

/// The lines of dependencies without a reason, each with its name. Those that take a line of the workspace have the reason
/// there, and crates of this repository need none.
fn dependencies_without_reason(manifest: &str) -> impl Iterator<Item = (usize, &str)> {
    let (mut is_dependencies, mut words_above) = (false, 0);
    let words = |text: &str| text.split_whitespace().count();
    manifest.lines().enumerate().filter_map(move |(at, line)| {
        if let Some(comment) = line.strip_prefix("# ") {
            words_above += words(comment);
            return None;
        }
        let above = std::mem::take(&mut words_above);
        let name = match line.strip_prefix('[') {
            Some(heading) => {
                let heading = heading.trim_end_matches(']');
                is_dependencies = heading.ends_with("dependencies");
                heading.rsplit_once("dependencies.")?.1
            }
            None => line.split_once(" = ").filter(|_| is_dependencies)?.0,
        };
        let is_elsewhere = line.contains("workspace = true") || line.contains("path = ");
        let is_value = name.starts_with(' ');
        let after = line.rsplit_once(" # ").map_or(0, |(_, text)| words(text));
        let has_reason = above.max(after) >= REASON_WORDS_MIN;
        (!is_elsewhere && !is_value && !has_reason).then_some((at + 1, name))
    })
}

/// A path as pages write it: without `src`, and without `crates`.
fn short_path(path: &str) -> String {
    match path.strip_prefix("crates/") {
        Some(path) => path.replacen("/src/", "/", 1),
        None => path.trim_start_matches("src/").to_owned(),
    }
}

/// The pages of decisions, without their index.
fn decisions() -> Vec<TextFile> {
    let mut pages = files_below(DECISIONS);
    pages.retain(|page| page.has_extension(&["md"]) && !page.path.ends_with("/README.md"));
    pages
}
