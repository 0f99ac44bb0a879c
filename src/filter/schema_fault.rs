//! The error for a request body that violates its schema.

use crate::protocol::fault::{Fault, FaultKind};
use crate::protocol::schema::SchemaViolation;
use std::fmt::Write;

/// Maximum number of violations in one error.
pub const VIOLATIONS_MAX: usize = 8;

/// The error that lists all violations; `None` if there are none. `named` turns a non-empty JSON pointer into the
/// caller's name for the place: the first text is for the message, the second for the error's `param`.
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

/// The start of the reason if a schema has no message of its own for a missing field.
const LACKS: &str = "missing required field";

/// The JSON pointer of the missing field.
fn missing_field(violation: &SchemaViolation) -> Option<String> {
    let member = violation.missing.as_ref()?;
    let member = member.replace('~', "~0").replace('/', "~1");
    Some(format!("{}/{member}", violation.pointer))
}
