//! Rules for files: limited length, meaningful names, a first line with the purpose, nothing specific to a machine.

use super::tree::{TextFile, assert_none, code_lines, crate_folders, files_below, sources};
use regex::Regex;
use std::path::Path;

const LINES_MAX: usize = 400;
/// Lines of code of a crate, without comments, blank lines and tests: what an edit compiles again.
const CODE_LINES_MAX: usize = 16_000;
/// Extensions of files that people write; data may be longer.
const WRITTEN: &[&str] = &["rs", "sh", "py", "js", "mjs", "ts"];
/// Names without a meaning.
const EMPTY_NAMES: &[&str] = &[
    "util",
    "helper",
    "common",
    "misc",
    "middleware",
    "handler",
    "manager",
    "backend",
];

#[test]
fn no_source_file_is_longer_than_400_lines() {
    let offenders: Vec<String> = written()
        .filter_map(|file| {
            let lines = file.lines().count();
            (lines > LINES_MAX).then(|| format!("{}:{lines}: {lines} lines", file.path))
        })
        .collect();
    assert_none("a source file has at most 400 lines", &offenders);
}

#[test]
fn no_crate_has_more_than_16000_lines_of_code() {
    let sources = sources();
    let folders = crate_folders().into_iter();
    let folders = folders.map(|name| format!("crates/{name}/src/"));
    let offenders: Vec<String> = folders
        .chain(["src/".to_owned()])
        .filter_map(|folder| {
            let files = sources
                .iter()
                .filter(|file| file.path.starts_with(&folder) && !file.is_test());
            let lines: usize = files.map(lines_of_code).sum();
            (lines > CODE_LINES_MAX).then(|| format!("{folder}: {lines} lines"))
        })
        .collect();
    assert_none("an edit compiles one crate, which is not large", &offenders);
}

#[test]
fn every_source_file_states_its_purpose_in_its_first_line() {
    let rust = written().filter(|file| file.has_extension(&["rs"]));
    let offenders: Vec<String> = rust
        .filter(|file| {
            let first = file.text.lines().next().unwrap_or_default();
            let purpose = first.strip_prefix("//! ").unwrap_or_default();
            purpose.split_whitespace().count() < 2
        })
        .map(|file| format!("{}:1: begins without `//! …` and a purpose", file.path))
        .collect();
    assert_none("the first line of a file tells its purpose", &offenders);
}

#[test]
fn no_file_or_module_has_a_generic_name() {
    let module = Regex::new(r"^\s*(?:pub(?:\([^)]*\))? )?mod (\w+)").unwrap();
    let mut offenders = Vec::new();
    for file in written() {
        let parts = Path::new(&file.path).with_extension("");
        if parts.iter().any(|part| is_generic(&part.to_string_lossy())) {
            offenders.push(format!("{}:1: the file's own path", file.path));
        }
        for (line, code) in file.lines() {
            if let Some(found) = module.captures(code).filter(|found| is_generic(&found[1])) {
                offenders.push(format!("{}:{line}: module `{}`", file.path, &found[1]));
            }
        }
    }
    assert_none("names tell what is inside", &offenders);
}

#[test]
fn nothing_panics_without_saying_which_invariant_was_broken() {
    let bare = Regex::new(r"\.unwrap\(\)|\btodo!\(|\bunimplemented!\(|\bdbg!\(").unwrap();
    let mut offenders = Vec::new();
    for file in sources().iter().filter(|file| !file.is_test()) {
        let tests_from = file.tests_begin();
        let code = file.lines().take_while(|(line, _)| *line < tests_from);
        for (line, code) in code.filter(|(_, code)| !code.trim_start().starts_with("//")) {
            if bare.is_match(code) {
                offenders.push(format!("{}:{line}: {}", file.path, code.trim()));
            }
        }
    }
    assert_none(
        "outside of tests, `expect` states the invariant",
        &offenders,
    );
}

#[test]
fn no_file_is_bound_to_a_machine() {
    // Built from parts, so that this file does not violate the rule.
    let folders = ["work", "root", "home", "Users"]
        .map(|folder| format!("/{folder}/"))
        .join("|");
    let path = Regex::new(&format!(r#"(^|[\s"'`=:(\[,])({folders})"#)).unwrap();
    let registry = Regex::new(
        r#"^\s*(--)?(index-url|extra-index-url|registry|replace-with)\b[ =]|"resolved": "#,
    )
    .unwrap();
    let mut offenders = Vec::new();
    for file in files_below(".") {
        for (line, text) in file.lines() {
            if path.is_match(text) {
                offenders.push(format!("{}:{line}: a path of one machine", file.path));
            }
            if registry.is_match(text) && names_registries(&file.path) {
                offenders.push(format!("{}:{line}: a registry's address", file.path));
            }
        }
    }
    assert_none("files work on every machine", &offenders);
}

/// The lines of a file that are neither comments nor blank, up to its tests.
fn lines_of_code(file: &TextFile) -> usize {
    let tests_from = file.tests_begin();
    let code = code_lines(file).take_while(|(line, _)| *line < tests_from);
    code.filter(|(_, line)| !line.trim().is_empty()).count()
}

/// Whether a file may name registries, because package managers read them from it.
fn names_registries(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or_default();
    name.ends_with(".toml")
        || name.ends_with(".npmrc")
        || name.ends_with(".conf")
        || name == "package-lock.json"
        || name.starts_with("requirements")
}

fn written() -> impl Iterator<Item = TextFile> {
    let mut files = Vec::new();
    for folder in ["src", "crates", "tests", "benches", "fuzz"] {
        files.extend(files_below(folder));
    }
    files.into_iter().filter(|file| file.has_extension(WRITTEN))
}

fn is_generic(name: &str) -> bool {
    name.split(['_', '-', '.']).any(|word| {
        EMPTY_NAMES.contains(&word) || EMPTY_NAMES.contains(&word.trim_end_matches('s'))
    })
}
