//! The dictionary of `docs/operations.md` has every log field, message and word that the program can write.

use super::tree::{assert_none, read, sources};
use regex::Regex;

/// Functions that name words of logs, metrics and admin pages, and the heading of their table.
const WORDS: &[(&str, &str, &str)] = &[
    (
        "crates/core/src/filter/settlement.rs",
        "fn name(",
        "## Settlements",
    ),
    (
        "crates/channel/src/outcome.rs",
        "fn name(",
        "### Reasons and outcomes",
    ),
    (
        "crates/protocol/src/fault.rs",
        "fn code(",
        "### Error codes",
    ),
];

#[test]
fn every_field_of_the_access_log_has_a_row_and_no_row_is_left_over() {
    let source = read("crates/observe/src/access_log.rs");
    let field = Regex::new(r#""(\w+)""#).unwrap();
    let fields = field.captures_iter(block(&source, "impl AccessLogEntry<'_>"));
    let written: Vec<String> = fields.map(|found| found[1].to_string()).collect();
    assert_same("### Access log", &written);
}

#[test]
fn every_settlement_outcome_and_error_code_has_a_row_and_no_row_is_left_over() {
    let word = Regex::new(r#"=> "(\w+)""#).unwrap();
    for (path, function, heading) in WORDS {
        let source = read(path);
        let mut words = Vec::new();
        for (start, _) in source.match_indices(function) {
            let names = word.captures_iter(block(&source[start..], function));
            words.extend(names.map(|found| found[1].to_string()));
        }
        if *heading == "### Reasons and outcomes" {
            // Scopes of health have a function of that name, too.
            words.retain(|word| !["channel", "model", "credential"].contains(&&**word));
        }
        assert_same(heading, &words);
    }
}

#[test]
fn every_status_of_health_is_explained() {
    let source = read("crates/channel/src/health_status.rs");
    let word = Regex::new(r#"=> "(\w+)""#).unwrap();
    let page = read("docs/operations.md");
    let offenders: Vec<String> = word
        .captures_iter(block(&source, "fn name("))
        .filter(|found| !page.contains(&format!("`{}`", &found[1])))
        .map(|found| format!("docs/operations.md:1: does not explain `{}`", &found[1]))
        .collect();
    assert_none("statuses are explained", &offenders);
}

#[test]
fn every_message_of_the_process_log_has_a_row_with_its_fields() {
    let begin = Regex::new(r"tracing::(error|warn|info|debug)!\(").unwrap();
    let literal = Regex::new(r#"(?s)"((?:[^"\\{]|\\")*)"#).unwrap();
    let field = Regex::new(r"^[?%]?([a-z_]+)\s*(=|$)").unwrap();
    let page = read("docs/operations.md");
    let rows: Vec<&str> = section(&page, "### Process log").collect();
    let mut offenders = Vec::new();
    for file in sources() {
        for found in begin.captures_iter(&file.text) {
            let (level, after) = (&found[1], found.get(0).expect("it matched").end());
            let arguments = arguments(&file.text[after..]);
            let message = arguments.iter().find_map(|argument| {
                literal
                    .captures(argument)
                    .filter(|_| argument.starts_with('"'))
            });
            let Some(message) = message.map(|found| found[1].replace("\\n", "")) else {
                continue;
            };
            // Its text is chosen beside the call.
            if message.is_empty() {
                continue;
            }
            let row = rows
                .iter()
                .find(|row| row.starts_with(&format!("| {level} | {message}")));
            let names = arguments
                .iter()
                .filter_map(|argument| field.captures(argument));
            let missing: Vec<String> = names
                .map(|found| found[1].to_string())
                .filter(|name| row.is_none_or(|row| !row.contains(&format!("`{name}`"))))
                .collect();
            if row.is_none() || !missing.is_empty() {
                let missing = missing.join(", ");
                offenders.push(format!("{}:1: {level} \"{message}\": {missing}", file.path));
            }
        }
    }
    assert_none("messages of the process log are documented", &offenders);
}

/// Compares `words` with the first column of the first table below `heading`.
fn assert_same(heading: &str, words: &[String]) {
    let page = read("docs/operations.md");
    let rows: Vec<&str> = section(&page, heading)
        .filter_map(|line| line.strip_prefix("| `")?.split('`').next())
        .collect();
    assert!(!words.is_empty(), "{heading} has words");
    let missing = words.iter().filter(|word| !rows.contains(&&***word));
    let missing =
        missing.map(|word| format!("docs/operations.md:1: {heading}: no row for `{word}`"));
    let left = rows
        .iter()
        .filter(|row| !words.iter().any(|word| word == *row));
    let left = left.map(|row| format!("docs/operations.md:1: {heading}: `{row}` is not written"));
    assert_none(
        "the dictionary is complete",
        &missing.chain(left).collect::<Vec<_>>(),
    );
}

/// The lines between a heading and the next heading.
fn section<'a>(page: &'a str, heading: &str) -> impl Iterator<Item = &'a str> {
    let mut lines = page.lines();
    let heading = heading.to_string();
    lines.by_ref().find(|line| *line == heading);
    lines.take_while(|line| !line.starts_with('#'))
}

/// The source between the braces that follow `item`.
fn block<'a>(source: &'a str, item: &str) -> &'a str {
    let start = source.find(item).expect("the item is there");
    let open = start + source[start..].find('{').expect("it has a body");
    let mut depth = 0;
    let end = source[open..].char_indices().find(|(_, char)| {
        match char {
            '{' => depth += 1,
            '}' => depth -= 1,
            _ => {}
        }
        depth == 0
    });
    &source[open..open + end.expect("braces match").0]
}

/// The arguments of a macro call, from behind its opening parenthesis.
fn arguments(source: &str) -> Vec<String> {
    let (mut depth, mut is_text, mut is_escaped) = (0, false, false);
    let mut arguments = vec![String::new()];
    for char in source.chars() {
        match char {
            '"' if !is_escaped => is_text = !is_text,
            '(' | '[' | '{' if !is_text => depth += 1,
            ')' | ']' | '}' if !is_text => depth -= 1,
            ',' if !is_text && depth == 0 => {
                arguments.push(String::new());
                continue;
            }
            _ => {}
        }
        if depth < 0 {
            break;
        }
        is_escaped = char == '\\' && !is_escaped;
        arguments.last_mut().expect("there is one").push(char);
    }
    let trimmed = arguments.into_iter();
    trimmed
        .map(|argument| argument.trim().to_string())
        .collect()
}
