//! Whole files, good and bad: what is read, and the exact text of every complaint.
//!
//! Each `tests/fixtures/config/*.yaml` but `good.yaml` has its complaint beside it, as `.txt`;
//! `HEADGATE_BLESS=1` writes these anew, for a look at the difference.

use super::channels::ProviderCredentialConfig;
use super::routes::{AccessLogTargetConfig, ChainStepConfig};
use super::schema::FilterSchema;
use super::*;
use headgate_core::feature::section::FeatureSectionSchema;
use serde_json::json;
use std::fs;
use std::path::PathBuf;

const KEY: &str = "sk-of-environment";

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../tests/fixtures/config")
        .join(name)
}

fn env(name: &str) -> Option<String> {
    match name {
        "KEY" => Some(KEY.into()),
        "HOST" => Some("api.provider.example".into()),
        "WORKERS" => Some("2".into()),
        "EMPTY" => Some(String::new()),
        _ => None,
    }
}

fn features() -> FeatureSchemas {
    let filter = |name, settings, bare| FilterSchema {
        name,
        summary: "It filters.",
        settings,
        bare,
    };
    let retry = json!({
        "type": "object",
        "properties": { "attempts": { "type": "integer", "minimum": 1 } },
        "additionalProperties": false
    });
    let size = schemars::schema_for!(headgate_core::scalar::ByteSize).to_value();
    let filters = vec![
        filter("authenticate", None, true),
        filter("limit_body", Some(size), false),
        filter("pass_sse", None, true),
        filter("retry", Some(retry), true),
    ];
    FeatureSchemas {
        filters,
        sections: vec![FeatureSectionSchema {
            keys: &["media", "plugins"],
            schema: || json!({ "properties": { "media": { "type": "object" }, "plugins": { "type": "object" } } }),
        }],
    }
}

fn load_fixture(name: &str) -> Result<LoadedConfig, InvalidConfig> {
    load(&fixture(name), &features(), &env)
}

fn parse_text(text: &str) -> Result<LoadedConfig, InvalidConfig> {
    parse(Path::new("routes.yaml"), text, &features(), &env)
}

/// The complaint about a fixture, with its file named without folders.
fn complaint(name: &str) -> String {
    let mut invalid = load_fixture(name).expect_err(name);
    invalid.file = PathBuf::from(name);
    invalid.to_string()
}

#[test]
fn every_bad_fixture_gets_its_expected_problems() {
    let mut seen = 0;
    for entry in fs::read_dir(fixture("")).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap();
        if !name.ends_with(".yaml") || name == "good.yaml" {
            continue;
        }
        let complaint = complaint(name);
        let golden = path.with_extension("txt");
        if std::env::var_os("HEADGATE_BLESS").is_some() {
            fs::write(&golden, format!("{complaint}\n")).unwrap();
        }
        let expected = fs::read_to_string(&golden).unwrap();
        assert_eq!(format!("{complaint}\n"), expected, "{name}");
        seen += 1;
    }
    assert!(seen >= 10, "only {seen} bad files were found");
}

#[test]
fn no_problem_contains_a_secret() {
    for name in [
        "secrets.yaml",
        "state.yaml",
        "state-word.yaml",
        "syntax-tab.yaml",
        "syntax-secret.yaml",
    ] {
        let invalid = load_fixture(name).expect_err(name);
        for text in [invalid.to_string(), format!("{invalid:?}")] {
            assert!(!text.contains("1234567890"), "{text}");
            assert!(!text.contains(KEY), "{text}");
        }
    }
}

#[test]
fn a_good_file_is_read_whole() {
    let loaded = load_fixture("good.yaml").unwrap_or_else(|invalid| panic!("{invalid}"));
    let config = &loaded.config;
    assert_eq!(config.server.listen, "127.0.0.1:0");
    assert_eq!(config.server.workers, Some(2));
    assert_eq!(config.server.access_log, AccessLogTargetConfig::Off);
    assert_eq!(config.server.limits.body_timeout.duration().as_secs(), 90);
    let (primary, second) = (&config.channels["primary"], &config.channels["second"]);
    assert_eq!(primary.base_url, "https://api.provider.example/v1");
    let Some(ProviderCredentialConfig::Bearer(key)) = &primary.credential else {
        panic!("the credential is a bearer token");
    };
    assert_eq!(key.expose(), KEY);
    let Some(ProviderCredentialConfig::Header(header)) = &second.credential else {
        panic!("the credential is a header");
    };
    assert_eq!(header.value.expose(), "sk-from-file");
    assert_eq!((second.weight, second.tier, primary.tier), (3, 1, 0));
    assert_eq!(second.headers["x-price"], "$5");
    let retry = ChainStepConfig::Filter {
        name: "retry".into(),
        settings: json!({"attempts": 2}),
        condition: None,
    };
    assert_eq!(
        config.routes[0].request,
        [ChainStepConfig::Use("text".into()), retry]
    );
    assert!(!format!("{loaded:?}").contains("sk-"), "{loaded:?}");
}

#[test]
fn the_revision_is_that_of_the_bytes() {
    let loaded = parse_text("channels: {}\nroutes: []\n").unwrap();
    assert_eq!(loaded.revision, "0661fbfda1e5");
}

#[test]
fn problems_found_while_building_are_located() {
    let text = "channels: {}\nroutes:\n- {name: a, match: GET /x, request: [{use: nope}]}\n";
    let document = parse_text(text).unwrap().document;
    let problem = document.problem("/routes/0/request/0/use", "no such chain", None);
    assert_eq!((problem.line, problem.column, problem.length), (3, 44, 4));
    assert_eq!(problem.path, "routes[0].request[0].use");
    let problem = document
        .key_problem("/routes/0/match", "it is never reached", None)
        .warning();
    assert_eq!((problem.line, problem.column, problem.length), (3, 13, 5));
    let report = document.invalid(vec![problem]).to_string();
    assert!(report.ends_with("\n1 warning in routes.yaml"), "{report}");
    let absent = document.problem("/routes/0/protocol", "it is needed here", None);
    assert_eq!((absent.line, absent.column), (3, 4));
}

#[test]
fn an_unreadable_file_is_reported_with_its_reason() {
    let cases = [
        ("none.yaml", "cannot read the file: no such file"),
        (
            "keys",
            "cannot read the file: it is a directory, and must be a regular file",
        ),
    ];
    for (name, reason) in cases {
        let invalid = load_fixture(name).unwrap_err();
        assert_eq!(invalid.problems[0].reason, reason);
    }
}

#[test]
fn the_schema_is_one_that_editors_understand() {
    let schema = schema::routes_schema(&features());
    assert_eq!(
        schema["$schema"],
        "https://json-schema.org/draft/2020-12/schema"
    );
    assert!(schema["title"].is_string() && schema["description"].is_string());
    assert!(jsonschema::draft202012::meta::is_valid(&schema));
    let text = schema.to_string();
    for cascade in ["\"anyOf\"", "\"oneOf\""] {
        assert!(!text.contains(cascade), "{cascade} tells no single mistake");
    }
}
#[test]
fn byte_order_marks_and_carriage_returns_are_no_fault() {
    parse_text("\u{feff}channels: {}\r\nroutes: []\r\n").unwrap();
    let invalid = parse_text("\u{feff}channels: {}\r\nrutes: []\r\n").unwrap_err();
    let expected = "\
error: unknown key `rutes`
 --> routes.yaml:2:1 (rutes)
  |
2 | rutes: []
  | ^^^^^ did you mean `routes`?

1 error in routes.yaml";
    assert_eq!(invalid.to_string(), expected);
}

#[test]
fn text_that_is_no_utf8_names_its_line() {
    let path = std::env::temp_dir().join(format!("headgate-{}.yaml", std::process::id()));
    fs::write(&path, b"channels: {}\nroutes: [\xff]\n").unwrap();
    let invalid = load(&path, &features(), &env).unwrap_err();
    fs::remove_file(&path).unwrap();
    assert_eq!(invalid.problems[0].reason, "line 2 is not UTF-8");
}
