//! The error for a body that violates its schema.

use headgate_protocol::fault::{Fault, FaultKind};
use headgate_schema::SchemaViolation;

/// Violations in one error; more would help nobody.
pub const VIOLATIONS_MAX: usize = 8;

/// The error with every violation; none if there is none. `path_of` turns a JSON pointer, which is not empty, into
/// the caller's path of the field. The pointers and the rules go to the log.
pub fn from_violations(
    violations: &[SchemaViolation],
    path_of: impl Fn(&str) -> String,
) -> Option<Fault> {
    let first = violations.first()?;
    let (kind, param) = match (&first.missing, first.pointer.as_str()) {
        (Some(member), _) => (
            FaultKind::Missing,
            Some(path_of(&member_pointer(first, member))),
        ),
        (None, "") => (FaultKind::Invalid, None),
        (None, pointer) => (FaultKind::Invalid, Some(path_of(pointer))),
    };
    let rules = violations
        .iter()
        .map(|SchemaViolation { pointer, rule, .. }| format!("{pointer}: {rule}"));
    let detail = rules.collect::<Vec<_>>().join("; ");
    let mut fault = Fault::new(kind, message(violations, &path_of)).detail(detail);
    fault.param = param;
    Some(fault)
}

/// One clause for each violation. The fields that are missing share one, in the place of the first.
fn message(violations: &[SchemaViolation], path_of: &impl Fn(&str) -> String) -> String {
    let missing: Vec<String> = violations
        .iter()
        .filter_map(|violation| {
            let (pointer, types) = missing_alone(violation)?;
            Some(format!("`{}`{types}", path_of(&pointer)))
        })
        .collect();
    let mut clauses: Vec<String> = Vec::new();
    let mut names_missing = false;
    for violation in violations {
        if missing_alone(violation).is_none() {
            clauses.push(clause(violation, path_of));
        } else if !names_missing {
            let plural = if missing.len() == 1 { "" } else { "s" };
            clauses.push(format!("{MISSING_FIELD}{plural} {}", missing.join(", ")));
            names_missing = true;
        }
    }
    clauses.join("; ")
}

/// How the reason begins where a field is missing.
const MISSING_FIELD: &str = "missing required field";

/// The pointer to the field whose absence is all that is wrong, and its types in parentheses, if they are known.
fn missing_alone(violation: &SchemaViolation) -> Option<(String, &str)> {
    let member = violation.missing.as_ref()?;
    let start = format!("{MISSING_FIELD} `{member}`");
    let types = violation.reason.strip_prefix(&start)?;
    let is_plain = types.is_empty() || types.starts_with(" (");
    is_plain.then(|| (member_pointer(violation, member), types))
}

/// What is wrong, with its place.
fn clause(violation: &SchemaViolation, path_of: &impl Fn(&str) -> String) -> String {
    let SchemaViolation {
        pointer, reason, ..
    } = violation;
    let place = match pointer.as_str() {
        "" => "the body".to_owned(),
        pointer => format!("`{}`", path_of(pointer)),
    };
    let is_predicate = ["must ", "is ", "matches "]
        .iter()
        .any(|verb| reason.starts_with(verb));
    if is_predicate {
        return format!("{place} {reason}");
    }
    // A schema's own words name the field by itself, without its place in the body.
    let named = reason.strip_prefix(MISSING_FIELD).and_then(|rest| {
        let (member, rest) = rest.strip_prefix(" `")?.split_once('`')?;
        Some(format!(
            "{MISSING_FIELD} `{}`{rest}",
            path_of(&member_pointer(violation, member))
        ))
    });
    if let Some(named) = named {
        return named;
    }
    let last_step = pointer.rsplit('/').next().unwrap_or_default();
    match reason.strip_prefix(&format!("`{last_step}`")) {
        Some(rest) if !pointer.is_empty() => format!("{place}{rest}"),
        _ if pointer.is_empty() || reason.contains(&place) => reason.clone(),
        _ => format!("{reason} (at {place})"),
    }
}

/// The pointer to a member of the value at fault.
fn member_pointer(violation: &SchemaViolation, member: &str) -> String {
    let member = member.replace('~', "~0").replace('/', "~1");
    format!("{}/{member}", violation.pointer)
}

#[cfg(test)]
mod tests {
    use super::from_violations;
    use headgate_protocol::fault::FaultKind;
    use headgate_schema::SchemaViolation;

    fn violation(pointer: &str, rule: &str, reason: &str) -> SchemaViolation {
        let missing = reason.strip_prefix("missing required field `");
        let missing = missing.filter(|_| rule == "required");
        let missing = missing.and_then(|rest| rest.split('`').next());
        SchemaViolation {
            pointer: pointer.to_owned(),
            rule: rule.to_owned(),
            reason: reason.to_owned(),
            missing: missing.map(str::to_owned),
        }
    }

    #[test]
    fn each_clause_names_its_field_and_the_detail_has_pointer_and_rule() {
        let number = violation("/n", "type", "must be a number, received a string");
        let model = violation("", "required", "missing required field `model`");
        let role = violation(
            "/messages/0",
            "required",
            "missing required field `role` (a string)",
        );
        let beside = violation(
            "/messages/0",
            "not",
            "missing required field `role`: add it",
        );
        let words = violation("/a", "not", "`b` requires `c`");
        let own = violation("/b/a", "not", "`a` requires `c`");
        let whole = violation("", "type", "must be an object, received an array");
        for (violations, message, param, detail) in [
            (
                vec![&number],
                "`n` must be a number, received a string",
                Some("n"),
                "/n: type",
            ),
            (
                vec![&model],
                "missing required field `model`",
                Some("model"),
                ": required",
            ),
            (
                vec![&model, &number, &role],
                "missing required fields `model`, `messages.0.role` (a string); `n` must be a number, received a string",
                Some("model"),
                ": required; /n: type; /messages/0: required",
            ),
            (
                vec![&beside],
                "missing required field `messages.0.role`: add it",
                Some("messages.0"),
                "/messages/0: not",
            ),
            (
                vec![&words],
                "`b` requires `c` (at `a`)",
                Some("a"),
                "/a: not",
            ),
            (vec![&own], "`b.a` requires `c`", Some("b.a"), "/b/a: not"),
            (
                vec![&whole],
                "the body must be an object, received an array",
                None,
                ": type",
            ),
        ] {
            let violations: Vec<SchemaViolation> = violations
                .into_iter()
                .map(|one| violation(&one.pointer, &one.rule, &one.reason))
                .collect();
            let path_of = |pointer: &str| pointer[1..].replace('/', ".");
            let fault = from_violations(&violations, path_of).unwrap();
            assert_eq!(fault.message, message);
            assert_eq!(fault.param.as_deref(), param, "{message}");
            assert_eq!(fault.detail.as_deref(), Some(detail), "{message}");
            let is_missing = violations[0].missing.is_some();
            assert_eq!(fault.kind == FaultKind::Missing, is_missing, "{message}");
        }
        assert!(from_violations(&[], str::to_owned).is_none());
    }
}
