//! What the headers of a frame say that its payload is.

use crate::frame::Frame;

/// The kind of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FrameKind<'a> {
    /// An event of the stream, by its type.
    Event(&'a str),
    /// The stream ends with an error that the service declares, by its type.
    Exception(&'a str),
    /// The stream ends with an error that the service does not declare.
    Error { code: &'a str, message: &'a str },
    /// The frame does not say what it is.
    Unknown,
}

impl Frame {
    pub fn kind(&self) -> FrameKind<'_> {
        let event = || self.text(":event-type").map(FrameKind::Event);
        let exception = || self.text(":exception-type").map(FrameKind::Exception);
        let kind = match self.text(":message-type") {
            Some("event") => event(),
            Some("exception") => exception(),
            Some("error") => Some(FrameKind::Error {
                code: self.text(":error-code").unwrap_or_default(),
                message: self.text(":error-message").unwrap_or_default(),
            }),
            Some(_) | None => None,
        };
        kind.unwrap_or(FrameKind::Unknown)
    }
}
