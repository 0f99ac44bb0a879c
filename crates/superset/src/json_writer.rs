//! Writes JSON text without an intermediate tree.

use crate::escaped_text::EscapedText;

/// Appends JSON to a buffer, and sets commas by itself.
///
/// `key` comes before each member's value. Objects and arrays are closed by whoever opened them.
#[derive(Debug, Default)]
pub struct JsonWriter {
    out: Vec<u8>,
}

impl JsonWriter {
    pub fn with_capacity(bytes: usize) -> Self {
        Self {
            out: Vec::with_capacity(bytes),
        }
    }

    /// What was written.
    pub fn into_bytes(self) -> Vec<u8> {
        self.out
    }

    pub fn as_bytes(&self) -> &[u8] {
        &self.out
    }

    /// Takes away what was written, and keeps the buffer.
    pub fn clear(&mut self) {
        self.out.clear();
    }

    pub fn begin_object(&mut self) -> &mut Self {
        self.value_follows();
        self.out.push(b'{');
        self
    }

    pub fn end_object(&mut self) -> &mut Self {
        self.out.push(b'}');
        self
    }

    pub fn begin_array(&mut self) -> &mut Self {
        self.value_follows();
        self.out.push(b'[');
        self
    }

    pub fn end_array(&mut self) -> &mut Self {
        self.out.push(b']');
        self
    }

    /// The key of the next member. It needs no escapes.
    pub fn key(&mut self, name: &str) -> &mut Self {
        self.value_follows();
        self.out.push(b'"');
        self.out.extend_from_slice(name.as_bytes());
        self.out.extend_from_slice(b"\":");
        self
    }

    /// A value that is JSON text already.
    pub fn raw(&mut self, json: impl AsRef<[u8]>) -> &mut Self {
        self.value_follows();
        self.out.extend_from_slice(json.as_ref());
        self
    }

    /// A string of these pieces, one directly after the other.
    pub fn text_pieces(&mut self, pieces: &[&EscapedText<'_>]) -> &mut Self {
        self.value_follows();
        self.out.push(b'"');
        for piece in pieces {
            self.out.extend_from_slice(piece.as_written().as_bytes());
        }
        self.out.push(b'"');
        self
    }

    pub fn text(&mut self, text: &EscapedText<'_>) -> &mut Self {
        self.text_pieces(&[text])
    }

    /// A string that needs no escapes.
    pub fn literal(&mut self, text: &'static str) -> &mut Self {
        self.text(&EscapedText::literal(text))
    }

    /// A string that gets the escapes that JSON demands.
    pub fn plain(&mut self, text: &str) -> &mut Self {
        self.text(&EscapedText::plain(text))
    }

    /// A string of letters and digits behind a prefix.
    pub fn id(&mut self, prefix: &'static str, suffix: &str) -> &mut Self {
        self.value_follows();
        for piece in ["\"", prefix, suffix, "\""] {
            self.out.extend_from_slice(piece.as_bytes());
        }
        self
    }

    pub fn bool(&mut self, value: bool) -> &mut Self {
        self.raw(if value { "true" } else { "false" })
    }

    pub fn number(&mut self, value: u64) -> &mut Self {
        self.raw(itoa::Buffer::new().format(value))
    }

    pub fn null(&mut self) -> &mut Self {
        self.raw("null")
    }

    /// Sets the comma before a key or value, if one is needed.
    fn value_follows(&mut self) {
        if !matches!(self.out.last(), None | Some(b'{' | b'[' | b':')) {
            self.out.push(b',');
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commas_stand_between_members_and_elements() {
        let mut json = JsonWriter::default();
        json.begin_object().key("a").begin_array();
        json.number(1).literal("x").raw("{}").null().end_array();
        json.key("b").text_pieces(&[
            &EscapedText::literal("one "),
            &EscapedText::plain("\"two\""),
        ]);
        json.key("c").bool(true).key("d").plain("}:").key("e");
        json.begin_object().end_object().end_object();
        assert_eq!(
            std::str::from_utf8(json.as_bytes()).unwrap(),
            r#"{"a":[1,"x",{},null],"b":"one \"two\"","c":true,"d":"}:","e":{}}"#
        );
    }
}
