//! JSON Schemas of the scalar types. A schema refuses what the type's parser refuses.

use super::price::{DECIMAL_PLACES, PRICE_WORDS};
use super::{ByteSize, HumanDuration, SIZE_WORDS, SPAN_WORDS, Secret, UnitPrice};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use std::borrow::Cow;

/// A string, or `{file: path}`, which the loader replaces by the file's content.
impl JsonSchema for Secret {
    fn schema_name() -> Cow<'static, str> {
        "Secret".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "A secret: `${VARIABLE}`, or `{file: path}` relative to this file.",
            "type": ["string", "object"],
            "minLength": 1,
            "properties": {
                "file": {
                    "description": "File that holds the secret; a line break at its end is left out.",
                    "type": "string",
                    "minLength": 1
                }
            },
            "required": ["file"],
            "additionalProperties": false,
            "writeOnly": true
        })
    }
}

impl JsonSchema for HumanDuration {
    fn schema_name() -> Cow<'static, str> {
        "Span".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "A duration such as `250ms`, `2s`, `5m`, `1h` or `1h30m`.",
            "type": "string",
            // One part at least is not zero: the alternatives are by the first that is not.
            "pattern": r"^(0{0,8}[1-9][0-9]{0,8}h([0-9]{1,9}m)?([0-9]{1,9}s)?([0-9]{1,9}ms)?|(0{1,9}h)?(0{0,8}[1-9][0-9]{0,8}m([0-9]{1,9}s)?([0-9]{1,9}ms)?|(0{1,9}m)?(0{0,8}[1-9][0-9]{0,8}s([0-9]{1,9}ms)?|(0{1,9}s)?0{0,8}[1-9][0-9]{0,8}ms)))$",
            "patternErrorMessage": SPAN_WORDS
        })
    }
}

impl JsonSchema for ByteSize {
    fn schema_name() -> Cow<'static, str> {
        "ByteSize".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "A size such as `512KiB`, `32MiB`, `1GiB`, `10MB`, or a number of bytes.",
            "type": ["string", "integer"],
            "minimum": 1,
            "maximum": u64::MAX,
            "pattern": "^0{0,8}[1-9][0-9]{0,8}([KMG]i?B|B)?$",
            "patternErrorMessage": SIZE_WORDS
        })
    }
}

impl JsonSchema for UnitPrice {
    fn schema_name() -> Cow<'static, str> {
        "UnitPrice".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "An amount such as `2.5` or `0.075`, with at most 9 decimal places, as a number or as text. One with more than 15 digits is written as text.",
            "type": ["number", "string"],
            "minimum": 0,
            "maximum": 999_999_999,
            (DECIMAL_PLACES): 9,
            "pattern": r"^[0-9]{1,9}(\.[0-9]{1,9})?$",
            "patternErrorMessage": PRICE_WORDS
        })
    }
}
