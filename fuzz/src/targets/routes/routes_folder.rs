//! The folder of a `routes.yaml`: an input is that file's text, and of the files and variables that comments in it name.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

/// What follows a line `# file: NAME` is the text of that file.
const FILE: &str = "# file: ";
/// A line `# variable: NAME=VALUE` sets a variable.
const VARIABLE: &str = "# variable: ";
/// Where no file is.
const ABSENT: &str = "absent";

static COUNT: AtomicU32 = AtomicU32::new(0);

/// The parts of an input. Its files are removed when it is dropped.
pub struct RoutesFolder<'input> {
    path: PathBuf,
    /// The text of `routes.yaml`.
    pub routes: &'input str,
    /// The other files with their texts, in the order of the input.
    pub files: Vec<(&'input str, &'input str)>,
}

impl<'input> RoutesFolder<'input> {
    /// Splits an input, and writes the files beside `routes.yaml`, if it has any.
    pub fn new(input: &'input str) -> Self {
        let (routes, files) = split(input);
        let path = match files.is_empty() {
            true => ABSENT.into(),
            false => write(&files),
        };
        Self {
            path,
            routes,
            files,
        }
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    pub fn variables(&self) -> HashMap<String, String> {
        let variables = self.routes.lines().filter_map(|line| {
            let (name, value) = line.strip_prefix(VARIABLE)?.split_once('=')?;
            Some((name.to_owned(), value.to_owned()))
        });
        variables.collect()
    }

    /// The files of a folder with the names of their stems.
    pub fn files_in(&self, folder: &str) -> impl Iterator<Item = (&'input str, &'input str)> {
        self.files.iter().filter_map(move |(name, text)| {
            let name = name.strip_prefix(folder)?.strip_prefix('/')?;
            Some((name.rsplit_once('.')?.0, *text))
        })
    }
}

impl Drop for RoutesFolder<'_> {
    fn drop(&mut self) {
        if !self.files.is_empty() {
            // The next input has another folder.
            let _ = fs::remove_dir_all(&self.path);
        }
    }
}

fn split(input: &str) -> (&str, Vec<(&str, &str)>) {
    let mut names = Vec::new();
    let mut at = 0;
    for line in input.split_inclusive('\n') {
        let name = line.strip_prefix(FILE).map(str::trim_end);
        if let Some(name) = name.filter(|name| is_name(name)) {
            names.push((name, at, at + line.len()));
        }
        at += line.len();
    }
    let ends = names.iter().skip(1).map(|(_, begin, _)| *begin);
    let ends = ends.chain([input.len()]);
    let files = names.iter().zip(ends);
    let files = files.map(|((name, _, begin), end)| (*name, &input[*begin..end]));
    let end = names.first().map_or(input.len(), |(_, begin, _)| *begin);
    (&input[..end], files.collect())
}

/// Whether a path stays in the folder.
fn is_name(path: &str) -> bool {
    let is_part = |part: &str| {
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
        !part.is_empty() && !part.starts_with('.') && part.bytes().all(is_plain)
    };
    path.len() <= 64 && path.split('/').all(is_part)
}

fn write(files: &[(&str, &str)]) -> PathBuf {
    let (process, count) = (std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
    let folder = std::env::temp_dir().join(format!("headgate-fuzz-{process}-{count}"));
    for (name, text) in files {
        let path = folder.join(name);
        let parent = path.parent().unwrap_or(&folder);
        // A name may be both that of a folder and that of a file; then the second one is missing.
        let _ = fs::create_dir_all(parent).and_then(|()| fs::write(&path, text));
    }
    folder
}
