//! Reads channels of new-api.

mod channel_types;
mod rows;

use super::Conversion;
use super::channel_draft::name_all;
use super::routes_draft::RoutesDraft;
use super::source_settings::SourceSettingsTracker;
use serde_json::{Map, Value, json};

/// Fields whose text is JSON.
const JSON_TEXTS: [&str; 8] = [
    "model_mapping",
    "setting",
    "settings",
    "param_override",
    "header_override",
    "status_code_mapping",
    "other_info",
    "channel_info",
];
/// Fields that new-api writes itself: they are no settings.
const RECORDS: [&str; 13] = [
    "id",
    "created_time",
    "test_time",
    "response_time",
    "balance",
    "balance_updated_time",
    "used_quota",
    "other_info",
    "name",
    "remark",
    "tag",
    "need_reconcile",
    "test_model",
];
const RECORDS_OF_KEYS: [&str; 5] = [
    "is_multi_key",
    "multi_key_size",
    "multi_key_polling_index",
    "multi_key_disabled_reason",
    "multi_key_disabled_time",
];

/// The draft of exported channels.
///
/// # Errors
/// A sentence, if the file has no list of channels.
pub fn read(export: Value) -> Result<Conversion, String> {
    let rows = channel_rows(export)
        .ok_or("expected the response of GET /api/channel/, or an array of channels")?;
    let (names, rows): (Vec<String>, Vec<Value>) = rows.into_iter().map(without_records).unzip();
    let mut settings = SourceSettingsTracker::from_file(&json!({"channels": rows}));
    let mut channels = rows::read(&names, &rows, &mut settings);
    name_all(&mut channels, &mut settings);
    settings.remark_unread(|_| 2);
    let routes = RoutesDraft {
        source: "channels of new-api",
        caller: "first",
        key_digest: "CALLER_KEY_SHA256".to_owned(),
        channels,
        fallbacks: Default::default(),
        max_attempts: None,
        cache: None,
        redis: None,
        pass_through: Vec::new(),
        files: Vec::new(),
        guards: Default::default(),
        has_traces: false,
        refuses_tags: false,
        restores_model: false,
        short_paths: false,
    };
    Ok(Conversion { routes, settings })
}

fn channel_rows(export: Value) -> Option<Vec<Value>> {
    let list = match export {
        Value::Array(rows) => rows,
        Value::Object(mut response) => match response.remove("data")? {
            Value::Array(rows) => rows,
            Value::Object(mut page) => match page.remove("items")? {
                Value::Array(rows) => rows,
                _ => return None,
            },
            _ => return None,
        },
        _ => return None,
    };
    list.iter().all(Value::is_object).then_some(list)
}

/// The name of a channel and its settings: without records and what is not set, and with texts of JSON parsed.
fn without_records(row: Value) -> (String, Value) {
    let Value::Object(row) = row else {
        return (String::new(), Value::Null);
    };
    let name = row
        .get("name")
        .and_then(Value::as_str)
        .unwrap_or_default()
        .to_owned();
    let mut settings = Map::new();
    for (key, value) in row {
        if RECORDS.contains(&key.as_str()) {
            continue;
        }
        let parsed = match &value {
            Value::String(text) if JSON_TEXTS.contains(&key.as_str()) => {
                serde_json::from_str(text).ok()
            }
            _ => None,
        };
        let mut value = parsed.unwrap_or(value);
        if key == "channel_info"
            && let Value::Object(info) = &mut value
        {
            info.retain(|key, _| !RECORDS_OF_KEYS.contains(&key.as_str()));
        }
        if let Value::Object(entries) = &mut value {
            entries.retain(|_, value| is_set(value));
        }
        if is_set(&value) {
            settings.insert(key, value);
        }
    }
    (name, Value::Object(settings))
}

fn is_set(value: &Value) -> bool {
    match value {
        Value::Null => false,
        Value::String(text) => !text.trim().is_empty(),
        Value::Array(items) => !items.is_empty(),
        Value::Object(entries) => !entries.is_empty(),
        Value::Bool(_) | Value::Number(_) => true,
    }
}
