//! A configuration file as text and tree: where each value stands, and problems with their places.

use super::mask::{self, SecretSpans};
use super::node::{YamlContent, YamlNode};
use super::problem::{ConfigProblem, InvalidConfig, OmittedProblemCounts, PROBLEMS_MAX, Severity};
use super::redactor::Redactor;
use super::source::ConfigText;
use headgate_core::pointer::{child, tokens};
use headgate_protocol::secret_shape;
use std::collections::BTreeSet;
use std::fmt::{self, Write};
use std::ops::Range;
use std::path::{Path, PathBuf};

/// What a problem says at most; names in it may be as long as the file.
const REASON_CHARS_MAX: usize = 400;
const HINT_CHARS_MAX: usize = 600;
/// The characters of a scalar that are shown in a comparison.
const SCALAR_CHARS_MAX: usize = 80;

/// A parsed configuration file. Pointers are JSON pointers (RFC 6901) into it.
///
/// It keeps secrets that were written in the file itself, so nothing of its content is printed.
pub struct ConfigDocument {
    file: PathBuf,
    source: ConfigText,
    root: YamlNode,
    /// Pointers of scalars that took a variable's value.
    expanded: BTreeSet<String>,
    redactor: Redactor,
}

/// A problem that was found at a pointer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct PointerLocatedProblem {
    pub pointer: String,
    pub highlight: HighlightTarget,
    pub reason: String,
    pub hint: Option<String>,
}

/// What to underline of the place a pointer leads to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum HighlightTarget {
    Value,
    Key,
    /// Exactly these bytes of the file.
    Bytes(Range<usize>),
}

impl ConfigDocument {
    pub(super) fn new(file: &Path, source: ConfigText, root: YamlNode) -> Self {
        Self {
            file: file.to_owned(),
            source,
            root,
            expanded: BTreeSet::new(),
            redactor: Redactor::default(),
        }
    }

    /// A problem with the value at a pointer; where there is none, with the nearest value above it.
    pub fn problem(
        &self,
        pointer: &str,
        reason: impl Into<String>,
        hint: Option<String>,
    ) -> ConfigProblem {
        self.locate(PointerLocatedProblem::value(pointer, reason, hint))
    }

    /// A problem with the key of the value at a pointer.
    pub fn key_problem(
        &self,
        pointer: &str,
        reason: impl Into<String>,
        hint: Option<String>,
    ) -> ConfigProblem {
        self.locate(PointerLocatedProblem::key(pointer, reason, hint))
    }

    /// These findings, at most [`PROBLEMS_MAX`] of them with their places, and a count of the others.
    pub(super) fn invalid_findings(
        &self,
        findings: Vec<PointerLocatedProblem>,
        more: usize,
    ) -> InvalidConfig {
        let mut placed: Vec<(usize, PointerLocatedProblem)> = findings
            .into_iter()
            .map(|finding| (self.bytes(&finding).start, finding))
            .collect();
        placed.sort_by_key(|(start, _)| *start);
        placed.dedup_by(|(start, next), (kept_start, kept)| {
            start == kept_start && next.reason == kept.reason && next.hint == kept.hint
        });
        let errors = more + placed.len().saturating_sub(PROBLEMS_MAX);
        placed.truncate(PROBLEMS_MAX);
        let problems = placed.into_iter().map(|(_, finding)| self.locate(finding));
        let more = OmittedProblemCounts {
            errors,
            warnings: 0,
        };
        self.invalid(problems.collect()).with_more(more)
    }

    /// These problems with the file they are of.
    pub fn invalid(&self, problems: Vec<ConfigProblem>) -> InvalidConfig {
        InvalidConfig::new(self.file.clone(), self.source.clone(), problems)
    }

    /// The file as its reader named it; paths in it are relative to its folder.
    pub fn file(&self) -> &Path {
        &self.file
    }

    /// The scalar at a pointer as a message may quote it; nothing if it is secret, from a variable, or no scalar.
    pub fn quotable(&self, pointer: &str) -> Option<String> {
        let target = self.root.target(pointer);
        let hidden = self.expanded.contains(pointer) || self.source.is_masked(&target.node.range);
        if hidden || !target.exact {
            return None;
        }
        match &target.node.content {
            YamlContent::Bool(value) => Some(value.to_string()),
            YamlContent::Number(_) => {
                let written = self.source.text().get(target.node.range.clone())?;
                Some(written.to_owned())
            }
            YamlContent::Text(text) if text.chars().count() <= 60 && !text.contains('\n') => {
                Some(text.clone())
            }
            _ => None,
        }
    }

    /// The text at a pointer as it is written, before variables are replaced.
    pub(super) fn written(&self, pointer: &str) -> Option<&str> {
        let target = self.root.target(pointer);
        match &target.node.content {
            YamlContent::Text(text) if target.exact => Some(text),
            _ => None,
        }
    }

    /// A scalar as it is written, on one line, secrets masked.
    pub(super) fn scalar_as_written(&self, pointer: &str) -> String {
        let target = self.root.target(pointer);
        if self.source.is_masked(&target.node.range) {
            return secret_shape::MASK.into();
        }
        let written = self.source.text().get(target.node.range.clone());
        let text = self.written(pointer).or(written).unwrap_or_default();
        self.redactor.message(text, SCALAR_CHARS_MAX)
    }

    /// Whether nothing but a comment follows the key of the value at a pointer.
    pub(super) fn is_before_comment(&self, pointer: &str) -> bool {
        let key = self.root.target(pointer).key_range;
        let rest = key.and_then(|key| self.source.text().get(key.end..));
        rest.is_some_and(|rest| {
            let value = rest.trim_start_matches(':').trim_start_matches(' ');
            value.starts_with('#')
        })
    }

    /// Whether the file has a chain of this name.
    pub(super) fn has_chain(&self, name: &str) -> bool {
        self.root.target(&child("/chains", name)).exact
    }

    /// A pointer as a person writes it: `channels.primary.weight`, `routes[2].match`.
    pub fn path(&self, pointer: &str) -> String {
        let mut path = String::new();
        let mut walked = String::new();
        for (token, escaped) in tokens(pointer).zip(pointer.split('/').skip(1)) {
            let parent = self.root.target(&walked);
            let is_plain =
                |character: char| character.is_ascii_alphanumeric() || "_-".contains(character);
            let shown = self.redactor.token(&token);
            let written = match &parent.node.content {
                YamlContent::List(_) => write!(path, "[{shown}]"),
                _ if shown != token.as_str() => write!(path, "[{shown}]"),
                _ if !token.chars().all(is_plain) => write!(path, "[{token:?}]"),
                _ if path.is_empty() => write!(path, "{token}"),
                _ => write!(path, ".{token}"),
            };
            written.expect("writing to a String does not fail");
            walked.push('/');
            walked.push_str(escaped);
        }
        path
    }

    pub(super) fn locate(&self, finding: PointerLocatedProblem) -> ConfigProblem {
        let place = self.source.place(&self.bytes(&finding));
        ConfigProblem {
            path: self.path(&finding.pointer),
            line: place.line,
            column: place.column,
            length: place.length,
            reason: self.redactor.message(&finding.reason, REASON_CHARS_MAX),
            hint: finding
                .hint
                .map(|hint| self.redactor.message(&hint, HINT_CHARS_MAX)),
            severity: Severity::Error,
        }
    }

    pub(super) fn root(&self) -> &YamlNode {
        &self.root
    }

    pub(super) fn source(&self) -> &ConfigText {
        &self.source
    }

    /// The bytes that a finding at this place underlines.
    pub(super) fn bytes_at(&self, pointer: &str, highlight: HighlightTarget) -> Range<usize> {
        let mut finding = PointerLocatedProblem::value(pointer, "", None);
        finding.highlight = highlight;
        self.bytes(&finding)
    }

    /// Masks these secrets from now on.
    pub(super) fn mask(&mut self, secrets: SecretSpans) {
        self.source.mask(secrets.ranges);
        self.redactor.add_texts(secrets.texts);
    }

    /// Masks the scalars of the values at these pointers from now on.
    pub(super) fn mask_values(&mut self, pointers: &[String]) {
        let mut secrets = SecretSpans::default();
        for pointer in pointers {
            let node = self.root.target(pointer).node;
            let found = mask::in_secret(node, self.source.text());
            secrets.ranges.extend(found.ranges);
            secrets.texts.extend(found.texts);
        }
        self.mask(secrets);
    }

    /// Never repeats this value, which came from a variable or a file, but what it is printed as.
    pub(super) fn hide(&mut self, value: &str, instead: &str) {
        self.redactor.add_value(value, instead);
    }

    pub(super) fn set_expanded(&mut self, pointers: BTreeSet<String>) {
        self.expanded = pointers;
    }

    pub(super) fn is_expanded(&self, pointer: &str) -> bool {
        self.expanded.contains(pointer)
    }

    fn bytes(&self, finding: &PointerLocatedProblem) -> Range<usize> {
        if let HighlightTarget::Bytes(range) = &finding.highlight {
            return range.clone();
        }
        let target = self.root.target(&finding.pointer);
        // A collection and an absent value have no text of their own to underline.
        let by_key = finding.highlight == HighlightTarget::Key
            || matches!(
                target.node.content,
                YamlContent::Map(_) | YamlContent::List(_) | YamlContent::Null
            );
        match target.key_range {
            Some(key) if by_key => key,
            _ => target.node.headline(),
        }
    }
}

impl fmt::Debug for ConfigDocument {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Document({})", self.file.display())
    }
}

impl PointerLocatedProblem {
    pub fn value(
        pointer: impl Into<String>,
        reason: impl Into<String>,
        hint: Option<String>,
    ) -> Self {
        Self {
            pointer: pointer.into(),
            highlight: HighlightTarget::Value,
            reason: reason.into(),
            hint,
        }
    }

    pub fn key(
        pointer: impl Into<String>,
        reason: impl Into<String>,
        hint: Option<String>,
    ) -> Self {
        Self {
            highlight: HighlightTarget::Key,
            ..Self::value(pointer, reason, hint)
        }
    }

    pub fn bytes(range: Range<usize>, reason: impl Into<String>, hint: Option<String>) -> Self {
        Self {
            highlight: HighlightTarget::Bytes(range),
            ..Self::value("", reason, hint)
        }
    }
}
