//! What callers get in place of server-sent events: frames, if their SDKs read those.

use crate::EventFrames;
use bytes::Bytes;
use headgate_protocol::stream::StreamFraming;
use http::{HeaderMap, HeaderValue, header};

/// The media type of a stream of frames.
const FRAMES: &str = "application/vnd.amazon.eventstream";

/// Writes the streams of an exchange as its caller reads them. Streams of most callers pass as they are, so that it takes a
/// word.
#[derive(Default)]
pub struct CallerStreamFraming {
    frames: Option<Box<FrameWriter>>,
}

struct FrameWriter {
    frames: EventFrames,
    /// Whether the response is a stream.
    is_stream: bool,
}

impl CallerStreamFraming {
    /// The framing for callers who read `framing`.
    pub fn new(framing: StreamFraming) -> Self {
        let frames = EventFrames::for_framing(framing);
        Self {
            frames: frames.map(|frames| {
                Box::new(FrameWriter {
                    frames,
                    is_stream: false,
                })
            }),
        }
    }

    /// Begins a response: a stream of events is declared as one of frames.
    pub fn begin(&mut self, headers: &mut HeaderMap) {
        let Some(writer) = &mut self.frames else {
            return;
        };
        let content_type = headers.get(header::CONTENT_TYPE);
        let content_type = content_type.and_then(|value| value.to_str().ok());
        writer.is_stream = content_type.is_some_and(|value| {
            let essence = value.split(';').next().unwrap_or_default().trim();
            essence.eq_ignore_ascii_case("text/event-stream")
        });
        if writer.is_stream {
            headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(FRAMES));
            headers.remove(header::CONTENT_LENGTH);
        }
    }

    /// A piece of the body as the caller gets it; `None` if there is nothing to send of it yet.
    pub fn framed(&mut self, data: Bytes, is_end: bool) -> Option<Bytes> {
        match &mut self.frames {
            Some(writer) if writer.is_stream => {
                let framed = writer.frames.push(&data);
                (is_end || !framed.is_empty()).then_some(framed)
            }
            Some(_) | None => Some(data),
        }
    }
}
