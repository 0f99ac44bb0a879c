//! `headgate prices import`: prices of a list for the models of a configuration, which is never written.

use crate::configuration::check::{GOOD, check};
use crate::harness::folder::Folder;
use crate::harness::gateway::folder_with_schemas;
use crate::harness::process::BINARY;
use std::process::{Command, Output};

const LIST: &str = r#"{
    "sample_spec": {"input_cost_per_token": 0.0, "mode": "one of: chat"},
    "small-2026": {"input_cost_per_token": 1.5e-07, "output_cost_per_token": 6e-07, "mode": "chat",
        "input_cost_per_token_above_200k_tokens": 3e-07,
        "input_cost_per_token_above_200k_tokens_priority": 5e-07},
    "vendor/large-2026": {"input_cost_per_token": 2.5e-06, "cache_read_input_token_cost": 1.25e-06,
        "output_cost_per_token": 1e-05}
}"#;

fn import(folder: &Folder, list: &str, options: &[&str]) -> Output {
    folder.write("list.json", list);
    Command::new(BINARY)
        .args(["prices", "import", "list.json"])
        .args(options)
        .env("KEY", "sk-of-the-environment-5b1c")
        .current_dir(folder.path())
        .output()
        .unwrap()
}

fn texts(output: &Output) -> (String, String) {
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    (text(&output.stdout), text(&output.stderr))
}

#[test]
fn prices_of_a_list_are_printed_with_what_differs_and_nothing_is_written() {
    let folder = folder_with_schemas();
    let has_another = format!(
        "{GOOD}prices: {{models: {{demo-small: {{input: 0.2, output: 0.6, image: 1}}}}}}\n"
    );
    let large = "    \"demo-large\": {cached_input: 1.25, input: 2.5, output: 10}\n";
    let long_input = "[{above: 200000, input: 0.3}]";
    let small =
        &format!("    \"demo-small\": {{input: 0.15, output: 0.6, long_input: {long_input}}}\n");
    let section = "prices:\n  currency: USD\n  models:\n";
    let tier = "demo-small: input_cost_per_token_above_200k_tokens_priority is not taken over\n";
    let changes = &format!(
        "demo-small: input: 0.2 → 0.15\ndemo-small: long_input: none → {long_input}\ndemo-small: image: 1 → none\n"
    );
    let is_same = format!(
        "{GOOD}prices: {{models: {{demo-small: {{input: 0.15, output: \"0.6\", long_input: {long_input}}}}}}}\n"
    );
    let left = "demo-small: left as it is; `--apply` prints the prices of the list\n";
    for (config, options, printed, notes) in [
        (
            GOOD,
            &[] as &[&str],
            format!("{section}{large}{small}"),
            tier.to_owned(),
        ),
        (
            &has_another,
            &[],
            format!("{section}{large}"),
            format!("{tier}{changes}{left}"),
        ),
        (
            &is_same,
            &[],
            format!("{section}{large}{small}"),
            tier.to_owned(),
        ),
        (
            &has_another,
            &["--apply"],
            format!("{section}{large}{small}"),
            format!("{tier}{changes}"),
        ),
    ] {
        folder.write("routes.yaml", config);
        let output = import(&folder, LIST, options);
        assert!(output.status.success(), "{}", texts(&output).1);
        assert_eq!(texts(&output), (printed.clone(), notes), "{options:?}");
        let kept = std::fs::read_to_string(folder.path().join("routes.yaml")).unwrap();
        assert_eq!(kept, config);
        let pasted = check(&format!("{GOOD}{printed}"));
        assert!(pasted.success, "{}", pasted.stderr);
    }
}

#[test]
fn a_list_is_refused_whole_with_the_places_of_what_cannot_be_meant() {
    let folder = folder_with_schemas();
    folder.write("routes.yaml", GOOD);
    for (old, new, reason) in [
        (
            "1.5e-07",
            "-1.5e-07",
            "small-2026.input_cost_per_token: -0.00000015 is negative",
        ),
        ("1.5e-07", "NaN", "not JSON"),
        (
            "1e-05",
            "10",
            "vendor/large-2026.output_cost_per_token: 10 is more than 0.01",
        ),
        ("above_200k_tokens", "per_banana", ""),
        (
            "\"mode\": \"chat\"",
            "\"cost_per_banana\": 1",
            "small-2026.cost_per_banana: a cost of an unknown unit",
        ),
    ] {
        let output = import(&folder, &LIST.replace(old, new), &["--apply"]);
        let (printed, error) = texts(&output);
        if reason.is_empty() {
            assert!(output.status.success(), "its unit is a token: {error}");
            continue;
        }
        assert_eq!(output.status.code(), Some(1));
        assert_eq!(printed, "");
        assert!(error.contains("list.json: the list is refused"), "{error}");
        assert!(error.contains(reason), "{error}");
    }
}
