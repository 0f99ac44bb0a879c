//! What differs between two lists of steps: steps that were added, removed or moved, and pairs with other settings.

use serde_json::Value;

/// A difference between two lists of steps.
#[derive(Debug, PartialEq, Eq)]
pub enum StepChange {
    Added {
        name: String,
        after: Option<String>,
    },
    Removed {
        name: String,
    },
    Moved {
        name: String,
        after: Option<String>,
    },
    /// The same filter in both lists, by its indexes; its settings may differ.
    Pair {
        name: String,
        old: usize,
        new: usize,
    },
}

impl StepChange {
    /// The change as text; `None` for a pair.
    pub fn text(&self) -> Option<String> {
        let place = |after: &Option<String>| match after {
            Some(after) => format!("after {after}"),
            None => "at the start".into(),
        };
        match self {
            Self::Removed { name } => Some(format!("{name} removed")),
            Self::Added { name, after } => Some(format!("{name} added {}", place(after))),
            Self::Moved { name, after } => Some(format!("{name} moved, now {}", place(after))),
            Self::Pair { .. } => None,
        }
    }
}

/// The differences in the order of the new list, removed steps first.
pub fn step_changes(old: &[Value], new: &[Value]) -> Vec<StepChange> {
    let old: Vec<String> = old.iter().map(step_name).collect();
    let new: Vec<String> = new.iter().map(step_name).collect();
    let pairs = pairs(&old, &new);
    let mut removed: Vec<(usize, &String)> = old.iter().enumerate().collect();
    removed.retain(|(index, _)| !pairs.iter().any(|(old, _)| old == index));
    let mut changes = Vec::new();
    for (index, name) in new.iter().enumerate() {
        let after = index.checked_sub(1).map(|before| new[before].clone());
        let name = name.clone();
        if let Some((old, new)) = pairs.iter().find(|(_, new)| *new == index) {
            let (old, new) = (*old, *new);
            changes.push(StepChange::Pair { name, old, new });
            continue;
        }
        match removed.iter().position(|(_, other)| **other == name) {
            Some(at) => {
                let (old, _) = removed.remove(at);
                changes.push(StepChange::Moved {
                    name: name.clone(),
                    after,
                });
                changes.push(StepChange::Pair {
                    name,
                    old,
                    new: index,
                });
            }
            None => changes.push(StepChange::Added { name, after }),
        }
    }
    let removed = removed
        .into_iter()
        .map(|(_, name)| StepChange::Removed { name: name.clone() });
    removed.chain(changes).collect()
}

/// The filter of a step, or `use` and the name of the chain.
fn step_name(step: &Value) -> String {
    match step {
        Value::String(name) => name.clone(),
        Value::Object(keys) => match keys.get("use").and_then(Value::as_str) {
            Some(chain) => format!("use {chain}"),
            None => {
                let mut keys = keys.keys();
                let filter = keys.find(|key| *key != "if" && *key != "on_error");
                filter.cloned().unwrap_or_default()
            }
        },
        _ => String::new(),
    }
}

/// A longest common subsequence, as pairs of indexes.
fn pairs(old: &[String], new: &[String]) -> Vec<(usize, usize)> {
    let width = new.len() + 1;
    let mut lengths = vec![0_u32; (old.len() + 1) * width];
    for (i, left) in old.iter().enumerate().rev() {
        for (j, right) in new.iter().enumerate().rev() {
            lengths[i * width + j] = match left == right {
                true => lengths[(i + 1) * width + j + 1] + 1,
                false => lengths[(i + 1) * width + j].max(lengths[i * width + j + 1]),
            };
        }
    }
    let (mut i, mut j) = (0, 0);
    let mut pairs = Vec::new();
    while i < old.len() && j < new.len() {
        if old[i] == new[j] {
            pairs.push((i, j));
            (i, j) = (i + 1, j + 1);
        } else if lengths[(i + 1) * width + j] >= lengths[i * width + j + 1] {
            i += 1;
        } else {
            j += 1;
        }
    }
    pairs
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn steps_are_added_removed_and_moved() {
        let old = json!(["a", {"b": 1}, {"use": "text"}, "c"]);
        let new = json!(["c", "a", {"b": 2, "if": "true"}, {"use": "other"}]);
        let changes = step_changes(old.as_array().unwrap(), new.as_array().unwrap());
        let text = |name: &str| name.to_owned();
        let pair = |name: &str, old, new| StepChange::Pair {
            name: text(name),
            old,
            new,
        };
        let expected = [
            StepChange::Removed {
                name: text("use text"),
            },
            StepChange::Moved {
                name: text("c"),
                after: None,
            },
            pair("c", 3, 0),
            pair("a", 0, 1),
            pair("b", 1, 2),
            StepChange::Added {
                name: text("use other"),
                after: Some(text("b")),
            },
        ];
        assert_eq!(changes, expected);
    }
}
