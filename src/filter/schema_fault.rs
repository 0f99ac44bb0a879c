//! What callers are told of a body that breaks its schema.

use crate::protocol::fault::{Fault, FaultKind};
use crate::protocol::schema::SchemaViolation;
use std::fmt::Write;

/// Violations told at once; more would help nobody.
pub const VIOLATIONS_MAX: usize = 8;

/// The error that tells every violation; none if there is none. `named` turns a JSON pointer, which is not
/// empty, into the caller's name for the place, for the message and for the error's `param`.
pub fn from_violations(
    violations: &[SchemaViolation],
    named: impl Fn(&str) -> (String, String),
) -> Option<Fault> {
    let first = violations.first()?;
    let mut message = String::new();
    for violation in violations {
        let separator = if message.is_empty() { "" } else { "; " };
        let SchemaViolation { reason, rule, .. } = violation;
        let _ = match missing_field(violation) {
            Some(pointer) if rule == "required" && reason.starts_with(LACKS) => {
                let (_, field) = named(&pointer);
                write!(message, "{separator}{LACKS} `{field}` (rule: {rule})")
            }
            _ => {
                let place = match violation.pointer.as_str() {
                    "" => "the body".into(),
                    pointer => named(pointer).0,
                };
                write!(message, "{separator}{reason} at {place} (rule: {rule})")
            }
        };
    }
    Some(match (missing_field(first), first.pointer.as_str()) {
        (Some(pointer), _) => Fault::new(FaultKind::Missing, message).param(named(&pointer).1),
        (None, "") => Fault::new(FaultKind::Invalid, message),
        (None, pointer) => Fault::new(FaultKind::Invalid, message).param(named(pointer).1),
    })
}

/// How the reason begins where a schema has no words of its own for a missing field.
const LACKS: &str = "missing required field";

/// The pointer to the field that is missing.
fn missing_field(violation: &SchemaViolation) -> Option<String> {
    let member = violation.missing.as_ref()?;
    let member = member.replace('~', "~0").replace('/', "~1");
    Some(format!("{}/{member}", violation.pointer))
}
