//! Tests that run the case files of the built-in families.

mod columns;

use super::case_file;
use super::cases::FamilyTestReport;
use headgate_config::families;
use headgate_core::task::families::SHIPPED;
use headgate_core::task::family::VideoFamily;
use std::fs;
use std::path::PathBuf;

/// Families whose cases are folders of JSON, since they have a native protocol.
const WITH_FOLDERS: [&str; 2] = ["family-a", "family-b"];

fn case_files() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/families/cases")
}

#[test]
fn every_case_of_a_built_in_family_passes() {
    let configs = families::shipped();
    let mut failures = String::new();
    for (name, _) in SHIPPED {
        let path = case_files().join(format!("{name}.yaml"));
        if WITH_FOLDERS.contains(&name) && !path.exists() {
            continue;
        }
        let text = fs::read_to_string(&path);
        let text = text.unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let cases = case_file::read(&text).unwrap_or_else(|error| panic!("{name}: {error}"));
        let family = VideoFamily::new(name, &configs[name]);
        let family = family.unwrap_or_else(|faults| panic!("{name}: {faults:?}"));
        let report = FamilyTestReport::new(&family, &cases);
        if !report.has_passed() {
            failures += &format!("{name}:\n{}", report.lines());
        }
    }
    assert!(failures.is_empty(), "{failures}");
}

#[test]
fn every_case_file_is_that_of_a_built_in_family() {
    for entry in fs::read_dir(case_files()).into_iter().flatten() {
        let path = entry.unwrap().path();
        let name = path.file_stem().unwrap().to_str().unwrap();
        let is_shipped = SHIPPED.iter().any(|(shipped, _)| *shipped == name);
        assert!(is_shipped, "{} has no family", path.display());
    }
}
