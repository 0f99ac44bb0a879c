//! The names of an expression with their values, for people.

use headgate_protocol::credential_names::names_credential;

use crate::evaluate::ExpressionEvaluator;
use crate::json_text;
use crate::nodes::CelNode;
use crate::values::{CelValue, ExpressionValueSource};

/// How many characters of a value are kept.
const CHARACTERS: usize = 64;

/// Every variable, entry and pointer of an expression once, in the order of the text.
pub(crate) fn observed(
    root: &CelNode,
    values: &dyn ExpressionValueSource,
) -> Vec<(String, String)> {
    let mut seen: Vec<(String, String)> = Vec::new();
    root.each(&mut |node| {
        let Some(name) = name(node) else {
            return;
        };
        if seen.iter().all(|(other, _)| *other != name) {
            let shown = shown(node, values);
            seen.push((name, shown));
        }
    });
    seen
}

fn name(node: &CelNode) -> Option<String> {
    match node {
        CelNode::Variable(variable) => Some(variable.name().to_owned()),
        CelNode::Entry(map, key) | CelNode::HasEntry(map, key) => match &**key {
            CelNode::Text(key) => Some(format!("{}[{key:?}]", map.name())),
            _ => None,
        },
        CelNode::Document(kind, pointer) | CelNode::HasDocument(kind, pointer) => {
            Some(format!("{}({:?})", kind.function(), pointer.text()))
        }
        _ => None,
    }
}

fn shown(node: &CelNode, values: &dyn ExpressionValueSource) -> String {
    let mut evaluation = ExpressionEvaluator::new(values);
    let value = match node {
        CelNode::Entry(_, key) | CelNode::HasEntry(_, key) if is_credential(key) => {
            return "(hidden)".into();
        }
        CelNode::HasEntry(map, key) => evaluation.entry_value(*map, key),
        CelNode::HasDocument(kind, pointer) => evaluation.document(*kind, pointer),
        other => evaluation.value(other),
    };
    match value {
        Ok(CelValue::Document(node)) => {
            let start = node.raw();
            let start = &start[..start.len().min(4 * CHARACTERS)];
            cut(&String::from_utf8_lossy(start))
        }
        Ok(value) => {
            let mut text = Vec::new();
            match json_text::write(&value, &mut text, &mut evaluation.allowance) {
                Ok(()) => cut(&String::from_utf8_lossy(&text)),
                Err(failure) => format!("({})", failure.message),
            }
        }
        Err(failure) => format!("({})", failure.message),
    }
}

fn is_credential(key: &CelNode) -> bool {
    matches!(key, CelNode::Text(key) if names_credential(key.to_ascii_lowercase().as_bytes()))
}

fn cut(text: &str) -> String {
    match text.char_indices().nth(CHARACTERS) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}
