//! Writes a JSON object member by member.

use headgate_protocol::json::quoted;

/// A JSON object that is written member by member.
#[derive(Default)]
pub struct JsonObjectWriter(Vec<u8>);

impl JsonObjectWriter {
    pub fn raw(&mut self, name: &str, json: &[u8]) {
        self.0.push(if self.0.is_empty() { b'{' } else { b',' });
        self.0.extend_from_slice(&quoted(name));
        self.0.push(b':');
        self.0.extend_from_slice(json);
    }

    pub fn text(&mut self, name: &str, text: Option<&str>) {
        match text {
            Some(text) => self.raw(name, &quoted(text)),
            None => self.raw(name, b"null"),
        }
    }

    pub fn number(&mut self, name: &str, number: u64) {
        self.raw(name, number.to_string().as_bytes());
    }

    /// A list of JSON texts.
    pub fn list(&mut self, name: &str, elements: impl IntoIterator<Item = impl AsRef<[u8]>>) {
        let mut json = vec![b'['];
        for (position, element) in elements.into_iter().enumerate() {
            if position > 0 {
                json.push(b',');
            }
            json.extend_from_slice(element.as_ref());
        }
        json.push(b']');
        self.raw(name, &json);
    }

    /// A list of JSON texts, or null if there are none.
    pub fn list_or_null<T: AsRef<[u8]>>(&mut self, name: &str, elements: &[T]) {
        match elements.is_empty() {
            true => self.raw(name, b"null"),
            false => self.list(name, elements),
        }
    }

    pub fn finish(mut self) -> Vec<u8> {
        if self.0.is_empty() {
            self.0.push(b'{');
        }
        self.0.push(b'}');
        self.0
    }
}
