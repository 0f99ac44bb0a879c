//! Builds the JSON body of a provider's request by setting values at JSON pointers.

use super::json_fragment::JsonFragment;
use headgate_protocol::json::quoted;
use serde_json::Value;
use std::borrow::Cow;

/// A target in a request body: nested member names, and whether to append to the list at the last one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequestBodyPointer {
    keys: Vec<String>,
    append: bool,
}

impl RequestBodyPointer {
    /// Whether this is the member `name` of the body itself.
    pub fn is_member(&self, name: &str) -> bool {
        !self.append && self.keys == [name]
    }
}

/// The value to set at a target, with a placeholder for the field's value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ValueTemplate {
    /// The field's value.
    Hole,
    /// A string: the field's value between each two of these texts.
    Text(Vec<String>),
    /// JSON text without a placeholder.
    Json(Vec<u8>),
    List(Vec<ValueTemplate>),
    Object(Vec<(String, ValueTemplate)>),
}

/// A body while it is built.
#[derive(Debug, Default)]
pub enum JsonBodyBuilder<'a> {
    /// No value yet.
    #[default]
    Empty,
    Json(Cow<'a, [u8]>),
    List(Vec<JsonBodyBuilder<'a>>),
    Object(Vec<(Cow<'a, str>, JsonBodyBuilder<'a>)>),
}

/// The target has a value already, or the path goes through a value that is not an object or list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PointerConflict;

/// The placeholder for the value in a template.
const HOLE: &str = "{}";

impl RequestBodyPointer {
    /// The target of an RFC 6901 pointer; `-` at its end appends to a list.
    pub fn parse(pointer: &str) -> Option<Self> {
        let tokens = pointer.strip_prefix('/')?.split('/');
        let unescaped = tokens.map(|token| token.replace("~1", "/").replace("~0", "~"));
        let mut keys: Vec<String> = unescaped.collect();
        let append = keys.last().is_some_and(|last| last == "-");
        if append {
            keys.pop();
        }
        let named = !keys.is_empty() && keys.iter().all(|key| !key.is_empty() && key != "-");
        named.then_some(Self { keys, append })
    }

    /// The pointer to a value that was set; `index` is that of an appended element.
    pub fn pointer(&self, index: usize) -> String {
        let mut pointer = String::new();
        for key in &self.keys {
            pointer.push('/');
            pointer += &key.replace('~', "~0").replace('/', "~1");
        }
        if self.append {
            pointer += &format!("/{index}");
        }
        pointer
    }
}

impl ValueTemplate {
    pub fn new(value: &Value) -> Self {
        match value {
            Value::String(text) if text == HOLE => Self::Hole,
            Value::String(text) if text.contains(HOLE) => {
                Self::Text(text.split(HOLE).map(String::from).collect())
            }
            Value::Array(items) => Self::List(items.iter().map(Self::new).collect()),
            Value::Object(members) => {
                let member = |(key, value): (&String, _)| (key.clone(), Self::new(value));
                Self::Object(members.iter().map(member).collect())
            }
            scalar => Self::Json(scalar.to_string().into_bytes()),
        }
    }

    /// Whether the template contains a placeholder.
    pub fn has_hole(&self) -> bool {
        match self {
            Self::Hole | Self::Text(_) => true,
            Self::Json(_) => false,
            Self::List(items) => items.iter().any(Self::has_hole),
            Self::Object(members) => members.iter().any(|(_, value)| value.has_hole()),
        }
    }

    pub fn fill<'a>(&'a self, fragment: &JsonFragment<'a>) -> JsonBodyBuilder<'a> {
        match self {
            Self::Hole => JsonBodyBuilder::Json(fragment.clone().into_json()),
            Self::Text(parts) => {
                let text = parts.join(&*fragment.text_value());
                JsonBodyBuilder::Json(quoted(&text).to_vec().into())
            }
            Self::Json(json) => JsonBodyBuilder::Json(json.into()),
            Self::List(items) => {
                JsonBodyBuilder::List(items.iter().map(|item| item.fill(fragment)).collect())
            }
            Self::Object(members) => {
                let member = |(key, value): &'a (String, Self)| (key.into(), value.fill(fragment));
                JsonBodyBuilder::Object(members.iter().map(member).collect())
            }
        }
    }
}

impl<'a> JsonBodyBuilder<'a> {
    /// Sets a value at a target; returns the index of an appended element, else 0.
    ///
    /// # Errors
    /// The target has a value already.
    pub fn put(
        &mut self,
        target: &'a RequestBodyPointer,
        value: JsonBodyBuilder<'a>,
    ) -> Result<usize, PointerConflict> {
        let mut at = self;
        for key in &target.keys {
            at = at.member(key)?;
        }
        match (&mut *at, target.append) {
            (Self::Empty, false) => *at = value,
            (Self::Empty, true) => *at = Self::List(vec![value]),
            (Self::List(items), true) => {
                items.push(value);
                return Ok(items.len() - 1);
            }
            _ => return Err(PointerConflict),
        }
        Ok(0)
    }

    /// The body as JSON, allocated once.
    pub fn to_json(&self) -> Vec<u8> {
        let mut json = Vec::with_capacity(self.length());
        self.write(&mut json);
        json
    }

    fn member(&mut self, key: &'a str) -> Result<&mut Self, PointerConflict> {
        if let Self::Empty = self {
            *self = Self::Object(Vec::new());
        }
        let Self::Object(members) = self else {
            return Err(PointerConflict);
        };
        let known = members.iter().position(|(name, _)| name == key);
        let at = known.unwrap_or_else(|| {
            members.push((key.into(), Self::Empty));
            members.len() - 1
        });
        Ok(&mut members[at].1)
    }

    fn write(&self, json: &mut Vec<u8>) {
        match self {
            Self::Empty => json.extend_from_slice(b"{}"),
            Self::Json(written) => json.extend_from_slice(written),
            Self::List(items) => {
                json.push(b'[');
                for (at, item) in items.iter().enumerate() {
                    if at > 0 {
                        json.push(b',');
                    }
                    item.write(json);
                }
                json.push(b']');
            }
            Self::Object(members) => {
                json.push(b'{');
                for (at, (key, value)) in members.iter().enumerate() {
                    if at > 0 {
                        json.push(b',');
                    }
                    json.extend_from_slice(&quoted(key));
                    json.push(b':');
                    value.write(json);
                }
                json.push(b'}');
            }
        }
    }

    /// An estimate of the length of the JSON in bytes: escapes in keys are not counted.
    fn length(&self) -> usize {
        match self {
            Self::Empty => 2,
            Self::Json(written) => written.len(),
            Self::List(items) => 2 + items.iter().map(|item| item.length() + 1).sum::<usize>(),
            Self::Object(members) => {
                let member = |(key, value): &(Cow<'_, str>, Self)| key.len() + 4 + value.length();
                2 + members.iter().map(member).sum::<usize>()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn values_are_put_at_their_places() {
        let targets = ["/a", "/b/c", "/b/list/-", "/b/list/-", "/~1x/~0y"]
            .map(|pointer| RequestBodyPointer::parse(pointer).unwrap());
        let mut body = JsonBodyBuilder::default();
        let mut pointers = Vec::new();
        for (at, target) in targets.iter().enumerate() {
            let value = JsonBodyBuilder::Json(at.to_string().into_bytes().into());
            pointers.push(target.pointer(body.put(target, value).unwrap()));
        }
        let json: Value = serde_json::from_slice(&body.to_json()).unwrap();
        let expected = json!({"a": 0, "b": {"c": 1, "list": [2, 3]}, "/x": {"~y": 4}});
        assert_eq!(json, expected);
        assert_eq!(
            pointers,
            ["/a", "/b/c", "/b/list/0", "/b/list/1", "/~1x/~0y"]
        );
        for (at, pointer) in pointers.iter().enumerate() {
            assert_eq!(json.pointer(pointer), Some(&json!(at)));
        }
    }

    #[test]
    fn a_target_can_be_set_only_once() {
        for (first, second) in [
            ("/a", "/a"),
            ("/a", "/a/b"),
            ("/a/b", "/a"),
            ("/a/-", "/a"),
            ("/a", "/a/-"),
            ("/a/-", "/a/b"),
            ("/a/b", "/a/-"),
        ] {
            let [first, second] =
                [first, second].map(|pointer| RequestBodyPointer::parse(pointer).unwrap());
            let mut body = JsonBodyBuilder::default();
            body.put(&first, JsonBodyBuilder::Json(b"1"[..].into()))
                .unwrap();
            let again = body.put(&second, JsonBodyBuilder::Json(b"2"[..].into()));
            assert_eq!(again, Err(PointerConflict), "{first:?} {second:?}");
        }
    }

    #[test]
    fn an_invalid_pointer_is_no_target() {
        for pointer in ["", "a", "/", "/-", "/a/-/b", "/a//b"] {
            assert_eq!(RequestBodyPointer::parse(pointer), None, "{pointer}");
        }
    }

    #[test]
    fn templates_take_the_value_in() {
        let table = [
            (json!("{}"), r#""5""#, json!("5")),
            (json!("{}"), "5", json!(5)),
            (json!("{}s, {}"), "5", json!("5s, 5")),
            (json!("{}s"), r#""\"5""#, json!("\"5s")),
            (
                json!({"a": ["{}", 1, null], "b": true}),
                "5",
                json!({"a": [5, 1, null], "b": true}),
            ),
            (json!("none"), "5", json!("none")),
        ];
        for (template, value, expected) in table {
            let fragment = JsonFragment::number(5);
            let fragment = match value {
                "5" => fragment,
                text => JsonFragment::text(&serde_json::from_str::<String>(text).unwrap()),
            };
            let filled = ValueTemplate::new(&template);
            let json = filled.fill(&fragment).to_json();
            assert_eq!(
                serde_json::from_slice::<Value>(&json).unwrap(),
                expected,
                "{template}"
            );
        }
    }
}
