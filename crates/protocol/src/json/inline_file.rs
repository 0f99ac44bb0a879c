//! Takes a file, one long base64 string, out of a JSON document that arrives in pieces; the rest stays a document.
//!
//! Nothing of the file is kept here, whatever its size.

use crate::data_uri::FORGIVING;
use base64::engine::Engine;
use memchr::memchr2;

/// What stands in the document in place of the file.
pub const INLINE_FILE: &str = "inline file";

/// The maximum nesting of objects and lists.
const DEPTH_MAX: usize = 128;
/// The maximum length of a member's name that is compared.
const KEY_BYTES_MAX: usize = 256;

/// Separates the file at one place from the document around it.
pub struct InlineFileExtractor {
    /// The names and indexes that lead to the file.
    at: Vec<String>,
    path: Vec<OpenContainer>,
    string: Option<OpenString>,
    document: Vec<u8>,
    document_bytes_max: usize,
    decoder: Base64Decoder,
}

/// The document is larger than the limit, too deep, or the file is not base64.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InlineFileError {
    #[error("the document around the file is too large")]
    TooLarge,
    #[error("the document is nested too deeply")]
    TooDeep,
    #[error("the file is not base64")]
    NotBase64,
}

enum OpenContainer {
    Object { key: Vec<u8>, expects_key: bool },
    List { index: usize },
}

struct OpenString {
    role: StringRole,
    escape: Escape,
    /// Whether the string has any character.
    has_content: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum StringRole {
    Key,
    Other,
    File,
}

/// How much of an escape was read.
#[derive(Clone, Copy)]
enum Escape {
    None,
    Begun,
    /// `\u` with digits: their number and value.
    Unicode(u8, u32),
}

/// Decodes base64 that arrives in pieces.
#[derive(Default)]
struct Base64Decoder {
    /// Characters that are no whole group yet.
    pending: Vec<u8>,
    is_padded: bool,
}

impl InlineFileExtractor {
    /// `at` is a JSON pointer of names and indexes.
    pub fn new(at: &str, document_bytes_max: usize) -> Self {
        let names = at.split('/').skip(1);
        Self {
            at: names
                .map(|name| name.replace("~1", "/").replace("~0", "~"))
                .collect(),
            path: Vec::new(),
            string: None,
            document: Vec::new(),
            document_bytes_max,
            decoder: Base64Decoder::default(),
        }
    }

    /// Reads the next piece of the document, and appends what it has of the file to `file`.
    ///
    /// # Errors
    /// The document cannot be read on.
    pub fn push(&mut self, piece: &[u8], file: &mut Vec<u8>) -> Result<(), InlineFileError> {
        let mut rest = piece;
        while let Some(&byte) = rest.first() {
            let is_file = matches!(&self.string, Some(open) if open.role == StringRole::File);
            let is_plain = matches!(
                &self.string,
                Some(OpenString {
                    escape: Escape::None,
                    ..
                })
            );
            if is_file && is_plain {
                let plain = memchr2(b'"', b'\\', rest).unwrap_or(rest.len());
                if plain > 0 {
                    self.file_text(&rest[..plain], file)?;
                    rest = &rest[plain..];
                    continue;
                }
            }
            rest = &rest[1..];
            match self.string.is_some() {
                true => self.in_string(byte, file)?,
                false => self.between_strings(byte)?,
            }
            if self.document.len() > self.document_bytes_max {
                return Err(InlineFileError::TooLarge);
            }
        }
        Ok(())
    }

    /// The document, with [`INLINE_FILE`] in place of the file.
    ///
    /// # Errors
    /// The file ended within a group of characters.
    pub fn finish(mut self, file: &mut Vec<u8>) -> Result<Vec<u8>, InlineFileError> {
        self.decoder.finish(file)?;
        Ok(self.document)
    }

    fn between_strings(&mut self, byte: u8) -> Result<(), InlineFileError> {
        self.document.push(byte);
        match byte {
            b'{' => self.open(OpenContainer::Object {
                key: Vec::new(),
                expects_key: true,
            })?,
            b'[' => self.open(OpenContainer::List { index: 0 })?,
            b'}' | b']' => drop(self.path.pop()),
            b',' => match self.path.last_mut() {
                Some(OpenContainer::Object { expects_key, .. }) => *expects_key = true,
                Some(OpenContainer::List { index }) => *index += 1,
                None => {}
            },
            b':' => {
                if let Some(OpenContainer::Object { expects_key, .. }) = self.path.last_mut() {
                    *expects_key = false;
                }
            }
            b'"' => {
                let role = self.role_of_next_string();
                self.string = Some(OpenString {
                    role,
                    escape: Escape::None,
                    has_content: false,
                });
            }
            _ => {}
        }
        Ok(())
    }

    fn open(&mut self, container: OpenContainer) -> Result<(), InlineFileError> {
        if self.path.len() == DEPTH_MAX {
            return Err(InlineFileError::TooDeep);
        }
        self.path.push(container);
        Ok(())
    }

    fn role_of_next_string(&mut self) -> StringRole {
        if let Some(OpenContainer::Object {
            key,
            expects_key: true,
        }) = self.path.last_mut()
        {
            key.clear();
            return StringRole::Key;
        }
        let steps = self.path.iter().zip(&self.at);
        let is_there = self.path.len() == self.at.len();
        let mut is_same = steps.map(|(step, wanted)| match step {
            OpenContainer::Object { key, .. } => key == wanted.as_bytes(),
            OpenContainer::List { index } => index.to_string() == *wanted,
        });
        match is_there && is_same.all(|same| same) {
            true => StringRole::File,
            false => StringRole::Other,
        }
    }

    fn in_string(&mut self, byte: u8, file: &mut Vec<u8>) -> Result<(), InlineFileError> {
        let Some(OpenString { role, escape, .. }) = &mut self.string else {
            return Ok(());
        };
        let role = *role;
        let mut character = None;
        match (*escape, byte) {
            (Escape::None, b'\\') => *escape = Escape::Begun,
            (Escape::None, b'"') => return self.end_string(),
            (Escape::None, byte) => character = Some(byte),
            (Escape::Begun, b'u') => *escape = Escape::Unicode(0, 0),
            (Escape::Begun, byte) => {
                *escape = Escape::None;
                character = Some(match byte {
                    // Any white space: base64 skips it, and no name that is looked for has any.
                    b'n' | b'r' | b't' | b'f' | b'b' => b'\n',
                    other => other,
                });
            }
            (Escape::Unicode(digits, value), byte) => {
                let digit = char::from(byte).to_digit(16).unwrap_or(0);
                let value = value << 4 | digit;
                *escape = Escape::Unicode(digits + 1, value);
                if digits == 3 {
                    *escape = Escape::None;
                    // No character beyond ASCII is base64 or in a name that is looked for.
                    character = Some(
                        u8::try_from(value)
                            .ok()
                            .filter(u8::is_ascii)
                            .unwrap_or(0xff),
                    );
                }
            }
        }
        match (role, character) {
            (StringRole::File, Some(character)) => return self.file_text(&[character], file),
            (StringRole::File, None) => return Ok(()),
            (StringRole::Key, Some(character)) => {
                if let Some(OpenContainer::Object { key, .. }) = self.path.last_mut()
                    && key.len() < KEY_BYTES_MAX
                {
                    key.push(character);
                }
            }
            (StringRole::Key | StringRole::Other, _) => {}
        }
        self.document.push(byte);
        Ok(())
    }

    fn file_text(&mut self, text: &[u8], file: &mut Vec<u8>) -> Result<(), InlineFileError> {
        if let Some(open) = &mut self.string {
            open.has_content = true;
        }
        self.decoder.push(text, file)
    }

    fn end_string(&mut self) -> Result<(), InlineFileError> {
        let ended = self.string.take();
        if ended.is_some_and(|it| it.role == StringRole::File && it.has_content) {
            self.document.extend_from_slice(INLINE_FILE.as_bytes());
        }
        self.document.push(b'"');
        Ok(())
    }
}

impl Base64Decoder {
    fn push(&mut self, text: &[u8], decoded: &mut Vec<u8>) -> Result<(), InlineFileError> {
        let characters = text
            .iter()
            .copied()
            .filter(|byte| !byte.is_ascii_whitespace());
        self.pending.extend(characters);
        let whole = self.pending.len() / 4 * 4;
        self.decode(whole, decoded)
    }

    fn finish(&mut self, decoded: &mut Vec<u8>) -> Result<(), InlineFileError> {
        self.decode(self.pending.len(), decoded)
    }

    fn decode(&mut self, characters: usize, decoded: &mut Vec<u8>) -> Result<(), InlineFileError> {
        if characters == 0 {
            return Ok(());
        }
        let before = decoded.len();
        let done = FORGIVING.decode_vec(&self.pending[..characters], decoded);
        // Nothing follows padding.
        if done.is_err() || self.is_padded {
            return Err(InlineFileError::NotBase64);
        }
        self.is_padded = decoded.len() - before < characters / 4 * 3;
        self.pending.drain(..characters);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const AT: &str = "/response/videos/0/bytes";

    /// The document and the file, whatever the pieces.
    fn extracted(json: &str) -> Result<(String, Vec<u8>), InlineFileError> {
        let mut results = Vec::new();
        for size in [1, 3, 7, json.len().max(1)] {
            let mut extractor = InlineFileExtractor::new(AT, 1 << 10);
            let mut file = Vec::new();
            let read = json.as_bytes().chunks(size);
            let read = read.map(|piece| extractor.push(piece, &mut file));
            let read = read.collect::<Result<Vec<()>, _>>();
            let document = read.and_then(|_| extractor.finish(&mut file));
            results.push(document.map(|json| (String::from_utf8(json).unwrap(), file)));
        }
        assert!(
            results.windows(2).all(|pair| pair[0] == pair[1]),
            "{json}: {results:?}"
        );
        results.pop().unwrap()
    }

    #[test]
    fn the_file_at_its_place_is_taken_out() {
        for (json, document, file) in [
            (
                r#"{"done": true, "response": {"videos": [{"bytes": "QUJDRA==", "type": "a"}]}, "x": [1]}"#,
                r#"{"done": true, "response": {"videos": [{"bytes": "inline file", "type": "a"}]}, "x": [1]}"#,
                &b"ABCD"[..],
            ),
            (
                r#"{"response":{"videos":[{"bytes":"QU\/D\nRA\u003d\u003d"},{"bytes":"QUJD"}]}}"#,
                r#"{"response":{"videos":[{"bytes":"inline file"},{"bytes":"QUJD"}]}}"#,
                b"\x41\x4f\xc3\x44",
            ),
            (
                r#"{"bytes":"QUJD","response":{"bytes":"QUJD","videos":{"0":"QUJD"}}}"#,
                r#"{"bytes":"QUJD","response":{"bytes":"QUJD","videos":{"0":"QUJD"}}}"#,
                b"",
            ),
            (
                r#"{"response":{"videos":[{"a\"b,{":"}]","bytes":""}]}}"#,
                r#"{"response":{"videos":[{"a\"b,{":"}]","bytes":""}]}}"#,
                b"",
            ),
            (
                r#"{"response":{"videos":[{"bytes":null}]}}"#,
                r#"{"response":{"videos":[{"bytes":null}]}}"#,
                b"",
            ),
        ] {
            let expected = (document.to_owned(), file.to_vec());
            assert_eq!(extracted(json), Ok(expected), "{json}");
        }
    }

    #[test]
    fn what_is_not_base64_and_what_is_too_large_is_refused() {
        let with = |text: &str| format!(r#"{{"response":{{"videos":[{{"bytes":"{text}"}}]}}}}"#);
        for text in ["QUJ!", "QQ==QUJD", "Q\\u00fcJD", "QUJDR"] {
            assert_eq!(
                extracted(&with(text)),
                Err(InlineFileError::NotBase64),
                "{text}"
            );
        }
        let long = format!(r#"{{"a":"{}"}}"#, "x".repeat(2_000));
        assert_eq!(extracted(&long), Err(InlineFileError::TooLarge));
        assert_eq!(extracted(&"[".repeat(200)), Err(InlineFileError::TooDeep));
        // The size of the file does not count.
        let (document, file) = extracted(&with(&"QUJD".repeat(10_000))).unwrap();
        assert_eq!((document.len() < 100, file.len()), (true, 30_000));
    }
}
