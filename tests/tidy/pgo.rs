//! Tests of `make pgo`: it builds nothing without a profile of this compiler and these sources.

use super::tree::root;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Takes the place of cargo, and prints what it was asked to build with.
const CARGO: &str =
    "#!/bin/sh\necho \"$RUSTFLAGS profile $HEADGATE_PROFILE\" | sed 's|/.*/target|target|'\n";

#[test]
fn a_release_needs_a_profile_of_the_same_sources_and_compiler() {
    let tree = SourceTree::new();
    let missing = "pgo.sh: there is no profile; run: make profile\n";
    assert_eq!(tree.release(), (1, missing.to_owned()));
    let stale =
        "pgo.sh: the profile is of other sources or of another compiler; run: make profile\n";
    tree.write("target/profile/current", "0123456789ab 9f2c1e04ab37\n");
    assert_eq!(tree.release(), (1, stale.to_owned()));

    let current = format!("{} 9f2c1e04ab37\n", tree.stamp());
    tree.write("target/profile/current", &current);
    let (status, printed) = tree.release();
    let flags = "-Cprofile-use=target/profile/9f2c1e04ab37.profdata profile 9f2c1e04ab37\n";
    assert!(printed.starts_with(flags), "{printed}");
    assert!(printed.ends_with("/release/headgate\n"), "{printed}");
    assert_eq!(status, 0);

    // A test is no part of the program.
    tree.write("crates/a/src/tests/of_a.rs", "// another test");
    assert_eq!(tree.release().0, 0);
    tree.write("crates/a/src/lib.rs", "// another source");
    assert_eq!(tree.release(), (1, stale.to_owned()));
}

/// A folder with the script and a few sources, removed when the value is dropped.
struct SourceTree(PathBuf);

impl SourceTree {
    fn new() -> Self {
        let folder = std::env::temp_dir().join(format!("headgate-release-{}", std::process::id()));
        let tree = Self(folder);
        for file in [
            "Cargo.toml",
            "Cargo.lock",
            "build.rs",
            "src/main.rs",
            "crates/a/src/lib.rs",
            "schemas/chat.schema.json",
        ] {
            tree.write(file, "");
        }
        tree.write("bin/cargo", CARGO);
        let executable = fs::Permissions::from_mode(0o755);
        fs::set_permissions(tree.0.join("bin/cargo"), executable).expect("it is there");
        fs::create_dir_all(tree.0.join("deploy")).expect("a folder can be made");
        let script = tree.0.join("deploy/pgo.sh");
        fs::copy(root().join("deploy/pgo.sh"), script).expect("it is there");
        tree
    }

    fn write(&self, file: &str, text: &str) {
        let path = self.0.join(file);
        fs::create_dir_all(path.parent().unwrap_or(Path::new(""))).expect("a folder can be made");
        fs::write(path, text).expect("a file can be written");
    }

    /// The exit status of the script and what it prints.
    fn release(&self) -> (i32, String) {
        self.run("deploy/pgo.sh")
    }

    fn stamp(&self) -> String {
        let (_, printed) = self.run("deploy/pgo.sh stamp");
        printed.trim().to_owned()
    }

    fn run(&self, script: &str) -> (i32, String) {
        let path = std::env::var("PATH").unwrap_or_default();
        let output = Command::new("bash")
            .args(["-c", &format!("{script} 2>&1")])
            .current_dir(&self.0)
            .env("PATH", format!("{}:{path}", self.0.join("bin").display()))
            .output()
            .expect("bash runs");
        let printed = String::from_utf8_lossy(&output.stdout).into_owned();
        (output.status.code().unwrap_or(-1), printed)
    }
}

impl Drop for SourceTree {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}
