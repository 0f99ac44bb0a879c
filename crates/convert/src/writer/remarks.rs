//! Remarks on settings as comments; remarks of the same words are one comment.

use super::comment;
use crate::source_settings::{ConversionRemark, RemarkContent};
use std::collections::{HashMap, HashSet};

/// Paths that one comment names; more are a count.
const PATHS_MAX: usize = 8;

pub fn write(indent: usize, remarks: &[&ConversionRemark]) -> String {
    let mut groups: Vec<(&RemarkContent, Vec<&str>)> = Vec::new();
    let mut by_content: HashMap<&RemarkContent, usize> = HashMap::new();
    let mut seen = HashSet::new();
    for remark in remarks {
        if !seen.insert((&remark.content, &remark.path)) {
            continue;
        }
        let at = *by_content.entry(&remark.content).or_insert_with(|| {
            groups.push((&remark.content, Vec::new()));
            groups.len() - 1
        });
        groups[at].1.push(&remark.path);
    }
    let mut text = String::new();
    for (content, paths) in groups {
        let paths = list(&paths);
        match content {
            RemarkContent::NoCounterpart { why, instead } => {
                text.push_str(&comment(indent, &format!("no counterpart: {paths}")));
                text.push_str(&comment(indent, &format!("  why: {why}")));
                text.push_str(&comment(indent, &format!("  instead: {instead}")));
            }
            RemarkContent::Note(note) => {
                text.push_str(&comment(indent, &format!("{paths}: {note}")));
            }
        }
    }
    text
}

fn list(paths: &[&str]) -> String {
    let named: Vec<&str> = paths.iter().take(PATHS_MAX).copied().collect();
    let more = match paths.len().saturating_sub(PATHS_MAX) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    format!("{}{more}", named.join(", "))
}
