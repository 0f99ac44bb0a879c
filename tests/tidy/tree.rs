//! Reads the repository's files for the rules.

use std::fs;
use std::path::{Path, PathBuf};

/// Folders with generated files. Others have the tag below, or start with a dot.
const MADE: &[&str] = &["node_modules", "__pycache__", "target"];
const MADE_TAG: &str = "CACHEDIR.TAG";
/// Folders that start with a dot and belong to the project.
const OURS_WITH_DOT: &[&str] = &[".ci", ".github"];

/// The folder of `Cargo.toml`.
pub fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// A text file of the repository.
pub struct TextFile {
    /// The path relative to the root, with `/` as separator.
    pub path: String,
    pub text: String,
}

impl TextFile {
    /// The lines with their numbers, from 1.
    pub fn lines(&self) -> impl Iterator<Item = (usize, &str)> {
        self.text
            .lines()
            .enumerate()
            .map(|(at, line)| (at + 1, line))
    }

    /// The number of the line where the file's tests begin; beyond the last line if it has none.
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

    /// The module of the file with its crate in front, as `core/state/memory`; the program's own begin with theirs, as
    /// `cli/run`. A crate's root is the crate's name.
    pub fn place(&self) -> String {
        let path = self.path.trim_end_matches(".rs");
        let path = path.strip_suffix("/mod").unwrap_or(path);
        let path = match path.strip_prefix("crates/") {
            Some(path) => path.replacen("/src/", "/", 1),
            None => path.trim_start_matches("src/").to_owned(),
        };
        path.strip_suffix("/lib").unwrap_or(&path).to_owned()
    }

    /// Whether the file contains only tests.
    pub fn is_test(&self) -> bool {
        self.path.starts_with("tests/")
            || self.path.contains("/tests/")
            || self.path.ends_with("/tests.rs")
    }
}

/// All text files below a folder, in the order of their paths.
pub fn files_below(folder: &str) -> Vec<TextFile> {
    let mut paths = Vec::new();
    gather(&root().join(folder), &mut paths);
    paths.sort();
    paths.iter().filter_map(|path| text_file(path)).collect()
}

/// The Rust sources of the program and of its crates.
pub fn sources() -> Vec<TextFile> {
    let mut files = files_below("src");
    files.extend(files_below("crates"));
    files.retain(|file| file.has_extension(&["rs"]));
    files
}

/// The names of the folders in `crates`, in alphabetical order.
pub fn crate_folders() -> Vec<String> {
    let folders = fs::read_dir(root().join("crates")).expect("there are crates");
    let names = folders.map(|folder| {
        let folder = folder.expect("a folder that was opened can be read");
        folder.file_name().to_string_lossy().into_owned()
    });
    let mut names: Vec<String> = names.collect();
    names.sort_unstable();
    names
}

/// The lines of a file that are not comments, with their numbers.
pub fn code_lines(file: &TextFile) -> impl Iterator<Item = (usize, &str)> {
    file.lines()
        .filter(|(_, line)| !line.trim_start().starts_with("//"))
}

/// The text of a file that must exist.
pub fn read(path: &str) -> String {
    fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// Fails with a list of all offenders if there are any.
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
            // In a linked worktree `.git` is a file.
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
