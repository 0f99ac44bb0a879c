//! The layout of a YAML text that may be broken: its lines, and the quotes and brackets that are open in them.
//!
//! The parser tells where it could not go on, which is lines after a quote or a bracket that was never closed.

use std::ops::Range;

/// A line that is neither blank nor a comment.
pub struct YamlLine<'text> {
    /// The byte at which it begins.
    pub start: usize,
    /// Without its indentation and what ends it.
    pub content: &'text str,
    /// White space before the content, in bytes.
    pub indent: usize,
    /// Whether a tab is among that.
    pub has_tab: bool,
}

/// A quoted scalar.
pub struct QuotedScalarSpan {
    /// From its opening quote to after its closing one, or to the end of the text.
    pub range: Range<usize>,
    pub is_closed: bool,
}

/// The quotes and brackets of a text.
#[derive(Default)]
pub struct YamlDelimiters {
    pub quoted: Vec<QuotedScalarSpan>,
    /// Brackets that were open when a line followed that looks like one of a block around them.
    pub unclosed_brackets: Vec<usize>,
}

/// Reads the lines of a text that are neither blank nor comments.
pub fn lines(text: &str) -> impl Iterator<Item = YamlLine<'_>> {
    let mut start = 0;
    text.split_inclusive('\n').filter_map(move |written| {
        let line_start = start;
        start += written.len();
        let content = written.trim();
        let indent = written.len() - written.trim_start().len();
        let is_line = !content.is_empty() && !content.starts_with('#');
        is_line.then(|| YamlLine {
            start: line_start,
            content,
            indent,
            has_tab: written[..indent].contains('\t'),
        })
    })
}

impl YamlLine<'_> {
    /// Whether it reads as `key: value`, `key:` or `- item`.
    pub fn is_block(&self) -> bool {
        self.content.starts_with("- ") || self.key_end().is_some()
    }

    /// Behind the colon of a key that begins the line.
    pub fn key_end(&self) -> Option<usize> {
        let item = self.content.trim_start_matches("- ");
        let skipped = self.content.len() - item.len();
        let is_key = |c: char| c.is_ascii_alphanumeric() || "_-./*\"'".contains(c);
        let length = item.find(|c| !is_key(c))?;
        let rest = &item[length..];
        let is_colon = length > 0 && (rest == ":" || rest.starts_with(": "));
        is_colon.then_some(skipped + length + 1)
    }
}

impl YamlDelimiters {
    /// Reads a text up to the byte `until`, and a quote that is open there to its end.
    pub fn parse(text: &str, until: usize) -> Self {
        let mut reader = YamlDelimiterScanner {
            text,
            layout: Self::default(),
            open: Vec::new(),
            block_indent: None,
        };
        // In a file that is JSON, lines within brackets look like those of a block.
        let is_json = text.trim_start().starts_with(['{', '[']);
        let mut at = 0;
        while at < text.len() && at <= until {
            at = reader.line(at);
        }
        if is_json {
            reader.layout.unclosed_brackets.clear();
        }
        reader.layout
    }
}

struct YamlDelimiterScanner<'text> {
    text: &'text str,
    layout: YamlDelimiters,
    /// Open brackets, each with the indentation of its line.
    open: Vec<(usize, usize)>,
    /// The indentation of the line that began a block scalar, while it goes on.
    block_indent: Option<usize>,
}

impl YamlDelimiterScanner<'_> {
    /// Reads the line that begins at this byte, and returns the start of the next.
    fn line(&mut self, start: usize) -> usize {
        let bytes = self.text.as_bytes();
        let end = |from: usize| {
            let rest = bytes[from..].iter().position(|byte| *byte == b'\n');
            rest.map_or(bytes.len(), |length| from + length)
        };
        let mut line_end = end(start);
        let Some(line) = lines(&self.text[start..line_end]).next() else {
            return line_end + 1;
        };
        if self.block_indent.is_some_and(|indent| line.indent > indent) {
            return line_end + 1;
        }
        self.block_indent = None;
        if let Some((bracket, indent)) = self.open.last()
            && line.indent <= *indent
            && line.is_block()
        {
            self.layout.unclosed_brackets.push(*bracket);
            self.open.clear();
        }
        let is_block_scalar = self.open.is_empty()
            && [": |", ": >", ": |-", ": >-", ": |+", ": >+"]
                .iter()
                .any(|header| line.content.ends_with(header));
        if is_block_scalar {
            self.block_indent = Some(line.indent);
        }
        let mut at = start + line.indent;
        // Only where a token may begin does a quote open one; within a word it is a character.
        let mut is_token_start = true;
        while at < line_end {
            let byte = bytes[at];
            match byte {
                b'"' | b'\'' if is_token_start => {
                    let (after, is_closed) = closing_quote(bytes, at);
                    self.layout.quoted.push(QuotedScalarSpan {
                        range: at..after,
                        is_closed,
                    });
                    line_end = end(after.min(bytes.len()));
                    at = after;
                    is_token_start = false;
                    continue;
                }
                b'#' if at > start && bytes[at - 1].is_ascii_whitespace() => break,
                b'[' | b'{' if is_token_start || !self.open.is_empty() => {
                    self.open.push((at, line.indent));
                }
                b']' | b'}' if !self.open.is_empty() => {
                    self.open.pop();
                }
                _ => {}
            }
            is_token_start = match byte {
                b'[' | b'{' | b',' => true,
                b' ' | b'\t' => {
                    let before = self.text[start..at].trim_end();
                    is_token_start || before.ends_with([':', '-', ',', '[', '{', '?'])
                }
                _ => false,
            };
            at += 1;
        }
        line_end + 1
    }
}

/// The byte after the quote that closes the one at `start`, and whether there is one.
fn closing_quote(bytes: &[u8], start: usize) -> (usize, bool) {
    let quote = bytes[start];
    let mut at = start + 1;
    while at < bytes.len() {
        match bytes[at] {
            b'\\' if quote == b'"' => at += 1,
            byte if byte == quote => {
                let is_doubled = quote == b'\'' && bytes.get(at + 1) == Some(&quote);
                if !is_doubled {
                    return (at + 1, true);
                }
                at += 1;
            }
            _ => {}
        }
        at += 1;
    }
    (bytes.len(), false)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotes_and_brackets_are_found_where_tokens_begin() {
        let text = "a: it's {x}\nb: \"two\nlines\" # \"no\nc: [x, 'y']\nd: |\n  \"z\ne: [u\nf: v\n";
        let layout = YamlDelimiters::parse(text, text.len());
        let quoted: Vec<_> = layout
            .quoted
            .iter()
            .map(|quoted| &text[quoted.range.clone()])
            .collect();
        assert_eq!(quoted, ["\"two\nlines\"", "'y'"]);
        assert_eq!(layout.unclosed_brackets, [text.find("[u").unwrap()]);
    }

    #[test]
    fn a_quote_that_is_never_closed_reaches_to_the_end() {
        for text in ["a: \"x\nb: c\n", "a: 'it''s\nb: c\n", "a: \"x\\\"\n"] {
            let layout = YamlDelimiters::parse(text, text.len());
            let [quoted] = &layout.quoted[..] else {
                panic!("{text}");
            };
            assert_eq!(
                (quoted.range.clone(), quoted.is_closed),
                (3..text.len(), false)
            );
        }
    }
}
