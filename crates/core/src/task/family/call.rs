//! Templates of requests to a provider: method, path and headers, with the task id in the path.

use super::source::ValueSourceList;
use http::{HeaderName, HeaderValue, Method};

/// A template of a request to a provider.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequestTemplate {
    pub method: Method,
    /// Appended to the channel's base URL; may contain [`ID`].
    pub(super) path: String,
    pub headers: Vec<(HeaderName, HeaderValue)>,
}

/// The request that creates a task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaskCreateTemplate {
    pub call: RequestTemplate,
    /// Alternative paths, each with the fields that require it.
    other_paths: Vec<(String, ValueSourceList)>,
}

/// The placeholder for the provider's task id in a path.
pub const ID: &str = "{id}";

impl RequestTemplate {
    /// The path with a task id in it, percent-encoded so that it stays one segment.
    pub fn path(&self, id: &str) -> String {
        self.path.replace(ID, &percent_encoded(id))
    }
}

impl TaskCreateTemplate {
    pub(super) fn new(call: RequestTemplate, other_paths: Vec<(String, ValueSourceList)>) -> Self {
        Self { call, other_paths }
    }

    /// The path for a create that arrived on `requested`; `has` returns whether the body has a value at a JSON pointer.
    pub fn path(&self, requested: &str, has: impl Fn(&str) -> bool) -> &str {
        let own = &self.call.path;
        let others = || self.other_paths.iter();
        if requested.ends_with(own.as_str()) {
            return own;
        }
        if let Some((same, _)) = others().find(|(path, _)| requested.ends_with(path.as_str())) {
            return same;
        }
        let taking = others().find(|(_, fields)| fields.pointers().any(&has));
        taking.map_or(own, |(path, _)| path)
    }
}

fn percent_encoded(id: &str) -> String {
    let mut encoded = String::with_capacity(id.len());
    for byte in id.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => {
                encoded.push(char::from(byte));
            }
            _ => encoded += &format!("%{byte:02X}"),
        }
    }
    encoded
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_stays_one_segment() {
        let call = RequestTemplate {
            method: Method::GET,
            path: "/tasks/{id}/cancel".into(),
            headers: Vec::new(),
        };
        let table = [
            ("cgt-2026_a.b~c", "/tasks/cgt-2026_a.b~c/cancel"),
            ("a/b?c#d e%", "/tasks/a%2Fb%3Fc%23d%20e%25/cancel"),
            ("ü", "/tasks/%C3%BC/cancel"),
        ];
        for (id, path) in table {
            assert_eq!(call.path(id), path);
        }
    }
}
