//! Gives `headgate --version` the commit: HEADGATE_COMMIT, else that of the git checkout for release builds. A source
//! tree without git builds as well. First it looks for the programs that the C libraries of dependencies need: their own
//! errors come minutes later, and name neither the program nor its package.

use std::path::Path;
use std::process::Command;

const VARIABLE: &str = "HEADGATE_COMMIT";

/// Programs, any of which is enough; the variables that name another one; what needs it.
const PROGRAMS: [(&[&str], &[&str], &str); 3] = [
    (&["cmake"], &["CMAKE"], "zlib-ng"),
    (
        &["cc", "gcc", "clang"],
        &["CC", "HOST_CC", "TARGET_CC"],
        "ring, mimalloc, SQLite and zlib-ng",
    ),
    (&["make", "gmake", "ninja"], &["CMAKE_GENERATOR"], "zlib-ng"),
];
const INSTALLATION: &str = "Debian and Ubuntu: apt-get install cmake make gcc g++ libc6-dev pkg-config; Fedora: dnf install cmake make gcc gcc-c++; macOS: xcode-select --install, brew install cmake";

fn main() {
    require_programs();
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

/// Ends the build if a program is missing, with its name and how to install it.
fn require_programs() {
    for (names, variables, library) in PROGRAMS {
        for variable in variables {
            println!("cargo:rerun-if-env-changed={variable}");
        }
        let is_named = variables
            .iter()
            .any(|name| std::env::var_os(name).is_some());
        // Variables such as CC_x86_64_unknown_linux_gnu are those of a cross compiler.
        let is_crossed = std::env::var("HOST") != std::env::var("TARGET");
        let is_there = |name: &&str| Command::new(name).arg("--version").output().is_ok();
        if !is_named && !is_crossed && !names.iter().any(is_there) {
            println!(
                "cargo::error=no {} found, which the build of {library} needs. {INSTALLATION}",
                names.join(" or ")
            );
        }
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
