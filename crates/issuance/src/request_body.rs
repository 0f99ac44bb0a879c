//! The bodies of requests that make or change a caller: JSON in, an entry of `callers` out.

use crate::change::ChangeRefusal;
use crate::new_key::NewCallerKey;
use headgate_config::directory::CallerProblem;
use headgate_core::pointer::child;
use headgate_protocol::json::{JsonDocument, JsonLimits};
use serde_json::{Map, Value};

/// The maximum number of keys of a caller.
const KEYS_MAX: usize = 32;
const NAME_BYTES_MAX: usize = 128;
const LIMITS: JsonLimits = JsonLimits {
    depth: 16,
    values: 10_000,
};

/// A caller as a body has it, with the keys that were made for it.
pub(crate) struct CallerDraft {
    pub entry: Map<String, Value>,
    pub new_keys: Vec<NewCallerKey>,
}

/// Whether the admin pages make callers of this name: it needs no escapes in a URL, cannot be that of a claim
/// (`ISSUER:claim`), nor one that a second caller of a name has (`ann~2`).
pub(crate) fn is_caller_name(name: &str) -> bool {
    let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"._@+-".contains(&byte);
    let first = name.bytes().next();
    name.len() <= NAME_BYTES_MAX
        && name.bytes().all(is_allowed)
        && first.is_some_and(|byte| byte.is_ascii_alphanumeric())
}

/// The name and the entry of a caller to be made. A body without `keys` gets one key with the label `today`.
pub(crate) fn read_new_caller(
    body: &[u8],
    today: &str,
) -> Result<(String, CallerDraft), ChangeRefusal> {
    let mut entry = read_object(body)?;
    let mut problems = Vec::new();
    let name = match entry.remove("name") {
        Some(Value::String(name)) if is_caller_name(&name) => name,
        Some(_) => {
            let reason = format!(
                "a name has 1 to {NAME_BYTES_MAX} letters, digits, `.`, `_`, `@`, `+` and `-`, and begins with a letter or digit"
            );
            problems.push(CallerProblem::error("/name", &reason, None));
            String::new()
        }
        None => {
            problems.push(CallerProblem::error(
                "/name",
                "missing required field `name`",
                None,
            ));
            String::new()
        }
    };
    if entry.contains_key("key_sha256") {
        problems.push(key_is_made("/key_sha256"));
    }
    let default = || serde_json::json!([{"label": today}]);
    let mut new_keys = Vec::new();
    if let Value::Array(keys) = entry.entry("keys").or_insert_with(default) {
        if keys.is_empty() {
            let hint = "leave out `keys`, and the gateway makes a key";
            problems.push(CallerProblem::error(
                "",
                "the caller has no key",
                Some(hint),
            ));
        }
        check_key_number(keys.len(), &mut problems);
        for (index, key) in keys.iter_mut().enumerate() {
            if let Value::Object(key) = key {
                let at = format!("/keys/{index}");
                new_keys.extend(make_key(key, &at, &mut problems)?);
            }
        }
    }
    check_secrets(&entry, &mut problems);
    match problems.is_empty() {
        true => Ok((name, CallerDraft { entry, new_keys })),
        false => Err(ChangeRefusal::Invalid(problems)),
    }
}

/// The entry with the changes of a body, which is a merge patch (RFC 7396). Its `keys` is an object by label: `null` removes
/// a key, an object changes it or makes a new one.
pub(crate) fn apply_patch(
    mut entry: Map<String, Value>,
    body: &[u8],
) -> Result<CallerDraft, ChangeRefusal> {
    let mut patch = read_object(body)?;
    let mut problems = Vec::new();
    if patch.contains_key("name") {
        let hint = "make another caller, and delete this one when nobody uses it";
        problems.push(CallerProblem::error(
            "/name",
            "a name cannot be changed",
            Some(hint),
        ));
    }
    if patch.contains_key("key_sha256") {
        problems.push(key_is_made("/key_sha256"));
    }
    let mut new_keys = Vec::new();
    match patch.remove("keys") {
        None => {}
        Some(Value::Object(changes)) => {
            let keys = entry
                .entry("keys")
                .or_insert_with(|| Value::Array(Vec::new()));
            let Value::Array(keys) = keys else {
                return Err(ChangeRefusal::Invalid(problems));
            };
            for (label, change) in changes {
                new_keys.extend(patch_key(keys, &label, change, &mut problems)?);
            }
            check_key_number(keys.len(), &mut problems);
        }
        Some(_) => {
            let hint = "such as {\"keys\": {\"old\": null, \"new\": {}}}";
            let reason = "expected an object that has keys by their labels";
            problems.push(CallerProblem::error("/keys", reason, Some(hint)));
        }
    }
    let mut merged = Value::Object(entry);
    merge(&mut merged, Value::Object(patch));
    let Value::Object(entry) = merged else {
        return Err(ChangeRefusal::Invalid(problems));
    };
    check_secrets(&entry, &mut problems);
    match problems.is_empty() {
        true => Ok(CallerDraft { entry, new_keys }),
        false => Err(ChangeRefusal::Invalid(problems)),
    }
}

/// Removes, changes or makes one key; returns one that was made.
fn patch_key(
    keys: &mut Vec<Value>,
    label: &str,
    change: Value,
    problems: &mut Vec<CallerProblem>,
) -> Result<Option<NewCallerKey>, ChangeRefusal> {
    let at = child("/keys", label);
    let known = keys.iter().position(|key| key["label"] == label);
    let Value::Object(mut change) = change else {
        match (change, known) {
            (Value::Null, Some(known)) => drop(keys.remove(known)),
            (Value::Null, None) => {
                problems.push(CallerProblem::error(
                    &at,
                    "the caller has no key with this label",
                    None,
                ));
            }
            _ => problems.push(CallerProblem::error(
                &at,
                "expected an object or null",
                None,
            )),
        }
        return Ok(None);
    };
    if change.contains_key("label") {
        let reason = "the label of a key is its name in `keys`, and cannot be changed";
        problems.push(CallerProblem::error(&child(&at, "label"), reason, None));
        return Ok(None);
    }
    if let Some(known) = known {
        if change.contains_key("key_sha256") {
            problems.push(key_is_made(&child(&at, "key_sha256")));
        }
        merge(&mut keys[known], Value::Object(change));
        return Ok(None);
    }
    change.insert("label".into(), label.into());
    change.retain(|_, value| !value.is_null());
    let made = make_key(&mut change, &at, problems)?;
    keys.push(Value::Object(change));
    Ok(made)
}

/// Makes the key of an entry of `keys`, and adds its digest.
fn make_key(
    entry: &mut Map<String, Value>,
    at: &str,
    problems: &mut Vec<CallerProblem>,
) -> Result<Option<NewCallerKey>, ChangeRefusal> {
    if entry.contains_key("key_sha256") {
        problems.push(key_is_made(&child(at, "key_sha256")));
        return Ok(None);
    }
    if entry.contains_key("certificate") {
        // It takes the place of a key.
        return Ok(None);
    }
    let label = entry
        .get("label")
        .and_then(Value::as_str)
        .unwrap_or_default();
    let made = NewCallerKey::draw(label).map_err(|_| ChangeRefusal::NoRandomNumbers)?;
    entry.insert("key_sha256".into(), made.digest().into());
    Ok(Some(made))
}

/// A body is strict JSON: no member twice, no more depth and values than a caller has use for.
fn read_object(body: &[u8]) -> Result<Map<String, Value>, ChangeRefusal> {
    let unreadable = |reason: String| ChangeRefusal::Unreadable(reason);
    JsonDocument::parse(body.to_vec().into(), &LIMITS)
        .map_err(|error| unreadable(error.to_string()))?;
    match serde_json::from_slice(body) {
        Ok(Value::Object(object)) => Ok(object),
        Ok(_) => Err(unreadable("expected a JSON object".into())),
        Err(error) => Err(unreadable(error.to_string())),
    }
}

fn merge(target: &mut Value, patch: Value) {
    let Value::Object(patch) = patch else {
        *target = patch;
        return;
    };
    if !target.is_object() {
        *target = Value::Object(Map::new());
    }
    let Value::Object(target) = target else {
        return;
    };
    for (name, value) in patch {
        match value.is_null() {
            true => drop(target.remove(&name)),
            false => merge(target.entry(name).or_insert(Value::Null), value),
        }
    }
}

/// Secrets are texts here: a file that one names would be one of the gateway's machine.
fn check_secrets(entry: &Map<String, Value>, problems: &mut Vec<CallerProblem>) {
    let secrets = entry.get("webhook_secrets").and_then(Value::as_array);
    for (index, secret) in secrets.into_iter().flatten().enumerate() {
        if !secret.is_string() {
            let at = format!("/webhook_secrets/{index}");
            problems.push(CallerProblem::error(
                &at,
                "expected the secret as text",
                None,
            ));
        }
    }
}

fn check_key_number(number: usize, problems: &mut Vec<CallerProblem>) {
    if number > KEYS_MAX {
        let reason = format!("a caller has at most {KEYS_MAX} keys");
        problems.push(CallerProblem::error(
            "/keys",
            &reason,
            Some("remove keys that nobody uses"),
        ));
    }
}

fn key_is_made(at: &str) -> CallerProblem {
    let hint = "leave it out; the response has the key";
    CallerProblem::error(at, "the gateway makes the keys of its callers", Some(hint))
}

#[cfg(test)]
mod tests;
