//! What differs between the settings of two configurations, as text and without secrets.

use super::ConfigSide;
use super::change::{SettingChange, SettingGroup};
use crate::cli::step_changes::{StepChange, step_changes};
use headgate_config::comparison::is_secret;
use headgate_core::pointer::child;
use serde_json::Value;

/// Compares all settings. `restart` names the settings that differ and need a restart.
pub fn compare(old: &ConfigSide, new: &ConfigSide, restart: &[&'static str]) -> Vec<SettingChange> {
    let mut comparison = SettingsComparison {
        old,
        new,
        restart,
        changes: Vec::new(),
    };
    for section in keys(old.config.values.get(""), new.config.values.get("")) {
        comparison.section(&section);
    }
    comparison.changes
}

struct SettingsComparison<'a> {
    old: &'a ConfigSide,
    new: &'a ConfigSide,
    restart: &'a [&'static str],
    changes: Vec<SettingChange>,
}

/// Where a setting stands in both files.
#[derive(Clone)]
struct ComparedSettingPlace<'a> {
    section: &'a str,
    /// What the setting belongs to, such as `channel openai`.
    subject: &'a str,
    /// The keys below the subject, such as `timeouts.total`.
    path: String,
    old: String,
    new: String,
}

impl ComparedSettingPlace<'_> {
    fn child(&self, key: &str) -> Self {
        Self {
            path: match &*self.path {
                "" => key.to_owned(),
                path => format!("{path}.{key}"),
            },
            old: child(&self.old, key),
            new: child(&self.new, key),
            ..self.clone()
        }
    }

    /// The same setting, whose values stand at other pointers.
    fn at(&self, path: String, old: String, new: String) -> Self {
        Self {
            path,
            old,
            new,
            ..self.clone()
        }
    }
}

impl SettingsComparison<'_> {
    fn section(&mut self, section: &str) {
        let pointer = child("", section);
        let noun = match section {
            "callers" | "groups" | "channels" | "models" | "routes" | "chains" | "services"
            | "plugins" => section.trim_end_matches('s'),
            "families" => "family",
            _ => {
                return self.setting(&ComparedSettingPlace {
                    section,
                    subject: section,
                    path: String::new(),
                    old: pointer.clone(),
                    new: pointer,
                });
            }
        };
        let old = entries(self.old.config.values.get(&pointer), &pointer);
        let new = entries(self.new.config.values.get(&pointer), &pointer);
        self.named(section, noun, &old, &new);
        if section == "routes" {
            self.order(&old, &new);
        }
    }

    /// Compares what both lists have by name.
    fn named(
        &mut self,
        section: &str,
        noun: &str,
        old: &[NamedEntryPointer],
        new: &[NamedEntryPointer],
    ) {
        let by_name = |list: &[NamedEntryPointer], name: &str| {
            let found = list.iter().find(|entry| entry.name == name);
            found.map(|entry| entry.pointer.clone())
        };
        for entry in old
            .iter()
            .filter(|entry| by_name(new, &entry.name).is_none())
        {
            self.add(section, "", format!("{noun} {}: removed", entry.name));
        }
        for NamedEntryPointer { name, pointer } in new {
            let subject = format!("{noun} {name}");
            match by_name(old, name) {
                None => {
                    let detail = self.detail(section, pointer);
                    self.add(section, "", format!("{subject}: added{detail}"));
                }
                Some(old) => self.setting(&ComparedSettingPlace {
                    section,
                    subject: &subject,
                    path: String::new(),
                    old,
                    new: pointer.clone(),
                }),
            }
        }
    }

    /// What a reader wants to know first of an added entry.
    fn detail(&self, section: &str, pointer: &str) -> String {
        let key = match section {
            "channels" => "base_url",
            "routes" => "match",
            "callers" => "models",
            _ => return String::new(),
        };
        let pointer = child(pointer, key);
        let shown = self
            .new
            .config
            .document
            .shown(&self.new.config.values, &pointer);
        format!(", {key} {shown}")
    }

    fn order(&mut self, old: &[NamedEntryPointer], new: &[NamedEntryPointer]) {
        let common = |list: &[NamedEntryPointer], other: &[NamedEntryPointer]| {
            let in_both = list
                .iter()
                .filter(|entry| other.iter().any(|other| other.name == entry.name));
            in_both
                .map(|entry| entry.name.clone())
                .collect::<Vec<_>>()
                .join(", ")
        };
        let (old, new) = (common(old, new), common(new, old));
        if old != new {
            self.add("routes", "", format!("order: {old} → {new}"));
        }
    }

    /// Compares the values at a place, and what is below them.
    fn setting(&mut self, place: &ComparedSettingPlace<'_>) {
        let old = self.old.config.values.get(&place.old);
        let new = self.new.config.values.get(&place.new);
        if old == new {
            return;
        }
        let is_steps = place.section == "chains" && place.path.is_empty()
            || place.section == "routes" && ["request", "response"].contains(&&*place.path);
        match (old, new) {
            (old, new) if is_secret(old) || is_secret(new) => self.secret(place),
            (Value::Object(_), Value::Object(_)) => {
                for key in keys(old, new) {
                    self.setting(&place.child(&key));
                }
            }
            (Value::Array(old), Value::Array(new)) if is_steps => self.steps(place, old, new),
            (Value::Array(old), Value::Array(new)) if are_texts(old) && are_texts(new) => {
                self.texts(place, old, new);
            }
            (Value::Null, Value::Object(entries)) if has_secret(new) => {
                for key in entries.keys() {
                    self.setting(&place.child(key));
                }
            }
            (Value::Object(entries), Value::Null) if has_secret(old) => {
                for key in entries.keys() {
                    self.setting(&place.child(key));
                }
            }
            _ => self.scalar(place),
        }
    }

    fn scalar(&mut self, place: &ComparedSettingPlace<'_>) {
        if place.path.ends_with("key_sha256") {
            return self.report(place, "changed".into());
        }
        let shown = |side: &ConfigSide, pointer: &str| match side.config.values.get(pointer) {
            Value::Null => "not set".to_owned(),
            _ => side.config.document.shown(&side.config.values, pointer),
        };
        let (old, new) = (shown(self.old, &place.old), shown(self.new, &place.new));
        match old == new {
            // Both are masked, or the same variable stands in two ways of writing.
            true => self.report(place, "changed".into()),
            false => self.report(place, format!("{old} → {new}")),
        }
    }

    fn secret(&mut self, place: &ComparedSettingPlace<'_>) {
        let shown = |side: &ConfigSide, pointer: &str| {
            let shown = side.config.document.shown(&side.config.values, pointer);
            shown.starts_with("${").then_some(shown)
        };
        let names = (shown(self.old, &place.old), shown(self.new, &place.new));
        let text = match (
            self.old.config.values.get(&place.old),
            self.new.config.values.get(&place.new),
            names,
        ) {
            (Value::Null, _, _) => "added".into(),
            (_, Value::Null, _) => "removed".into(),
            (_, _, (Some(old), Some(new))) if old != new => format!("changed, {old} → {new}"),
            _ => "changed".into(),
        };
        self.report(place, text);
    }

    fn texts(&mut self, place: &ComparedSettingPlace<'_>, old: &[Value], new: &[Value]) {
        let shown = |side: &ConfigSide, pointer: &str, list: &[Value], other: &[Value]| {
            let only_here = list.iter().enumerate();
            let only_here = only_here.filter(|(_, item)| !other.contains(item));
            let shown = only_here.map(|(index, _)| {
                side.config
                    .document
                    .shown(&side.config.values, &child(pointer, index))
            });
            shown.collect::<Vec<_>>().join(", ")
        };
        let removed = shown(self.old, &place.old, old, new);
        let added = shown(self.new, &place.new, new, old);
        match (&*removed, &*added) {
            ("", "") => self.scalar(place),
            ("", added) => self.report(place, format!("added {added}")),
            (removed, "") => self.report(place, format!("removed {removed}")),
            (removed, added) => self.report(place, format!("added {added}; removed {removed}")),
        }
    }

    fn steps(&mut self, place: &ComparedSettingPlace<'_>, old: &[Value], new: &[Value]) {
        for change in step_changes(old, new) {
            if let Some(text) = change.text() {
                self.report(place, text);
            }
            let StepChange::Pair { name, old, new } = change else {
                continue;
            };
            let (old, new) = (child(&place.old, old), child(&place.new, new));
            for key in [&*name, "if", "on_error"] {
                let path = match key == name {
                    true => place.child(&name).path,
                    false => place.child(&name).child(key).path,
                };
                self.setting(&place.at(path, child(&old, key), child(&new, key)));
            }
        }
    }

    fn report(&mut self, place: &ComparedSettingPlace<'_>, text: String) {
        let full = format!("{}.{}", place.section, place.path);
        let restarts = |setting: &&str| {
            full.strip_prefix(*setting)
                .is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
        };
        let restart = match self.restart.iter().any(restarts) {
            true => " (needs a restart)",
            false => "",
        };
        let subject = match (place.subject == place.section, &*place.path) {
            (true, "") => place.section.to_owned(),
            (true, path) => format!("{}.{path}", place.section),
            (false, "") => place.subject.to_owned(),
            (false, path) => format!("{}: {path}", place.subject),
        };
        self.add(
            place.section,
            &place.path.clone(),
            format!("{subject}: {text}{restart}"),
        );
    }

    fn add(&mut self, section: &str, path: &str, text: String) {
        self.changes.push(SettingChange {
            group: SettingGroup::for_setting(section, path),
            text,
        });
    }
}

/// An entry of a section, and its pointer.
struct NamedEntryPointer {
    name: String,
    pointer: String,
}

/// The entries of a mapping by their keys, or of a list by `name`.
fn entries(value: &Value, pointer: &str) -> Vec<NamedEntryPointer> {
    match value {
        Value::Object(entries) => entries
            .keys()
            .map(|key| NamedEntryPointer {
                name: key.clone(),
                pointer: child(pointer, key),
            })
            .collect(),
        Value::Array(items) => items
            .iter()
            .enumerate()
            .map(|(index, item)| NamedEntryPointer {
                name: item["name"].as_str().unwrap_or_default().to_owned(),
                pointer: child(pointer, index),
            })
            .collect(),
        _ => Vec::new(),
    }
}

/// The keys of both mappings, each once.
fn keys(old: &Value, new: &Value) -> Vec<String> {
    let of = |value: &Value| -> Vec<String> {
        let entries = value.as_object();
        entries.map_or(Vec::new(), |entries| entries.keys().cloned().collect())
    };
    let mut keys = of(old);
    for key in of(new) {
        if !keys.contains(&key) {
            keys.push(key);
        }
    }
    keys
}

fn are_texts(list: &[Value]) -> bool {
    list.iter().all(|item| item.is_string() && !is_secret(item))
}

fn has_secret(value: &Value) -> bool {
    match value {
        Value::Object(entries) => entries.values().any(has_secret),
        Value::Array(items) => items.iter().any(has_secret),
        value => is_secret(value),
    }
}
