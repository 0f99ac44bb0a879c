//! Visits the values of a JSON text with their paths and places.

use std::fmt;
use std::ops::Range;

/// Deeper texts are refused: each level takes space of the module's stack.
const DEPTH_MAX: usize = 128;

/// One step of a path from the root to a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step<'a> {
    /// The name of a member as it is in the text, with its escapes.
    Key(&'a str),
    /// The position in an array.
    Index(usize),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ValueKind {
    String,
    /// A number, `true`, `false` or `null`.
    Scalar,
    Object,
    Array,
}

/// A value of a JSON text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Value {
    pub kind: ValueKind,
    /// The bytes of the value; of a string without its quotation marks.
    pub range: Range<usize>,
}

/// The text is not JSON, or is nested too deeply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NotJson {
    /// The byte at which the reader stopped.
    pub at: usize,
}

impl fmt::Display for NotJson {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "not JSON at byte {}", self.at)
    }
}

/// Visits all values in the order in which they end, with their paths. Members that occur twice are visited twice.
pub fn walk<'a>(json: &'a str, visit: &mut dyn FnMut(&[Step<'a>], Value)) -> Result<(), NotJson> {
    let mut reader = Reader {
        json,
        bytes: json.as_bytes(),
        at: 0,
        steps: Vec::new(),
        visit,
    };
    reader.value()?;
    reader.skip_space();
    if reader.at < json.len() {
        return reader.stop();
    }
    Ok(())
}

/// The name of the last member of a path, whatever arrays are below it.
pub fn key<'a>(path: &[Step<'a>]) -> Option<&'a str> {
    path.iter().rev().find_map(|step| match step {
        Step::Key(key) => Some(*key),
        Step::Index(_) => None,
    })
}

struct Reader<'a, 'v> {
    json: &'a str,
    bytes: &'a [u8],
    at: usize,
    steps: Vec<Step<'a>>,
    visit: &'v mut dyn FnMut(&[Step<'a>], Value),
}

impl<'a> Reader<'a, '_> {
    fn value(&mut self) -> Result<(), NotJson> {
        self.skip_space();
        let start = self.at;
        let kind = match self.peek() {
            Some(b'{') => self.object()?,
            Some(b'[') => self.array()?,
            Some(b'"') => {
                let range = self.string()?;
                (self.visit)(
                    &self.steps,
                    Value {
                        kind: ValueKind::String,
                        range,
                    },
                );
                return Ok(());
            }
            _ => self.scalar()?,
        };
        let range = start..self.at;
        (self.visit)(&self.steps, Value { kind, range });
        Ok(())
    }

    fn object(&mut self) -> Result<ValueKind, NotJson> {
        self.enter()?;
        if self.closes(b'}') {
            return Ok(ValueKind::Object);
        }
        loop {
            self.skip_space();
            let key = self.string()?;
            self.skip_space();
            self.expect(b':')?;
            self.steps.push(Step::Key(&self.json[key]));
            self.value()?;
            self.steps.pop();
            if !self.continues(b'}')? {
                return Ok(ValueKind::Object);
            }
        }
    }

    fn array(&mut self) -> Result<ValueKind, NotJson> {
        self.enter()?;
        if self.closes(b']') {
            return Ok(ValueKind::Array);
        }
        for index in 0.. {
            self.steps.push(Step::Index(index));
            self.value()?;
            self.steps.pop();
            if !self.continues(b']')? {
                break;
            }
        }
        Ok(ValueKind::Array)
    }

    /// Passes a string and returns its place without the quotation marks.
    fn string(&mut self) -> Result<Range<usize>, NotJson> {
        self.expect(b'"')?;
        let start = self.at;
        loop {
            match self.peek() {
                Some(b'"') => break,
                Some(b'\\') => self.escape()?,
                Some(0x20..) => self.at += 1,
                _ => return self.stop(),
            }
        }
        let range = start..self.at;
        self.at += 1;
        Ok(range)
    }

    fn escape(&mut self) -> Result<(), NotJson> {
        self.at += 1;
        let digits = match self.peek() {
            Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => 0,
            Some(b'u') => 4,
            _ => return self.stop(),
        };
        self.at += 1;
        for _ in 0..digits {
            if !self.peek().is_some_and(|byte| byte.is_ascii_hexdigit()) {
                return self.stop();
            }
            self.at += 1;
        }
        Ok(())
    }

    fn scalar(&mut self) -> Result<ValueKind, NotJson> {
        let start = self.at;
        let belongs = |byte: u8| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte);
        while self.peek().is_some_and(belongs) {
            self.at += 1;
        }
        let text = &self.json[start..self.at];
        let is_number = text.parse::<f64>().is_ok()
            && text.starts_with(|first: char| first == '-' || first.is_ascii_digit());
        if !is_number && !["true", "false", "null"].contains(&text) {
            self.at = start;
            return self.stop();
        }
        Ok(ValueKind::Scalar)
    }

    fn enter(&mut self) -> Result<(), NotJson> {
        if self.steps.len() == DEPTH_MAX {
            return self.stop();
        }
        self.at += 1;
        Ok(())
    }

    /// Passes the end of an empty object or array.
    fn closes(&mut self, end: u8) -> bool {
        self.skip_space();
        let closed = self.peek() == Some(end);
        self.at += usize::from(closed);
        closed
    }

    /// Passes a comma or the end.
    fn continues(&mut self, end: u8) -> Result<bool, NotJson> {
        if self.closes(end) {
            return Ok(false);
        }
        self.expect(b',').map(|()| true)
    }

    fn expect(&mut self, byte: u8) -> Result<(), NotJson> {
        if self.peek() != Some(byte) {
            return self.stop();
        }
        self.at += 1;
        Ok(())
    }

    fn skip_space(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\n' | b'\r' | b'\t')) {
            self.at += 1;
        }
    }

    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    fn stop<T>(&self) -> Result<T, NotJson> {
        Err(NotJson { at: self.at })
    }
}

#[cfg(test)]
mod tests {
    use super::{DEPTH_MAX, NotJson, Step, ValueKind, key, walk};

    #[test]
    fn strings_are_visited_with_their_paths_and_places() {
        let json = r#" {"a": ["x", {"b\n": "y\"z"}], "c": {}, "d": [ ], "e": -1.5e3} "#;
        let mut seen = Vec::new();
        walk(json, &mut |path, value| {
            if value.kind == ValueKind::String {
                seen.push((path.to_vec(), &json[value.range]));
            }
        })
        .unwrap();
        let (a, b) = (Step::Key("a"), Step::Key("b\\n"));
        assert_eq!(
            seen,
            [
                (vec![a, Step::Index(0)], "x"),
                (vec![a, Step::Index(1), b], "y\\\"z")
            ]
        );
    }

    #[test]
    fn containers_are_visited_with_the_whole_of_their_bytes() {
        let json = r#"{"a": {"b": [1, 2]}, "c": null}"#;
        let mut seen = Vec::new();
        walk(json, &mut |path, value| {
            seen.push((path.len(), &json[value.range]));
        })
        .unwrap();
        let whole = (0, json);
        assert_eq!(
            seen,
            [
                (3, "1"),
                (3, "2"),
                (2, "[1, 2]"),
                (1, r#"{"b": [1, 2]}"#),
                (1, "null"),
                whole
            ]
        );
    }

    #[test]
    fn what_is_not_json_is_refused() {
        let texts = [
            "",
            " ",
            "{",
            "[1,]",
            "{\"a\"}",
            "{\"a\":}",
            "{\"a\":1,}",
            "\"a",
            "\"\\x\"",
            "\"\\u12\"",
            "\"a\nb\"",
            "1 2",
            "nul",
            "+1",
            "inf",
            "{a:1}",
            "[1}",
            "\"\\",
        ];
        for text in texts {
            assert!(walk(text, &mut |_, _| ()).is_err(), "{text}");
        }
    }

    #[test]
    fn nesting_has_a_limit() {
        let nested = |depth: usize| "[".repeat(depth) + &"]".repeat(depth);
        assert_eq!(walk(&nested(DEPTH_MAX), &mut |_, _| ()), Ok(()));
        assert_eq!(
            walk(&nested(DEPTH_MAX + 1), &mut |_, _| ()),
            Err(NotJson { at: DEPTH_MAX })
        );
    }

    #[test]
    fn the_key_of_a_path_is_that_of_the_last_member() {
        assert_eq!(key(&[Step::Key("a"), Step::Index(1)]), Some("a"));
        assert_eq!(key(&[Step::Index(1)]), None);
    }
}
