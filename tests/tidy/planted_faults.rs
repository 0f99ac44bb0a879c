//! The planted faults of tests/faults and fuzz/faults: each patch fits the sources, what finds it exists, and the pages have all of
//! them.

use super::tree::{TextFile, assert_none, files_below, read, sources};
use regex::Regex;
use std::collections::BTreeSet;

const FOLDER: &str = "tests/faults";
const PAGE: &str = "docs/reliability.md";
const FUZZ_FOLDER: &str = "fuzz/faults";
const FUZZ_PAGE: &str = "docs/fuzzing.md";

/// A row of a table in the folder.
struct FaultRow {
    /// The table and the line of the row.
    place: String,
    name: String,
    /// Rows of the page, such as `9` and `s2`.
    lines: Vec<String>,
    test: String,
}

#[test]
fn the_patch_of_every_planted_fault_fits_the_sources() {
    let mut offenders = Vec::new();
    for patch in [FOLDER, FUZZ_FOLDER].into_iter().flat_map(patches) {
        let name = fault_name(&patch);
        if !patch.text.contains(&format!("fault == \"{name}\"")) {
            offenders.push(format!("{}:1: is not bound to its name", patch.path));
        }
        for (file, line, old) in hunks(&patch.text) {
            let found = read(&file).matches(&old).count();
            if found != 1 {
                offenders.push(format!(
                    "{}:{line}: its lines are in {file} {found} times",
                    patch.path
                ));
            }
        }
    }
    assert_none("each planted fault can be planted", &offenders);
}

#[test]
fn every_planted_fault_has_a_row_and_every_row_a_patch() {
    let named: BTreeSet<String> = rows().into_iter().map(|row| row.name).collect();
    let planted: BTreeSet<String> = patches(FOLDER).iter().map(fault_name).collect();
    let differ = named.symmetric_difference(&planted);
    let offenders: Vec<String> = differ.map(|name| format!("{FOLDER}:1: {name}")).collect();
    assert_none("faults have a patch and a row in a table", &offenders);
}

#[test]
fn the_page_about_reliability_has_every_planted_fault_and_tests_that_exist() {
    let page = read(PAGE);
    let mut files = files_below("tests/suite");
    files.extend(files_below("tests/simulation"));
    files.extend(sources());
    let mut offenders = Vec::new();
    for row in rows() {
        for line in &row.lines {
            let start = format!("| {line} |");
            let of_line = page.lines().find(|text| text.starts_with(&start));
            let cell = format!("`{}`", row.name);
            if !of_line.is_some_and(|text| text.contains(&cell)) {
                offenders.push(format!("{PAGE}:1: row {line} lacks {cell}"));
            }
        }
        if !exists(&files, &row.test) {
            offenders.push(format!("{}: no test {}", row.place, row.test));
        }
    }
    let names: BTreeSet<String> = patches(FOLDER).iter().map(fault_name).collect();
    let code = Regex::new("`([a-z0-9_:-]+)`").unwrap();
    for (at, text) in page.lines().enumerate() {
        let last_cell = text.rsplit('|').nth(1).filter(|_| text.starts_with("| "));
        for found in code.captures_iter(text) {
            let word = &found[1];
            let programs = ["suite::", "simulation::", "headgate_"];
            let is_test = programs.iter().any(|program| word.starts_with(program));
            let is_fault = last_cell.is_some_and(|cell| cell.contains(&found[0]));
            if is_test && word.contains("::") && !exists(&files, word) {
                offenders.push(format!("{PAGE}:{}: no test {word}", at + 1));
            }
            if is_fault && word.contains('-') && !names.contains(word) {
                offenders.push(format!("{PAGE}:{}: no fault {word}", at + 1));
            }
        }
    }
    assert_none("the page about reliability is true", &offenders);
}

#[test]
fn every_fuzz_target_has_planted_faults_that_the_page_about_fuzzing_lists() {
    let table = read("fuzz/faults/faults.txt");
    let page = read(FUZZ_PAGE);
    let mut unfound: BTreeSet<String> = patches(FUZZ_FOLDER).iter().map(fault_name).collect();
    let corpora = files_below("fuzz/corpus").into_iter();
    let mut untried: BTreeSet<String> = corpora
        .filter_map(|file| Some(file.path.split('/').nth(2)?.to_owned()))
        .collect();
    let mut offenders = Vec::new();
    for row in table.lines().filter(|line| !line.starts_with('#')) {
        let cells: Vec<&str> = row.split('|').map(str::trim).collect();
        let [name, target, _] = cells[..] else {
            panic!("{FUZZ_FOLDER}/faults.txt: a row is `name | target | what`: {row}");
        };
        let start = format!("| `{target}` |");
        let mut lines = page.lines().filter(|line| line.starts_with(&start));
        if !lines.any(|line| line.contains(&format!("`{name}`"))) {
            offenders.push(format!("{FUZZ_PAGE}:1: `{target}` lacks `{name}`"));
        }
        if !unfound.remove(name) {
            offenders.push(format!("{FUZZ_FOLDER}/faults.txt:1: no patch {name}"));
        }
        untried.remove(target);
    }
    offenders.extend(
        unfound
            .iter()
            .map(|name| format!("{FUZZ_FOLDER}/{name}.patch:1: no row")),
    );
    offenders.extend(
        untried
            .iter()
            .map(|target| format!("{FUZZ_FOLDER}:1: no fault of {target}")),
    );
    assert_none("each fuzz target has a planted fault", &offenders);
}

/// Whether there is a test of this path: `suite::…` is an integration test, `simulation::…` one of schedules of faults,
/// `headgate_core::…` a unit test.
fn exists(files: &[TextFile], path: &str) -> bool {
    let parts: Vec<&str> = path.split("::").collect();
    let [program, modules @ .., name] = &parts[..] else {
        return false;
    };
    let folder = match program.strip_prefix("headgate_") {
        Some(own) => format!("crates/{own}/src/"),
        None => format!("tests/{program}/"),
    };
    // A module `tests` is a file of its own, or at the end of the file that it tests.
    let own_file = folder.clone() + &modules.join("/");
    let tested_file = own_file.trim_end_matches("/tests").to_owned() + ".rs";
    let function = format!("fn {name}(");
    files.iter().any(|file| {
        let is_module = file.path.starts_with(&own_file) || file.path == tested_file;
        is_module && file.text.contains(&function)
    })
}

/// The file, the line in the patch, and the lines that are there before, of each hunk of a patch.
fn hunks(patch: &str) -> Vec<(String, usize, String)> {
    let mut hunks: Vec<(String, usize, String)> = Vec::new();
    let mut file = String::new();
    for (at, line) in patch.lines().enumerate() {
        if let Some(path) = line.strip_prefix("--- a/") {
            file = path.to_owned();
        } else if line.starts_with("@@ ") {
            hunks.push((file.clone(), at + 1, String::new()));
        } else if let Some((_, _, old)) = hunks.last_mut()
            && !line.starts_with('+')
            && !line.starts_with("--- ")
        {
            old.push_str(line.get(1..).unwrap_or_default());
            old.push('\n');
        }
    }
    hunks
}

fn patches(folder: &str) -> Vec<TextFile> {
    let mut files = files_below(folder);
    files.retain(|file| file.has_extension(&["patch"]));
    files
}

fn fault_name(patch: &TextFile) -> String {
    let name = patch.path.rsplit('/').next().unwrap_or_default();
    name.trim_end_matches(".patch").to_owned()
}

fn rows() -> Vec<FaultRow> {
    let mut tables = files_below(FOLDER);
    tables.retain(|file| file.has_extension(&["txt"]));
    let mut rows = Vec::new();
    for table in &tables {
        for (line, text) in table.lines().filter(|(_, text)| !text.starts_with('#')) {
            let place = format!("{}:{line}", table.path);
            let cells: Vec<&str> = text.split('|').map(str::trim).collect();
            let [name, lines, test] = cells[..] else {
                panic!("{place}: a row is `name | rows of {PAGE} | test`");
            };
            rows.push(FaultRow {
                place,
                name: name.to_owned(),
                lines: lines.split(',').map(str::to_owned).collect(),
                test: test.to_owned(),
            });
        }
    }
    rows
}
