//! Paths of a family's requests, with the task's id, the model and values of a response in them.

use headgate_protocol::json::DocumentNode;

/// A path as built.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PathTemplate {
    text: String,
    parts: Vec<PathPart>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum PathPart {
    Literal(String),
    Value { name: PathName, keeps_slashes: bool },
}

/// What stands in a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PathName {
    /// The provider's task id: `{id}`.
    Id,
    /// The channel's model: `{model}`.
    Model,
    /// A value of the response to a query: `{/pointer}`.
    Response(String),
}

/// The values of a path. What is `None` is not known where the path is used.
#[derive(Clone, Copy, Default)]
pub struct PathValues<'a> {
    pub id: Option<&'a str>,
    pub model: Option<&'a str>,
    pub response: Option<DocumentNode<'a>>,
}

impl PathTemplate {
    /// # Errors
    /// A sentence that says what is wrong.
    pub fn parse(text: &str) -> Result<Self, &'static str> {
        let mut parts = Vec::new();
        let mut rest = text;
        while let Some((literal, after)) = rest.split_once('{') {
            let (inner, after) = after.split_once('}').ok_or("unclosed `{`")?;
            if !literal.is_empty() {
                parts.push(PathPart::Literal(literal.to_owned()));
            }
            let (name, keeps_slashes) = match inner.strip_prefix('+') {
                Some(name) => (name, true),
                None => (inner, false),
            };
            let name = match name {
                "id" => PathName::Id,
                "model" => PathName::Model,
                pointer if pointer.starts_with('/') => PathName::Response(pointer.to_owned()),
                _ => {
                    return Err(
                        "unknown placeholder: `{id}`, `{model}` and `{/pointer}` are known",
                    );
                }
            };
            parts.push(PathPart::Value {
                name,
                keeps_slashes,
            });
            rest = after;
        }
        if !rest.is_empty() {
            parts.push(PathPart::Literal(rest.to_owned()));
        }
        Ok(Self {
            text: text.to_owned(),
            parts,
        })
    }

    /// The path as written.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The path as written, without its query.
    pub fn text_without_query(&self) -> &str {
        let text = self.text.split_once('?');
        text.map_or(&*self.text, |(path, _)| path)
    }

    /// Whether the model is in the path.
    pub fn names_model(&self) -> bool {
        self.names().any(|name| *name == PathName::Model)
    }

    /// The path with a task id and a model in it; `None` if it has other values.
    pub fn fill_task(&self, id: &str, model: &str) -> Option<String> {
        self.fill(PathValues {
            id: Some(id),
            model: Some(model),
            response: None,
        })
    }

    /// Whether a path, which is in normal form and has no query, is this one with any values.
    pub fn matches(&self, path: &str) -> bool {
        let query = self.parts.iter().position(|part| match part {
            PathPart::Literal(text) => text.contains('?'),
            PathPart::Value { .. } => false,
        });
        match query.map(|at| self.parts.split_at(at)) {
            None => matches(&self.parts, path),
            Some((before, query)) => {
                let literal = match query.first() {
                    Some(PathPart::Literal(text)) => text.split('?').next().unwrap_or_default(),
                    _ => "",
                };
                path.strip_suffix(literal)
                    .is_some_and(|path| matches(before, path))
            }
        }
    }

    /// The names in the path.
    pub fn names(&self) -> impl Iterator<Item = &PathName> {
        self.parts.iter().filter_map(|part| match part {
            PathPart::Literal(_) => None,
            PathPart::Value { name, .. } => Some(name),
        })
    }

    /// The path with a word for each value.
    pub fn sample(&self) -> String {
        let begins_with_path = matches!(
            self.parts.first(),
            Some(PathPart::Value {
                keeps_slashes: true,
                ..
            })
        );
        let parts = self.parts.iter().map(|part| match part {
            PathPart::Literal(text) => text,
            PathPart::Value { .. } => "value",
        });
        let sample: String = parts.collect();
        match begins_with_path {
            true => format!("/{sample}"),
            false => sample,
        }
    }

    /// Whether a value keeps its slashes.
    pub fn keeps_slashes(&self, wanted: &PathName) -> bool {
        self.parts.iter().any(|part| match part {
            PathPart::Literal(_) => false,
            PathPart::Value {
                name,
                keeps_slashes,
            } => name == wanted && *keeps_slashes,
        })
    }

    /// The path with its values, percent-encoded so that each stays one segment, or keeps its segments after `+`; `None`
    /// if a value is missing.
    pub fn fill(&self, values: PathValues<'_>) -> Option<String> {
        let mut path = String::new();
        for part in &self.parts {
            match part {
                PathPart::Literal(text) => path += text,
                PathPart::Value {
                    name,
                    keeps_slashes,
                } => {
                    let value = values.value(name)?;
                    // An id that is a path has its own slash.
                    let value = match *keeps_slashes && path.ends_with('/') {
                        true => value.trim_start_matches('/'),
                        false => &*value,
                    };
                    if *keeps_slashes && path.is_empty() && !value.starts_with('/') {
                        path.push('/');
                    }
                    push_encoded(&mut path, value, *keeps_slashes);
                }
            }
        }
        Some(path)
    }
}

impl PathValues<'_> {
    fn value(&self, name: &PathName) -> Option<String> {
        match name {
            PathName::Id => self.id.map(str::to_owned),
            PathName::Model => self.model.map(str::to_owned),
            PathName::Response(pointer) => {
                let node = self.response?.pointer(pointer)?;
                let text = node.as_str().map(|text| text.into_owned());
                let text = text.or_else(|| node.number_text().map(str::to_owned));
                text.filter(|text| is_path_value(text))
            }
        }
    }
}

/// Whether a text is these parts with any values that are not empty.
fn matches(parts: &[PathPart], text: &str) -> bool {
    match parts.split_first() {
        None => text.is_empty(),
        Some((PathPart::Literal(literal), rest)) => text
            .strip_prefix(literal.as_str())
            .is_some_and(|text| matches(rest, text)),
        Some((PathPart::Value { keeps_slashes, .. }, rest)) => {
            let segment = match keeps_slashes {
                true => text.len(),
                false => text.find('/').unwrap_or(text.len()),
            };
            let mut ends = text.char_indices().skip(1).map(|(at, _)| at);
            let mut ends = ends.by_ref().chain([text.len()]);
            !text.is_empty() && ends.any(|end| end <= segment && matches(rest, &text[end..]))
        }
    }
}

/// Adds a member to the query of a path.
pub fn add_to_query(path: &mut String, name: &str, value: &str) {
    path.push(if path.contains('?') { '&' } else { '?' });
    push_encoded(path, name, false);
    path.push('=');
    push_encoded(path, value, false);
}

/// Adds a member to a query, in place of those with its name.
pub fn set_in_query(path: &mut String, name: &str, value: &str) {
    let mut encoded = String::new();
    push_encoded(&mut encoded, name, false);
    if let Some((before, query)) = path.split_once('?') {
        let is_other = |pair: &&str| pair.split('=').next() != Some(&*encoded);
        let others: Vec<&str> = query.split('&').filter(is_other).collect();
        *path = match others.is_empty() {
            true => before.to_owned(),
            false => format!("{before}?{}", others.join("&")),
        };
    }
    add_to_query(path, name, value);
}

/// Whether a text that a provider wrote can stand in a path: no segment of it leads elsewhere.
pub fn is_path_value(text: &str) -> bool {
    let mut segments = text.strip_prefix('/').unwrap_or(text).split('/');
    !text.contains(char::is_control)
        && !text.contains('\\')
        && segments.all(|segment| !segment.is_empty() && !segment.bytes().all(|byte| byte == b'.'))
}

fn push_encoded(path: &mut String, value: &str, keeps_slashes: bool) {
    for byte in value.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => {
                path.push(char::from(byte));
            }
            b'/' | b':' if keeps_slashes => path.push(char::from(byte)),
            _ => *path += &format!("%{byte:02X}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filled(path: &str, id: &str) -> Option<String> {
        let template = PathTemplate::parse(path).unwrap();
        template.fill(PathValues {
            id: Some(id),
            model: Some("a/b c"),
            response: None,
        })
    }

    #[test]
    fn a_member_of_a_query_replaces_those_of_its_name() {
        for (path, expected) in [
            ("/a", "/a?url=x%2Fy"),
            ("/a?b=1", "/a?b=1&url=x%2Fy"),
            ("/a?url=z&b=1&url=", "/a?b=1&url=x%2Fy"),
            ("/a?url=z", "/a?url=x%2Fy"),
            ("/a?urls=z", "/a?urls=z&url=x%2Fy"),
        ] {
            let mut changed = path.to_owned();
            set_in_query(&mut changed, "url", "x/y");
            assert_eq!(changed, expected, "{path}");
        }
    }

    #[test]
    fn values_stay_in_their_segments() {
        for (path, id, expected) in [
            (
                "/tasks/{id}/cancel",
                "cgt-2026_a.b~c",
                "/tasks/cgt-2026_a.b~c/cancel",
            ),
            ("/tasks/{id}", "a/b?c#d e%", "/tasks/a%2Fb%3Fc%23d%20e%25"),
            ("/tasks/{id}", "ü", "/tasks/%C3%BC"),
            (
                "/{+id}",
                "models/veo/operations/1?x",
                "/models/veo/operations/1%3Fx",
            ),
            (
                "{+id}/status",
                "/fal-ai/x/requests/1",
                "/fal-ai/x/requests/1/status",
            ),
            ("{+id}", "v1/1", "/v1/1"),
            ("/{+id}:cancel", "operations/1", "/operations/1:cancel"),
            ("/q?task_id={id}", "1&b=2", "/q?task_id=1%26b%3D2"),
            ("/models/{+model}/p", "", "/models/a/b%20c/p"),
            ("/models/{model}/p", "", "/models/a%2Fb%20c/p"),
        ] {
            assert_eq!(filled(path, id).as_deref(), Some(expected), "{path}");
        }
        assert_eq!(filled("/{/file_id}", "1"), None);
    }

    #[test]
    fn what_leads_elsewhere_is_no_value_of_a_path() {
        for text in ["", "..", "a/../b", "a//b", "./a", "a\\b", "a\nb", "/", "a/"] {
            assert!(!is_path_value(text), "{text:?}");
        }
        for text in ["a", "/a/b", "a/b.c", "867", "..a"] {
            assert!(is_path_value(text), "{text:?}");
        }
    }

    #[test]
    fn a_path_is_matched_with_any_values() {
        for (template, path, expected) in [
            ("/v1/tasks/{id}", "/v1/tasks/1", true),
            ("/v1/tasks/{id}", "/v1/tasks/", false),
            ("/v1/tasks/{id}", "/v1/tasks/1/2", false),
            ("/v1/tasks/{id}", "/x/v1/tasks/1", false),
            ("/{+model}", "/fal-ai/veo3/image", true),
            (
                "/{+model}/requests/{id}/status",
                "/a/b/requests/1/status",
                true,
            ),
            ("/{+model}/requests/{id}/status", "/a/b/requests/1", false),
            ("/models/{model}:run", "/models/veo:run", true),
            ("/models/{model}:run", "/models/a/b:run", false),
            ("/models/{model}:run", "/models/:run", false),
            ("/query?task_id={id}", "/query", true),
            ("/query?task_id={id}", "/query/1", false),
        ] {
            let template = PathTemplate::parse(template).unwrap();
            assert_eq!(
                template.matches(path),
                expected,
                "{} {path}",
                template.text()
            );
        }
    }

    #[test]
    fn an_unknown_placeholder_is_refused() {
        for path in ["/{x}", "/{id", "/{}", "/{+}"] {
            assert!(PathTemplate::parse(path).is_err(), "{path}");
        }
    }
}
