//! A caller in a file of its own, or as JSON: an entry of `callers` without a `routes.yaml`.

use super::caller_problem::CallerProblem;
use super::callers::CallerConfig;
use super::decimal_places::schema_options;
use super::document::PointerLocatedProblem;
use super::node::with_whole_numbers;
use super::problem::ConfigProblem;
use super::simplify::simplify;
use super::source::ConfigText;
use super::{check, expand, read_yaml, schema, secrets, syntax};
use headgate_core::regular_file;
use schemars::generate::SchemaSettings;
use serde_json::Value;
use std::path::Path;
use std::sync::LazyLock;

/// The largest file of a caller, in bytes.
pub(crate) const CALLER_BYTES_MAX: u64 = 256 << 10;

const EMPTY: &str = "`headgate key new --for NAME --into FOLDER` writes a caller to begin with";
const VARIABLE: &str =
    "variables are replaced in routes.yaml only; a secret may be `{file: PATH}` here";

static SCHEMA: LazyLock<Value> = LazyLock::new(|| {
    let settings = SchemaSettings::draft2020_12().for_deserialize();
    let schema = settings
        .into_generator()
        .into_root_schema_for::<CallerConfig>();
    let mut schema = schema.to_value();
    simplify(&mut schema);
    schema
});

static VALIDATOR: LazyLock<jsonschema::Validator> = LazyLock::new(|| {
    schema_options()
        .build(&SCHEMA)
        .expect("the generated schema is a schema")
});

/// Reads a caller as it is written in `callers`, checked by the schema.
///
/// # Errors
/// All that is wrong with it, with pointers of `value`.
pub fn parse_caller(value: &Value) -> Result<CallerConfig, Vec<CallerProblem>> {
    let value = with_whole_numbers(value.clone());
    if let Some(caller) = read_valid(&value) {
        return Ok(caller);
    }
    let text = serde_json::to_string(&value).unwrap_or_default();
    let mut problems = find_problems(Path::new(""), &text);
    for problem in &mut problems {
        problem.position = None;
        let is_list = |hint: &&mut String| hint.starts_with("write a list");
        if let Some(hint) = problem.hint.as_mut().filter(is_list) {
            *hint = "write an array, such as [\"chat-*\"]".into();
        }
    }
    Err(problems)
}

/// Reads a caller from the text of its file.
///
/// # Errors
/// All that is wrong with it, with places in the text.
pub fn parse_caller_text(path: &Path, text: &str) -> Result<CallerConfig, Vec<CallerProblem>> {
    parse(path, text).ok_or_else(|| find_problems(path, text))
}

/// A file that is no caller.
pub(crate) struct InvalidCallerFile {
    pub problems: Vec<CallerProblem>,
    /// `None` if the file cannot be read.
    pub text: Option<String>,
}

/// Reads the file of the caller `name`. It is read without problems in a few microseconds.
///
/// # Errors
/// All that is wrong with it, with places in the file.
pub(crate) fn load(path: &Path, name: &str) -> Result<CallerConfig, InvalidCallerFile> {
    let text = match regular_file::read_text(path, CALLER_BYTES_MAX) {
        Ok(text) => text,
        Err(error) => {
            let reason = format!("cannot read the file: {error}");
            let hint = Some("make it a readable file");
            let problems = vec![CallerProblem::error("", reason, hint)];
            let text = None;
            return Err(InvalidCallerFile { problems, text });
        }
    };
    match parse_named(path, &text, name) {
        Ok(caller) => Ok(caller),
        Err(problems) => {
            let text = Some(text);
            Err(InvalidCallerFile { problems, text })
        }
    }
}

fn parse_named(path: &Path, text: &str, name: &str) -> Result<CallerConfig, Vec<CallerProblem>> {
    let caller = parse_caller_text(path, text)?;
    if caller.name != name {
        let reason = format!("the file of caller `{}` has another name", caller.name);
        let hint = format!(
            "rename the file to `{}.yaml`, or the caller to `{name}`",
            caller.name
        );
        let mut problems = vec![CallerProblem::error("/name", reason, Some(&hint))];
        locate(path, &mut problems);
        return Err(problems);
    }
    Ok(caller)
}

/// Adds the places of values in the file.
pub(crate) fn locate(path: &Path, problems: &mut [CallerProblem]) {
    let Ok(text) = regular_file::read_text(path, CALLER_BYTES_MAX) else {
        return;
    };
    let Ok(document) = read_yaml(path, &text, EMPTY) else {
        return;
    };
    for problem in problems
        .iter_mut()
        .filter(|problem| problem.position.is_none())
    {
        let place = document.problem(&problem.pointer, "", None);
        problem.position = Some((place.line, place.column));
    }
}

/// The caller, unless anything is wrong with it.
fn parse(path: &Path, text: &str) -> Option<CallerConfig> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let source = ConfigText::new(text);
    let root = syntax::read(&source).ok()?;
    let expanded = expand::expand(&root, &source, &|_| None);
    let mut value = expanded.value;
    if !expanded.findings.is_empty() || !VALIDATOR.is_valid(&value) {
        return None;
    }
    if value.get("webhook_secrets").is_some() {
        let pointers = schema::secret_pointers(&SCHEMA, &value);
        let folder = path.parent().unwrap_or(Path::new(""));
        let read = secrets::read_files(&mut value, &pointers, folder);
        if !read.findings.is_empty() {
            return None;
        }
    }
    serde_json::from_value(value).ok()
}

fn read_valid(value: &Value) -> Option<CallerConfig> {
    match VALIDATOR.is_valid(value) {
        true => serde_json::from_value(value.clone()).ok(),
        false => None,
    }
}

/// What is wrong with a text that is no caller.
fn find_problems(path: &Path, text: &str) -> Vec<CallerProblem> {
    let document = match read_yaml(path, text, EMPTY) {
        Ok(document) => document,
        Err(invalid) => {
            let problems = invalid.problems.iter();
            return problems.map(|problem| located("", problem)).collect();
        }
    };
    let expanded = expand::expand(document.root(), document.source(), &|_| None);
    let mut value = expanded.value;
    let mut findings = expanded.findings;
    for finding in &mut findings {
        finding.hint = Some(VARIABLE.into());
    }
    let skipped = findings.iter().map(|known| known.pointer.as_str());
    let checked = check::check(&mut value, &SCHEMA, &document, &skipped.collect());
    findings.extend(checked.findings);
    let pointers = schema::secret_pointers(&SCHEMA, &value);
    let folder = path.parent().unwrap_or(Path::new(""));
    findings.extend(secrets::read_files(&mut value, &pointers, folder).findings);
    if findings.is_empty() && value.get("webhook_secrets").is_none() {
        let reason = "the caller is valid by its schema and cannot be read";
        findings.push(PointerLocatedProblem::value("", reason, None));
    } else if findings.is_empty() {
        let reason = "expected a secret as text";
        let hint = Some("`headgate key webhook` prints one".to_owned());
        findings.push(PointerLocatedProblem::value(
            "/webhook_secrets",
            reason,
            hint,
        ));
    }
    let problems = findings.into_iter().map(|finding| {
        let pointer = finding.pointer.clone();
        located(&pointer, &document.locate(finding))
    });
    problems.collect()
}

fn located(pointer: &str, problem: &ConfigProblem) -> CallerProblem {
    CallerProblem {
        pointer: pointer.to_owned(),
        position: Some((problem.line, problem.column)),
        reason: problem.reason.clone(),
        hint: problem.hint.clone(),
        severity: problem.severity,
    }
}
