//! What is wrong with the bytes of a stream.

/// The bytes of a stream that are no frame. Nothing after them can be trusted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidFrame {
    #[error("the checksum of a frame's lengths is wrong")]
    PreludeChecksum,
    #[error("the checksum of a frame is wrong")]
    Checksum,
    #[error("a frame has {0} bytes, which is more than the limit or less than its parts")]
    Length(u32),
    #[error(
        "the headers of a frame have {0} bytes, which is more than the limit or than the frame"
    )]
    HeadersLength(u32),
    #[error("the headers of a frame are malformed: {0}")]
    Headers(&'static str),
    #[error("a frame is neither an event nor an error with a name")]
    Kind,
    #[error("the payload of an event is no JSON object")]
    Payload,
    #[error("the stream ends inside of a frame")]
    Unfinished,
}
