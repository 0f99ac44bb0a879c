//! Enforces which crates may name which: dependencies point one way only, and only the program names a feature.

mod outside;

use super::tree::{assert_none, code_lines, crate_folders, files_below, read, sources};
use outside::OUTSIDE;
use regex::Regex;
use std::collections::{BTreeMap, BTreeSet};

/// The crates of the program in layers, the lowest first: a crate names only crates of lower layers.
const LAYERS: &[&[&str]] = &[
    &["protocol", "scalar", "wasm", "workers"],
    &[
        "expression",
        "event_stream",
        "http_body",
        "http2_inspection",
        "schema",
        "superset",
        "websocket",
    ],
    &["task", "translate", "simulator"],
    &["core"],
    &["bucket"],
    &[
        "state",
        "filters",
        "identity",
        "video",
        "paid",
        "media",
        "batch",
        "usage",
        "alerts",
        "prompt_log",
        "plugins",
        "tracing",
        "credentials",
    ],
    &["observe"],
    &["config", "channel"],
    &["gateway", "issuance"],
    &["admin", "convert", "top"],
];
/// Crates that only some may name; the program may name all.
const NAMED_ONLY_BY: &[(&str, &[&str])] = &[
    ("state", &[]),
    ("filters", &[]),
    ("identity", &[]),
    ("video", &[]),
    ("paid", &[]),
    ("media", &[]),
    ("batch", &[]),
    ("usage", &[]),
    ("alerts", &[]),
    ("prompt_log", &[]),
    ("bucket", &["media", "prompt_log"]),
    ("plugins", &[]),
    ("convert", &[]),
    ("simulator", &[]),
    ("top", &[]),
    ("wasm", &["plugins"]),
    ("websocket", &["gateway", "simulator"]),
    ("http2_inspection", &["gateway"]),
];

#[test]
fn a_crate_names_only_crates_of_lower_layers_in_its_manifest() {
    let layer = |name: &str| LAYERS.iter().position(|layer| layer.contains(&name));
    let mut offenders = Vec::new();
    for (name, arrows) in arrows() {
        let Some(own) = layer(&name) else {
            offenders.push(format!("{name}: is in no layer"));
            continue;
        };
        let wrong = arrows
            .iter()
            .filter(|named| layer(named).is_none_or(|layer| layer >= own));
        offenders.extend(wrong.map(|named| format!("{name} -> {named} does not point down")));
    }
    let folders = crate_folders();
    let gone = LAYERS.concat().into_iter();
    let gone = gone.filter(|name| !folders.iter().any(|folder| folder == name));
    offenders.extend(gone.map(|name| format!("{name}: is no crate")));
    assert_none("arrows between crates point down", &offenders);
}

#[test]
fn no_crate_below_the_program_names_a_feature_or_the_simulator() {
    let mut offenders = Vec::new();
    for (name, arrows) in arrows() {
        for (named, by) in NAMED_ONLY_BY {
            let is_named = arrows.iter().any(|arrow| arrow == named);
            if is_named && !by.contains(&name.as_str()) {
                offenders.push(format!("crates/{name}/Cargo.toml:1: names {named}"));
            }
        }
    }
    assert_none("only the program's list names a feature", &offenders);
}

#[test]
fn a_manifest_names_only_what_the_sources_of_its_crate_name() {
    let sources = sources();
    let mut offenders = Vec::new();
    let folders = crate_folders().into_iter();
    let folders = folders.map(|name| format!("crates/{name}/"));
    for folder in folders.chain([String::new()]) {
        let source = format!("{folder}src/");
        let manifest = format!("{folder}Cargo.toml");
        for (line, name) in dependencies(&read(&manifest), is_of_the_build) {
            let path = name.replace('-', "_");
            let mut of_crate = sources.iter().filter(|file| file.path.starts_with(&source));
            let is_named = of_crate.any(|file| {
                code_lines(file).any(|(_, code)| names(code, &path) || is_attribute(code, &path))
            });
            if !is_named {
                offenders.push(format!("{manifest}:{line}: {name} is not used"));
            }
        }
    }
    assert_none("a manifest has no dependency without a use", &offenders);
}

#[test]
fn a_dependency_of_the_workspace_is_one_of_a_crate() {
    let root = read("Cargo.toml");
    let mut manifests = files_below(".");
    manifests.retain(|file| file.path.ends_with("Cargo.toml"));
    let used: BTreeSet<&str> = manifests
        .iter()
        .flat_map(|file| dependencies(&file.text, |section| !section.starts_with("workspace")))
        .map(|(_, name)| name)
        .collect();
    let shared = dependencies(&root, |section| section.starts_with("workspace"));
    let idle = shared.filter(|(_, name)| !used.contains(name));
    let offenders: Vec<String> = idle
        .map(|(line, name)| format!("Cargo.toml:{line}: {name}"))
        .collect();
    assert_none("no crate takes it", &offenders);
}

#[test]
fn what_lies_outside_of_the_workspace_is_named_only_where_it_belongs() {
    let mut offenders = Vec::new();
    for file in sources().iter().filter(|file| !file.is_test()) {
        let place = file.place();
        let tests_from = file.tests_begin();
        for (line, code) in code_lines(file).take_while(|(line, _)| *line < tests_from) {
            let elsewhere = OUTSIDE.iter().filter(|(outside, belongs)| {
                names(code, outside) && !belongs.iter().any(|part| is_within(&place, part))
            });
            offenders.extend(elsewhere.map(|(outside, belongs)| {
                let belongs = belongs.join(", ");
                format!("{}:{line}: `{outside}` is for {belongs}", file.path)
            }));
        }
    }
    assert_none("each crate stays within its reach", &offenders);
}

/// Files beside the crate's root may name each other by `super`; from a folder, the root is far.
#[test]
fn nobody_climbs_from_a_folder_to_the_root_of_the_crate_by_other_words_than_crate() {
    let mut offenders = Vec::new();
    for file in sources() {
        let depth = depth(&file.path);
        let tests_from = file.tests_begin();
        for (line, code) in code_lines(&file) {
            let depth = depth + usize::from(line >= tests_from);
            if depth > 1 && code.contains(&"super::".repeat(depth)) {
                offenders.push(format!("{}:{line}: {}", file.path, code.trim()));
            }
        }
    }
    assert_none(
        "a path from the root of the crate begins with `crate`",
        &offenders,
    );
}

#[test]
fn dependencies_are_read_from_all_sections_that_count() {
    let manifest = "\
[package]
name = \"x\"
[features]
wasm = [\"dep:headgate-wasm\"]
[dependencies]
headgate-core = { workspace = true }
# headgate-gone = { workspace = true }
http = { workspace = true }
[dev-dependencies]
headgate-core = { workspace = true, features = [
    \"test-support\",
] }
[target.'cfg(unix)'.dependencies]
nix.workspace = true
[dependencies.long]
version = \"1\"
";
    let found: Vec<_> = dependencies(manifest, is_of_the_build).collect();
    let expected = [(6, "headgate-core"), (8, "http"), (14, "nix"), (15, "long")];
    assert_eq!(found, expected);
    let all = dependencies(manifest, |_| true).map(|(line, _)| line);
    assert_eq!(all.collect::<Vec<_>>(), [6, 8, 10, 14, 15]);
}

/// The crates of this repository that each crate names, in its tests, too.
fn arrows() -> BTreeMap<String, Vec<String>> {
    let folders = crate_folders().into_iter();
    let arrows = folders.map(|name| {
        let manifest = read(&format!("crates/{name}/Cargo.toml"));
        let named = dependencies(&manifest, |_| true);
        let ours = named.filter_map(|(_, dependency)| dependency.strip_prefix("headgate-"));
        let ours = ours.map(str::to_owned).collect();
        (name, ours)
    });
    arrows.collect()
}

/// Whether a section has dependencies of the built program, not only of tests.
fn is_of_the_build(section: &str) -> bool {
    !section.contains("dev-") && !section.starts_with("workspace")
}

/// The dependencies of a manifest with their lines, of those sections whose heading is wanted.
fn dependencies(
    manifest: &str,
    is_wanted: fn(&str) -> bool,
) -> impl Iterator<Item = (usize, &str)> {
    let key = Regex::new(r"^([\w-]+)(?:\.[\w-]+)* = ").expect("the pattern is valid");
    let mut is_section = false;
    manifest.lines().enumerate().filter_map(move |(at, line)| {
        if let Some(heading) = line.strip_prefix('[') {
            let heading = heading.trim_end_matches(']');
            is_section = heading.ends_with("dependencies") && is_wanted(heading);
            let (section, name) = heading.rsplit_once("dependencies.")?;
            return is_wanted(section).then_some((at + 1, name));
        }
        let name = key.captures(line).filter(|_| is_section)?.get(1)?;
        Some((at + 1, name.as_str()))
    })
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

/// Whether a line has an attribute or a derive whose words are the crate's own, as `#[async_trait]`.
fn is_attribute(code: &str, path: &str) -> bool {
    code.trim_start().starts_with(&format!("#[{path}"))
}

/// Whether a place such as `core/state/memory` lies in a part of the program such as `core` or `core/state`.
fn is_within(place: &str, part: &str) -> bool {
    let rest = place.strip_prefix(part);
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// The depth of a file's module below the crate's root: 1 for `src/config/mod.rs`, 2 for `src/config/node.rs`; 1 at the
/// root, too.
fn depth(path: &str) -> usize {
    let (_, inside) = path.split_once("src/").expect("sources lie in src");
    let parts = inside.split('/').count();
    match inside.ends_with("/mod.rs") {
        true => parts - 1,
        false => parts,
    }
}
