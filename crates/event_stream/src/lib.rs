//! The framing of `application/vnd.amazon.eventstream`: binary frames with typed headers, a payload and two checksums.
//!
//! A [`FrameDecoder`] takes the bytes of a stream as they come and returns its frames. A [`FrameKind`] is what the headers
//! of a frame say that its payload is. What is wrong with a frame is found before anyone sees it.

mod caller_framing;
mod decoder;
mod event_frames;
mod frame;
mod frame_encoder;
mod framed_events;
mod headers;
mod invalid_frame;
mod kind;
mod media_type;
#[cfg(test)]
mod test_frames;

pub use caller_framing::CallerStreamFraming;
pub use decoder::FrameDecoder;
pub use event_frames::EventFrames;
pub use frame::Frame;
pub use frame_encoder::encode_frame;
pub use framed_events::FramedEvents;
pub use headers::{FrameHeader, FrameHeaderValue};
pub use invalid_frame::InvalidFrame;
pub use kind::FrameKind;
pub use media_type::declares_frames;
