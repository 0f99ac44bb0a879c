//! Checks the documentation against the program: examples build, tables are complete, links are valid.

use super::tree::{TextFile, assert_none, files_below, read, root, sources};
use headgate::features::FEATURES;
use headgate_admin::openapi::document;
use headgate_admin::openapi_page::servers;
use headgate_admin::router::AdminPages;
use headgate_config::reload::running::ListenerSummary;
use headgate_config::schema::{FeatureSchemas, routes_schema};
use headgate_config::snapshot;
use headgate_config::snapshot::{BuiltSnapshot, CrossSnapshotState, Snapshot, feature_schemas};
use regex::Regex;
use serde_json::Value;
use std::fs;
use std::path::Path;
use std::sync::Arc;

#[test]
fn the_schema_for_editors_is_that_of_the_program() {
    let generated = format!("{:#}\n", routes_schema(&feature_schemas(FEATURES)));
    assert!(
        read("schemas/routes.schema.json") == generated,
        "schemas/routes.schema.json is out of date; run: make schema"
    );
}

#[test]
fn the_openapi_document_is_that_of_the_routes_yaml_of_the_repository() {
    let variables = |name: &str| match name {
        "HEADGATE_TASK_KEY" => Some("0".repeat(64)),
        "HEADGATE_PUBLIC_URL" => Some("https://gate.example.com".to_string()),
        _ => None,
    };
    let snapshot = build(&root().join("routes.yaml"), variables).expect("it builds");
    let servers = servers(&ListenerSummary::wanted_by(&snapshot));
    let pages = AdminPages::new(FEATURES).descriptions();
    let generated = document(&snapshot, &servers, &pages);
    assert!(
        read("schemas/openapi.json") == format!("{generated:#}\n"),
        "schemas/openapi.json is out of date; run: make schema"
    );
}

#[test]
fn the_routes_yaml_of_the_repository_builds_with_the_two_variables_that_the_readme_names() {
    let variables = |name: &str| match name {
        "HEADGATE_TASK_KEY" => Some("0".repeat(64)),
        "HEADGATE_PUBLIC_URL" => Some("https://gate.example.com".to_string()),
        _ => None,
    };
    if let Err(report) = build(&root().join("routes.yaml"), variables) {
        panic!("{report}");
    }
}

/// A block of `docs/routes.md` is a section, which takes the place of the same one in the first file of the README.
#[test]
fn the_examples_of_routes_yaml_build() {
    let page = read("README.md");
    let blocks = yaml_blocks(&page);
    let (_, first) = blocks.first().expect("README.md shows a routes.yaml");
    let first = yaml(first).expect("the first routes.yaml is YAML");
    let folder = std::env::temp_dir().join(format!("headgate-tidy-{}", std::process::id()));
    fs::create_dir_all(&folder).expect("the system has a folder for temporary files");
    fs::write(folder.join("second.key"), "sk-tidy-key").expect("a file can be written there");
    fs::create_dir_all(folder.join("plugins")).expect("a folder can be made there");
    let module = root().join("tests/fixtures/filters/plugins/redact.wasm");
    fs::copy(module, folder.join("plugins/redact.wasm")).expect("a file can be copied there");
    let mut offenders = Vec::new();
    for path in ["README.md", "docs/routes.md"] {
        for (line, example) in yaml_blocks(&read(path)) {
            let built = yaml(&example).and_then(|sections| {
                let mut config = first.clone();
                config.extend(sections);
                let file = folder.join("routes.yaml");
                let text = Value::Object(config).to_string();
                fs::write(&file, text).expect("a file can be written there");
                build(&file, keys).map_err(|report| report.to_string())
            });
            if let Err(report) = built {
                offenders.push(format!("{path}:{line}: {report}"));
            }
        }
    }
    fs::remove_dir_all(&folder).expect("what was written can be removed");
    assert_none("examples of routes.yaml build", &offenders);
}

#[test]
fn the_reference_of_routes_yaml_names_every_key() {
    let reference = fs::read_to_string(root().join("docs/routes.md")).unwrap_or_default();
    // Settings of filters have their own pages.
    let schema = routes_schema(&FeatureSchemas::default());
    let definitions = schema["$defs"]
        .as_object()
        .expect("the schema has definitions");
    let objects = definitions
        .iter()
        .map(|(name, object)| (name.as_str(), object));
    let mut offenders = Vec::new();
    for (name, object) in objects
        .chain([("the file", &schema)])
        .filter(|(name, _)| name.ends_with("Config") || *name == "the file")
    {
        for key in keys_of(object).filter(|key| !reference.contains(&format!("| `{key}` |"))) {
            offenders.push(format!(
                "docs/routes.md:1: has no row for `{key}` of {name}"
            ));
        }
    }
    assert_none("the reference has a row for each key", &offenders);
}

#[test]
fn every_link_within_the_repository_leads_to_a_file_and_a_heading() {
    let link = Regex::new(r"\]\(([^)#\s]*)(?:#([^)]*))?\)").unwrap();
    let mut offenders = Vec::new();
    for file in pages() {
        let path = root().join(&file.path);
        let folder = path.parent().expect("a file has a folder");
        for (line, text) in file.lines() {
            for found in link.captures_iter(text) {
                let target = match &found[1] {
                    "" => path.clone(),
                    target if target.contains("://") => continue,
                    target => folder.join(target),
                };
                let heading = found.get(2).map(|heading| heading.as_str());
                let leads = match heading {
                    None => target.exists(),
                    Some(heading) => fs::read_to_string(&target)
                        .is_ok_and(|page| anchors(&page).any(|anchor| anchor == heading)),
                };
                if !leads {
                    offenders.push(format!("{}:{line}: {}", file.path, &found[0]));
                }
            }
        }
    }
    assert_none("links lead to a file and a heading", &offenders);
}

/// Fields of the access log, and the values of its fields `settlement`, `outcome` and `error`.
#[test]
fn the_page_on_operations_has_a_row_for_every_field_and_value() {
    let page = read("docs/operations.md");
    let field = Regex::new(r#""(\w+)""#).unwrap();
    let value = Regex::new(r#"=> "(\w+)""#).unwrap();
    let mut offenders = Vec::new();
    for (path, begin, end, name) in [
        (
            "crates/observe/src/access_log.rs",
            "impl AccessLogEntry",
            "\n}\n",
            &field,
        ),
        (
            "crates/core/src/filter/settlement.rs",
            "fn name",
            "\n    }\n",
            &value,
        ),
        (
            "crates/channel/src/outcome.rs",
            "fn name",
            "\n    }\n",
            &value,
        ),
        (
            "crates/protocol/src/fault.rs",
            "fn code",
            "\n    }\n",
            &value,
        ),
    ] {
        let source = read(path);
        let (_, source) = source
            .split_once(begin)
            .expect("the source has the definition");
        let (source, _) = source.split_once(end).expect("a definition ends");
        for found in name.captures_iter(source) {
            let name = &found[1];
            let has_row = page
                .lines()
                .filter_map(|line| line.strip_prefix("| ")?.split(" |").next())
                .any(|cell| cell.contains(&format!("`{name}`")));
            if !has_row {
                offenders.push(format!(
                    "docs/operations.md:1: has no row for `{name}` of {path}"
                ));
            }
        }
    }
    assert_none("logs and metrics have a dictionary", &offenders);
}

#[test]
fn the_page_on_metrics_has_a_row_for_every_metric() {
    let page = read("docs/metrics.md");
    let metric = Regex::new(r#""((?:headgate|process)_[a-z_]+)""#).unwrap();
    let mut offenders = Vec::new();
    for file in sources().iter().filter(|file| !file.is_test()) {
        for found in metric.captures_iter(&file.text) {
            let row = format!("| `{}` |", &found[1]);
            if page.lines().filter(|line| line.starts_with(&row)).count() != 1 {
                offenders.push(format!(
                    "docs/metrics.md:1: has no row, or several, for {}",
                    &found[1]
                ));
            }
        }
    }
    assert_none("each metric is documented once", &offenders);
}

#[test]
fn every_metric_a_page_names_is_one_of_the_program() {
    let metric = Regex::new(r"\bheadgate_[a-z_]+[a-z]").unwrap();
    let sources: String = sources().into_iter().map(|file| file.text).collect();
    let mut offenders = Vec::new();
    // CHANGELOG.md names metrics by their earlier names, too.
    for file in pages().filter(|file| file.path != "CHANGELOG.md") {
        for (line, text) in file.lines() {
            let unknown = metric
                .find_iter(text)
                .filter(|name| !sources.contains(name.as_str()));
            offenders
                .extend(unknown.map(|name| format!("{}:{line}: {}", file.path, name.as_str())));
        }
    }
    assert_none("metrics that pages name are there", &offenders);
}

/// Builds a configuration; warnings count as errors.
pub fn build(path: &Path, variables: fn(&str) -> Option<String>) -> Result<Snapshot, String> {
    let lasting = CrossSnapshotState {
        variables: Arc::new(variables),
        ..CrossSnapshotState::new(FEATURES)
    };
    let BuiltSnapshot { snapshot, warnings } =
        snapshot::build(path, &lasting).map_err(|invalid| invalid.to_string())?;
    match warnings.shown.first() {
        Some(warning) => Err(format!(
            "warning in line {}: {}",
            warning.line, warning.reason
        )),
        None => Ok(snapshot),
    }
}

/// Values for variables with a key, its id, its digest, a password or a secret; other variables have none.
pub fn keys(variable: &str) -> Option<String> {
    match variable.rsplit('_').next() {
        Some("KEY" | "ID" | "PASSWORD" | "SECRET") => {
            Some(format!("sk-tidy-key-of-more-than-32-characters-{variable}"))
        }
        Some("SHA256") => Some("0".repeat(63) + "1"),
        _ => None,
    }
}

/// The YAML blocks of a page, each with the line in which it begins.
pub fn yaml_blocks(page: &str) -> Vec<(usize, String)> {
    let mut blocks = Vec::new();
    let mut open: Option<(usize, String)> = None;
    for (at, line) in page.lines().enumerate() {
        match (&mut open, line) {
            (None, "```yaml") => open = Some((at + 2, String::new())),
            (Some(_), "```") => blocks.extend(open.take()),
            (Some((_, block)), line) => *block += &format!("{line}\n"),
            (None, _) => {}
        }
    }
    blocks
}

/// The members of a YAML mapping.
fn yaml(text: &str) -> Result<serde_json::Map<String, Value>, String> {
    serde_saphyr::from_str(text).map_err(|error| error.to_string())
}

/// The anchors of a page: its headings, as code hosts spell them.
fn anchors(page: &str) -> impl Iterator<Item = String> {
    let mut is_code = false;
    let headings = page.lines().filter(move |line| {
        is_code ^= line.starts_with("```");
        line.starts_with('#') && !is_code
    });
    headings.map(|heading| {
        let text = heading.trim_start_matches('#').trim().to_lowercase();
        text.chars()
            .filter(|letter| letter.is_alphanumeric() || " -_".contains(*letter))
            .map(|letter| if letter == ' ' { '-' } else { letter })
            .collect()
    })
}

fn pages() -> impl Iterator<Item = TextFile> {
    files_below(".")
        .into_iter()
        .filter(|file| file.has_extension(&["md"]))
}

fn keys_of(object: &Value) -> impl Iterator<Item = &String> {
    let alternatives = object["oneOf"].as_array().into_iter().flatten();
    std::iter::once(object)
        .chain(alternatives)
        .filter_map(|object| object["properties"].as_object())
        .flat_map(|properties| properties.keys())
}
