//! Enforces which modules may name which: dependencies point one way only.

mod outside;

use super::tree::{TextFile, assert_none, read, sources};
use outside::OUTSIDE;
use regex::Regex;

/// Every module in the order of `src/lib.rs`, and the modules that it may name. Workspace crates that the program uses
/// as modules are included; their own dependencies are in their manifests, and the compiler enforces them.
const ARROWS: &[(&str, &[&str])] = &[
    ("protocol", &[]),
    ("expression", &["protocol"]),
    ("memory", &[]),
    ("regular_file", &[]),
    ("scalar", &[]),
    ("serve", &[]),
    ("state", &["protocol", "scalar"]),
    ("task", &["protocol", "scalar"]),
    ("media", &["protocol", "state", "task"]),
    (
        "catalog",
        &["protocol", "expression", "scalar", "state", "task"],
    ),
    ("subrequest", &["protocol", "catalog"]),
    ("callout", &["protocol", "catalog"]),
    ("telemetry", &["protocol", "catalog", "callout"]),
    ("polls", &["protocol", "state", "task", "subrequest"]),
    ("journal", &["state"]),
    ("mirroring", &["protocol", "subrequest"]),
    ("response_cache", &["protocol", "state"]),
    (
        "callbacks",
        &[
            "protocol",
            "catalog",
            "state",
            "task",
            "subrequest",
            "polls",
        ],
    ),
    ("plugin", &["protocol", "callout"]),
    (
        "filter",
        &[
            "plugin",
            "expression",
            "callout",
            "callbacks",
            "task",
            "protocol",
            "scalar",
            "media",
            "catalog",
            "state",
            "subrequest",
            "polls",
            "journal",
            "mirroring",
            "response_cache",
        ],
    ),
    ("config", &["protocol", "regular_file", "scalar", "task"]),
    (
        "snapshot",
        &[
            "plugin",
            "expression",
            "callout",
            "telemetry",
            "protocol",
            "regular_file",
            "scalar",
            "task",
            "media",
            "catalog",
            "state",
            "polls",
            "journal",
            "mirroring",
            "response_cache",
            "callbacks",
            "filter",
            "config",
        ],
    ),
    (
        "observe",
        &[
            "plugin",
            "callout",
            "telemetry",
            "protocol",
            "state",
            "catalog",
            "polls",
            "mirroring",
            "callbacks",
            "media",
            "filter",
        ],
    ),
    (
        "reload",
        &[
            "plugin",
            "regular_file",
            "state",
            "media",
            "polls",
            "mirroring",
            "callbacks",
            "callout",
            "telemetry",
            "config",
            "snapshot",
            "observe",
        ],
    ),
    ("channel", &["protocol", "catalog", "state", "observe"]),
    (
        "gateway",
        &[
            "callout",
            "telemetry",
            "protocol",
            "scalar",
            "serve",
            "catalog",
            "state",
            "subrequest",
            "callbacks",
            "media",
            "filter",
            "snapshot",
            "observe",
            "reload",
            "channel",
        ],
    ),
    ("openapi", &["protocol", "filter", "snapshot"]),
    (
        "admin",
        &[
            "openapi",
            "protocol",
            "serve",
            "state",
            "catalog",
            "polls",
            "task",
            "callbacks",
            "snapshot",
            "observe",
            "reload",
            "channel",
            "telemetry",
        ],
    ),
    (
        "cli",
        &[
            "memory",
            "expression",
            "protocol",
            "regular_file",
            "scalar",
            "serve",
            "task",
            "media",
            "catalog",
            "state",
            "journal",
            "filter",
            "config",
            "snapshot",
            "observe",
            "reload",
            "channel",
            "gateway",
            "openapi",
            "admin",
            "telemetry",
            "plugin",
        ],
    ),
];

#[test]
fn the_arrows_are_those_of_the_modules_in_their_order_and_none_points_up() {
    let lib = read("src/lib.rs");
    let declared: Vec<&str> = lib
        .lines()
        .filter_map(|line| {
            let line = line.strip_suffix(';')?;
            let module = line.strip_prefix("pub mod ");
            let renamed = line.strip_prefix("pub use headgate_");
            let renamed = renamed.and_then(|rest| rest.split_once(" as "));
            module.or(renamed.map(|(_, name)| name))
        })
        .collect();
    let listed: Vec<&str> = ARROWS.iter().map(|(module, _)| *module).collect();
    assert_eq!(
        listed, declared,
        "the modules of src/lib.rs and of this table"
    );
    for (place, (module, named)) in ARROWS.iter().enumerate() {
        for name in *named {
            assert!(
                listed[..place].contains(name),
                "{module} -> {name} points up, or nowhere"
            );
        }
    }
}

#[test]
fn a_module_names_only_those_it_has_an_arrow_to() {
    let mut offenders = Vec::new();
    for file in sources_of_the_program() {
        let arrows = ARROWS.iter().find(|(module, _)| *module == file.module());
        let Some((module, allowed)) = arrows else {
            continue;
        };
        for (line, name) in crate_names(&file) {
            if name != *module && !allowed.contains(&name.as_str()) {
                offenders.push(format!("{}:{line}: `{module}` names `{name}`", file.path));
            }
        }
    }
    assert_none("modules name only what their arrows lead to", &offenders);
}

#[test]
fn nobody_climbs_to_the_root_of_the_crate_by_other_words_than_crate() {
    let mut offenders = Vec::new();
    for file in sources_of_the_program() {
        let depth = depth(&file.path);
        let tests_from = file.tests_begin();
        for (line, code) in code_lines(&file) {
            let depth = depth + usize::from(line >= tests_from);
            if code.contains(&"super::".repeat(depth)) {
                offenders.push(format!("{}:{line}: {}", file.path, code.trim()));
            }
        }
    }
    assert_none("a path to another module begins with `crate`", &offenders);
}

#[test]
fn what_lies_outside_the_crate_is_named_only_where_it_belongs() {
    let mut offenders = Vec::new();
    for file in sources().iter().filter(|file| !file.is_test()) {
        let module = file.module();
        let tests_from = file.tests_begin();
        for (line, code) in code_lines(file).take_while(|(line, _)| *line < tests_from) {
            let elsewhere = OUTSIDE
                .iter()
                .filter(|(outside, belongs)| !belongs.contains(&module) && names(code, outside));
            offenders.extend(elsewhere.map(|(outside, belongs)| {
                let belongs = belongs.join(", ");
                format!("{}:{line}: `{outside}` is for {belongs}", file.path)
            }));
        }
    }
    assert_none("each module stays within its reach", &offenders);
}

/// The sources of the root package.
fn sources_of_the_program() -> impl Iterator<Item = TextFile> {
    let files = sources().into_iter();
    files.filter(|file| file.path.starts_with("src/"))
}

/// The top-level modules that a file names, with their lines; a list in braces counts as several.
fn crate_names(file: &TextFile) -> Vec<(usize, String)> {
    let one = Regex::new(r"\bcrate::(\w+)").unwrap();
    let many = Regex::new(r"\bcrate::\{").unwrap();
    let mut names = Vec::new();
    for (line, code) in code_lines(file) {
        names.extend(
            one.captures_iter(code)
                .map(|found| (line, found[1].to_string())),
        );
        if many.is_match(code) {
            names.push((line, "several at once; write one `use` for each".into()));
        }
    }
    names
}

/// Lines that are not comments.
fn code_lines(file: &TextFile) -> impl Iterator<Item = (usize, &str)> {
    file.lines()
        .filter(|(_, line)| !line.trim_start().starts_with("//"))
}

/// Whether a line names a path, as the prefix of a longer one or in a `use`. Words inside other words do not count.
fn names(code: &str, path: &str) -> bool {
    let in_word = |character: char| character.is_alphanumeric() || "_:".contains(character);
    code.match_indices(path).any(|(at, _)| {
        let (before, after) = (&code[..at], &code[at + path.len()..]);
        let begins = !before.ends_with(in_word);
        begins
            && (after.starts_with("::") || before.ends_with("use ") && !after.starts_with(in_word))
    })
}

/// The depth of a file's module below the crate's root: 1 for `src/config/mod.rs`, 2 for `src/config/node.rs`; 1 at the
/// root, too.
fn depth(path: &str) -> usize {
    let parts = path.split('/').count() - 1;
    match path.ends_with("/mod.rs") {
        true => parts - 1,
        false => parts,
    }
}
