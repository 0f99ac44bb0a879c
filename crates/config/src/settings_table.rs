//! The settings of a filter in tables, made of the JSON Schema of their type: for the pages of `docs/filters` and for
//! `headgate filters`.

use super::schema::resolve;
use super::simplify::simplify;
use serde_json::Value;

/// The settings of one mapping.
#[derive(Debug, PartialEq, Eq)]
pub struct SettingsReferenceTable {
    /// Where the mapping is: empty for the settings themselves, else such as `` `send` `` or ``each of `events` ``.
    pub place: String,
    /// Required settings first, each group by name.
    pub rows: Vec<SettingsReferenceRow>,
}

/// One setting.
#[derive(Debug, PartialEq, Eq)]
pub struct SettingsReferenceRow {
    pub key: String,
    /// In Markdown: `required`, `none`, or the default.
    pub default: String,
    /// In Markdown: whole sentences.
    pub meaning: String,
}

/// The sentence of a description that has the default begins so.
const DEFAULT: &str = "Default: ";

/// The tables of settings with this schema, those of nested mappings after the one that they are in. Settings that are no
/// mapping, such as a list of names, have none.
pub fn settings_tables(schema: &Value) -> Vec<SettingsReferenceTable> {
    let mut schema = schema.clone();
    simplify(&mut schema);
    let mut tables = Vec::new();
    add_tables(&schema, &schema, String::new(), &mut tables);
    tables
}

/// The tables as Markdown.
pub fn markdown(tables: &[SettingsReferenceTable]) -> String {
    let tables = tables.iter().map(|SettingsReferenceTable { place, rows }| {
        let heading = match &**place {
            "" => String::new(),
            place => format!("{}:\n\n", capitalized(place)),
        };
        let rows: String = rows.iter().map(markdown_row).collect();
        format!("{heading}| key | default | meaning |\n|---|---|---|\n{rows}")
    });
    tables.collect::<Vec<_>>().join("\n")
}

fn markdown_row(row: &SettingsReferenceRow) -> String {
    let SettingsReferenceRow {
        key,
        default,
        meaning,
    } = row;
    format!(
        "| `{key}` | {default} | {} |\n",
        meaning.replace('|', "\\|")
    )
}

fn capitalized(text: &str) -> String {
    let mut letters = text.chars();
    let first = letters.next().map(|first| first.to_ascii_uppercase());
    first.into_iter().chain(letters).collect()
}

fn add_tables(
    root: &Value,
    schema: &Value,
    place: String,
    tables: &mut Vec<SettingsReferenceTable>,
) {
    let schema = resolve(root, schema);
    let nested = |inner: &str| match &*place {
        "" => inner.to_owned(),
        place => format!("{inner} of {place}"),
    };
    if let Some(properties) = schema["properties"].as_object() {
        // A value that may be computed is explained by the page on expressions.
        if properties.keys().eq(["cel"]) {
            return;
        }
        let is_required = |key: &str| {
            let required = schema["required"].as_array();
            required.is_some_and(|keys| keys.iter().any(|name| name == key))
        };
        let rows = properties.iter();
        let rows = rows.map(|(key, property)| row(root, key, property, is_required(key)));
        let mut rows: Vec<SettingsReferenceRow> = rows.collect();
        rows.sort_by_key(|row| !is_required(&row.key));
        let inner = properties.iter();
        let inner: Vec<_> = inner
            .map(|(key, property)| (nested(&format!("`{key}`")), property))
            .collect();
        tables.push(SettingsReferenceTable { place, rows });
        for (place, property) in inner {
            add_tables(root, property, place, tables);
        }
        return;
    }
    for inner in ["items", "additionalProperties"] {
        if schema[inner].is_object() {
            let place = match &*place {
                "" => String::new(),
                place => format!("each of {place}"),
            };
            return add_tables(root, &schema[inner], place, tables);
        }
    }
}

fn row(root: &Value, key: &str, property: &Value, is_required: bool) -> SettingsReferenceRow {
    let description = property["description"].as_str().unwrap_or_default();
    let (before, default, after) = split_default(description);
    let default = match (is_required, default) {
        (true, _) => "required".into(),
        (_, Some(default)) => in_markdown(default),
        _ => default_text(property),
    };
    let sentences = [before.to_owned(), after.to_owned(), words(root, property)];
    let sentences = sentences.iter().filter(|text| !text.is_empty());
    SettingsReferenceRow {
        key: key.to_owned(),
        default,
        meaning: sentences.cloned().collect::<Vec<_>>().join(" "),
    }
}

/// What is before the default, the default, and what is after it.
fn split_default(description: &str) -> (&str, Option<&str>, &str) {
    let Some((before, rest)) = description.split_once(DEFAULT) else {
        return (description, None, "");
    };
    let (default, after) = match rest.split_once(". ") {
        Some(parts) => parts,
        None => (rest.trim_end_matches('.'), ""),
    };
    (before.trim_end(), Some(default), after)
}

/// A default as it is written in a table: a value as code, words as they are.
fn in_markdown(default: &str) -> String {
    let is_prose = default == "none" || default == "all" || default.contains([' ', '`']);
    match is_prose {
        true => default.to_owned(),
        false => format!("`{default}`"),
    }
}

/// The default of the schema, if it says more than that there is nothing.
fn default_text(property: &Value) -> String {
    match &property["default"] {
        Value::Null => "none".into(),
        Value::Array(items) if items.is_empty() => "none".into(),
        Value::Object(members) if members.is_empty() => "none".into(),
        Value::String(text) => format!("`{text}`"),
        value => format!("`{value}`"),
    }
}

/// What each word means that the setting, or each element of a list, may be, if it may be only some.
fn words(root: &Value, property: &Value) -> String {
    let mut schema = resolve(root, property);
    if schema["items"].is_object() {
        schema = resolve(root, &schema["items"]);
    }
    let list = |key: &str| schema[key].as_array().into_iter().flatten();
    let words = list("enum").filter_map(Value::as_str);
    let meanings = list("enumDescriptions").map(|text| text.as_str().unwrap_or_default());
    let meanings = meanings.map(|text| text.trim_end_matches('.'));
    let words: Vec<String> = words
        .zip(meanings)
        .map(|(word, meaning)| format!("`{word}`: {meaning}."))
        .collect();
    words.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn settings_are_rows_and_nested_mappings_are_tables_of_their_own() {
        let schema = json!({
            "properties": {
                "b": { "description": "The second. Default: 5m. It waits.", "default": "5m" },
                "a": { "description": "One | two.", "$ref": "#/$defs/Word" },
                "c": { "description": "The third.", "default": 3 },
                "list": { "description": "Some.", "items": { "$ref": "#/$defs/Item" } },
                "text": { "description": "A text. Default: none.", "$ref": "#/$defs/Text" },
                "last": { "description": "Required." }
            },
            "required": ["last"],
            "$defs": {
                "Word": { "enum": ["x", "y"], "enumDescriptions": ["It is x.", "It is y."] },
                "Item": { "properties": { "d": { "description": "Deep. Default: as `b`." } } },
                "Text": { "properties": { "cel": {} } }
            }
        });
        let expected = "\
| key | default | meaning |
|---|---|---|
| `last` | required | Required. |
| `a` | none | One \\| two. `x`: It is x. `y`: It is y. |
| `b` | `5m` | The second. It waits. |
| `c` | `3` | The third. |
| `list` | none | Some. |
| `text` | none | A text. |

Each of `list`:

| key | default | meaning |
|---|---|---|
| `d` | as `b` | Deep. |
";
        assert_eq!(markdown(&settings_tables(&schema)), expected);
        assert_eq!(
            settings_tables(&json!({ "items": { "type": "string" } })),
            []
        );
    }
}
