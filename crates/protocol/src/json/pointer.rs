//! JSON pointers (RFC 6901) to a value below the root, parsed once.

use std::fmt::{self, Write};

use super::pointer_token;

/// A pointer to a value below the root of a document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JsonPointer {
    text: String,
    steps: Vec<String>,
}

/// Why a text is not a pointer to a value below the root.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JsonPointerError {
    /// It does not begin with a slash, as in `model`.
    NoSlash,
    /// A `~` is followed by neither `0` nor `1`.
    BadEscape,
}

impl JsonPointer {
    /// Parses a pointer such as `/messages/0/content`.
    ///
    /// # Errors
    /// The text does not begin with `/`, or has a `~` that is no escape.
    pub fn parse(text: &str) -> Result<Self, JsonPointerError> {
        let steps = text.strip_prefix('/').ok_or(JsonPointerError::NoSlash)?;
        let mut escapes = steps.split('~').skip(1);
        if !escapes.all(|rest| rest.starts_with(['0', '1'])) {
            return Err(JsonPointerError::BadEscape);
        }
        let steps = steps
            .split('/')
            .map(|step| pointer_token::unescaped(step).into());
        Ok(Self {
            text: text.to_owned(),
            steps: steps.collect(),
        })
    }

    /// The pointer as written.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The keys and indices from the root, decoded; at least one.
    pub fn steps(&self) -> &[String] {
        &self.steps
    }

    /// The last key or index.
    pub fn last_step(&self) -> &str {
        self.steps.last().map_or("", String::as_str)
    }

    /// Where the value after `depth` steps is, such as `messages[0].content`.
    pub fn path(&self, depth: usize) -> String {
        let mut path = String::new();
        for step in self.steps.iter().take(depth) {
            let separator = if path.is_empty() { "" } else { "." };
            let _ = match pointer_token::array_index(step) {
                Some(index) => write!(path, "[{index}]"),
                None => write!(path, "{separator}{step}"),
            };
        }
        path
    }
}

impl fmt::Display for JsonPointerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NoSlash => {
                "must be a JSON pointer, which begins with `/`, such as `/metadata/tag`"
            }
            Self::BadEscape => {
                "has a `~` that is no escape; write `~0` for `~`, and `~1` for `/` in a key"
            }
        })
    }
}

impl std::error::Error for JsonPointerError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pointer_has_decoded_steps_and_a_path() {
        for (text, steps, path) in [
            ("/model", &["model"][..], "model"),
            (
                "/messages/0/content",
                &["messages", "0", "content"],
                "messages[0].content",
            ),
            ("/a~1b/~0c/-", &["a/b", "~c", "-"], "a/b.~c.-"),
            ("/", &[""], ""),
        ] {
            let pointer = JsonPointer::parse(text).unwrap();
            assert_eq!(pointer.steps(), steps, "{text}");
            assert_eq!(pointer.path(steps.len()), path, "{text}");
            assert_eq!(pointer.text(), text);
        }
        let pointer = JsonPointer::parse("/messages/0/content").unwrap();
        assert_eq!(pointer.path(1), "messages");
    }

    #[test]
    fn a_text_that_points_at_nothing_below_the_root_is_refused() {
        for (text, error) in [
            ("", JsonPointerError::NoSlash),
            ("model", JsonPointerError::NoSlash),
            ("/a~", JsonPointerError::BadEscape),
            ("/a~2b", JsonPointerError::BadEscape),
        ] {
            assert_eq!(JsonPointer::parse(text), Err(error), "{text}");
        }
    }
}
