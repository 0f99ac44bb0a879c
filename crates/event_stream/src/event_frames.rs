//! Turns server-sent events into frames, for callers whose protocol has those: the way back of `framed_events`.

use crate::frame_encoder::encode_frame;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::{Bytes, BytesMut};
use headgate_protocol::error_class::error_message;
use headgate_protocol::json::skim;
use headgate_protocol::sse::{SseDecoder, SseEvent};
use headgate_protocol::stream::StreamFraming;

/// Largest event, in bytes: as many as an event has whose frame was read.
const EVENT_BYTES_MAX: usize = 32 << 20;
/// Longest code of an error and its message, in bytes: they are headers of a frame.
const CODE_BYTES_MAX: usize = 64;
const MESSAGE_BYTES_MAX: usize = 8 << 10;
/// The type of the frames of a stream whose events are its content, as the reference of `InvokeModelWithResponseStream` has it.
const CHUNK: &str = "chunk";
/// The errors that are exceptions of Bedrock's streams, by the references of `ConverseStream` and
/// `InvokeModelWithResponseStream`. Its SDKs know no others.
const EXCEPTIONS: [&str; 6] = [
    "internalServerException",
    "modelStreamErrorException",
    "modelTimeoutException",
    "serviceUnavailableException",
    "throttlingException",
    "validationException",
];

/// Turns the events of a stream into frames, chunk by chunk. Comments become nothing.
#[derive(Debug)]
pub struct EventFrames {
    events: SseDecoder,
    content: FrameContent,
}

/// What the frames of a stream have of its events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum FrameContent {
    /// The only member of the data: its name is the type of the frame, its value the payload.
    Member,
    /// The whole data, in base64.
    Chunk,
}

impl EventFrames {
    /// `None` if the framing is that of server-sent events.
    pub fn for_framing(framing: StreamFraming) -> Option<Self> {
        let content = match framing {
            StreamFraming::ServerSentEvents => return None,
            StreamFraming::AmazonFrames => FrameContent::Member,
            StreamFraming::AmazonChunks => FrameContent::Chunk,
        };
        Some(Self {
            events: SseDecoder::new(EVENT_BYTES_MAX),
            content,
        })
    }

    /// The frames of the events that this chunk completes; nothing if it completes none.
    pub fn push(&mut self, chunk: &Bytes) -> Bytes {
        self.events.push(chunk);
        let mut frames = BytesMut::new();
        while let Some(event) = self.events.next() {
            if let Some(frame) = frame(&event, self.content) {
                frames.extend_from_slice(&frame);
            }
        }
        frames.freeze()
    }
}

/// The frame of an event; `None` for a comment, and for what is no object.
fn frame(event: &SseEvent, content: FrameContent) -> Option<Bytes> {
    let data = event.data();
    let (name, value) = skim::members(data, 0..data.len()).next()?;
    match content {
        FrameContent::Member if name == b"error" => Some(error_frame(&data[value])),
        FrameContent::Member => {
            let name = std::str::from_utf8(name).ok()?;
            Some(event_frame(cut(name, CODE_BYTES_MAX), &data[value]))
        }
        FrameContent::Chunk => {
            let kind = skim::find_string(data, &["type"]);
            if (event.name() == Some(b"error") || kind == Some("error"))
                && let Some(error) = skim::find(data, &["error"])
            {
                return Some(error_frame(&data[error]));
            }
            let payload = format!(r#"{{"bytes":"{}"}}"#, STANDARD.encode(data));
            Some(event_frame(CHUNK, payload.as_bytes()))
        }
    }
}

fn event_frame(name: &str, payload: &[u8]) -> Bytes {
    let headers = [
        (":event-type", name),
        (":content-type", "application/json"),
        (":message-type", "event"),
    ];
    encode_frame(&headers, payload)
}

/// The frame of an error with a `type` and a `message`: an exception if Bedrock has one of the type.
fn error_frame(error: &[u8]) -> Bytes {
    let code = skim::find_string(error, &["type"]).unwrap_or_default();
    let message = skim::find(error, &["message"]);
    let message = message.map_or(&b"\"\""[..], |message| &error[message]);
    if EXCEPTIONS.contains(&code) {
        let headers = [
            (":exception-type", code),
            (":content-type", "application/json"),
            (":message-type", "exception"),
        ];
        let payload = [b"{\"message\":", message, b"}"].concat();
        return encode_frame(&headers, &payload);
    }
    let text = error_message(error).unwrap_or_default();
    let headers = [
        (":error-code", cut(code, CODE_BYTES_MAX)),
        (":error-message", cut(&text, MESSAGE_BYTES_MAX)),
        (":message-type", "error"),
    ];
    encode_frame(&headers, b"")
}

/// The start of a text, of at most this many bytes.
fn cut(text: &str, bytes_max: usize) -> &str {
    let mut end = text.len().min(bytes_max);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::framed_events::FramedEvents;
    use crate::test_frames::{framed, texts};

    fn frames(framing: StreamFraming) -> EventFrames {
        EventFrames::for_framing(framing).expect("a framing of frames")
    }

    #[test]
    fn frames_that_became_events_are_the_same_frames_again() {
        let event = |name, payload: &[u8]| event_frame(name, payload);
        let exception = encode_frame(
            &[
                (":exception-type", "throttlingException"),
                (":content-type", "application/json"),
                (":message-type", "exception"),
            ],
            br#"{"message":"slow \"down\""}"#,
        );
        let error = encode_frame(
            &[
                (":error-code", "InternalFailure"),
                (":error-message", "no \u{1f44b}"),
                (":message-type", "error"),
            ],
            b"",
        );
        let sent = [
            event("messageStart", br#"{"role":"assistant","p":"ab"}"#),
            event(
                "contentBlockDelta",
                "{\"delta\":{\"text\":\"\u{1f44b}\"}}".as_bytes(),
            ),
            exception,
            error,
        ]
        .concat();
        for size in [1, 7, sent.len()] {
            let (mut events, mut back) = (FramedEvents::default(), Vec::new());
            let mut frames = frames(StreamFraming::AmazonFrames);
            for chunk in sent.chunks(size) {
                let events = events.push(&Bytes::copy_from_slice(chunk));
                back.extend_from_slice(&frames.push(&events));
            }
            assert_eq!(back, sent, "{size}");
        }
    }

    #[test]
    fn comments_are_no_frames_and_events_of_chunks_are_base64() {
        let mut member = frames(StreamFraming::AmazonFrames);
        for nothing in [": heartbeat\n\n", "\n", "data: [1]\n\n", "data: {}\n\n"] {
            assert!(member.push(&Bytes::from(nothing)).is_empty(), "{nothing}");
        }
        let mut chunks = frames(StreamFraming::AmazonChunks);
        let event = Bytes::from_static(b"event: ping\ndata: {\"type\":\"ping\"}\n\n");
        let headers = [
            (":event-type", "chunk"),
            (":content-type", "application/json"),
            (":message-type", "event"),
        ];
        let payload = br#"{"bytes":"eyJ0eXBlIjoicGluZyJ9"}"#;
        assert_eq!(chunks.push(&event), framed(&texts(&headers), payload));
        let error = "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"full\"}}\n\n";
        let headers = [
            (":error-code", "overloaded_error"),
            (":error-message", "full"),
            (":message-type", "error"),
        ];
        assert_eq!(
            chunks.push(&Bytes::from(error)),
            framed(&texts(&headers), b"")
        );
        assert!(EventFrames::for_framing(StreamFraming::ServerSentEvents).is_none());
    }
}
