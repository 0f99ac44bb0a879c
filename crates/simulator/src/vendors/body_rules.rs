//! What the body of a create may contain: members with their types and values, and nothing else.

use serde_json::{Map, Value};

/// A member of an object.
pub struct BodyField {
    pub name: &'static str,
    pub is_required: bool,
    pub rule: ValueRule,
}

/// What a value must be.
pub enum ValueRule {
    Any,
    Text,
    /// A text of at most this many characters.
    TextMax(usize),
    /// One of these texts.
    Words(&'static [&'static str]),
    /// A text for which the function is true, and what it is.
    Form(fn(&str) -> bool, &'static str),
    /// A whole number from the first to the second.
    Integer(i64, i64),
    /// One of these whole numbers.
    Integers(&'static [i64]),
    Number(f64, f64),
    Flag,
    /// An http(s) URL.
    Url,
    /// An http(s) URL or a data URI.
    UrlOrData,
    /// An http(s) URL or base64 without a prefix.
    UrlOrBase64,
    /// Base64 without a prefix.
    Base64,
    /// A list with at least and at most so many elements.
    List(usize, usize, &'static ValueRule),
    Object(&'static [BodyField]),
    /// An object with any members.
    Map,
    /// Any of these rules.
    Either(&'static [ValueRule]),
}

/// Why a body is refused.
#[derive(Debug, PartialEq, Eq)]
pub struct BodyFault {
    /// The member, such as `content.0.type`.
    pub place: String,
    pub kind: BodyFaultKind,
    pub message: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BodyFaultKind {
    Missing,
    Unknown,
    Invalid,
}

impl BodyFault {
    fn depth(&self) -> usize {
        self.place.split('.').count()
    }
}

/// A member that must be there.
pub const fn required(name: &'static str, rule: ValueRule) -> BodyField {
    BodyField {
        name,
        is_required: true,
        rule,
    }
}

/// A member that may be left out.
pub const fn optional(name: &'static str, rule: ValueRule) -> BodyField {
    BodyField {
        name,
        is_required: false,
        rule,
    }
}

/// Checks an object.
///
/// # Errors
/// The first fault.
pub fn check(fields: &[BodyField], body: &Value) -> Result<(), BodyFault> {
    let Some(members) = body.as_object() else {
        return Err(invalid("body", "an object"));
    };
    check_members(fields, members, "")
}

fn check_members(
    fields: &[BodyField],
    members: &Map<String, Value>,
    place: &str,
) -> Result<(), BodyFault> {
    for (name, value) in members {
        let place = join(place, name);
        match fields.iter().find(|field| field.name == name) {
            Some(field) => check_value(&field.rule, value, &place)?,
            None => {
                return Err(BodyFault {
                    message: format!("Unrecognized field `{place}`."),
                    kind: BodyFaultKind::Unknown,
                    place,
                });
            }
        }
    }
    let is_missing = |field: &&BodyField| field.is_required && !members.contains_key(field.name);
    match fields.iter().find(is_missing) {
        None => Ok(()),
        Some(field) => {
            let place = join(place, field.name);
            Err(BodyFault {
                message: format!("Field `{place}` is required."),
                kind: BodyFaultKind::Missing,
                place,
            })
        }
    }
}

fn check_value(rule: &ValueRule, value: &Value, place: &str) -> Result<(), BodyFault> {
    match rule {
        ValueRule::Object(fields) => {
            let members = value.as_object();
            let members = members.ok_or_else(|| invalid(place, "an object"))?;
            check_members(fields, members, place)
        }
        ValueRule::List(min, max, rule) => {
            let list = value
                .as_array()
                .filter(|list| (*min..=*max).contains(&list.len()));
            let wanted = || invalid(place, &format!("a list of {min} to {max} elements"));
            for (index, element) in list.ok_or_else(wanted)?.iter().enumerate() {
                check_value(rule, element, &join(place, &index.to_string()))?;
            }
            Ok(())
        }
        ValueRule::Either(rules) => {
            let mut deepest: Option<BodyFault> = None;
            for rule in *rules {
                let Err(fault) = check_value(rule, value, place) else {
                    return Ok(());
                };
                // The form that fits longest is the one that was meant.
                if deepest
                    .as_ref()
                    .is_none_or(|found| fault.depth() > found.depth())
                {
                    deepest = Some(fault);
                }
            }
            deepest.map_or(Ok(()), Err)
        }
        simple => {
            let (is_met, wanted) = is_met(simple, value);
            is_met.then_some(()).ok_or_else(|| invalid(place, &wanted))
        }
    }
}

/// Whether a value without members meets its rule, and what the rule asks for.
fn is_met(rule: &ValueRule, value: &Value) -> (bool, String) {
    let text = value.as_str();
    let has = |test: &dyn Fn(&str) -> bool| text.is_some_and(test);
    match rule {
        ValueRule::Any => (!value.is_null(), "a value".to_owned()),
        ValueRule::Text => (text.is_some(), "a text".to_owned()),
        ValueRule::TextMax(max) => (
            has(&|text| text.chars().count() <= *max),
            format!("a text of at most {max} characters"),
        ),
        ValueRule::Words(words) => (
            has(&|text| words.contains(&text)),
            format!("one of {}", words.join(", ")),
        ),
        ValueRule::Form(test, wanted) => (has(test), (*wanted).to_owned()),
        ValueRule::Integer(min, max) => (
            value
                .as_i64()
                .is_some_and(|number| (*min..=*max).contains(&number)),
            format!("a whole number from {min} to {max}"),
        ),
        ValueRule::Integers(numbers) => (
            value
                .as_i64()
                .is_some_and(|number| numbers.contains(&number)),
            format!("one of the numbers {numbers:?}"),
        ),
        ValueRule::Number(min, max) => (
            value
                .as_f64()
                .is_some_and(|number| (*min..=*max).contains(&number)),
            format!("a number from {min} to {max}"),
        ),
        ValueRule::Map => (value.is_object(), "an object".to_owned()),
        ValueRule::Flag => (value.is_boolean(), "true or false".to_owned()),
        ValueRule::Url => (has(&is_url), "an http(s) URL".to_owned()),
        ValueRule::UrlOrData => (
            has(&|text| is_url(text) || is_data_uri(text)),
            "an http(s) URL or a data URI".to_owned(),
        ),
        ValueRule::UrlOrBase64 => (
            has(&|text| is_url(text) || is_base64(text)),
            "an http(s) URL or base64 without a prefix".to_owned(),
        ),
        ValueRule::Base64 => (has(&is_base64), "base64 without a prefix".to_owned()),
        ValueRule::List(..) | ValueRule::Object(_) | ValueRule::Either(_) => (true, String::new()),
    }
}

/// Whether a text is an http(s) URL.
pub fn is_url(text: &str) -> bool {
    let uri = text.parse::<http::Uri>();
    uri.is_ok_and(|uri| matches!(uri.scheme_str(), Some("http" | "https")) && uri.host().is_some())
}

fn is_data_uri(text: &str) -> bool {
    let parts = text
        .strip_prefix("data:")
        .and_then(|rest| rest.split_once(";base64,"));
    parts.is_some_and(|(media_type, content)| media_type.contains('/') && is_base64(content))
}

fn is_base64(text: &str) -> bool {
    let is_letter = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'=');
    !text.is_empty() && text.bytes().all(is_letter)
}

fn join(place: &str, name: &str) -> String {
    if place.is_empty() {
        return name.to_owned();
    }
    format!("{place}.{name}")
}

fn invalid(place: &str, wanted: &str) -> BodyFault {
    BodyFault {
        place: place.to_owned(),
        kind: BodyFaultKind::Invalid,
        message: format!("Field `{place}` must be {wanted}."),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    const IMAGE: ValueRule = ValueRule::Object(&[required("url", ValueRule::Url)]);
    const FIELDS: &[BodyField] = &[
        required("prompt", ValueRule::TextMax(4)),
        optional("seconds", ValueRule::Words(&["5", "10"])),
        optional("seed", ValueRule::Integer(0, 9)),
        optional("images", ValueRule::List(1, 2, &IMAGE)),
        optional("frame", ValueRule::Either(&[ValueRule::Url, IMAGE])),
        optional("content", ValueRule::Base64),
        optional("file", ValueRule::UrlOrData),
    ];

    #[test]
    fn a_body_is_refused_at_its_first_fault() {
        let image = json!({"url": "https://a.example/1"});
        for (body, place) in [
            (json!({"prompt": "abcd"}), None),
            (json!({"prompt": "abcde"}), Some("prompt")),
            (json!({}), Some("prompt")),
            (json!({"prompt": "a", "other": 1}), Some("other")),
            (json!({"prompt": "a", "seconds": 5}), Some("seconds")),
            (json!({"prompt": "a", "seconds": "5"}), None),
            (json!({"prompt": "a", "seed": 1.5}), Some("seed")),
            (json!({"prompt": "a", "seed": 10}), Some("seed")),
            (json!({"prompt": "a", "images": []}), Some("images")),
            (json!({"prompt": "a", "images": [image, image]}), None),
            (
                json!({"prompt": "a", "images": [{"url": "1"}]}),
                Some("images.0.url"),
            ),
            (
                json!({"prompt": "a", "images": [image, {"uri": "1"}]}),
                Some("images.1.uri"),
            ),
            (json!({"prompt": "a", "frame": "https://a.example"}), None),
            (json!({"prompt": "a", "frame": image}), None),
            (json!({"prompt": "a", "frame": "a"}), Some("frame")),
            (
                json!({"prompt": "a", "frame": {"url": "a"}}),
                Some("frame.url"),
            ),
            (
                json!({"prompt": "a", "content": "data:image/png;base64,AAAA"}),
                Some("content"),
            ),
            (
                json!({"prompt": "a", "file": "data:image/png;base64,AAAA"}),
                None,
            ),
            (json!({"prompt": "a", "file": "AAAA"}), Some("file")),
            (json!([]), Some("body")),
        ] {
            let fault = check(FIELDS, &body).err();
            assert_eq!(fault.as_ref().map(|fault| &*fault.place), place, "{body}");
        }
    }
}
