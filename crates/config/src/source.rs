//! The text of a configuration file: places in it, and its lines with secrets masked.

use headgate_protocol::secret_shape::MASK;
use std::fmt;
use std::ops::Range;

/// Longer lines are shown around what is underlined.
const SHOWN_CHARS_MAX: usize = 160;
/// Characters of a long line that are shown before what is underlined.
const SHOWN_BEFORE: usize = 40;
/// What stands in a long line for what is left out.
const CUT: &str = "…";

/// The text of a configuration file and where its secrets are.
///
/// `Debug` shows neither, so that no error that carries a source can print one.
#[derive(Clone, Default)]
pub struct ConfigText {
    text: String,
    line_starts: Vec<usize>,
    secrets: Vec<Range<usize>>,
}

/// A place in a source; lines and columns count from 1, columns and length in characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TextSpan {
    pub line: u32,
    pub column: u32,
    pub length: u32,
}

/// A line as it may be shown, with a place in it underlined.
pub struct MaskedSourceLine {
    pub text: String,
    /// Characters before the underlined part.
    pub indent: usize,
    /// Characters of the underlined part, at least 1.
    pub width: usize,
}

impl ConfigText {
    pub fn new(text: &str) -> Self {
        let newlines = text.match_indices('\n').map(|(at, _)| at + 1);
        Self {
            text: text.to_owned(),
            line_starts: std::iter::once(0).chain(newlines).collect(),
            secrets: Vec::new(),
        }
    }

    pub fn text(&self) -> &str {
        &self.text
    }

    /// Masks these byte ranges from now on; they may overlap.
    pub fn mask(&mut self, ranges: impl IntoIterator<Item = Range<usize>>) {
        self.secrets.extend(ranges);
        self.secrets.sort_by_key(|range| range.start);
        let mut merged: Vec<Range<usize>> = Vec::with_capacity(self.secrets.len());
        for range in self.secrets.drain(..) {
            match merged.last_mut() {
                Some(last) if range.start < last.end => last.end = last.end.max(range.end),
                _ => merged.push(range),
            }
        }
        self.secrets = merged;
    }

    /// Whether any of these bytes belongs to a secret.
    pub fn is_masked(&self, range: &Range<usize>) -> bool {
        let first = self.secrets_from(range.start).first();
        first.is_some_and(|secret| secret.start < range.end)
    }

    /// The secrets that end after this byte.
    fn secrets_from(&self, at: usize) -> &[Range<usize>] {
        let first = self.secrets.partition_point(|secret| secret.end <= at);
        &self.secrets[first..]
    }

    /// The place of a byte range, as much of it as its first line holds.
    pub fn place(&self, range: &Range<usize>) -> TextSpan {
        let start = self.char_boundary(range.start);
        let line = self.line_starts.partition_point(|at| *at <= start).max(1) - 1;
        let line_range = self.line_range(line);
        let end = self.char_boundary(range.end).min(line_range.end).max(start);
        let characters = |range: Range<usize>| self.text[range].chars().count();
        TextSpan {
            line: saturating(line + 1),
            column: saturating(characters(line_range.start..start) + 1),
            length: saturating(characters(start..end).max(1)),
        }
    }

    /// The byte range that runs from a line and column (both from 1) to the end of the word there.
    pub fn word_at(&self, line: usize, column: usize) -> Range<usize> {
        let line = self.line_range(line.saturating_sub(1));
        let text = &self.text[line.clone()];
        let start = text
            .char_indices()
            .nth(column.saturating_sub(1))
            .map_or(text.len(), |(at, _)| at);
        let word = text[start..]
            .find(|character: char| character.is_whitespace() || ":,[]{}".contains(character))
            .unwrap_or(text.len() - start);
        line.start + start..line.start + start + word.max(1)
    }

    /// The line of a place with its secrets masked, or nothing if there is no such line.
    pub fn snippet(&self, place: TextSpan) -> Option<MaskedSourceLine> {
        let index = place.line.checked_sub(1)? as usize;
        if self.text.is_empty() || index >= self.line_starts.len() {
            return None;
        }
        let line = self.line_range(index);
        let first = place.column.saturating_sub(1) as usize;
        let start = self.nth_char(&line, first);
        let end = self.nth_char(&(start..line.end), place.length as usize);
        let marked = self.around_secrets(start..end);
        let shown = self.window(&line, &marked);
        let marked = marked.start..marked.end.min(shown.end).max(marked.start);
        let cut = |is_cut: bool| if is_cut { CUT } else { "" };
        let before = cut(shown.start > line.start);
        let text = self.shown(shown.clone());
        let text = match shown.end < line.end {
            true => format!("{before}{text}{CUT}"),
            false => format!("{before}{}", text.trim_end()),
        };
        let indent = self.shown(shown.start..marked.start).chars().count();
        Some(MaskedSourceLine {
            text,
            indent: indent + before.chars().count(),
            width: self.shown(marked).chars().count().clamp(1, SHOWN_CHARS_MAX),
        })
    }

    /// The part of a line that is shown: all of it, or what is around the marked part.
    fn window(&self, line: &Range<usize>, marked: &Range<usize>) -> Range<usize> {
        if line.len() <= SHOWN_CHARS_MAX {
            return line.clone();
        }
        let start = marked.start.saturating_sub(SHOWN_BEFORE).max(line.start);
        let end = (start + SHOWN_CHARS_MAX).min(line.end);
        // A part of a secret is not masked as a whole one is.
        let wide = self.around_secrets(self.char_boundary(start)..self.char_boundary(end));
        wide.start.max(line.start)..wide.end.min(line.end)
    }

    /// The byte at which the character of this number begins; the end if there are fewer.
    fn nth_char(&self, range: &Range<usize>, number: usize) -> usize {
        let text = &self.text[range.clone()];
        if text.is_ascii() {
            return range.start + number.min(text.len());
        }
        text.char_indices()
            .nth(number)
            .map_or(range.end, |(at, _)| range.start + at)
    }

    /// The range widened to whole secrets, since a mask has no inside to point at.
    fn around_secrets(&self, range: Range<usize>) -> Range<usize> {
        let mut wide = range;
        for secret in self.secrets_from(wide.start) {
            if secret.start >= wide.end.max(wide.start + 1) {
                break;
            }
            if secret.contains(&wide.start) {
                wide.start = secret.start;
            }
            if secret.start < wide.end && wide.end < secret.end {
                wide.end = secret.end;
            }
        }
        wide
    }

    /// Text of one line as it may be shown: secrets masked, tabs widened, control characters replaced.
    fn shown(&self, range: Range<usize>) -> String {
        let mut shown = String::new();
        let mut at = range.start;
        for secret in self.secrets_from(at) {
            if secret.start >= range.end {
                break;
            }
            push_printable(&mut shown, &self.text[at..secret.start.max(at)]);
            shown.push_str(MASK);
            at = secret.end.min(range.end);
        }
        push_printable(&mut shown, &self.text[at..range.end.max(at)]);
        shown
    }

    /// Byte range of a line, counted from 0, without its line break.
    fn line_range(&self, index: usize) -> Range<usize> {
        let start = self
            .line_starts
            .get(index)
            .copied()
            .unwrap_or(self.text.len());
        let next = self.line_starts.get(index + 1);
        let line = &self.text[start..next.copied().unwrap_or(self.text.len())];
        start..start + line.trim_end_matches(['\n', '\r']).len()
    }

    fn char_boundary(&self, at: usize) -> usize {
        self.text.floor_char_boundary(at)
    }
}

impl fmt::Debug for ConfigText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Source({} bytes)", self.text.len())
    }
}

fn push_printable(shown: &mut String, text: &str) {
    for character in text.chars() {
        match character {
            '\t' => shown.push_str("    "),
            control if control.is_control() => shown.push('\u{fffd}'),
            printable => shown.push(printable),
        }
    }
}

fn saturating(count: usize) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_counts_characters_and_stays_on_its_line() {
        let source = ConfigText::new("a: ä\nbé: [x,\n  y]\n");
        let at = |needle: &str, length: usize| {
            let start = source.text().find(needle).unwrap();
            source.place(&(start..start + length))
        };
        let place = |line, column, length| TextSpan {
            line,
            column,
            length,
        };
        assert_eq!(at("ä", 2), place(1, 4, 1));
        assert_eq!(at("[x", 8), place(2, 5, 3));
        assert_eq!(at("y]", 0), place(3, 3, 1));
        assert_eq!(source.place(&(900..901)).line, 4);
    }

    #[test]
    fn a_snippet_points_at_the_mask_or_past_it() {
        let text = "{bearer: sk-1234567890, nme: x}";
        let mut source = ConfigText::new(text);
        let secret = text.find("sk-").unwrap();
        source.mask([secret..secret + 13, secret + 2..secret + 5]);
        let snippet = |needle: &str, length: usize| {
            let start = text.find(needle).unwrap();
            let snippet = source
                .snippet(source.place(&(start..start + length)))
                .unwrap();
            (snippet.text, snippet.indent, snippet.width)
        };
        let line = "{bearer: [secret], nme: x}".to_owned();
        assert_eq!(snippet("nme", 3), (line.clone(), 19, 3));
        assert_eq!(snippet("1234", 2), (line.clone(), 9, 8));
        assert_eq!(snippet("bearer", 6), (line, 1, 6));
    }

    #[test]
    fn of_a_long_line_only_the_part_around_the_place_is_shown() {
        let text = format!(
            "{}, bearer: hunter2, nme: x, {}",
            "a".repeat(1000),
            "b".repeat(1000)
        );
        let mut source = ConfigText::new(&text);
        let secret = text.find("hunter2").unwrap();
        source.mask(std::iter::once(secret..secret + 7));
        for needle in ["nme", "bearer", "hunter2", "bbb", "aaa"] {
            let start = text.find(needle).unwrap();
            let place = source.place(&(start..start + needle.len()));
            let snippet = source.snippet(place).unwrap();
            assert!(snippet.text.chars().count() < 200, "{}", snippet.text);
            assert!(snippet.indent <= 50, "{needle} {}", snippet.indent);
            assert!(!snippet.text.contains("hunter"), "{}", snippet.text);
            if needle == "nme" {
                let marked: String = snippet.text.chars().skip(snippet.indent).take(3).collect();
                assert_eq!((marked.as_str(), snippet.width), ("nme", 3));
            }
        }
    }

    #[test]
    fn control_characters_of_a_line_never_reach_a_terminal() {
        let source = ConfigText::new("\ta: \u{1b}[31mred\r\n");
        let place = TextSpan {
            line: 1,
            column: 2,
            length: 1,
        };
        let snippet = source.snippet(place).unwrap();
        assert_eq!(snippet.text, "    a: \u{fffd}[31mred");
        assert_eq!(snippet.indent, 4);
    }

    #[test]
    fn debug_shows_no_text() {
        assert_eq!(
            format!("{:?}", ConfigText::new("bearer: x")),
            "Source(9 bytes)"
        );
    }
}
