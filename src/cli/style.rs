//! Colours of what commands print. `anstream` removes them if the output is no terminal, with `NO_COLOR`, and with
//! `TERM=dumb`.

use super::CommandError;
use clap::builder::styling::{AnsiColor, Style};
use std::fmt::Display;

pub const GOOD: Style = AnsiColor::Green.on_default();
pub const WARNING: Style = AnsiColor::Yellow.on_default().bold();
pub const BAD: Style = AnsiColor::Red.on_default().bold();
pub const STRONG: Style = Style::new().bold();

/// The words at the beginning of a line that have a colour in reports.
const WORDS: [(&str, Style); 2] = [("error:", BAD), ("warning:", WARNING)];

/// Prints why a command failed to standard error.
pub fn print_error(error: &CommandError) {
    anstream::eprintln!("{}", report(error.message.trim_end()));
}

/// A text in a style.
pub fn styled(style: Style, text: impl Display) -> String {
    format!("{style}{text}{style:#}")
}

/// A report whose lines may begin with `error:` or `warning:`.
pub fn report(text: &str) -> String {
    let lines = text.split('\n').map(|line| {
        let mut words = WORDS.iter();
        match words.find(|(word, _)| line.starts_with(word)) {
            Some((word, style)) => format!("{}{}", styled(*style, word), &line[word.len()..]),
            None => line.to_owned(),
        }
    });
    lines.collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_first_words_of_lines_are_coloured() {
        let printed = report("error: a\n  error: b\nwarning: c");
        let [error, warning] = [styled(BAD, "error:"), styled(WARNING, "warning:")];
        assert_eq!(printed, format!("{error} a\n  error: b\n{warning} c"));
    }
}
