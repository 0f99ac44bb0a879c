//! Builds the JSON body of a provider's request by setting values at JSON pointers.

use headgate_protocol::json::quoted;
use std::borrow::Cow;

/// A target in a request body: nested members and elements, and whether to append to the list at the last one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequestBodyPointer {
    keys: Vec<TargetKey>,
    append: bool,
}

/// A step to a target.
#[derive(Clone, Debug, PartialEq, Eq)]
enum TargetKey {
    Member(String),
    /// An element of a list, which begins at 0 and has no gaps.
    Element(usize),
}

impl RequestBodyPointer {
    /// Whether this is a member of the body itself.
    pub fn is_member(&self) -> bool {
        !self.append && self.keys.len() == 1
    }

    /// The member of the body in which the target lies.
    pub fn root(&self) -> &str {
        match self.keys.first() {
            Some(TargetKey::Member(name)) => name,
            _ => unreachable!("a target begins with a member"),
        }
    }

    /// The member of the body that has `json` at this target and nothing else, by name and value; a list in it has one
    /// element.
    pub fn member_with(&self, json: &[u8]) -> (&str, Vec<u8>) {
        let (_, rest) = self.keys.split_first().expect("a target has a member");
        let value = match self.append {
            true => [&b"["[..], json, b"]"].concat(),
            false => json.to_vec(),
        };
        let value = rest.iter().rev().fold(value, |value, key| match key {
            TargetKey::Member(name) => [&b"{"[..], &quoted(name), b":", &value, b"}"].concat(),
            TargetKey::Element(_) => [&b"["[..], &value, b"]"].concat(),
        });
        (self.root(), value)
    }

    /// The greatest index of an element on the way; `None` if there is none.
    pub fn element(&self) -> Option<usize> {
        let keys = self.keys.iter().filter_map(|key| match key {
            TargetKey::Member(_) => None,
            TargetKey::Element(index) => Some(*index),
        });
        keys.max()
    }
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

impl RequestBodyPointer {
    /// The target of an RFC 6901 pointer; a number is an element of a list, and `-` at the end appends to one.
    pub fn parse(pointer: &str) -> Option<Self> {
        let mut tokens: Vec<&str> = pointer.strip_prefix('/')?.split('/').collect();
        let append = tokens.pop_if(|last| *last == "-").is_some();
        let keys: Option<Vec<_>> = tokens.into_iter().map(TargetKey::parse).collect();
        let keys = keys.filter(|keys| matches!(keys.first(), Some(TargetKey::Member(_))))?;
        Some(Self { keys, append })
    }

    /// The pointer to a value that was set; `index` is that of an appended element.
    pub fn pointer(&self, index: usize) -> String {
        let mut pointer = String::new();
        for key in &self.keys {
            pointer.push('/');
            match key {
                TargetKey::Member(name) => pointer += &name.replace('~', "~0").replace('/', "~1"),
                TargetKey::Element(index) => pointer += &index.to_string(),
            }
        }
        if self.append {
            pointer += &format!("/{index}");
        }
        pointer
    }
}

/// Lists with more elements are no places of single values.
const ELEMENTS_MAX: usize = 100;

impl TargetKey {
    fn parse(token: &str) -> Option<Self> {
        if !token.is_empty() && token.bytes().all(|byte| byte.is_ascii_digit()) {
            let index = token.parse().ok().filter(|index| *index < ELEMENTS_MAX);
            return index.map(Self::Element);
        }
        let name = token.replace("~1", "/").replace("~0", "~");
        (!name.is_empty() && name != "-").then_some(Self::Member(name))
    }
}

impl<'a> JsonBodyBuilder<'a> {
    /// Sets a value at a target; returns the index of an appended element, else 0.
    ///
    /// # Errors
    /// The target has a value already, or a list would have a gap.
    pub fn put(
        &mut self,
        target: &'a RequestBodyPointer,
        value: JsonBodyBuilder<'a>,
    ) -> Result<usize, PointerConflict> {
        let mut at = self;
        for key in &target.keys {
            at = match key {
                TargetKey::Member(name) => at.member(name)?,
                TargetKey::Element(index) => at.element(*index)?,
            };
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

    fn element(&mut self, index: usize) -> Result<&mut Self, PointerConflict> {
        if let Self::Empty = self {
            *self = Self::List(Vec::new());
        }
        let Self::List(items) = self else {
            return Err(PointerConflict);
        };
        if items.len() == index {
            items.push(Self::Empty);
        }
        items.get_mut(index).ok_or(PointerConflict)
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
    use serde_json::{Value, json};

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
    fn elements_of_a_list_have_no_gaps() {
        let targets = ["/list/0", "/list/1/a", "/list/1/b", "/list/-"]
            .map(|pointer| RequestBodyPointer::parse(pointer).unwrap());
        let mut body = JsonBodyBuilder::default();
        for (at, target) in targets.iter().enumerate() {
            let value = JsonBodyBuilder::Json(at.to_string().into_bytes().into());
            body.put(target, value).unwrap();
        }
        let json: Value = serde_json::from_slice(&body.to_json()).unwrap();
        assert_eq!(json, json!({"list": [0, {"a": 1, "b": 2}, 3]}));
        let second = RequestBodyPointer::parse("/list/1").unwrap();
        let value = JsonBodyBuilder::Json(b"1"[..].into());
        let put = JsonBodyBuilder::default().put(&second, value);
        assert_eq!(put, Err(PointerConflict));
    }

    #[test]
    fn an_invalid_pointer_is_no_target() {
        for pointer in [
            "", "a", "/", "/-", "/a/-/b", "/a//b", "/0", "/0/a", "/a/100",
        ] {
            assert_eq!(RequestBodyPointer::parse(pointer), None, "{pointer}");
        }
    }
}
