//! How a family maps the fields of a generic create: targets, values that are allowed, and differences by model.

use super::body_builder::RequestBodyPointer;
use super::json_fragment::JsonFragment;
use super::value_template::ValueTemplate;
use crate::catalog::caller::ModelPattern;
use crate::task::generic::{GenericField, MediaRole};
use serde_json::Value;

/// How the fields of a generic request are mapped.
#[derive(Debug)]
pub(super) struct RequestMapping {
    pub model: FieldMapping,
    pub fields: FieldMappings,
    /// Fields that differ by the channel's model; the first pattern that matches comes first.
    pub by_model: Vec<(ModelPattern, ModelOverrides)>,
}

/// The mapping of all fields but the model.
#[derive(Debug)]
pub(super) struct FieldMappings {
    pub base: ValueTemplate,
    /// In the order of `GenericField::ALL`.
    pub fields: [FieldMapping; 9],
    /// In the order of `MediaRole`.
    pub medias: [FieldMapping; 5],
}

/// The fields of some models that are mapped otherwise.
#[derive(Debug, Default)]
pub(super) struct ModelOverrides {
    pub base: Option<ValueTemplate>,
    pub fields: [Option<FieldMapping>; 9],
    pub medias: [Option<FieldMapping>; 5],
}

/// The mapping of the fields for one model.
pub(super) struct FieldMappingsForModel<'m> {
    all: &'m RequestMapping,
    /// Those that match the model.
    overrides: Vec<&'m ModelOverrides>,
}

/// The mapping of a field.
#[derive(Debug)]
pub(super) enum FieldMapping {
    Put(Box<FieldPut>),
    Refuse(String),
    Ignore(String),
}

/// Where a field goes, and how.
#[derive(Debug)]
pub(super) struct FieldPut {
    pub to: FieldTarget,
    pub value: ValueTemplate,
    pub values: AllowedValues,
    /// Used if the caller gives none.
    pub default: Option<Value>,
    pub is_required: bool,
}

/// Where a field is written.
#[derive(Debug)]
pub(super) enum FieldTarget {
    Body(RequestBodyPointer),
    /// A member of the query.
    Query(String),
    /// Expressions of other fields read it.
    Nowhere,
}

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

impl RequestMapping {
    /// Whether an expression reads the create in the generic shape.
    pub fn is_computed(&self) -> bool {
        let all = &self.fields;
        let of_models = self.by_model.iter().map(|(_, fields)| fields);
        let own = all.fields.iter().chain(&all.medias).chain([&self.model]);
        let by_model = of_models
            .clone()
            .flat_map(|it| it.fields.iter().chain(&it.medias).flatten());
        let mut bases =
            std::iter::once(&all.base).chain(of_models.filter_map(|it| it.base.as_ref()));
        let is_computed =
            |rule: &FieldMapping| rule.put().is_some_and(|put| put.value.is_computed());
        bases.any(ValueTemplate::is_computed) || own.chain(by_model).any(is_computed)
    }

    /// The mapping for the channel's model.
    pub fn for_model(&self, channel_model: &str) -> FieldMappingsForModel<'_> {
        let overrides = self.by_model.iter();
        let overrides = overrides.filter(|(pattern, _)| pattern.matches(channel_model));
        FieldMappingsForModel {
            all: self,
            overrides: overrides.map(|(_, fields)| fields).collect(),
        }
    }

    /// All mappings of a field, whatever the model.
    pub fn all_for(&self, field: GenericField) -> impl Iterator<Item = &FieldMapping> {
        let by_model = self.by_model.iter();
        let by_model =
            by_model.filter_map(move |(_, fields)| fields.fields[field as usize].as_ref());
        std::iter::once(&self.fields.fields[field as usize]).chain(by_model)
    }
}

impl<'m> FieldMappingsForModel<'m> {
    pub fn base(&self) -> &'m ValueTemplate {
        let mut overrides = self.overrides.iter();
        let base = overrides.find_map(|fields| fields.base.as_ref());
        base.unwrap_or(&self.all.fields.base)
    }

    pub fn field(&self, field: GenericField) -> &'m FieldMapping {
        let mut overrides = self.overrides.iter();
        let found = overrides.find_map(|fields| fields.fields[field as usize].as_ref());
        found.unwrap_or(&self.all.fields.fields[field as usize])
    }

    pub fn media(&self, role: MediaRole) -> &'m FieldMapping {
        let mut overrides = self.overrides.iter();
        let found = overrides.find_map(|fields| fields.medias[role as usize].as_ref());
        found.unwrap_or(&self.all.fields.medias[role as usize])
    }
}

impl FieldMapping {
    /// A field that has its place elsewhere.
    pub fn written_nowhere() -> Self {
        Self::Put(Box::new(FieldPut {
            to: FieldTarget::Nowhere,
            value: ValueTemplate::Value,
            values: AllowedValues::Any,
            default: None,
            is_required: false,
        }))
    }

    pub fn put(&self) -> Option<&FieldPut> {
        match self {
            Self::Put(put) => Some(put),
            Self::Refuse(_) | Self::Ignore(_) => None,
        }
    }

    /// The target in the body, if the field has one.
    pub fn target(&self) -> Option<&RequestBodyPointer> {
        match &self.put()?.to {
            FieldTarget::Body(to) => Some(to),
            FieldTarget::Query(_) | FieldTarget::Nowhere => None,
        }
    }

    pub fn default_value(&self) -> Option<&Value> {
        self.put()?.default.as_ref()
    }

    pub fn is_required(&self) -> bool {
        self.put().is_some_and(|put| put.is_required)
    }

    /// The element of a list that the field is, if it is one.
    pub fn element(&self) -> Option<usize> {
        self.target()?.element()
    }
}

impl AllowedValues {
    /// The provider's value for a field's value.
    ///
    /// # Errors
    /// The provider does not support the value: what it must be, and the nearest value that works.
    pub fn mapped<'a>(&self, fragment: &JsonFragment<'a>) -> Result<JsonFragment<'a>, String> {
        let word = fragment.text_value();
        match self {
            Self::Any => Ok(fragment.clone()),
            Self::Of(choices) => match choices.iter().find(|(choice, _)| *choice == word) {
                Some((_, Some(value))) => Ok(JsonFragment::written(value)),
                Some((_, None)) => Ok(fragment.clone()),
                None => {
                    let words: Vec<&str> = choices.iter().map(|(word, _)| &**word).collect();
                    let nearest = nearest(&word, &words);
                    Err(format!("one of {}{nearest}", words.join(", ")))
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
                let nearest = nearest.map_or(String::new(), |it| format!("; the nearest is {it}"));
                Err(match (min, max) {
                    (Some(min), Some(max)) => format!("from {min} to {max}{nearest}"),
                    (Some(min), None) => format!("at least {min}{nearest}"),
                    (_, Some(max)) => format!("at most {max}{nearest}"),
                    (None, None) => String::from("a number"),
                })
            }
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
            let mapped = values.mapped(&JsonFragment::text(value));
            let mapped = mapped.map(|fragment| fragment.text_value().into_owned());
            let expected = expected.map(str::to_owned).map_err(str::to_owned);
            assert_eq!(mapped, expected, "{value}");
        }
    }
}
