//! Binary modules of fixtures are the assembly of the text beside them.

use super::tree::{assert_none, files_below, root};
use std::fs;

#[test]
fn every_module_of_a_fixture_is_the_assembly_of_its_text() {
    let mut texts = files_below("tests/fixtures");
    texts.retain(|file| file.has_extension(&["wat"]));
    assert!(!texts.is_empty());
    let differing = texts.iter().filter_map(|file| {
        let path = &file.path;
        let assembled =
            wat::parse_str(&file.text).unwrap_or_else(|error| panic!("{path}: {error}"));
        let module = root().join(path.replace(".wat", ".wasm"));
        if std::env::var_os("HEADGATE_BLESS").is_some() {
            fs::write(&module, &assembled).unwrap();
        }
        let is_same = fs::read(&module).is_ok_and(|module| module == assembled);
        (!is_same).then(|| format!("{path}:1: the module beside it is not its assembly"))
    });
    let offenders: Vec<String> = differing.collect();
    assert_none(
        "modules are made of the text that reviewers read",
        &offenders,
    );
}
