//! The settings of the file that is converted: which of them have a counterpart, and what is remarked on the others.

use serde_json::Value;
use std::collections::BTreeMap;

/// The settings of a file by their paths, such as `model_list[0].litellm_params.model`.
pub struct SourceSettingsTracker {
    leaves: BTreeMap<String, SettingConversionState>,
    remarks: Vec<ConversionRemark>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum SettingConversionState {
    Unread,
    Converted,
    Unconverted,
}

/// A comment of the result.
#[derive(Clone, Debug)]
pub struct ConversionRemark {
    /// Path of the setting in the source.
    pub path: String,
    pub content: RemarkContent,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum RemarkContent {
    /// The setting has no counterpart.
    NoCounterpart { why: String, instead: String },
    /// The setting has a counterpart, and this is to be known about it.
    Note(String),
}

impl SourceSettingsTracker {
    /// The settings of a file: its scalars, and its empty lists and mappings.
    pub fn from_file(file: &Value) -> Self {
        let mut leaves = BTreeMap::new();
        collect(file, String::new(), &mut leaves);
        Self {
            leaves,
            remarks: Vec::new(),
        }
    }

    /// Marks a setting, with all below it, as one that the result has.
    pub fn converted(&mut self, path: &str) {
        self.mark(path, SettingConversionState::Converted);
    }

    /// Marks a setting that the result has, with a comment.
    pub fn converted_with_note(&mut self, path: &str, note: impl Into<String>) {
        self.converted(path);
        self.note(path, note);
    }

    /// Adds a comment, whatever becomes of the setting.
    pub fn note(&mut self, path: &str, note: impl Into<String>) {
        self.remark(path, RemarkContent::Note(note.into()));
    }

    /// Marks a setting, with all below it, as one without a counterpart.
    pub fn unconverted(&mut self, path: &str, why: &str, instead: &str) {
        self.mark(path, SettingConversionState::Unconverted);
        let content = RemarkContent::NoCounterpart {
            why: why.into(),
            instead: instead.into(),
        };
        self.remark(path, content);
    }

    /// Marks what was not marked yet of a setting as without a counterpart.
    pub fn unconverted_rest(&mut self, path: &str, why: &str, instead: &str) {
        let below = self.leaves.range(path.to_owned()..);
        let unread: Vec<String> = below
            .take_while(|(leaf, _)| leaf.starts_with(path))
            .filter(|(leaf, state)| {
                **state == SettingConversionState::Unread && is_within(leaf, path)
            })
            .map(|(leaf, _)| leaf.clone())
            .collect();
        for leaf in unread {
            self.unconverted(&leaf, why, instead);
        }
    }

    /// Remarks on all settings that the reader of the file did not mark; `depth` is the number of keys of a path that a
    /// remark names.
    pub fn remark_unread(&mut self, depth: fn(&str) -> usize) {
        for leaf in self.unread() {
            let path = shortened(&leaf, depth(&leaf)).to_owned();
            let is_unread = self
                .states_below(&path)
                .any(|state| state == SettingConversionState::Unread);
            if is_unread {
                self.mark_unread(&path);
                let content = RemarkContent::NoCounterpart {
                    why: "this command does not know the setting".into(),
                    instead: "look up what it does, and search docs/routes.md and docs/filters for the same".into(),
                };
                self.remark(&path, content);
            }
        }
    }

    /// Paths of the settings that were not marked yet.
    pub fn unread(&self) -> Vec<String> {
        let leaves = self.leaves.iter();
        let unread = leaves.filter(|(_, state)| **state == SettingConversionState::Unread);
        unread.map(|(path, _)| path.clone()).collect()
    }

    pub fn remarks(&self) -> &[ConversionRemark] {
        &self.remarks
    }

    pub fn has_unconverted(&self) -> bool {
        let mut states = self.leaves.values();
        states.any(|state| *state != SettingConversionState::Converted)
    }

    /// A line for each section of the file, and one for the whole.
    pub fn summary(&self) -> String {
        let mut sections: BTreeMap<&str, (usize, usize)> = BTreeMap::new();
        for (path, state) in &self.leaves {
            let section = path.split(['.', '[']).next().unwrap_or_default();
            let (converted, all) = sections.entry(section).or_default();
            *converted += usize::from(*state == SettingConversionState::Converted);
            *all += 1;
        }
        let mut lines: String = sections
            .iter()
            .map(|(section, counts)| share_line(&printable(section), *counts))
            .collect();
        let total = sections
            .values()
            .fold((0, 0), |sum, counts| (sum.0 + counts.0, sum.1 + counts.1));
        lines.push_str(&share_line("all", total));
        lines
    }

    fn mark(&mut self, path: &str, state: SettingConversionState) {
        for (leaf, current) in self.leaves.range_mut(path.to_owned()..) {
            if !leaf.starts_with(path) {
                break;
            }
            if is_within(leaf, path) {
                *current = state;
            }
        }
    }

    fn mark_unread(&mut self, path: &str) {
        for (leaf, current) in self.leaves.range_mut(path.to_owned()..) {
            if !leaf.starts_with(path) {
                break;
            }
            if is_within(leaf, path) && *current == SettingConversionState::Unread {
                *current = SettingConversionState::Unconverted;
            }
        }
    }

    fn states_below(&self, path: &str) -> impl Iterator<Item = SettingConversionState> {
        self.leaves
            .range(path.to_owned()..)
            .take_while(move |(leaf, _)| leaf.starts_with(path))
            .filter(move |(leaf, _)| is_within(leaf, path))
            .map(|(_, state)| *state)
    }

    fn remark(&mut self, path: &str, content: RemarkContent) {
        self.remarks.push(ConversionRemark {
            path: path.to_owned(),
            content,
        });
    }
}

/// A path and all paths that it is within, the longest first.
pub fn self_and_parents(path: &str) -> impl Iterator<Item = &str> {
    let ends = path.rmatch_indices(['.', '[']).map(|(at, _)| at);
    std::iter::once(path.len())
        .chain(ends)
        .map(|end| &path[..end])
}

/// Whether a path is another one or below it.
pub fn is_within(path: &str, parent: &str) -> bool {
    path.strip_prefix(parent)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
}

/// Text for comments and messages: without line breaks and other control characters.
pub fn printable(text: &str) -> String {
    let is_break = |c: char| c.is_control() || matches!(c, '\u{2028}' | '\u{2029}' | '\u{feff}');
    text.chars()
        .map(|c| if is_break(c) { '\u{fffd}' } else { c })
        .collect()
}

fn collect(value: &Value, path: String, leaves: &mut BTreeMap<String, SettingConversionState>) {
    match value {
        Value::Object(entries) if !entries.is_empty() => {
            for (key, entry) in entries {
                let below = match path.is_empty() {
                    true => key.clone(),
                    false => format!("{path}.{key}"),
                };
                collect(entry, below, leaves);
            }
        }
        Value::Array(items) if !items.is_empty() => {
            for (at, item) in items.iter().enumerate() {
                collect(item, format!("{path}[{at}]"), leaves);
            }
        }
        _ => {
            leaves.insert(path, SettingConversionState::Unread);
        }
    }
}

/// The first `keys` keys of a path.
fn shortened(path: &str, keys: usize) -> &str {
    let end = path.match_indices('.').nth(keys.saturating_sub(1));
    end.map_or(path, |(at, _)| &path[..at])
}

fn share_line(section: &str, (converted, all): (usize, usize)) -> String {
    let percent = match all {
        0 => 100,
        _ => converted * 100 / all,
    };
    format!("{section}: {converted} of {all} settings have a counterpart ({percent} %)\n")
}
