//! A family of video providers in a file of its own, or in the section `families` of a `routes.yaml`.

use super::check;
use super::document::{ConfigDocument, PointerLocatedProblem};
use super::families::{base, shipped};
use super::hint::did_you_mean;
use super::problem::InvalidConfig;
use super::simplify::simplify;
use super::{expand_variables, read_text, read_yaml};
use headgate_core::pointer::child;
use headgate_core::task::definition::VideoFamilyDefinitionConfig;
use headgate_core::task::family::VideoFamily;
use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::Path;

/// The section of a `routes.yaml` that has families; its other sections are not checked.
#[derive(JsonSchema)]
#[allow(dead_code)]
struct FamiliesSectionConfig {
    /// Families of video providers, by name.
    families: BTreeMap<String, VideoFamilyDefinitionConfig>,
}

/// The section of families, in a `routes.yaml` or in a part of one.
const SECTION: &str = "families";

/// Reads and builds a family. In a file of its own it has the name of the file, unless `name` is given; of a file with
/// the section `families` it is the one called `name`, or the only one. `env` looks up environment variables.
///
/// # Errors
/// All that is wrong with the family, or why the file could not be read.
pub fn load(
    path: &Path,
    name: Option<&str>,
    env: &dyn Fn(&str) -> Option<String>,
) -> Result<VideoFamily, InvalidConfig> {
    parse(path, &read_text(path)?, name, env)
}

/// As [`load`], of a text that was read from `path`.
///
/// # Errors
/// All that is wrong with the family.
pub fn parse(
    path: &Path,
    text: &str,
    name: Option<&str>,
    env: &dyn Fn(&str) -> Option<String>,
) -> Result<VideoFamily, InvalidConfig> {
    let needs = "`headgate family new` writes a family to begin with";
    let mut document = read_yaml(path, text, needs)?;
    let (mut value, mut findings) = expand_variables(&mut document, env);
    let is_section = value.get(SECTION).is_some();
    if is_section {
        findings.retain(|finding| finding.pointer.starts_with("/families"));
    }
    let skipped = findings.iter().map(|known| known.pointer.as_str());
    let schema = family_schema(is_section);
    let checked = check::check(&mut value, &schema, &document, &skipped.collect());
    findings.extend(checked.findings);
    if !findings.is_empty() {
        return Err(document.invalid_findings(findings, checked.more));
    }
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    let (at, name) = match value.get(SECTION).and_then(Value::as_object) {
        None => (String::new(), name.unwrap_or(&stem).to_owned()),
        Some(families) => {
            let name = named(families, name);
            let name = name.map_err(|hint| unknown(&document, hint))?;
            (child("/families", &name), name)
        }
    };
    let family = FamilyLocation {
        document,
        at,
        is_section,
    };
    family.build(&name, value)
}

/// A family within a checked document.
struct FamilyLocation {
    document: ConfigDocument,
    /// Its pointer; empty for a file of its own.
    at: String,
    is_section: bool,
}

impl FamilyLocation {
    fn build(&self, name: &str, value: Value) -> Result<VideoFamily, InvalidConfig> {
        let value = value.pointer(&self.at).cloned().unwrap_or_default();
        let config = serde_json::from_value::<VideoFamilyDefinitionConfig>(value);
        let config = config.map_err(|_| {
            let reason = "internal error: the family is valid by its schema and cannot be loaded; report this to the project";
            self.invalid(vec![PointerLocatedProblem::value(&self.at, reason, None)])
        })?;
        let shipped = shipped();
        // In `routes.yaml` a family with a built-in name changes that family; a file of its own is the family.
        let base = base(&config, self.is_section.then_some(name), &shipped);
        let base = base.map_err(|hint| {
            let extends = config.extends.as_deref().unwrap_or_default();
            let reason = format!("unknown built-in family `{extends}`");
            let at = child(&self.at, "extends");
            self.invalid(vec![PointerLocatedProblem::value(at, reason, hint)])
        })?;
        let whole = match base {
            Some(base) => config.or(base),
            None => config,
        };
        VideoFamily::new(name, &whole).map_err(|faults| {
            let faults = faults.into_iter().map(|fault| {
                let at = format!("{}{}", self.at, fault.pointer);
                PointerLocatedProblem::value(at, fault.reason, fault.hint.map(Cow::into_owned))
            });
            self.invalid(faults.collect())
        })
    }

    fn invalid(&self, problems: Vec<PointerLocatedProblem>) -> InvalidConfig {
        self.document.invalid_findings(problems, 0)
    }
}

/// The name of a family of a section.
///
/// # Errors
/// The section has none of that name, or several and no name is given: the hint.
fn named(families: &Map<String, Value>, name: Option<&str>) -> Result<String, Option<String>> {
    let known = || families.keys().map(String::as_str);
    match (name, families.len()) {
        (Some(name), _) if families.contains_key(name) => Ok(name.to_owned()),
        (None, 1) => Ok(known().next().unwrap_or_default().to_owned()),
        (name, _) => Err(did_you_mean(name.unwrap_or_default(), known())),
    }
}

fn unknown(document: &ConfigDocument, hint: Option<String>) -> InvalidConfig {
    let reason = "name one of these families with `--name`";
    document.invalid_findings(
        vec![PointerLocatedProblem::key("/families", reason, hint)],
        0,
    )
}

fn family_schema(is_section: bool) -> Value {
    let generator = SchemaSettings::draft2020_12()
        .for_deserialize()
        .into_generator();
    let schema = match is_section {
        true => generator.into_root_schema_for::<FamiliesSectionConfig>(),
        false => generator.into_root_schema_for::<VideoFamilyDefinitionConfig>(),
    };
    let mut schema = schema.to_value();
    simplify(&mut schema);
    schema
}

#[cfg(test)]
mod tests {
    use super::*;
    use headgate_core::task::families::SHIPPED;

    fn read(text: &str, name: Option<&str>) -> Result<VideoFamily, InvalidConfig> {
        let env = |name: &str| (name == "PATH_OF_TASKS").then(|| "/made".to_owned());
        parse(Path::new("folder/studio.yaml"), text, name, &env)
    }

    /// Line, column, path and reason of each problem.
    fn problems(text: &str, name: Option<&str>) -> Vec<(u32, u32, String, String)> {
        let invalid = read(text, name).err();
        let problems = invalid.into_iter().flat_map(|invalid| invalid.problems);
        problems
            .map(|problem| (problem.line, problem.column, problem.path, problem.reason))
            .collect()
    }

    #[test]
    fn every_shipped_family_is_a_file_of_its_own() {
        for (name, text) in SHIPPED {
            let family = read(text, Some(name)).unwrap_or_else(|invalid| panic!("{invalid}"));
            assert_eq!(&*family.name, name);
        }
    }

    #[test]
    fn a_family_has_the_name_of_its_file_and_the_sections_that_it_extends() {
        let text = "extends: family-b\ncreate: {method: POST, path: '${PATH_OF_TASKS}'}\n";
        let family = read(text, None).unwrap();
        assert_eq!(&*family.name, "studio");
        assert_eq!(family.query.call.path("1"), "/tasks/1");
        assert_eq!(&*read(text, Some("other")).unwrap().name, "other");
    }

    #[test]
    fn a_family_of_a_routes_yaml_is_chosen_by_name() {
        let one = "routes: none\nfamilies:\n  family-a: {query: {method: GET, path: '/v2/{id}'}}\n";
        let family = read(one, None).unwrap();
        assert_eq!(family.query.call.path("1"), "/v2/1");
        let two = format!("{one}  b: {{extends: family-b}}\n");
        assert_eq!(&*read(&two, Some("b")).unwrap().name, "b");
        for name in [None, Some("c")] {
            let found = problems(&two, name);
            let reason = "name one of these families with `--name`".to_owned();
            assert_eq!(found, [(2, 1, "families".to_owned(), reason)], "{name:?}");
        }
    }

    #[test]
    fn every_mistake_has_its_line_and_column() {
        let table = [
            (
                "extends: family-a\nquerry: {}\n",
                (2, 1, "querry", "unknown key `querry`"),
            ),
            (
                "extends: family-c\n",
                (1, 10, "extends", "unknown built-in family `family-c`"),
            ),
            (
                "extends: family-a\nstatus: {at: /a, map: {x: done}}\n",
                (2, 27, "status.map.x", "unknown value `done`"),
            ),
            (
                "extends: family-a\ncreate: {method: POST, path: tasks}\n",
                (2, 30, "create.path", "not a path"),
            ),
            (
                "families:\n  a:\n    extends: family-a\n    create: {method: POST, path: tasks}\n",
                (4, 34, "families.a.create.path", "not a path"),
            ),
            (
                "families:\n  a: {extends: family-a, create: [}\n",
                (2, 0, "", ""),
            ),
        ];
        for (text, (line, column, path, reason)) in table {
            let found = problems(text, None);
            let [(found_line, found_column, found_path, found_reason)] = &found[..] else {
                panic!("{text}: {found:?}");
            };
            assert_eq!(*found_line, line, "{text}: {found:?}");
            assert!(column == 0 || *found_column == column, "{text}: {found:?}");
            assert!(path.is_empty() || found_path == path, "{text}: {found:?}");
            assert!(found_reason.contains(reason), "{text}: {found:?}");
        }
        assert_eq!(problems("", None)[0].3, "the file is empty");
        assert_eq!(
            problems("extends: family-a\nquery: {method: GET}\n", None).len(),
            1
        );
    }
}
