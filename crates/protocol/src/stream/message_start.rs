//! Completes the first event of a messages stream, from which some providers leave out members that SDKs read.

use super::StreamShape;
use crate::json::skim;
use bytes::{Bytes, BytesMut};

/// A longer first event passes as it is, in bytes.
const HELD_BYTES_MAX: usize = 64 << 10;

/// Holds the first event of a stream until it is complete, and adds what its message lacks.
#[derive(Debug)]
pub struct MessageStartCompleter {
    /// The members that a message has at its start, as `null`.
    members: &'static [&'static str],
    held: BytesMut,
    is_done: bool,
}

impl MessageStartCompleter {
    /// `None` for the streams of other protocols, which have no such event.
    pub fn for_stream(shape: &StreamShape) -> Option<Self> {
        let members = shape.start_members;
        (!members.is_empty()).then(|| Self {
            members,
            held: BytesMut::new(),
            is_done: false,
        })
    }

    /// What is passed on in place of the next chunk; empty while the event is incomplete.
    pub fn complete(&mut self, chunk: Bytes) -> Bytes {
        if self.is_done {
            return chunk;
        }
        // A line that goes on decides nothing: looking again at each piece would take quadratic time.
        let goes_on = !self.held.is_empty() && memchr::memchr2(b'\n', b'\r', &chunk).is_none();
        if goes_on && self.held.len() + chunk.len() < HELD_BYTES_MAX {
            self.held.extend_from_slice(&chunk);
            return Bytes::new();
        }
        let chunk = match self.held.is_empty() {
            true => chunk,
            false => {
                self.held.extend_from_slice(&chunk);
                self.held.split().freeze()
            }
        };
        match completed(&chunk, self.members) {
            MessageStartResult::Incomplete if chunk.len() < HELD_BYTES_MAX => {
                self.held = BytesMut::from(&chunk[..]);
                Bytes::new()
            }
            MessageStartResult::WithoutData => chunk,
            MessageStartResult::Incomplete | MessageStartResult::Whole => {
                self.is_done = true;
                chunk
            }
            MessageStartResult::Completed(chunk) => {
                self.is_done = true;
                chunk
            }
        }
    }

    /// What is held at the end of the stream.
    pub fn take_rest(&mut self) -> Option<Bytes> {
        (!self.held.is_empty()).then(|| self.held.split().freeze())
    }
}

enum MessageStartResult {
    /// More of the first event may follow.
    Incomplete,
    /// Complete lines before the first data, such as keep-alive comments.
    WithoutData,
    /// Nothing is missing, or it is another event.
    Whole,
    Completed(Bytes),
}

fn completed(start: &Bytes, members: &[&str]) -> MessageStartResult {
    let Some(line) = data_line(start) else {
        return match start.ends_with(b"\n") {
            true => MessageStartResult::WithoutData,
            false => MessageStartResult::Incomplete,
        };
    };
    let json = &start[line.clone()];
    let is_start = skim::find(json, &["type"])
        .is_some_and(|value| &json[value] == b"\"message_start\"".as_slice());
    let message = skim::find(json, &["message"]).filter(|_| is_start);
    let Some(message) = message.filter(|message| json[message.clone()].starts_with(b"{")) else {
        return MessageStartResult::Whole;
    };
    let has = |name: &str| skim::find(json, &["message", name]).is_some();
    let missing = members.iter().filter(|name| !has(name));
    let mut members: String = missing.map(|name| format!(",\"{name}\":null")).collect();
    if members.is_empty() {
        return MessageStartResult::Whole;
    }
    if skim::members(json, message.clone()).next().is_none() {
        members.remove(0);
    }
    let brace = line.start + message.end - 1;
    let pieces = [&start[..brace], members.as_bytes(), &start[brace..]];
    MessageStartResult::Completed(pieces.concat().into())
}

/// The data of the first line with data, if the line is complete.
fn data_line(start: &[u8]) -> Option<std::ops::Range<usize>> {
    let mut at = 0;
    while let Some(length) = memchr::memchr2(b'\n', b'\r', &start[at..]) {
        let line = &start[at..at + length];
        if let Some(data) = line.strip_prefix(b"data:") {
            return Some(at + line.len() - data.len()..at + length);
        }
        at += length + 1;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Protocol;

    fn completed_in_pieces(stream: &str, piece: usize) -> String {
        let mut completion =
            MessageStartCompleter::for_stream(&Protocol::Messages.descriptor().streams).unwrap();
        let mut sent = Vec::new();
        for chunk in stream.as_bytes().chunks(piece) {
            sent.extend_from_slice(&completion.complete(Bytes::copy_from_slice(chunk)));
        }
        sent.extend_from_slice(&completion.take_rest().unwrap_or_default());
        String::from_utf8(sent).unwrap()
    }

    #[test]
    fn only_what_a_message_start_lacks_is_added() {
        let rest = "event: ping\ndata: {\"type\":\"ping\"}\n\n";
        let start = |members: &str| {
            format!(
                "event: message_start\ndata: {{\"type\":\"message_start\",\"message\":{{{members}}}}}\n\n{rest}"
            )
        };
        let id = "\"id\":\"m\",\"content\":[]";
        let both = format!("{id},\"stop_reason\":null,\"stop_sequence\":null");
        let one = format!("\"stop_reason\":null,{id}");
        for (stream, expected) in [
            (start(id), start(&both)),
            (start(&both), start(&both)),
            (start(&one), start(&format!("{one},\"stop_sequence\":null"))),
            (
                start(""),
                start("\"stop_reason\":null,\"stop_sequence\":null"),
            ),
            (rest.to_owned(), rest.to_owned()),
            (
                "event: message_start\ndata: {\"type\"".to_owned(),
                "event: message_start\ndata: {\"type\"".to_owned(),
            ),
            (": comment\n\n".to_owned(), ": comment\n\n".to_owned()),
        ] {
            for piece in [1, 7, stream.len()] {
                assert_eq!(completed_in_pieces(&stream, piece), expected, "{piece}");
            }
        }
    }
}
