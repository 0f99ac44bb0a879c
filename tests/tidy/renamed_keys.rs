//! Keys that were renamed: a problem with an old one gives the new one, and CHANGELOG.md lists them all.

use super::tree::{assert_none, read};
use headgate::features::FEATURES;
use headgate_config as config;
use headgate_config::problem::ConfigProblem;
use headgate_config::renamed_keys::{
    RENAMED_KEYS, RENAMED_VALUES, RenameScope, RenamedKey, RenamedValue,
};
use headgate_config::snapshot::feature_schemas;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::path::Path;

#[test]
fn an_old_key_in_its_place_is_answered_with_the_new_one() {
    let mut offenders = Vec::new();
    for RenamedKey { scope, old, new } in RENAMED_KEYS {
        let expected = format!("unknown key `{old}`; it is now called `{new}`");
        let problems = problems(*scope, &json!({*old: {}}));
        let found: Vec<&ConfigProblem> = problems
            .iter()
            .filter(|problem| problem.reason.contains(&format!("`{old}`")))
            .collect();
        let is_placed = |problem: &ConfigProblem| {
            problem.line > 0 && problem.path.ends_with(&format!(".{old}"))
        };
        if !matches!(found[..], [problem] if problem.reason == expected && is_placed(problem)) {
            offenders.push(format!("{scope} {old}: {found:?}"));
        }
        let missing = format!("missing required key `{new}`");
        if problems.iter().any(|problem| problem.reason == missing) {
            offenders.push(format!("{scope} {old}: {new} is reported as missing, too"));
        }
    }
    assert_none("an old key is named with the new one", &offenders);
}

#[test]
fn a_new_key_is_known_in_its_place() {
    let unknown = RENAMED_KEYS
        .iter()
        .filter(|renamed| is_unknown(renamed.scope, renamed.new));
    let unknown = unknown.map(|renamed| format!("{} {}: is unknown", renamed.scope, renamed.new));
    assert_none(
        "a new key is one of its scope",
        &unknown.collect::<Vec<_>>(),
    );
}

#[test]
fn an_old_name_is_explained_in_no_other_place() {
    let mut scopes: Vec<RenameScope> = RENAMED_KEYS.iter().map(|renamed| renamed.scope).collect();
    scopes.dedup();
    let mut offenders = Vec::new();
    for scope in scopes {
        let own = RENAMED_KEYS.iter().filter(|renamed| renamed.scope == scope);
        let own: BTreeSet<&str> = own.map(|renamed| renamed.old).collect();
        let old: BTreeSet<&str> = RENAMED_KEYS.iter().map(|renamed| renamed.old).collect();
        let others: Vec<&str> = old.difference(&own).copied().collect();
        // A check lists a hundred problems.
        for names in others.chunks(40) {
            let mapping = names.iter().map(|name| ((*name).to_owned(), json!({})));
            let problems = problems(scope, &Value::Object(mapping.collect()));
            let explained = problems
                .iter()
                .filter(|problem| problem.reason.contains("now called"));
            offenders.extend(explained.map(|problem| format!("{scope}: {}", problem.reason)));
        }
    }
    assert_none("a rename holds in its scope", &offenders);
}

#[test]
fn an_old_value_is_answered_with_the_new_one_also_under_the_old_key() {
    let mut offenders = Vec::new();
    for RenamedValue {
        scope,
        key,
        old,
        new,
    } in RENAMED_VALUES
    {
        let expected = format!("unknown value `{old}`; it is now called `{new}`");
        let found = problems(*scope, &json!({*key: old}));
        if !found.iter().any(|problem| problem.reason == expected) {
            offenders.push(format!("{scope} {key}: {old}: {found:?}"));
        }
        if problems(*scope, &json!({*key: new}))
            .iter()
            .any(|problem| problem.reason.contains(&format!("`{new}`")))
        {
            offenders.push(format!("{scope} {key}: {new} is unknown"));
        }
        let mut renamed = RENAMED_KEYS.iter();
        if let Some(renamed) =
            renamed.find(|renamed| renamed.scope == *scope && renamed.new == *key)
        {
            let expected = Some(format!("write `{key}: {new}`"));
            let found = problems(*scope, &json!({renamed.old: old}));
            if !found.iter().any(|problem| problem.hint == expected) {
                offenders.push(format!("{scope} {}: {old}: {found:?}", renamed.old));
            }
        }
    }
    assert_none("an old value is named with the new one", &offenders);
}

#[test]
fn the_changelog_lists_the_renamed_keys_and_values_with_a_reason_and_no_others() {
    let keys = RENAMED_KEYS.iter().map(|renamed| {
        let RenamedKey { scope, old, new } = renamed;
        format!("{scope} | `{old}` | `{new}`")
    });
    let values = RENAMED_VALUES.iter().map(|renamed| {
        let RenamedValue {
            scope,
            key,
            old,
            new,
        } = renamed;
        format!("{scope} | `{key}: {old}` | `{key}: {new}`")
    });
    let renamed: BTreeSet<String> = keys.chain(values).collect();
    let changelog = read("CHANGELOG.md");
    let section = changelog.split("\n### ");
    let section = section.filter(|section| section.starts_with("Renamed keys"));
    let rows = section.flat_map(str::lines).filter_map(|line| {
        let (renamed, reason) = line
            .strip_prefix("| ")?
            .strip_suffix(" |")?
            .rsplit_once(" | ")?;
        (renamed.contains('`') && !reason.is_empty()).then(|| renamed.to_owned())
    });
    let listed: BTreeSet<String> = rows.collect();
    let missing = renamed.difference(&listed);
    let missing = missing.map(|row| format!("CHANGELOG.md:1: has no row with a reason for {row}"));
    let left = listed.difference(&renamed);
    let left = left.map(|row| format!("CHANGELOG.md:1: {row} is not in renamed_keys.rs"));
    assert_none(
        "CHANGELOG.md and renamed_keys.rs of the configuration list the same renames",
        &missing.chain(left).collect::<Vec<_>>(),
    );
}

/// Whether this key of a mapping of this scope is unknown.
fn is_unknown(scope: RenameScope, key: &str) -> bool {
    let quoted = format!("`{key}`");
    problems(scope, &json!({key: {}}))
        .iter()
        .any(|problem| problem.reason.contains(&quoted) && problem.reason.contains("unknown key"))
}

/// The problems of a file that has nothing but `mapping`, in this scope.
fn problems(scope: RenameScope, mapping: &Value) -> Vec<ConfigProblem> {
    let path = match scope {
        RenameScope::Section(path) => path.to_owned(),
        RenameScope::Filter(path) => format!("routes.*.request.*.{path}"),
    };
    let (mut value, mut rest) = (mapping.clone(), path.as_str());
    while !rest.is_empty() {
        let (parent, key) = rest.rsplit_once('.').unwrap_or(("", rest));
        let is_item = parent == "routes" || parent == "routes.*.request";
        value = match key {
            "*" if is_item => json!([value]),
            "*" if parent.ends_with(".medias") => json!({"first_frame": value}),
            // A name that all other mappings may have: `seed` is a field of requests.
            "*" => json!({"seed": value}),
            key => json!({key: value}),
        };
        rest = parent;
    }
    let file = Path::new("routes.yaml");
    let parsed = config::parse(
        file,
        &value.to_string(),
        &feature_schemas(FEATURES),
        &|_| None,
    );
    parsed.map_or_else(|invalid| invalid.problems, |_| Vec::new())
}
