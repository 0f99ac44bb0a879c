//! The values of a field that a provider supports, and the nearest of them to one that it does not.

use super::json_fragment::JsonFragment;
use serde_json::Value;

/// The values of a field that a provider supports.
#[derive(Debug)]
pub(super) enum AllowedValues {
    Any,
    /// Each value with its replacement, if there is one.
    Of(Vec<(String, Option<Value>)>),
    /// Numbers between these, inclusive.
    Range {
        min: Option<i64>,
        max: Option<i64>,
    },
}

impl AllowedValues {
    /// The provider's value for a field's value. `reason` is when the values are limited so, as it reads after them.
    ///
    /// # Errors
    /// The provider does not support the value: what it must be, and the nearest value that works.
    pub fn mapped<'a>(
        &self,
        fragment: &JsonFragment<'a>,
        reason: Option<&str>,
    ) -> Result<JsonFragment<'a>, String> {
        let word = fragment.text_value();
        let refused = |nearest: String| {
            let reason = reason.map_or_else(String::new, |reason| format!(" {reason}"));
            Err(format!("{}{reason}{nearest}", self.expected()))
        };
        match self {
            Self::Any => Ok(fragment.clone()),
            Self::Of(choices) => match choices.iter().find(|(choice, _)| *choice == word) {
                Some((_, Some(value))) => Ok(JsonFragment::written(value)),
                Some((_, None)) => Ok(fragment.clone()),
                None => {
                    let words: Vec<&str> = choices.iter().map(|(word, _)| &**word).collect();
                    refused(nearest(&word, &words))
                }
            },
            Self::Range { min, max } => {
                let number = word.parse::<f64>().ok();
                let is_below = min.is_some_and(|min| number.is_none_or(|it| it < min as f64));
                let is_above = max.is_some_and(|max| number.is_none_or(|it| it > max as f64));
                if !is_below && !is_above {
                    return Ok(fragment.clone());
                }
                let nearest = if is_below { *min } else { *max };
                refused(nearest.map_or(String::new(), |it| format!("; the nearest is {it}")))
            }
        }
    }

    /// The values in words, as they read after "must be".
    pub fn expected(&self) -> String {
        match self {
            Self::Any => "any value".into(),
            Self::Of(choices) => {
                let words: Vec<&str> = choices.iter().map(|(word, _)| &**word).collect();
                match words.as_slice() {
                    [only] => (*only).to_owned(),
                    words => format!("one of {}", words.join(", ")),
                }
            }
            Self::Range { min, max } => match (min, max) {
                (Some(min), Some(max)) => format!("from {min} to {max}"),
                (Some(min), None) => format!("at least {min}"),
                (_, Some(max)) => format!("at most {max}"),
                (None, None) => "a number".into(),
            },
        }
    }
}

/// Names the choice with the nearest number, if the value and the choices have one.
fn nearest(word: &str, choices: &[&str]) -> String {
    let Some(wanted) = leading_number(word) else {
        return String::new();
    };
    let numbers = choices.iter();
    let numbers = numbers.filter_map(|choice| Some((leading_number(choice)?, choice)));
    let nearest = numbers.min_by_key(|(number, _)| number.abs_diff(wanted));
    nearest.map_or(String::new(), |(_, choice)| {
        format!("; the nearest is {choice}")
    })
}

/// The number at the start of a word, in thousands for `4k`; `None` for a ratio, which has two.
pub(super) fn leading_number(word: &str) -> Option<u64> {
    let end = word.find(|character: char| !character.is_ascii_digit());
    let (digits, unit) = word.split_at(end.unwrap_or(word.len()));
    let number: u64 = digits.parse().ok()?;
    match unit.bytes().next() {
        Some(b':' | b'x' | b'*') => None,
        Some(b'k' | b'K') => number.checked_mul(1_000),
        _ => Some(number),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refused_value_gets_the_nearest_that_works() {
        let choices = |words: &[&str]| {
            AllowedValues::Of(
                words
                    .iter()
                    .map(|word| ((*word).to_owned(), None))
                    .collect(),
            )
        };
        let range = |min, max| AllowedValues::Range { min, max };
        for (values, value, expected) in [
            (
                choices(&["4", "6", "8"]),
                "7",
                Err("one of 4, 6, 8; the nearest is 6"),
            ),
            (choices(&["4", "6", "8"]), "8", Ok("8")),
            (
                choices(&["480p", "720p", "4k"]),
                "2160p",
                Err("one of 480p, 720p, 4k; the nearest is 720p"),
            ),
            (choices(&["16:9", "9:16"]), "1:1", Err("one of 16:9, 9:16")),
            (
                range(Some(2), Some(10)),
                "99",
                Err("from 2 to 10; the nearest is 10"),
            ),
            (
                range(Some(2), Some(10)),
                "-1",
                Err("from 2 to 10; the nearest is 2"),
            ),
            (
                range(Some(2), None),
                "1",
                Err("at least 2; the nearest is 2"),
            ),
            (
                range(None, Some(9)),
                "10",
                Err("at most 9; the nearest is 9"),
            ),
            (range(Some(2), Some(10)), "2", Ok("2")),
        ] {
            let mapped = values.mapped(&JsonFragment::text(value), None);
            let mapped = mapped.map(|fragment| fragment.text_value().into_owned());
            let expected = expected.map(str::to_owned).map_err(str::to_owned);
            assert_eq!(mapped, expected, "{value}");
        }
    }
}
