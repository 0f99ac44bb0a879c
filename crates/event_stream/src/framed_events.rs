//! Turns the frames of a stream into server-sent events, which the gateway reads of all providers.

use crate::decoder::FrameDecoder;
use crate::frame::Frame;
use crate::invalid_frame::InvalidFrame;
use crate::kind::FrameKind;
use bytes::{Bytes, BytesMut};
use headgate_protocol::json::{quoted, skim};
use headgate_protocol::sse::encode_event;

/// Largest frame, in bytes: as many as an event of other streams may have.
const FRAME_BYTES_MAX: usize = 16 << 20;
/// Names of events and errors are shorter.
const NAME_BYTES_MAX: usize = 64;

/// Turns frames into events, chunk by chunk.
#[derive(Debug)]
pub struct FramedEvents {
    frames: FrameDecoder,
    invalid: Option<InvalidFrame>,
}

impl Default for FramedEvents {
    fn default() -> Self {
        Self {
            frames: FrameDecoder::new(FRAME_BYTES_MAX),
            invalid: None,
        }
    }
}

impl FramedEvents {
    /// The events whose frames this chunk completes. Those before a damaged frame are good; [`Self::check`] finds it.
    pub fn push(&mut self, chunk: &Bytes) -> Bytes {
        self.frames.push(chunk);
        let mut events = BytesMut::new();
        loop {
            match self.next_event() {
                Ok(Some(event)) => events.extend_from_slice(&event),
                Ok(None) => break,
                Err(invalid) => {
                    self.invalid.get_or_insert(invalid);
                    break;
                }
            }
        }
        events.freeze()
    }

    /// # Errors
    /// Bytes so far are no frame, or one without an event. Nothing comes after those.
    pub fn check(&self) -> Result<(), InvalidFrame> {
        self.invalid.map_or(Ok(()), Err)
    }

    /// # Errors
    /// The stream cannot end here.
    pub fn finish(&self) -> Result<(), InvalidFrame> {
        self.check()?;
        match self.frames.is_between_frames() {
            true => Ok(()),
            false => Err(InvalidFrame::Unfinished),
        }
    }

    fn next_event(&mut self) -> Result<Option<Bytes>, InvalidFrame> {
        self.check()?;
        let frame = self.frames.next()?;
        frame.map(|frame| event(&frame)).transpose()
    }
}

/// The event of a frame: its type is the name, and the only member of the data.
fn event(frame: &Frame) -> Result<Bytes, InvalidFrame> {
    match frame.kind() {
        FrameKind::Event(name) if is_plain(name) => {
            let payload = payload_lines(&frame.payload)?;
            let data = [b"{\"", name.as_bytes(), b"\":", &payload[..], b"}"].concat();
            Ok(encode_event(Some(name), &data))
        }
        FrameKind::Exception(name) if is_plain(name) => {
            let message = ["message", "originalMessage"]
                .into_iter()
                .find_map(|member| {
                    let message = skim::find(&frame.payload, &[member])?;
                    let message = &frame.payload[message];
                    message.starts_with(b"\"").then_some(message)
                });
            Ok(error_event(name, message.unwrap_or(b"\"\"")))
        }
        FrameKind::Error { code, message } => Ok(error_event(code, &quoted(message))),
        FrameKind::Event(_) | FrameKind::Exception(_) | FrameKind::Unknown => {
            Err(InvalidFrame::Kind)
        }
    }
}

/// An error of the stream, with a message that is a JSON string.
fn error_event(code: &str, message: &[u8]) -> Bytes {
    let code = quoted(code);
    let data = [
        b"{\"error\":{\"type\":",
        &code[..],
        b",\"message\":",
        message,
        b"}}",
    ];
    encode_event(Some("error"), &data.concat())
}

/// A payload without the line ends that have no place in an event.
///
/// # Errors
/// It is no object, so that readers of the event would see less of it than was sent.
fn payload_lines(payload: &[u8]) -> Result<Vec<u8>, InvalidFrame> {
    let payload = payload.trim_ascii();
    if payload.is_empty() {
        return Ok(b"{}".to_vec());
    }
    let is_object = payload.starts_with(b"{") && payload.ends_with(b"}");
    if !is_object || str::from_utf8(payload).is_err() {
        return Err(InvalidFrame::Payload);
    }
    let lines = payload.iter().map(|byte| match byte {
        b'\r' => b'\n',
        other => *other,
    });
    Ok(lines.collect())
}

fn is_plain(name: &str) -> bool {
    (1..=NAME_BYTES_MAX).contains(&name.len()) && name.bytes().all(|it| it.is_ascii_alphanumeric())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_frames::{framed, texts};

    /// A frame with these headers, all of them texts.
    fn frame(headers: &[(&str, &str)], payload: &str) -> Vec<u8> {
        framed(&texts(headers), payload.as_bytes())
    }

    #[test]
    fn frames_become_events() {
        type HeaderList = &'static [(&'static str, &'static str)];
        let cases: [(HeaderList, &str, &str); 6] = [
            (
                &[(":message-type", "event"), (":event-type", "messageStart")],
                r#"{"role":"assistant"}"#,
                "event: messageStart\ndata: {\"messageStart\":{\"role\":\"assistant\"}}\n\n",
            ),
            (
                &[(":message-type", "event"), (":event-type", "metadata")],
                "{\r\n \"a\":\r1}",
                "event: metadata\ndata: {\"metadata\":{\ndata: \ndata:  \"a\":\ndata: 1}}\n\n",
            ),
            (
                &[(":message-type", "event"), (":event-type", "ping")],
                "",
                "event: ping\ndata: {\"ping\":{}}\n\n",
            ),
            (
                &[
                    (":message-type", "exception"),
                    (":exception-type", "throttlingException"),
                ],
                r#"{"message":"Too many \"tokens\""}"#,
                "event: error\ndata: {\"error\":{\"type\":\"throttlingException\",\"message\":\"Too many \\\"tokens\\\"\"}}\n\n",
            ),
            (
                &[
                    (":message-type", "exception"),
                    (":exception-type", "modelStreamErrorException"),
                ],
                "no JSON",
                "event: error\ndata: {\"error\":{\"type\":\"modelStreamErrorException\",\"message\":\"\"}}\n\n",
            ),
            (
                &[
                    (":message-type", "error"),
                    (":error-code", "Busy"),
                    (":error-message", "wait\n"),
                ],
                "",
                "event: error\ndata: {\"error\":{\"type\":\"Busy\",\"message\":\"wait\\n\"}}\n\n",
            ),
        ];
        for (headers, payload, expected) in cases {
            let frame = frame(headers, payload);
            let mut events = FramedEvents::default();
            let mut received = Vec::new();
            for byte in frame.chunks(1) {
                received.extend(events.push(&Bytes::copy_from_slice(byte)));
                let is_whole = !received.is_empty();
                let expected = is_whole.then_some(()).ok_or(InvalidFrame::Unfinished);
                assert_eq!((events.check(), events.finish()), (Ok(()), expected));
            }
            assert_eq!(str::from_utf8(&received).unwrap(), expected);
        }
    }

    #[test]
    fn what_is_no_frame_or_has_no_type_ends_the_stream_after_what_was_good() {
        let good = frame(
            &[(":message-type", "event"), (":event-type", "messageStart")],
            "{}",
        );
        let mut damaged = good.clone();
        let last = damaged.len() - 1;
        damaged[last] ^= 1;
        for (bytes, invalid) in [
            (damaged, InvalidFrame::Checksum),
            (
                b"data: {}\n\n data: {}\n\n".to_vec(),
                InvalidFrame::PreludeChecksum,
            ),
            (
                frame(&[(":message-type", "event")], "{}"),
                InvalidFrame::Kind,
            ),
            (
                frame(&[(":message-type", "event"), (":event-type", "a\nb")], "{}"),
                InvalidFrame::Kind,
            ),
            (
                frame(
                    &[(":message-type", "event"), (":event-type", "a")],
                    "not json",
                ),
                InvalidFrame::Payload,
            ),
        ] {
            let mut events = FramedEvents::default();
            let received = events.push(&[&good[..], &bytes, &good].concat().into());
            assert_eq!(
                received,
                "event: messageStart\ndata: {\"messageStart\":{}}\n\n"
            );
            assert_eq!(
                (events.check(), events.finish()),
                (Err(invalid), Err(invalid))
            );
            assert_eq!(events.push(&good.clone().into()), "");
        }
    }
}
