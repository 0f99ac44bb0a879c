//! The recorded errors of `tests/fixtures/errors`, and the documentation of the rows that they belong to.

use super::super::rule::BuiltInErrorRule;
use super::super::*;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::{Path, PathBuf};

/// A file of `tests/fixtures/errors`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FixtureFile {
    provider: String,
    errors: Vec<Fixture>,
}

/// A recorded error of a provider.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Fixture {
    class: String,
    /// Documentation or public report of the error.
    source: String,
    status: u16,
    body: String,
}

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn fixtures() -> BTreeMap<String, Vec<Fixture>> {
    let folder = repository().join("tests/fixtures/errors");
    let files = std::fs::read_dir(folder).expect("the folder of fixtures");
    let read = |file: std::io::Result<std::fs::DirEntry>| {
        let path = file.unwrap().path();
        let text = std::fs::read_to_string(&path).unwrap();
        let file: FixtureFile = serde_saphyr::from_str(&text).expect(&text);
        (file.provider, file.errors)
    };
    files.map(read).collect()
}

/// Rows of providers, without those that hold for any.
fn provider_rules() -> impl Iterator<Item = &'static BuiltInErrorRule> {
    RULES
        .iter()
        .filter(|rule| !rule.provider.starts_with("Any provider"))
}

fn matching_rule(error: &ReceivedError<'_>) -> Option<&'static BuiltInErrorRule> {
    RULES
        .iter()
        .find(|rule| rule.classification(error).is_some())
}

#[test]
fn each_recorded_error_has_its_class_and_each_row_a_recorded_error() {
    let fixtures = fixtures();
    let mut problems = String::new();
    let mut sources = BTreeMap::new();
    for (provider, errors) in &fixtures {
        for fixture in errors {
            let error = ReceivedError::from_response(fixture.status, fixture.body.as_bytes());
            let rule = matching_rule(&error).expect("statuses match any error response");
            if rule.class.name() != fixture.class {
                let _ = writeln!(
                    problems,
                    "{provider}: {} is {} of {}, not {}",
                    fixture.body,
                    rule.class.name(),
                    rule.provider,
                    fixture.class
                );
            }
            if fixture.source.is_empty() {
                let _ = writeln!(problems, "{provider}: {} has no source", fixture.body);
            }
            let sources: &mut Vec<&str> = sources.entry(std::ptr::from_ref(rule)).or_default();
            sources.push(&fixture.source);
        }
    }
    for rule in provider_rules() {
        if !sources.contains_key(&std::ptr::from_ref(rule)) {
            let _ = writeln!(problems, "{}: no error matches {rule:?}", rule.provider);
        }
    }
    assert!(problems.is_empty(), "{problems}");
    assert!(fixtures.len() >= 12 && provider_rules().count() >= 80);
    let table = documentation(|rule| sources[&std::ptr::from_ref(rule)].join("; "));
    is_documented(&table);
}

/// The tables of `docs/provider-errors.md`.
fn documentation(sources: impl Fn(&BuiltInErrorRule) -> String) -> String {
    let (mut table, mut provider) = (String::new(), "");
    for rule in provider_rules() {
        if rule.provider != provider {
            provider = rule.provider;
            let _ = write!(
                table,
                "\n### {provider}\n\n| class | status | code or type | message begins with | source |\n\
                 |---|---|---|---|---|\n"
            );
        }
        let status = match rule.statuses {
            None => "any".into(),
            Some((lowest, highest)) if lowest == highest => lowest.to_string(),
            Some((lowest, highest)) => format!("{lowest} to {highest}"),
        };
        let codes: Vec<_> = (rule.codes.iter())
            .map(|code| format!("`{}`", code.0))
            .collect();
        let message = rule
            .message
            .as_ref()
            .map_or(String::new(), |(place, pattern)| {
                format!("`{}`: `` {} ``", place.name(), pattern.0)
            });
        let _ = writeln!(
            table,
            "| `{}` | {status} | {} | {message} | {} |",
            rule.class.name(),
            codes.join(", "),
            sources(rule)
        );
    }
    table
}

fn is_documented(table: &str) {
    const BEGIN: &str = "<!-- generated from providers.txt and the fixtures; HEADGATE_BLESS=1 cargo test -p headgate-protocol error_class -->\n";
    const END: &str = "\n<!-- end of the generated part -->";
    let path = repository().join("docs/provider-errors.md");
    let page = std::fs::read_to_string(&path).expect("docs/provider-errors.md");
    let (before, rest) = page.split_once(BEGIN).expect("the begin of the tables");
    let (written, after) = rest.split_once(END).expect("the end of the tables");
    if std::env::var_os("HEADGATE_BLESS").is_some() {
        let page = format!("{before}{BEGIN}{table}{END}{after}");
        std::fs::write(path, page).expect("the page is written");
    } else {
        assert!(
            written == table,
            "the tables differ: run the command in {BEGIN}"
        );
    }
}

/// What a provider says about a parameter, with the caller's text in it.
const QUOTED: &[&str] = &[
    "Invalid value: '{}'. Supported values are: 'system', 'user'.",
    "Unsupported value: 'messages[0].role' does not support '{}' with this model.",
    "'{}' is not one of ['system', 'user'] - 'messages.0.role'",
    "`{}` is not a valid role",
    "\"{}\" is not a valid role",
    "messages.0.role: {}",
    "Unknown parameter: {}",
    "Input should be 'system' or 'user', got \"{}\"",
    "litellm.BadRequestError: OpenAIException - {}",
    "Additional properties are not allowed ('{}' was unexpected)",
];

#[test]
fn a_callers_text_that_a_provider_quotes_is_no_message_of_the_provider() {
    let mut texts = 0;
    for rule in provider_rules() {
        let Some((place, pattern)) = &rule.message else {
            continue;
        };
        let text = pattern.0.trim_end_matches('$').replace('*', "x");
        let status = rule.statuses.map_or(400, |(lowest, _)| lowest);
        let codes: Vec<_> = match rule.codes.is_empty() {
            true => vec!["invalid_request_error"],
            false => rule.codes.iter().map(|code| code.0).collect(),
        };
        let error = |message: String, code: &str| {
            let body = match place.name() {
                "error.message" => {
                    serde_json::json!({"error": {"message": message, "type": code, "code": code}})
                }
                place => serde_json::json!({place: message, "type": code, "code": code}),
            };
            classify_response(status, body.to_string().as_bytes(), ErrorSubject::Model)
        };
        for code in codes {
            for quoted in QUOTED {
                texts += 1;
                let classification = error(quoted.replace("{}", &text), code);
                assert!(
                    classification.evidence != ErrorEvidence::Text
                        || classification.class.is_callers(),
                    "{} {quoted} {text}: {classification:?}",
                    rule.provider
                );
            }
        }
    }
    assert!(texts > 400, "{texts}");
}
