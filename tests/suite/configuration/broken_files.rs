//! Tests of 25 broken configuration files: `check` says what is wrong, where, and what to do.

use super::check::{changed, check_in};
use crate::harness::gateway::folder_with_schemas;

/// What is replaced in the good file, what replaces it, and what `check` must say.
type BrokenFile = (&'static str, &'static str, &'static [&'static str]);

const MODELS: &str = "    models:\n      demo-small: small-2026\n      demo-large: large-2026\n";
const LAST: &str = "    - route_model\n";

const SYNTAX: [BrokenFile; 7] = [
    (
        "    protocols",
        "\tprotocols",
        &["tab in the indentation", ":11:1", "indent with spaces"],
    ),
    (
        "    protocols",
        "   protocols",
        &[
            "indentation of 3 spaces matches no line above",
            ":11:4",
            "indent it with 2 or 4 spaces",
        ],
    ),
    (
        "    protocols: [chat]\n",
        "    protocols: [chat]\n    protocols: [chat]\n",
        &[
            "duplicate key `protocols` in one mapping, first in line 11",
            ":12:5",
            "keep one of the two",
        ],
    ),
    (
        "bearer: \"${KEY}\"",
        "bearer: \"${KEY}",
        &["unclosed quote", ":10:26", "close it with \" on this line"],
    ),
    (
        "    request: [{use: body}]\n  - name: other",
        "    request: [{use: body}\n  - name: other",
        &[
            "unclosed `[`",
            ":29:14",
            "close it with `]` before the next key",
            "other problems are reported once the YAML is valid",
        ],
    ),
    (
        "- name: ann",
        "- name:ann",
        &[
            "missing space after the colon",
            ":4:9",
            "write `key: value`",
        ],
    ),
    (
        "\"${KEY}\"",
        "${KEY}",
        &["unquoted variable", ":10:26", "in quotes: \"${KEY}\""],
    ),
];

const VALUES: [BrokenFile; 9] = [
    (
        "base_url:",
        "base_ulr:",
        &[
            "unknown key `base_ulr`",
            "(channels.primary.base_ulr)",
            "did you mean `base_url`?",
        ],
    ),
    (
        MODELS,
        "    models: [demo-small]\n",
        &[
            "expected a mapping, found a list",
            "(channels.primary.models)",
            "write `demo-small: value` in each line, without `- `",
        ],
    ),
    (
        MODELS,
        "    weight: heavy\n",
        &[
            "expected a whole number, found `heavy`",
            "(channels.primary.weight)",
            "write a number from 1 to 1000",
        ],
    ),
    (
        MODELS,
        "    weight: 5000\n",
        &[
            "must be at most 1000, found `5000`",
            "write a number from 1 to 1000",
        ],
    ),
    (
        "{bearer: \"${KEY}\"}",
        "sk-abc",
        &[
            "expected a mapping, found text",
            "(channels.primary.credential)",
            "as in `{api_key: …}`",
        ],
    ),
    (
        "https://api.provider",
        "api.provider",
        &[
            "must start with `https://` or `http://`",
            "(channels.primary.base_url)",
            "write `https://api.provider.example/v1`",
        ],
    ),
    (
        "key_sha256: 0b5f9f3cdd0e",
        "key_sha256: 0b5f",
        &[
            "expected a SHA-256 digest of 64 hex digits",
            "found text of 56 characters",
            "headgate key new",
        ],
    ),
    (
        "${KEY}",
        "${KYE}",
        &[
            "environment variable `KYE` is not set",
            "(channels.primary.credential.bearer)",
            "set it, or give a default",
        ],
    ),
    (
        "protocols: [chat]",
        "protocols: [openai]",
        &[
            "unknown value `openai`",
            "(channels.primary.protocols[0])",
            "expected one of chat, messages, ",
        ],
    ),
];

const ROUTES: [BrokenFile; 9] = [
    (
        LAST,
        "    - rewrite_path: {match: \"^/v1/(chat\", to: /x}\n    - route_model\n",
        &[
            "invalid regular expression: unclosed group, at character 6",
            "(chains.body[3].rewrite_path.match)",
            "close it with `)`, or write `\\(`",
        ],
    ),
    (
        LAST,
        "    - rewrite_path: {match: \"^/v1/(.+)\", to: /x/$2}\n    - route_model\n",
        &[
            "`to` refers to capture group `2`, which `match` does not define",
            "use one that `match` defines (`$0`, `$1`)",
        ],
    ),
    (
        "validate]",
        "{validate: {schema: list.json}}]",
        &[
            "schema `list.json:1:19` is not valid JSON: trailing comma",
            "fix line 1 of `list.json`",
        ],
    ),
    (
        "validate]",
        "{validate: {schema: type.json}}]",
        &[
            "invalid JSON Schema `type.json:1:31`, at `/properties/n/type`",
            "must be one of array, boolean, ",
            "did you mean `integer`?",
        ],
    ),
    (
        "validate]",
        "{validate: {schema: schemas/chta.schema.json}}]",
        &[
            "cannot read schema `schemas/chta.schema.json`: no such file",
            "did you mean `schemas/chat.schema.json`?",
        ],
    ),
    (
        "    - route_model",
        "    - route_modle",
        &[
            "unknown filter `route_modle`",
            "(chains.body[3])",
            "did you mean `route_model`?",
        ],
    ),
    (
        "POST /v1/legacy/completions",
        "/v1/legacy/completions",
        &[
            "expected `METHOD /path`",
            "found `/v1/legacy/completions`",
            "write `POST /v1/legacy/completions`",
        ],
    ),
    (
        "POST /v1/legacy/completions",
        "POST /v1/legacy/:id",
        &[
            "warning: `:id` matches only the literal text `:id`",
            "(routes[1].match)",
            "write `{id}` for a parameter",
            "1 warning in routes.yaml",
        ],
    ),
    (
        "    - authenticate\n    - limit_body: 32MiB\n    - route_model\n",
        "    - limit_body: 32MiB\n    - route_model\n    - authenticate\n",
        &[
            "`route_model` requires an earlier `authenticate`",
            "(chains.body[2])",
            "move `route_model` after `authenticate`",
        ],
    ),
];

#[test]
fn each_of_25_broken_files_is_reported_with_what_is_wrong_where_and_the_next_step() {
    let broken: Vec<BrokenFile> = SYNTAX.into_iter().chain(VALUES).chain(ROUTES).collect();
    assert_eq!(broken.len(), 25);
    let mut wrong = Vec::new();
    for (old, new, parts) in broken {
        let folder = folder_with_schemas();
        folder.write("list.json", "{\"type\": \"object\",}");
        let schema = "{\"properties\": {\"n\": {\"type\": \"interger\"}}}";
        folder.write("type.json", schema);
        let output = check_in(&folder, &changed(old, new));
        let is_warning = parts[0].starts_with("warning: ");
        let all = output.stdout + &output.stderr;
        assert_eq!(output.success, is_warning, "{all}");
        let missing = parts.iter().filter(|part| !all.contains(**part));
        wrong.extend(missing.map(|part| format!("{part} in:\n{all}")));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
