//! Members and places of requests that a dialect names, and what is wrong with them.

use super::invalid::InvalidDialect;
use super::reasoning::{MemberPlace, MemberTemplate, TemplateValue};
use serde_json::{Map, Value};

/// Members of every request, which dialects leave alone.
const RESERVED: [&str; 5] = ["model", "messages", "input", "stream", "tools"];

/// Collects what is wrong with a dialect, or with the section of it at `at`.
pub(super) struct DialectFaults<'p> {
    pub at: &'p str,
    pub all: &'p mut Vec<InvalidDialect>,
}

impl DialectFaults<'_> {
    /// Reports a name of a member that is not one.
    pub fn check_name(&mut self, name: &str, pointer: &str) {
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
        if name.is_empty() || !name.bytes().all(is_plain) {
            let hint = "use letters, digits, `_` and `-`";
            self.report(pointer, format!("`{name}` is not a name of a member"), hint);
        } else if RESERVED.contains(&name) {
            let reason = format!("`{name}` is a member that the translation writes");
            self.report(pointer, reason, "name another member");
        }
    }

    fn report(&mut self, pointer: &str, reason: String, hint: &str) {
        self.all.push(InvalidDialect {
            pointer: format!("{}{pointer}", self.at),
            reason,
            hint: Some(hint.into()),
        });
    }
}

/// The members of a request; none if nothing is written.
pub(super) fn template(
    members: Option<&Map<String, Value>>,
    pointer: &str,
    faults: &mut DialectFaults<'_>,
) -> MemberTemplate {
    let members = members.into_iter().flatten().map(|(name, value)| {
        faults.check_name(name, &format!("{pointer}/{name}"));
        let value = match value {
            Value::Object(inner) => {
                let inner = inner.iter().map(|(inner, value)| {
                    faults.check_name(inner, &format!("{pointer}/{name}/{inner}"));
                    (inner.as_str().into(), value.to_string().into())
                });
                TemplateValue::Object(inner.collect())
            }
            other => TemplateValue::Json(other.to_string().into()),
        };
        (name.as_str().into(), value)
    });
    MemberTemplate(members.collect())
}

/// A place in a request, by a JSON pointer; none if the text is empty.
pub(super) fn place(
    text: &str,
    pointer: &str,
    faults: &mut DialectFaults<'_>,
) -> Option<MemberPlace> {
    if text.is_empty() {
        return None;
    }
    let steps = text.strip_prefix('/').map(|rest| rest.split('/'));
    let steps: Vec<&str> = steps.into_iter().flatten().collect();
    let (member, within) = match steps[..] {
        [member] => (member, None),
        [member, within] => (member, Some(within)),
        _ => {
            let reason = format!("`{text}` is not a JSON pointer of one or two steps");
            faults.report(pointer, reason, "write it as /member or /member/within");
            return None;
        }
    };
    faults.check_name(member, pointer);
    if let Some(within) = within {
        faults.check_name(within, pointer);
    }
    Some(MemberPlace {
        member: member.into(),
        within: within.map(Box::from),
    })
}
