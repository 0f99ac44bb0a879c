//! The inputs of embeddings and completions: one or several, each as text or as tokens.

use super::api_error::ApiError;
use super::model_request::missing;
use super::text;
use serde_json::Value;

/// An input; one of tokens has their numbers as its text.
#[derive(Debug, PartialEq, Eq)]
pub struct TextInput {
    pub text: String,
    pub tokens: u64,
}

/// The inputs in the member `key`: a string, a list of strings, a list of tokens, or a list of such lists.
pub fn read(body: &Value, key: &'static str) -> Result<Vec<TextInput>, ApiError> {
    let value = body.get(key).filter(|value| !value.is_null());
    let value = value.ok_or_else(|| missing(key))?;
    let inputs = match value {
        Value::Array(items) if items.iter().all(|item| !item.is_number()) => {
            items.iter().map(input).collect()
        }
        one => input(one).map(|one| vec![one]),
    };
    let inputs = inputs.filter(|inputs| !inputs.is_empty());
    inputs.ok_or_else(|| {
        ApiError::invalid(format!(
            "'{key}' must be a string, a list of strings or tokens, or a list of lists of tokens."
        ))
        .param(key)
        .code("invalid_value")
    })
}

fn input(value: &Value) -> Option<TextInput> {
    match value {
        Value::String(text) => Some(TextInput {
            text: text.clone(),
            tokens: text::tokens(text.len()),
        }),
        Value::Array(tokens) if !tokens.is_empty() => {
            let numbers = tokens.iter().map(|token| Some(token.as_u64()?.to_string()));
            let numbers: Vec<String> = numbers.collect::<Option<_>>()?;
            Some(TextInput {
                text: numbers.join(" "),
                tokens: numbers.len() as u64,
            })
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn inputs_are_texts_or_tokens() {
        for (value, read_as) in [
            (json!("a gate"), Some(vec![("a gate", 2)])),
            (json!(["a", "b"]), Some(vec![("a", 1), ("b", 1)])),
            (json!([7, 8, 9]), Some(vec![("7 8 9", 3)])),
            (json!([[7, 8], [9]]), Some(vec![("7 8", 2), ("9", 1)])),
            (json!([]), None),
            (json!([[]]), None),
            (json!(7), None),
            (json!([7, "a"]), None),
            (json!([-1]), None),
        ] {
            let inputs = read(&json!({"input": value}), "input").ok();
            let inputs = inputs.map(|inputs| {
                let inputs = inputs.into_iter();
                inputs.map(|one| (one.text, one.tokens)).collect::<Vec<_>>()
            });
            let read_as = read_as.map(|inputs| {
                let inputs = inputs.into_iter();
                let inputs = inputs.map(|(text, tokens)| (text.to_owned(), tokens));
                inputs.collect::<Vec<_>>()
            });
            assert_eq!(inputs, read_as, "{value}");
        }
        assert!(read(&json!({"input": null}), "input").is_err());
    }
}
