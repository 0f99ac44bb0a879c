//! Remarks on settings as comments; remarks of the same words are one comment.

use super::comment;
use crate::source_settings::{ConversionRemark, RemarkContent};
use std::collections::{HashMap, HashSet};

/// Paths that a note names; more are a count.
const PATHS_MAX: usize = 8;
/// Paths that a comment names that have no counterpart.
const UNCONVERTED_PATHS_MAX: usize = 64;

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
        match content {
            RemarkContent::NoCounterpart { why, instead } => {
                let paths = list(&paths, UNCONVERTED_PATHS_MAX);
                text.push_str(&comment(indent, &format!("no counterpart: {paths}")));
                text.push_str(&comment(indent, &format!("  why: {why}")));
                text.push_str(&comment(indent, &format!("  instead: {instead}")));
            }
            RemarkContent::Note(note) => {
                let paths = list(&paths, PATHS_MAX);
                text.push_str(&comment(indent, &format!("{paths}: {note}")));
            }
        }
    }
    text
}

fn list(paths: &[&str], most: usize) -> String {
    let named: Vec<&str> = paths.iter().take(most).copied().collect();
    let more = match paths.len().saturating_sub(most) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    format!("{}{more}", named.join(", "))
}
