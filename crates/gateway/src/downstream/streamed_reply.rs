//! Sends a local reply whose body is produced while it is sent.

use super::DownstreamSession;
use bytes::Bytes;
use headgate_core::filter::streamed_reply::{ReplyBodyReader, StreamedReply};
use headgate_protocol::fault::Fault;
use http::{HeaderValue, header};

/// Bytes per write: a caller has the write timeout for each.
const WRITE_BYTES_MAX: usize = 64 << 10;

impl DownstreamSession {
    /// Sends a local reply piece by piece; the next piece is produced when the caller has read the last one.
    ///
    /// # Errors
    /// The caller left or does not read, or a piece cannot be produced. If the head was sent, the connection must be
    /// closed.
    pub async fn reply_streamed(&mut self, reply: StreamedReply) -> Result<(), Fault> {
        let StreamedReply {
            status,
            mut headers,
            length,
            mut body,
        } = reply;
        if let Some(length) = length {
            headers.insert(header::CONTENT_LENGTH, HeaderValue::from(length));
        }
        // Before the head: if it cannot be read, the caller gets an error response.
        let mut next = next_piece(&mut body).await?;
        self.write_head(status, headers).await?;
        while let Some(mut piece) = next {
            while !piece.is_empty() {
                let part = piece.split_to(piece.len().min(WRITE_BYTES_MAX));
                self.write(part, false).await?;
            }
            next = next_piece(&mut body).await?;
        }
        self.write(Bytes::new(), true).await?;
        self.replied = true;
        Ok(())
    }
}

async fn next_piece(body: &mut Option<Box<dyn ReplyBodyReader>>) -> Result<Option<Bytes>, Fault> {
    match body {
        Some(body) => body.next_piece().await,
        None => Ok(None),
    }
}
