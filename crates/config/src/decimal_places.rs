//! The keyword of schemas that refuses amounts with more decimal places than are counted, where they are written as numbers.

use headgate_core::scalar::{DECIMAL_PLACES, is_exact_amount};
use jsonschema::{Keyword, ValidationError, ValidationOptions};
use serde_json::Value;

/// How schemas of the configuration are compiled.
pub fn schema_options() -> ValidationOptions<'static> {
    jsonschema::draft202012::options().with_keyword(DECIMAL_PLACES, |_, _, _| {
        let keyword: Box<dyn for<'value> Keyword<'value>> = Box::new(ExactAmountKeyword);
        Ok(keyword)
    })
}

struct ExactAmountKeyword;

impl<'value> Keyword<'value> for ExactAmountKeyword {
    fn validate(&self, value: &'value Value) -> Result<(), ValidationError<'value>> {
        match self.is_valid(value) {
            true => Ok(()),
            false => Err(ValidationError::custom("too many decimal places")),
        }
    }

    fn is_valid(&self, value: &'value Value) -> bool {
        match value {
            // The other keywords tell whether it is too large.
            Value::Number(number) if number.is_f64() => {
                number.as_f64().is_some_and(is_exact_amount)
            }
            _ => true,
        }
    }
}
