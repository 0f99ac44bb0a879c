//! Tests of `headgate families` and of the commands for authors of video families.

use crate::harness::folder::Folder;
use crate::harness::process::BINARY;
use headgate_core::task::families::SHIPPED;
use serde_json::Value;
use std::process::Command;

/// The exit code and the outputs of a command in a folder.
fn headgate(folder: &Folder, arguments: &[&str]) -> (i32, String, String) {
    let mut command = Command::new(BINARY);
    let output = command
        .args(arguments)
        .current_dir(folder.path())
        .output()
        .unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    let code = output.status.code().unwrap();
    (code, text(output.stdout), text(output.stderr))
}

fn assert_contains(text: &str, expected: &[&str]) {
    for part in expected {
        assert!(text.contains(part), "no `{part}` in:\n{text}");
    }
}

#[test]
fn families_are_listed_with_their_vendors_and_modes_one_a_line() {
    let folder = Folder::new();
    let (code, list, _) = headgate(&folder, &["families"]);
    assert_eq!(code, 0);
    let names: Vec<&str> = list
        .lines()
        .filter_map(|line| line.split(' ').next())
        .collect();
    assert_eq!(names, SHIPPED.map(|(name, _)| name));
    assert_contains(&list, &["  text, first_frame, last_frame, reference_image"]);
    let (_, json, _) = headgate(&folder, &["families", "--json"]);
    let json: Value = serde_json::from_str(&json).unwrap();
    let family_b = json
        .as_array()
        .unwrap()
        .iter()
        .find(|one| one["name"] == "family-b");
    assert_eq!(family_b.unwrap()["modes"][0], "text");
    let (_, definitions, _) = headgate(&folder, &["families", "--definitions"]);
    for (name, definition) in SHIPPED {
        assert!(definitions.contains(&format!("\n  {name}:\n")), "{name}");
        let (_, one, _) = headgate(&folder, &["families", name]);
        assert_eq!(one, definition);
    }
}

#[test]
fn a_new_family_is_valid_tested_and_never_written_over_another() {
    let folder = Folder::new();
    let (code, created, _) = headgate(&folder, &["family", "new", "studio", "--dir", "a/b"]);
    assert_eq!(code, 0);
    assert_contains(
        &created,
        &["created a/b/studio.yaml and a/b/studio.cases.yaml"],
    );
    let (code, checked, error) = headgate(&folder, &["family", "check", "a/b/studio.yaml"]);
    assert_eq!(code, 0, "{error}");
    assert_contains(
        &checked,
        &[
            "a/b/studio.yaml is valid: family studio of Vendor; modes text, first_frame\n",
            "\nfirst_frame\n  {\"duration\":5,",
            "\n  POST /videos\n  {\n    \"model\": \"model\",\n    \"prompt\": \"a cat\",\n",
            "refused  `generate_audio`: model `model` always makes sound",
            "limited  `duration` of model `model` must be from 4 to 12",
            "ignored  `watermark`: model `model` never adds a watermark",
            "refused  `last_frame`: model `model` does not support last_frame",
            "query   GET /videos/ID\ncancel  POST /videos/ID/cancel\n",
        ],
    );
    let (code, tested, error) = headgate(&folder, &["family", "test", "a/b/studio.yaml"]);
    assert_eq!(code, 0, "{tested}{error}");
    assert!(tested.ends_with("\n11 passed, 0 failed\n"), "{tested}");

    let changed = "kept";
    folder.write("a/b/studio.cases.yaml", changed);
    std::fs::remove_file(folder.path().join("a/b/studio.yaml")).unwrap();
    let (code, _, error) = headgate(&folder, &["family", "new", "studio", "--dir", "a/b"]);
    assert_eq!(code, 1);
    assert_contains(
        &error,
        &["a/b/studio.cases.yaml cannot be written: it exists"],
    );
    assert!(!folder.path().join("a/b/studio.yaml").exists());
    let kept = std::fs::read_to_string(folder.path().join("a/b/studio.cases.yaml")).unwrap();
    assert_eq!(kept, changed);
}

#[test]
fn every_mistake_of_a_definition_is_printed_with_its_place() {
    let folder = Folder::new();
    folder.write(
        "studio.yaml",
        "extends: family-a\nquery: {method: GET, path: /tasks}\nstatus: {at: /s, map: {x: running}}\n",
    );
    let (code, _, error) = headgate(&folder, &["family", "check", "studio.yaml"]);
    assert_eq!(code, 1);
    assert_contains(
        &error,
        &[
            "error: the path must contain `{id}`\n --> studio.yaml:2:28 (query.path)\n",
            "error: no status is mapped to `succeeded`\n --> studio.yaml:3:",
            "2 errors in studio.yaml",
        ],
    );
    let (_, checked, _) = headgate(&folder, &["family", "check", "minimax"]);
    assert_contains(
        &checked,
        &[
            "\nfor any model but MiniMax-Hailuo-02, MiniMax-Hailuo-2.3*, ",
            ": give one with --model\n",
            "\nresult  GET /v1/files/retrieve?file_id={/file_id}\n",
        ],
    );
    let (_, checked, _) = headgate(
        &folder,
        &["family", "check", "minimax", "--model", "S2V-01"],
    );
    assert!(!checked.contains("for any model"), "{checked}");
    let (code, _, error) = headgate(&folder, &["family", "check", "family-c"]);
    assert_eq!(code, 1);
    assert_contains(
        &error,
        &["no file and no built-in family `family-c`; did you mean `family-a`"],
    );
}

#[test]
fn a_family_of_a_routes_yaml_is_checked_by_its_name() {
    let folder = Folder::new();
    folder.write(
        "routes.yaml",
        "channels: {}\nfamilies:\n  one: {extends: family-b}\n  two: {extends: family-a}\n",
    );
    let (code, checked, error) = headgate(
        &folder,
        &["family", "check", "routes.yaml", "--name", "two"],
    );
    assert_eq!(code, 0, "{error}");
    assert_contains(
        &checked,
        &["family two", "POST /contents/generations/tasks"],
    );
    let (code, _, error) = headgate(&folder, &["family", "check", "routes.yaml"]);
    assert_eq!(code, 1);
    assert_contains(
        &error,
        &["--> routes.yaml:2:1 (families)", "expected one of one, two"],
    );
}

#[test]
fn a_case_that_fails_shows_what_was_expected_and_received() {
    let folder = Folder::new();
    folder.write(
        "cases.yaml",
        "
- name: a text becomes a video
  model: m
  create: {prompt: a cat, duration: 5}
  expect: {body: {model: m, content: [{type: text, text: a dog}], duration: 5}}
- name: a task that runs
  polled: {id: x, status: running}
  expect: {status: running}
",
    );
    let (code, tested, error) = headgate(&folder, &["family", "test", "family-a", "cases.yaml"]);
    assert_eq!(code, 1);
    assert_contains(
        &tested,
        &[
            "FAILED  a text becomes a video\n        body.content[0].text\n          expected  \"a dog\"\n          received  \"a cat\"\n",
            "ok      a task that runs\n1 passed, 1 failed\n",
        ],
    );
    assert_contains(&error, &["error: 1 of 2 cases of cases.yaml failed"]);
    let (code, json, _) = headgate(
        &folder,
        &["family", "test", "family-a", "cases.yaml", "--json"],
    );
    assert_eq!(code, 1);
    let report: Value = serde_json::from_str(&json).unwrap();
    assert_eq!(
        (&report["passed"], &report["failed"]),
        (&1.into(), &1.into())
    );
    assert_eq!(report["cases"][0]["mismatches"][0]["received"], "\"a cat\"");
    assert_eq!(report["cases"][1]["has_passed"], true);

    folder.write("cases.yaml", "- {name: a, create: {}, expects: {}}\n");
    let (code, _, error) = headgate(&folder, &["family", "test", "family-a", "cases.yaml"]);
    assert_eq!(code, 1);
    assert_contains(
        &error,
        &["error: cases.yaml:", "unknown field `expects`", "line 1"],
    );
}
