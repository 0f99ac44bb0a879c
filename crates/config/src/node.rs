//! YAML as a tree that knows where each of its values and keys stands in the text.

use headgate_core::pointer::tokens;
use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::{Number, Value};
use serde_saphyr::{Location, Spanned};
use std::fmt;
use std::ops::Range;

/// A value and the bytes that define it.
pub struct YamlNode {
    pub range: Range<usize>,
    pub content: YamlContent,
}

pub enum YamlContent {
    Null,
    Bool(bool),
    Number(Number),
    Text(String),
    List(Vec<YamlNode>),
    Map(YamlMapping),
}

/// The entries of a mapping in the order of the file, found by their keys in logarithmic time.
pub struct YamlMapping {
    entries: Vec<YamlEntry>,
    /// Indexes of the entries in the order of their keys.
    by_key: Vec<u32>,
}

/// A key of a mapping with its value.
pub struct YamlEntry {
    pub key: String,
    pub key_range: Range<usize>,
    pub value: YamlNode,
}

/// What a pointer leads to: a value, and its key where it has one.
pub struct ResolvedPointer<'node> {
    pub node: &'node YamlNode,
    pub key_range: Option<Range<usize>>,
    /// Whether the pointer was followed to its end; else the target is the last value on its way.
    pub exact: bool,
}

impl YamlMapping {
    fn new(entries: Vec<YamlEntry>) -> Self {
        let mut by_key: Vec<u32> = (0..).take(entries.len()).collect();
        // Stable, so that of equal keys the first one is found.
        by_key.sort_by(|one, other| {
            let key = |index: &u32| &entries[*index as usize].key;
            key(one).cmp(key(other))
        });
        Self { entries, by_key }
    }

    pub fn iter(&self) -> impl Iterator<Item = &YamlEntry> {
        self.entries.iter()
    }

    fn get(&self, key: &str) -> Option<&YamlEntry> {
        let entry = |index: &u32| &self.entries[*index as usize];
        let at = self
            .by_key
            .partition_point(|index| entry(index).key.as_str() < key);
        let found = self.by_key.get(at).map(entry)?;
        (found.key == key).then_some(found)
    }
}

impl YamlNode {
    /// The tree of a text that has none.
    pub fn nothing() -> Self {
        Self {
            range: 0..0,
            content: YamlContent::Null,
        }
    }

    /// What this JSON pointer leads to, or the nearest value on its way.
    pub fn target(&self, pointer: &str) -> ResolvedPointer<'_> {
        let mut target = ResolvedPointer {
            node: self,
            key_range: None,
            exact: true,
        };
        for token in tokens(pointer) {
            match target.node.child(&token) {
                Some((node, key_range)) => {
                    target.node = node;
                    target.key_range = key_range;
                }
                None => {
                    target.exact = false;
                    break;
                }
            }
        }
        target
    }

    /// The bytes to point at: of a mapping its first key, for its range would be all of it.
    pub fn headline(&self) -> Range<usize> {
        match &self.content {
            YamlContent::Map(entries) => {
                let keys = entries.iter().map(|entry| &entry.key_range);
                // A merged key stands elsewhere, perhaps before the mapping itself.
                let own = keys.filter(|range| range.start >= self.range.start);
                let first = own.min_by_key(|range| range.start);
                first.unwrap_or(&self.range).clone()
            }
            YamlContent::List(items) if !items.is_empty() => items[0].headline(),
            _ => self.range.clone(),
        }
    }

    fn child(&self, token: &str) -> Option<(&YamlNode, Option<Range<usize>>)> {
        match &self.content {
            YamlContent::Map(entries) => {
                let entry = entries.get(token)?;
                Some((&entry.value, Some(entry.key_range.clone())))
            }
            YamlContent::List(items) => Some((items.get(token.parse::<usize>().ok()?)?, None)),
            _ => None,
        }
    }
}

impl<'de> Deserialize<'de> for YamlNode {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let spanned = Spanned::<YamlContent>::deserialize(deserializer)?;
        Ok(Self {
            range: byte_range(spanned.defined),
            content: spanned.value,
        })
    }
}

impl<'de> Deserialize<'de> for YamlContent {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(YamlContentVisitor)
    }
}

struct YamlContentVisitor;

impl<'de> Visitor<'de> for YamlContentVisitor {
    type Value = YamlContent;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_unit<E>(self) -> Result<YamlContent, E> {
        Ok(YamlContent::Null)
    }

    fn visit_none<E>(self) -> Result<YamlContent, E> {
        Ok(YamlContent::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<YamlContent, E> {
        Ok(YamlContent::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<YamlContent, E> {
        Ok(YamlContent::Number(value.into()))
    }

    fn visit_u64<E>(self, value: u64) -> Result<YamlContent, E> {
        Ok(YamlContent::Number(value.into()))
    }

    fn visit_i128<E>(self, value: i128) -> Result<YamlContent, E> {
        Ok(number(value as f64))
    }

    fn visit_u128<E>(self, value: u128) -> Result<YamlContent, E> {
        Ok(number(value as f64))
    }

    fn visit_f64<E>(self, value: f64) -> Result<YamlContent, E> {
        Ok(number(value))
    }

    fn visit_str<E>(self, value: &str) -> Result<YamlContent, E> {
        Ok(YamlContent::Text(value.to_owned()))
    }

    fn visit_string<E>(self, value: String) -> Result<YamlContent, E> {
        Ok(YamlContent::Text(value))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<YamlContent, A::Error> {
        let mut list = Vec::new();
        while let Some(item) = items.next_element()? {
            list.push(item);
        }
        Ok(YamlContent::List(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<YamlContent, A::Error> {
        let mut map = Vec::new();
        while let Some(key) = entries.next_key::<Spanned<String>>()? {
            map.push(YamlEntry {
                key: key.value,
                key_range: byte_range(key.defined),
                value: entries.next_value()?,
            });
        }
        Ok(YamlContent::Map(YamlMapping::new(map)))
    }
}

/// JSON as a file has it: with whole numbers that are written with a fraction or an exponent, too.
pub fn with_whole_numbers(value: Value) -> Value {
    match value {
        Value::Number(number) if number.is_f64() => {
            let whole = number.as_f64().and_then(whole_number);
            Value::Number(whole.unwrap_or(number))
        }
        Value::Array(items) => items.into_iter().map(with_whole_numbers).collect(),
        Value::Object(members) => {
            let members = members.into_iter();
            let members = members.map(|(name, value)| (name, with_whole_numbers(value)));
            Value::Object(members.collect())
        }
        other => other,
    }
}

fn number(value: f64) -> YamlContent {
    let number = whole_number(value).or_else(|| Number::from_f64(value));
    number.map_or(YamlContent::Null, YamlContent::Number)
}

/// A whole number stays one however it is written: JSON Schema counts `3.0` as an integer, serde does not.
fn whole_number(value: f64) -> Option<Number> {
    const END_OF_U64: f64 = 18_446_744_073_709_551_616.0;
    const START_OF_I64: f64 = -9_223_372_036_854_775_808.0;
    if value.fract() == 0.0 && (0.0..END_OF_U64).contains(&value) {
        return Some((value as u64).into());
    }
    if value.fract() == 0.0 && (START_OF_I64..0.0).contains(&value) {
        return Some((value as i64).into());
    }
    None
}

/// The parser gives bytes for every text input; a place without them becomes the start of the file.
fn byte_range(location: Location) -> Range<usize> {
    let span = location.span();
    let start = span.byte_offset().unwrap_or(0) as usize;
    let length = span.byte_len().unwrap_or(0) as usize;
    start..start + length
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree(text: &str) -> YamlNode {
        serde_saphyr::from_str(text).unwrap()
    }

    #[test]
    fn every_value_and_key_knows_its_bytes() {
        let text = "a: {b: 1, 'ü': \"q\"}\nd:\n- one two  # c\n- h: 1.0\n  i: |\n    x\n";
        let root = tree(text);
        let cases = [
            ("/a/b", "1", Some("b")),
            ("/a/ü", "\"q\"", Some("'ü'")),
            ("/d/0", "one two", None),
            ("/d/1/h", "1.0", Some("h")),
            ("/d/1/i", "x\n", Some("i")),
        ];
        for (pointer, value, key) in cases {
            let target = root.target(pointer);
            assert!(target.exact, "{pointer}");
            assert_eq!(&text[target.node.range.clone()], value, "{pointer}");
            let key_text = target.key_range.map(|range| &text[range]);
            assert_eq!(key_text, key, "{pointer}");
        }
        assert_eq!(&text[root.target("/d/1").node.headline()], "h");
    }

    #[test]
    fn a_pointer_that_leads_nowhere_stops_at_the_last_value() {
        let root = tree("a: {b: [1]}\n");
        for (pointer, last) in [("/a/b/7/c", "b"), ("/a/x", "a"), ("/a/b/0/deep", "b")] {
            let target = root.target(pointer);
            assert!(!target.exact, "{pointer}");
            let parent = root.target(if last == "a" { "/a" } else { "/a/b" });
            assert!(
                target.node.range.start >= parent.node.range.start,
                "{pointer}"
            );
        }
    }

    #[test]
    fn an_alias_points_at_its_definition() {
        let text = "a: &x {b: 1}\nc: *x\nd:\n  <<: *x\n  e: 2\n";
        let root = tree(text);
        for pointer in ["/a/b", "/c/b", "/d/b"] {
            assert_eq!(root.target(pointer).node.range, 10..11, "{pointer}");
        }
        assert_eq!(&text[root.target("/d").node.headline()], "e");
    }

    #[test]
    fn whole_numbers_stay_whole() {
        let root = tree("[3.0, 3, 1.5, -0.0, -2.0, 1e16, 1e23]");
        let YamlContent::List(items) = root.content else {
            panic!("a list was written");
        };
        let numbers = items.iter().map(|item| match &item.content {
            YamlContent::Number(number) => number.to_string(),
            _ => panic!("numbers were written"),
        });
        assert_eq!(
            numbers.collect::<Vec<_>>(),
            ["3", "3", "1.5", "0", "-2", "10000000000000000", "1e+23"]
        );
    }
}
