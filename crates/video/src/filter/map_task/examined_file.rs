//! A provider's file whose first piece is examined: hosts send errors and pages with status 200, too, which a caller would store as
//! a video.

use bytes::Bytes;
use headgate_core::filter::streamed_reply::{ReplyBodyReader, ReplyPieceFuture};
use headgate_protocol::fault::{Fault, FaultKind};
use headgate_protocol::redact::redact;
use headgate_protocol::response_verdict::begins_like_text;

/// A file from its start.
pub(super) struct ExaminedFile {
    /// The piece that was examined, until it is read.
    start: Option<Bytes>,
    rest: Box<dyn ReplyBodyReader>,
}

impl ExaminedFile {
    /// Reads the first piece of `file`.
    ///
    /// # Errors
    /// The host sent nothing, JSON or a page, or the file broke off.
    pub(super) async fn open(mut file: Box<dyn ReplyBodyReader>) -> Result<Self, Fault> {
        let start = file.next_piece().await?.unwrap_or_default();
        match begins_like_text(&start) {
            true => Err(no_video(&start)),
            false => Ok(Self {
                start: Some(start),
                rest: file,
            }),
        }
    }
}

impl ReplyBodyReader for ExaminedFile {
    fn next_piece(&mut self) -> ReplyPieceFuture<'_> {
        match self.start.take() {
            Some(start) => Box::pin(async { Ok(Some(start)) }),
            None => self.rest.next_piece(),
        }
    }
}

/// The error about what begins with `start`, of which the log has some.
fn no_video(start: &[u8]) -> Fault {
    const SHOWN_BYTES: usize = 200;
    let shown = redact(&start[..start.len().min(SHOWN_BYTES)], &[]);
    Fault::new(
        FaultKind::UnreadableResponse,
        "the provider sent an error in place of the video; try again, URLs of providers also expire",
    )
    .detail(format!("file begins with: {}", String::from_utf8_lossy(&shown)))
}
