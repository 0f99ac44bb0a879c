//! Texts as YAML scalars and comments, whatever characters they have.

use super::source_settings::printable;

/// Longest line of a comment, in characters.
const COMMENT_WIDTH: usize = 110;

/// A text as a YAML scalar, quoted unless it could be nothing but a text.
pub fn scalar(text: &str) -> String {
    match is_plain(text) {
        true => text.to_owned(),
        false => quoted(text),
    }
}

/// A JSON value as one of YAML, in one line, and with no variables in its texts.
pub fn json_value(value: &serde_json::Value) -> String {
    let json = value.to_string().replace('$', "$$");
    // Outside of texts JSON is ASCII.
    let characters = json.chars().map(|c| match c.is_ascii() && c != '\u{7f}' {
        true => c.to_string(),
        false => format!("\\U{:08X}", u32::from(c)),
    });
    characters.collect()
}

/// Lines of a comment that begin with `indent` spaces; further lines of the text are indented by two more.
pub fn comment(indent: usize, text: &str) -> String {
    let margin = format!("{:indent$}# ", "");
    let mut lines = String::new();
    let mut line: String = text.chars().take_while(|c| *c == ' ').skip(1).collect();
    for word in printable(text.trim_start_matches(' ')).split(' ') {
        let length = indent + line.chars().count() + word.chars().count();
        if !line.trim().is_empty() && length > COMMENT_WIDTH {
            lines.push_str(&format!("{margin}{line}\n"));
            line = format!("  {word}");
        } else {
            if !line.is_empty() {
                line.push(' ');
            }
            line.push_str(word);
        }
    }
    lines + &format!("{margin}{line}\n")
}

fn is_plain(text: &str) -> bool {
    let begins = text.starts_with(|c: char| c.is_ascii_alphabetic());
    let allowed = |c: char| c.is_ascii_alphanumeric() || "_-./:".contains(c);
    let is_word_of_yaml = matches!(
        text.to_ascii_lowercase().as_str(),
        "true" | "false" | "null" | "yes" | "no" | "on" | "off" | "y" | "n"
    );
    begins && text.chars().all(allowed) && !text.ends_with(':') && !is_word_of_yaml
}

fn quoted(text: &str) -> String {
    let mut quoted = String::with_capacity(text.len() + 2);
    quoted.push('"');
    for c in text.chars() {
        match c {
            '"' => quoted.push_str("\\\""),
            '\\' => quoted.push_str("\\\\"),
            '\n' => quoted.push_str("\\n"),
            '\t' => quoted.push_str("\\t"),
            // What YAML calls not printable, and what it takes for a line break.
            c if c.is_control()
                || matches!(
                    c,
                    '\u{2028}' | '\u{2029}' | '\u{feff}' | '\u{fffe}' | '\u{ffff}'
                ) =>
            {
                quoted.push_str(&format!("\\u{:04X}", u32::from(c)));
            }
            c => quoted.push(c),
        }
    }
    quoted.push('"');
    quoted
}

#[cfg(test)]
mod tests {
    use super::{comment, scalar};
    use serde_json::{Value, json};

    #[test]
    fn every_text_is_the_same_text_after_yaml_was_parsed() {
        let all_controls: String = (0..0x100).filter_map(char::from_u32).collect();
        for text in [
            "",
            " ",
            "plain",
            "true",
            "No",
            "null",
            "~",
            "12",
            "1e3",
            "0x1f",
            "-",
            "- a",
            "a: b",
            "a:",
            "a #b",
            "#a",
            "it's",
            "say \"x\"",
            "back\\slash",
            "two\nlines",
            "tab\t",
            "{a}",
            "[a]",
            "*a",
            "&a",
            "!a",
            "%a",
            "@a",
            "`a`",
            "${A}",
            "é",
            "模型",
            "😀",
            "\u{85}",
            "\u{2028}",
            "\u{feff}x",
            "? a",
            "| a",
            "> a",
            "<<",
            "=",
            "2026-08-01",
            "a\r\nb",
            all_controls.as_str(),
        ] {
            let yaml = format!(
                "key: {}\n{}: 1\n",
                scalar(text),
                scalar(&format!("k{text}"))
            );
            let parsed: Value = serde_saphyr::from_str(&yaml)
                .unwrap_or_else(|error| panic!("{text:?}: {yaml}: {error}"));
            assert_eq!(
                parsed,
                json!({"key": text, format!("k{text}"): 1}),
                "{yaml}"
            );
        }
    }

    #[test]
    fn a_comment_stays_a_comment() {
        let long = "word ".repeat(60);
        for text in [
            "a\nkey: value",
            "a\u{2028}key: value",
            "a\u{85}b: c",
            "\r\nb: c",
            &long,
        ] {
            let yaml = format!("{}a: 1\n", comment(0, text));
            assert!(
                yaml.lines()
                    .filter(|line| *line != "a: 1")
                    .all(|line| line.starts_with('#')),
                "{yaml}"
            );
            let parsed: Value = serde_saphyr::from_str(&yaml).unwrap();
            assert_eq!(parsed, json!({"a": 1}), "{yaml}");
        }
    }
}
