//! Checks that every filter has its file, its line in the registry, its page and its fixture.

use super::documents::{build, keys, yaml_blocks};
use super::tree::{TextFile, assert_none, files_below, read, root, sources};
use headgate::features::FEATURES;
use headgate_config::snapshot::Snapshot;
use headgate_core::filter::chain::NamedFilter;
use headgate_core::filter::descriptor::{ChainSide, FilterDescriptor};
use regex::Regex;
use serde_json::Value;
use std::collections::BTreeSet;
use std::fs;
use std::sync::LazyLock;

/// The file of a filter: in the crate of filters without a feature of their own, or in the folder of filters of a feature.
/// Its first group is the crate, its second the filter.
static FILTER_FILE: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"^crates/(filters/src|\w+/src/filter)/(\w+)\.rs$").unwrap());

#[test]
fn the_registry_is_alphabetic() {
    let names: Vec<&str> = FEATURES.filters().iter().map(|kind| kind.name).collect();
    assert!(names.is_sorted(), "the filters of all features: {names:?}");
}

#[test]
fn every_filter_has_a_file_a_page_and_a_fixture_and_none_of_them_is_without_a_filter() {
    let registered: BTreeSet<String> = FEATURES
        .filters()
        .iter()
        .map(|kind| kind.name.to_string())
        .collect();
    let defined = sources().into_iter().filter(defines_a_filter);
    let mut offenders = Vec::new();
    for (folder, extension, found) in [
        ("crates/*/src", "rs", stems(defined, "rs")),
        (
            "docs/filters",
            "md",
            stems(files_below("docs/filters"), "md"),
        ),
        (
            "tests/fixtures/filters",
            "yaml",
            stems(files_below("tests/fixtures/filters"), "yaml"),
        ),
    ] {
        let missing = registered.difference(&found);
        offenders.extend(missing.map(|name| format!("{folder}/{name}.{extension}:1: is missing")));
        let idle = found.difference(&registered);
        offenders.extend(
            idle.map(|name| {
                format!("{folder}/{name}.{extension}:1: is of no filter of any feature")
            }),
        );
    }
    assert_none("file, page and fixture go with each filter", &offenders);
}

#[test]
fn every_fixture_builds_without_a_warning_and_uses_its_filter() {
    let mut offenders = Vec::new();
    for kind in FEATURES.filters().iter() {
        let path = fixture(kind);
        match build(&root().join(&path), keys) {
            Ok(snapshot) if uses(&snapshot, kind) => {}
            Ok(_) => offenders.push(format!(
                "{path}:1: no route uses `{}` where it belongs",
                kind.name
            )),
            Err(report) => offenders.push(format!("{path}:1: {report}")),
        }
    }
    assert_none("a fixture shows its filter at work", &offenders);
}

#[test]
fn every_page_names_all_settings_and_its_examples_are_part_of_the_fixture() {
    let mut offenders = Vec::new();
    for kind in FEATURES.filters().iter() {
        let path = format!("docs/filters/{}.md", kind.name);
        let page = fs::read_to_string(root().join(&path)).unwrap_or_default();
        // `cel` computes a value of a setting; the page on expressions explains it.
        for setting in settings_of(kind).iter().filter(|name| *name != "cel") {
            if !page.contains(&format!("| `{setting}` |")) {
                offenders.push(format!(
                    "{path}:1: has no row `{setting}` in its table of settings"
                ));
            }
        }
        let written = trimmed(&fs::read_to_string(root().join(fixture(kind))).unwrap_or_default());
        let examples = yaml_blocks(&page);
        if examples.is_empty() {
            offenders.push(format!("{path}:1: has no example"));
        }
        for (line, example) in examples {
            if !written.contains(&trimmed(&example)) {
                offenders.push(format!(
                    "{path}:{line}: the example is not in {}",
                    fixture(kind)
                ));
            }
        }
    }
    assert_none(
        "a page tells all, and what it shows is built by a test",
        &offenders,
    );
}

#[test]
fn nobody_knows_a_filter_by_its_name() {
    /// Texts in other files that are equal to a filter's name by coincidence.
    const OTHER_MEANINGS: &[(&str, &str)] = &[
        ("crates/protocol/src/error_class.rs", "rate_limit"),
        ("crates/protocol/src/credential_names.rs", "idempotency"),
        ("crates/protocol/src/credential_names.rs", "cache"),
        ("crates/expression/src/compile/signatures.rs", "replace"),
        ("src/cli/why.rs", "idempotency"),
        ("src/cli/why.rs", "cache"),
        ("crates/admin/src/findings/counter_rules.rs", "plugin"),
        ("crates/admin/src/findings/of_process.rs", "callbacks"),
        ("crates/admin/src/overview.rs", "callbacks"),
        ("crates/convert/src/litellm/global_settings.rs", "callbacks"),
        ("src/cli/plugin/check.rs", "callbacks"),
        ("crates/top/src/overview_page.rs", "callbacks"),
        ("crates/observe/src/access_log.rs", "cache"),
        ("crates/observe/src/access_log.rs", "idempotency"),
        ("crates/observe/src/plugin_metrics.rs", "plugin"),
        ("crates/expression/src/evaluate/texts.rs", "replace"),
        ("crates/state/src/redis_store/records.rs", "replace"),
    ];
    let names: Vec<&str> = FEATURES.filters().iter().map(|kind| kind.name).collect();
    let named = Regex::new(&format!(r#"["`]({})["`]"#, names.join("|"))).unwrap();
    // It names the filters whose settings had other names.
    let is_history = |file: &TextFile| file.path == "crates/config/src/renamed_keys.rs";
    let mut offenders = Vec::new();
    for file in sources()
        .iter()
        .filter(|file| !file.is_test() && !is_history(file))
    {
        let tests_from = file.tests_begin();
        let code = file.lines().take_while(|(line, _)| *line < tests_from);
        for (line, code) in code {
            let code = code.trim_start();
            let is_own = |name: &str| {
                is_own_file(&file.path, name)
                    || OTHER_MEANINGS.contains(&(file.path.as_str(), name))
            };
            let is_documented = ["//", "after: ", "before: ", "summary: "];
            if is_documented
                .iter()
                .any(|reported| code.starts_with(reported))
            {
                continue;
            }
            for found in named.captures_iter(code).filter(|found| !is_own(&found[1])) {
                offenders.push(format!("{}:{line}: names `{}`", file.path, &found[1]));
            }
        }
    }
    assert_none("only a filter and the registry know its name", &offenders);
}

#[test]
fn the_list_of_filters_has_a_link_to_every_page() {
    let list = read("docs/filters/README.md");
    let filters = FEATURES.filters();
    let missing = filters.iter().filter_map(|kind| {
        let link = format!("[`{0}`]({0}.md)", kind.name);
        (!list.contains(&link)).then(|| format!("docs/filters/README.md:1: has no {link}"))
    });
    assert_none(
        "every filter is in the list",
        &missing.collect::<Vec<String>>(),
    );
}

#[test]
fn every_page_begins_with_its_filters_name() {
    let filters = FEATURES.filters();
    let pages = filters.iter().filter_map(|kind| {
        let path = format!("docs/filters/{}.md", kind.name);
        let page = fs::read_to_string(root().join(&path)).ok()?;
        let title = format!("# `{}`\n", kind.name);
        (!page.starts_with(&title)).then(|| format!("{path}:1: does not begin with {title}"))
    });
    let offenders: Vec<String> = pages.collect();
    assert_none("a page is found by its filter's name", &offenders);
}

fn fixture(kind: &FilterDescriptor) -> String {
    format!("tests/fixtures/filters/{}.yaml", kind.name)
}

/// Whether a file is part of a filter, or of the feature that brings it; the crate of many filters is no feature of one.
fn is_own_file(path: &str, name: &str) -> bool {
    let own = |folder: &str| {
        let rest = path.strip_prefix(folder).unwrap_or_default();
        let rest = rest.strip_prefix(name).unwrap_or_default();
        rest.starts_with(['.', '/'])
    };
    let feature = path.split_once("/src/").map_or("", |(feature, _)| feature);
    let filter = root().join(feature).join(format!("src/filter/{name}.rs"));
    own("crates/filters/src/") || filter.exists()
}

fn defines_a_filter(file: &TextFile) -> bool {
    let is_in_place = FILTER_FILE.is_match(&file.path);
    is_in_place && file.text.contains("pub const DESCRIPTOR: FilterDescriptor")
}

/// The names of files without folder and extension, except for an index.
fn stems(files: impl IntoIterator<Item = TextFile>, extension: &str) -> BTreeSet<String> {
    let names = files.into_iter().filter_map(|file| {
        let name = file
            .path
            .rsplit('/')
            .next()?
            .strip_suffix(&format!(".{extension}"))?;
        (name != "README").then(|| name.to_string())
    });
    names.collect()
}

fn uses(snapshot: &Snapshot, kind: &FilterDescriptor) -> bool {
    let named = |filters: &[NamedFilter]| filters.iter().any(|named| named.kind.name == kind.name);
    snapshot
        .router
        .routes()
        .iter()
        .any(|route| match kind.side {
            ChainSide::Request => named(route.request.filters()),
            ChainSide::Response => named(route.response.filters()),
            ChainSide::Either => named(route.request.filters()) && named(route.response.filters()),
        })
}

/// The names of settings, including those of nested objects.
fn settings_of(kind: &FilterDescriptor) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    if let Some(schema) = kind.settings {
        gather_properties(&schema(), &mut names);
    }
    names
}

fn gather_properties(schema: &Value, names: &mut BTreeSet<String>) {
    match schema {
        Value::Object(members) => {
            let properties = members.get("properties").and_then(Value::as_object);
            names.extend(
                properties
                    .into_iter()
                    .flat_map(|properties| properties.keys().cloned()),
            );
            members
                .values()
                .for_each(|member| gather_properties(member, names));
        }
        Value::Array(items) => items.iter().for_each(|item| gather_properties(item, names)),
        _ => {}
    }
}

/// The lines without indentation, which pages need not repeat.
fn trimmed(text: &str) -> String {
    text.lines()
        .map(|line| line.trim().to_string() + "\n")
        .collect()
}
