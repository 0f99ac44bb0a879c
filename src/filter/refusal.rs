//! What callers are told of a body that breaks its schema.

use crate::protocol::fault::{Fault, FaultKind};
use crate::protocol::schema::Violation;
use std::fmt::Write;

/// Violations told at once; more would help nobody.
pub const VIOLATIONS_MAX: usize = 8;

/// The error that tells every violation; none if there is none. `named` turns a JSON pointer, which is not
/// empty, into the caller's name for the place, for the message and for the error's `param`.
pub fn of(violations: &[Violation], named: impl Fn(&str) -> (String, String)) -> Option<Fault> {
    let first = violations.first()?;
    let mut message = String::new();
    for violation in violations {
        let separator = if message.is_empty() { "" } else { "; " };
        let place = match violation.pointer.as_str() {
            "" => "the body".into(),
            pointer => named(pointer).0,
        };
        let Violation { reason, rule, .. } = violation;
        let _ = write!(message, "{separator}{reason} at {place} (rule: {rule})");
    }
    let fault = Fault::new(FaultKind::Invalid, message);
    Some(match first.pointer.as_str() {
        "" => fault,
        pointer => fault.param(named(pointer).1),
    })
}
