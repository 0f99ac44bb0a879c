//! A WebSocket whose handshake was accepted: messages of limited size, writes within a time, pings and the closing handshake.

use crate::close::CloseReason;
use bytes::Bytes;
use futures_util::{SinkExt, StreamExt};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::time::timeout;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::error::CapacityError;
use tokio_tungstenite::tungstenite::protocol::frame::coding::CloseCode;
use tokio_tungstenite::tungstenite::protocol::{CloseFrame, Role, WebSocketConfig};
use tokio_tungstenite::tungstenite::{Error, Message, Utf8Bytes};

/// Size of the buffer for reads, in bytes, which each connection keeps.
const READ_BUFFER: usize = 4 << 10;
/// Maximum time for the closing handshake.
const CLOSING: Duration = Duration::from_secs(2);

/// Limits of a connection.
#[derive(Clone, Copy, Debug)]
pub struct WebSocketLimits {
    /// Maximum size of a message over all its fragments, in bytes.
    pub message_bytes_max: usize,
    /// Maximum time for the peer to take a message.
    pub write_timeout: Duration,
}

/// The gateway's side of a WebSocket.
pub struct WebSocketConnection<S> {
    stream: WebSocketStream<S>,
    write_timeout: Duration,
}

/// What the peer sent.
#[derive(Debug, PartialEq, Eq)]
pub enum SocketInput {
    Text(Bytes),
    /// A ping, which is answered, or a pong.
    Control,
    /// The peer closed the connection, or it broke.
    End,
}

/// The peer closed the connection, does not read, or it broke.
#[derive(Debug, PartialEq, Eq)]
pub struct ConnectionLoss;

impl<S: AsyncRead + AsyncWrite + Unpin> WebSocketConnection<S> {
    /// The WebSocket on a stream, of which `received` was read after the handshake.
    pub async fn new(stream: S, received: Vec<u8>, limits: WebSocketLimits) -> Self {
        let config = WebSocketConfig::default()
            .read_buffer_size(READ_BUFFER)
            // Each message leaves at once.
            .write_buffer_size(0)
            .max_message_size(Some(limits.message_bytes_max))
            .max_frame_size(Some(limits.message_bytes_max));
        let role = Role::Server;
        Self {
            stream: WebSocketStream::from_partially_read(stream, received, role, Some(config))
                .await,
            write_timeout: limits.write_timeout,
        }
    }

    /// The next message. A call whose future is dropped loses none.
    ///
    /// # Errors
    /// The peer sent what must not be sent; the connection is to be closed for it.
    pub async fn receive(&mut self) -> Result<SocketInput, CloseReason> {
        match self.stream.next().await {
            Some(Ok(Message::Text(text))) => Ok(SocketInput::Text(text.into())),
            Some(Ok(Message::Binary(_))) => Err(CloseReason::Binary),
            Some(Ok(Message::Ping(_) | Message::Pong(_) | Message::Frame(_))) => {
                Ok(SocketInput::Control)
            }
            Some(Ok(Message::Close(_))) => {
                // Sends the reply to it.
                let _ = timeout(CLOSING, self.stream.flush()).await;
                Ok(SocketInput::End)
            }
            Some(Err(Error::Utf8(_))) => Err(CloseReason::InvalidText),
            Some(Err(Error::Capacity(CapacityError::MessageTooLong { .. }))) => {
                Err(CloseReason::TooLarge)
            }
            Some(Err(Error::Protocol(error))) if !is_disconnect(&error) => {
                Err(CloseReason::Malformed)
            }
            Some(Err(_)) | None => Ok(SocketInput::End),
        }
    }

    /// Sends a text message.
    ///
    /// # Errors
    /// The peer is gone, or did not take the message in time.
    pub async fn send_text(&mut self, text: Bytes) -> Result<(), ConnectionLoss> {
        // Events are UTF-8, except for those of providers that cut characters.
        let text = Utf8Bytes::try_from(text.clone())
            .unwrap_or_else(|_| String::from_utf8_lossy(&text).into_owned().into());
        self.send(Message::Text(text)).await
    }

    /// Sends a ping.
    ///
    /// # Errors
    /// The peer is gone, or did not take the message in time.
    pub async fn ping(&mut self) -> Result<(), ConnectionLoss> {
        self.send(Message::Ping(Bytes::new())).await
    }

    /// Sends a close frame, and waits shortly for the peer's.
    pub async fn close(mut self, reason: CloseReason) {
        let frame = CloseFrame {
            code: CloseCode::from(reason.code()),
            reason: Utf8Bytes::from_static(reason.text()),
        };
        let closing = async {
            // A peer that is gone needs no close frame.
            let _ = self.stream.close(Some(frame)).await;
            while let Some(Ok(_)) = self.stream.next().await {}
        };
        let _ = timeout(CLOSING, closing).await;
    }

    async fn send(&mut self, message: Message) -> Result<(), ConnectionLoss> {
        match timeout(self.write_timeout, self.stream.send(message)).await {
            Ok(Ok(())) => Ok(()),
            Ok(Err(_)) | Err(_) => Err(ConnectionLoss),
        }
    }
}

fn is_disconnect(error: &tokio_tungstenite::tungstenite::error::ProtocolError) -> bool {
    use tokio_tungstenite::tungstenite::error::ProtocolError;
    matches!(error, ProtocolError::ResetWithoutClosingHandshake)
}
