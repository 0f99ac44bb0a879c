//! Gives `headgate --version` the commit: HEADGATE_COMMIT, else that of the git checkout for release builds. A source
//! tree without git builds as well.

use std::path::Path;
use std::process::Command;

const VARIABLE: &str = "HEADGATE_COMMIT";

fn main() {
    println!("cargo:rerun-if-env-changed={VARIABLE}");
    // Without a file here, cargo runs the script whenever any file of the package changes.
    println!("cargo:rerun-if-changed=build.rs");
    let given = std::env::var(VARIABLE).ok();
    let commit = match given.filter(|commit| !commit.is_empty()) {
        Some(commit) => Some(commit),
        // A debug build would be compiled again after each commit.
        None if std::env::var("PROFILE").as_deref() == Ok("release") => commit_of_checkout(),
        None => None,
    };
    if let Some(commit) = commit {
        println!("cargo:rustc-env={VARIABLE}={commit}");
    }
}

/// The commit of the checkout whose top folder this package is, not of one that surrounds an unpacked archive.
fn commit_of_checkout() -> Option<String> {
    let top = git(&["rev-parse", "--show-toplevel"])?;
    let package = std::env::var_os("CARGO_MANIFEST_DIR")?;
    let same = Path::new(&top).canonicalize().ok()? == Path::new(&package).canonicalize().ok()?;
    if !same {
        return None;
    }
    // Every commit and every checkout of a branch adds a line to the log of HEAD.
    for file in ["HEAD", "logs/HEAD"] {
        let path = git(&["rev-parse", "--git-path", file])?;
        // Cargo runs the script for every build if a file is missing.
        if Path::new(&path).exists() {
            println!("cargo:rerun-if-changed={path}");
        }
    }
    git(&["rev-parse", "--short", "HEAD"])
}

/// The output of a git command; `None` if it fails.
fn git(arguments: &[&str]) -> Option<String> {
    let output = Command::new("git").args(arguments).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    output.status.success().then(|| text.trim().to_owned())
}
