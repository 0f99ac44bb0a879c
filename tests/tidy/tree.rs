//! The repository's files as the rules read them.

use std::fs;
use std::path::{Path, PathBuf};

/// Folders that hold what tools made. Others of theirs carry the tag below, or begin with a dot.
const MADE: &[&str] = &["node_modules", "__pycache__", "target"];
const MADE_TAG: &str = "CACHEDIR.TAG";
/// Folders with a dot that are the project's own.
const OURS_WITH_DOT: &[&str] = &[".ci", ".github"];

/// The folder of `Cargo.toml`.
pub fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// A text file of the repository.
pub struct TextFile {
    /// Relative to the root, with `/` between the parts.
    pub path: String,
    pub text: String,
}

impl TextFile {
    /// Its lines, counted from 1.
    pub fn lines(&self) -> impl Iterator<Item = (usize, &str)> {
        self.text
            .lines()
            .enumerate()
            .map(|(at, line)| (at + 1, line))
    }

    /// The line from which on it holds its own tests; beyond its end if it holds none.
    pub fn tests_begin(&self) -> usize {
        let lines: Vec<&str> = self.text.lines().collect();
        let is_begin = |pair: &[&str]| pair[0] == "#[cfg(test)]" && pair[1].ends_with('{');
        lines
            .windows(2)
            .position(is_begin)
            .map_or(usize::MAX, |at| at + 1)
    }

    pub fn has_extension(&self, wanted: &[&str]) -> bool {
        let extension = Path::new(&self.path).extension();
        extension.is_some_and(|found| wanted.iter().any(|extension| found == *extension))
    }

    /// The top-level module that it belongs to: the crate's name below `crates`, and nothing for `lib.rs` and `main.rs`.
    pub fn module(&self) -> &str {
        let mut parts = self.path.split('/');
        match (parts.next(), parts.next()) {
            (Some("crates"), Some(name)) => name,
            (Some("src"), Some("lib.rs" | "main.rs")) | (_, None) => "",
            (_, Some(name)) => name.trim_end_matches(".rs"),
        }
    }

    /// Whether it consists of tests alone.
    pub fn is_test(&self) -> bool {
        self.path.starts_with("tests/")
            || self.path.contains("/tests/")
            || self.path.ends_with("/tests.rs")
    }
}

/// Every text file below a folder, in the order of paths.
pub fn files_below(folder: &str) -> Vec<TextFile> {
    let mut paths = Vec::new();
    gather(&root().join(folder), &mut paths);
    paths.sort();
    paths.iter().filter_map(|path| text_file(path)).collect()
}

/// The Rust sources of the program and of the crates that it is made of.
pub fn sources() -> Vec<TextFile> {
    let mut files = files_below("src");
    files.extend(files_below("crates"));
    files.retain(|file| file.has_extension(&["rs"]));
    files
}

/// The text of a file that must be there.
pub fn read(path: &str) -> String {
    fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// Fails with all of them if there are any.
#[track_caller]
pub fn assert_none(rule: &str, offenders: &[String]) {
    assert!(
        offenders.is_empty(),
        "\n{rule}; {} do not:\n  {}\n",
        offenders.len(),
        offenders.join("\n  ")
    );
}

fn gather(folder: &Path, paths: &mut Vec<PathBuf>) {
    if folder.join(MADE_TAG).exists() {
        return;
    }
    let entries =
        fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    for entry in entries {
        let path = entry.expect("a folder that was opened can be read").path();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if !path.is_dir() {
            // In a linked checkout `.git` is a file that leads to the main one.
            if name != ".git" {
                paths.push(path);
            }
        } else if !MADE.contains(&&*name)
            && (!name.starts_with('.') || OURS_WITH_DOT.contains(&&*name))
        {
            gather(&path, paths);
        }
    }
}

fn text_file(path: &Path) -> Option<TextFile> {
    let text = String::from_utf8(fs::read(path).ok()?).ok()?;
    let relative = path
        .strip_prefix(root())
        .expect("only files below the root are gathered");
    Some(TextFile {
        path: relative.to_string_lossy().replace('\\', "/"),
        text,
    })
}
