//! A body as it is recorded: at most so many bytes of it, without credentials.

use bytes::Bytes;
use headgate_protocol::redact::redact;
use serde::de::IgnoredAny;
use std::io::Write;

/// A credential that begins within the limit of a body is found if it has no more bytes than this.
const CREDENTIAL_BYTES_MAX: usize = 4096;

/// A body in a record.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct PromptBody {
    content: Vec<u8>,
    form: PromptBodyForm,
    /// Bytes of the whole body, as far as it was seen.
    whole_bytes: usize,
    is_cut: bool,
}

/// The member of a record that has the content.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PromptBodyForm {
    /// A whole JSON value.
    Json,
    /// Anything else, as text.
    Text,
    /// Events of a stream, as text.
    Events,
}

/// Takes pieces of a body, up to a limit.
pub(crate) struct BodyRecorder {
    content: Vec<u8>,
    bytes_max: usize,
    whole_bytes: usize,
    is_cut: bool,
}

impl BodyRecorder {
    pub fn new(bytes_max: usize) -> Self {
        Self {
            content: Vec::new(),
            bytes_max,
            whole_bytes: 0,
            is_cut: false,
        }
    }

    pub fn push(&mut self, piece: &[u8]) {
        self.whole_bytes += piece.len();
        let room = (self.bytes_max + CREDENTIAL_BYTES_MAX).saturating_sub(self.content.len());
        let taken = &piece[..piece.len().min(room)];
        self.content.extend_from_slice(taken);
    }

    /// Notes bytes that must not be recorded.
    pub fn skip(&mut self, bytes: usize) {
        self.whole_bytes += bytes;
        self.is_cut = true;
    }

    /// The body without `credentials`, and without what looks like one.
    pub fn finish(self, form: PromptBodyForm, credentials: &[&str]) -> PromptBody {
        let is_whole = self.whole_bytes <= self.content.len();
        let mut content = redact(&self.content, credentials).into_owned();
        let is_cut = self.is_cut || !is_whole || content.len() > self.bytes_max;
        content.truncate(self.bytes_max);
        content.shrink_to_fit();
        let form = match form {
            PromptBodyForm::Json if is_cut || !is_json(&content) => PromptBodyForm::Text,
            form => form,
        };
        PromptBody {
            content,
            form,
            whole_bytes: self.whole_bytes,
            is_cut,
        }
    }
}

impl PromptBody {
    /// The memory that it takes, in bytes.
    pub fn size(&self) -> usize {
        self.content.len()
    }

    /// Appends the body as an object of JSON, without line breaks.
    pub fn append_json(&self, out: &mut Vec<u8>) {
        let bytes = self.whole_bytes;
        write!(out, "{{\"bytes\":{bytes}").expect("memory takes what is written");
        if self.is_cut {
            out.extend_from_slice(b",\"cut\":true");
        }
        match self.form {
            PromptBodyForm::Json => {
                out.extend_from_slice(b",\"json\":");
                // Line breaks of JSON are between its tokens, where a space means the same.
                let content = self.content.iter();
                out.extend(content.map(|&byte| match byte {
                    b'\n' | b'\r' => b' ',
                    byte => byte,
                }));
            }
            PromptBodyForm::Text => self.append_text("text", out),
            PromptBodyForm::Events => self.append_text("events", out),
        }
        out.push(b'}');
    }

    fn append_text(&self, name: &str, out: &mut Vec<u8>) {
        let text = String::from_utf8_lossy(&self.content);
        // A character that the limit cuts in two is no error of the body.
        let text = match self.is_cut {
            true => text.trim_end_matches(char::REPLACEMENT_CHARACTER),
            false => &text,
        };
        write!(out, ",\"{name}\":").expect("memory takes what is written");
        serde_json::to_writer(out, text).expect("a text serialises");
    }
}

/// Whether a body may stand in a line as it is. The bytes of texts are not looked at by a parser that skips them.
fn is_json(content: &[u8]) -> bool {
    let text = std::str::from_utf8(content);
    text.is_ok_and(|text| serde_json::from_str::<IgnoredAny>(text).is_ok())
}

/// Records the pieces of a body.
pub(crate) fn recorded(
    pieces: impl IntoIterator<Item = Bytes>,
    bytes_max: usize,
    credentials: &[&str],
) -> PromptBody {
    let mut recorder = BodyRecorder::new(bytes_max);
    pieces.into_iter().for_each(|piece| recorder.push(&piece));
    recorder.finish(PromptBodyForm::Json, credentials)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(body: &PromptBody) -> String {
        let mut out = Vec::new();
        body.append_json(&mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn a_body_is_json_a_text_or_the_start_of_one() {
        for (body, bytes_max, expected) in [
            ("{\"a\":\n 1}", 100, r#"{"bytes":9,"json":{"a":  1}}"#),
            ("{\"a\":1", 100, r#"{"bytes":6,"text":"{\"a\":1"}"#),
            (
                r#"{"a":"long"}"#,
                6,
                r#"{"bytes":12,"cut":true,"text":"{\"a\":\""}"#,
            ),
            ("\u{e9}\u{e9}", 3, r#"{"bytes":4,"cut":true,"text":"é"}"#),
            (
                r#"{"a":"the caller's hg_0123456789"}"#,
                100,
                r#"{"bytes":34,"json":{"a":"the caller's [redacted]"}}"#,
            ),
        ] {
            let pieces = body.as_bytes().chunks(5).map(Bytes::copy_from_slice);
            let body = recorded(pieces, bytes_max, &["hg_0123456789"]);
            assert_eq!(line(&body), expected);
        }
    }

    #[test]
    fn json_with_other_bytes_than_utf_8_is_a_text() {
        let body = Bytes::from_static(b"{\"a\":\"\xff\"}");
        let expected = format!(
            r#"{{"bytes":9,"text":"{{\"a\":\"{}\"}}"}}"#,
            char::REPLACEMENT_CHARACTER
        );
        assert_eq!(line(&recorded([body], 100, &[])), expected);
    }

    #[test]
    fn no_part_of_a_credential_is_left_where_a_body_is_cut() {
        let body = Bytes::from(format!("{}hg_0123456789", "x".repeat(20)));
        for bytes_max in 20..=34 {
            let body = recorded([body.clone()], bytes_max, &["hg_0123456789"]);
            assert!(!line(&body).contains("hg_"), "{bytes_max}");
        }
    }

    #[test]
    fn what_is_beyond_the_limit_takes_no_memory() {
        let piece = Bytes::from(vec![b'x'; 1 << 20]);
        let mut recorder = BodyRecorder::new(1000);
        for _ in 0..64 {
            recorder.push(&piece);
            assert!(recorder.content.capacity() <= 2 * (1000 + CREDENTIAL_BYTES_MAX));
        }
        let body = recorder.finish(PromptBodyForm::Events, &[]);
        assert_eq!((body.size(), body.whole_bytes), (1000, 64 << 20));
        assert!(body.content.capacity() < 2000);
    }
}
