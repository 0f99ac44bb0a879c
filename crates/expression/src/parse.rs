//! From text to cel's tree: bounds and tokens are checked first, because the parser has no limits of its own.

mod tokens;

use cel::common::ast::SourceInfo;
use cel::{Env, IdedExpr, ParseErrors};

use crate::error::CompileError;
use tokens::{SourceToken, tokens};

/// The longest text of an expression, in bytes.
const TEXT_BYTES: usize = 4 << 10;

/// The tree of an expression, with the position of each part.
pub(crate) struct ParsedExpression<'t> {
    pub expression: IdedExpr,
    text: &'t str,
    tokens: Vec<SourceToken>,
    offsets: SourceInfo,
}

/// Parses an expression. Macros stay calls.
pub(crate) fn parse(text: &str) -> Result<ParsedExpression<'_>, CompileError> {
    if text.len() > TEXT_BYTES {
        let kib = TEXT_BYTES >> 10;
        return Err(error_at(
            text,
            0,
            format!("the expression is longer than {kib} KiB"),
        ));
    }
    if text.trim().is_empty() {
        return Err(error_at(text, 0, "the expression is empty"));
    }
    let tokens = tokens(text)?;
    let parser = Env::default().parser().error_recovery_limit(0);
    let (expression, offsets) = parser
        .parse_with_source_info(text)
        .map_err(|errors| syntax_error(text, &tokens, &errors))?;
    Ok(ParsedExpression {
        expression,
        text,
        tokens,
        offsets,
    })
}

/// An error at a byte of the text.
pub(crate) fn error_at(text: &str, offset: usize, message: impl Into<String>) -> CompileError {
    let before = text.get(..offset).unwrap_or(text);
    let line_start = before.rfind('\n').map_or(0, |at| at + 1);
    CompileError {
        line: before.matches('\n').count() + 1,
        column: before[line_start..].chars().count() + 1,
        message: message.into(),
        hint: None,
    }
}

impl ParsedExpression<'_> {
    /// An error at a part of the expression: at the name of a function, at an operator, else at the beginning.
    pub fn error(&self, part: &IdedExpr, message: impl Into<String>) -> CompileError {
        error_at(self.text, self.offset(part), message)
    }

    /// An error of the expression as a whole.
    pub fn error_at_start(&self, message: impl Into<String>) -> CompileError {
        error_at(self.text, 0, message)
    }

    fn offset(&self, part: &IdedExpr) -> usize {
        let Some((start, _)) = self.offsets.offset_for(part.id) else {
            return 0;
        };
        let start = start as usize;
        let at = self.tokens.partition_point(|token| token.start < start);
        let called = at.checked_sub(1).map(|before| &self.tokens[before]);
        match called {
            // A call has the position of its bracket.
            Some(name) if self.text[start..].starts_with('(') && name.is_word => name.start,
            _ => start,
        }
    }
}

/// The first error of the parser, in our words.
fn syntax_error(text: &str, tokens: &[SourceToken], errors: &ParseErrors) -> CompileError {
    let Some(error) = errors.errors.first() else {
        return error_at(text, 0, "the expression is not valid CEL");
    };
    let offset = byte_offset(text, error.pos);
    let at_end = tokens.last().is_none_or(|last| offset >= last.end);
    if !error.msg.starts_with("Syntax error") {
        let message = error.msg.split(": I").next().unwrap_or_default();
        return error_at(text, offset, one_line(message));
    }
    if at_end {
        return error_at(text, text.trim_end().len(), "the expression ends too early");
    }
    let token = tokens.iter().find(|token| token.end > offset);
    let token = token.map_or("", |token| &text[token.start..token.end]);
    error_at(text, offset, format!("unexpected `{}`", one_line(token)))
}

/// The byte at a line and column of the parser, which count characters from 1.
fn byte_offset(text: &str, (line, column): (isize, isize)) -> usize {
    let (line, column) = (line.max(1) as usize, column.max(1) as usize);
    let mut offset = 0;
    for whole in text.split_inclusive('\n').take(line - 1) {
        offset += whole.len();
    }
    let rest = &text[offset..];
    offset
        + rest
            .char_indices()
            .nth(column - 1)
            .map_or(rest.len(), |(at, _)| at)
}

fn one_line(text: &str) -> String {
    let printable = |character: char| match character.is_control() {
        true => ' ',
        false => character,
    };
    text.chars().take(64).map(printable).collect()
}
