//! Sends local replies, whose bodies are whole.

use super::DownstreamSession;
use super::early_reply::{discard_h1, send_body};
use super::session::CallerSession;
use bytes::Bytes;
use headgate_core::filter::LocalReply;
use headgate_protocol::fault::Fault;
use http::{HeaderValue, header};

impl DownstreamSession {
    /// Sends a complete local reply.
    ///
    /// # Errors
    /// The caller is gone, or does not read in time.
    pub async fn reply(&mut self, reply: LocalReply) -> Result<(), Fault> {
        let body = self.write_reply_head(reply).await?;
        self.write(body, true).await?;
        self.replied = !self.has_caller_left;
        if self.has_unread_body()
            && let CallerSession::Http1(session) = &mut self.session
        {
            discard_h1(session).await;
        }
        Ok(())
    }

    /// Sends a local reply to an unauthenticated client. On HTTP/2, the rest of a reply that waits for the client's
    /// flow control window outlives the exchange, so that the request does not stay in memory.
    ///
    /// # Errors
    /// The caller is gone.
    pub async fn refuse(&mut self, reply: LocalReply) -> Result<(), Fault> {
        if !self.session.is_http2() {
            return self.reply(reply).await;
        }
        let body = self.write_reply_head(reply).await?;
        self.bytes_out += body.len() as u64;
        self.unsent = send_body(&mut self.session, body);
        self.replied = true;
        Ok(())
    }

    /// Writes the head of a reply, and returns its body.
    async fn write_reply_head(&mut self, reply: LocalReply) -> Result<Bytes, Fault> {
        let LocalReply {
            status,
            mut headers,
            body,
        } = reply;
        headers.insert(header::CONTENT_LENGTH, HeaderValue::from(body.len()));
        self.write_head(status, headers).await?;
        Ok(body)
    }
}
