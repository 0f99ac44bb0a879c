//! A WebSocket whose handshake was accepted: messages of limited size, writes within a time, pings and the closing handshake.

use crate::close::{CloseReason, SocketEnd};
use crate::frame_reader::{FrameReader, PeerFrame, WebSocketPeer, apply_mask};
use bytes::{Buf, BufMut, Bytes, BytesMut};
use std::future::poll_fn;
use std::io;
use std::mem::MaybeUninit;
use std::pin::Pin;
use std::task::ready;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt, ReadBuf};
use tokio::time::{Instant, timeout, timeout_at};
use tungstenite::protocol::frame::FrameHeader;
use tungstenite::protocol::frame::coding::{Control, Data, OpCode};

/// Maximum number of bytes of a read.
const READ_BYTES_MAX: usize = 8 << 10;
/// Maximum time for the peer's part of the closing handshake, and between two pieces of what is discarded.
const CLOSING: Duration = Duration::from_secs(2);
/// Maximum number of bytes that are discarded after a close frame, so that the client receives it: if the connection closed with
/// unread input, the kernel would send a reset.
const DISCARD_BYTES_MAX: usize = 64 << 20;

/// Limits of a connection.
#[derive(Clone, Copy, Debug)]
pub struct WebSocketLimits {
    /// Maximum size of a message over all its fragments, in bytes.
    pub message_bytes_max: usize,
    /// Maximum time for the peer to take a message.
    pub write_timeout: Duration,
}

/// The gateway's side of a WebSocket with a client or a server.
pub struct WebSocketConnection<S> {
    stream: S,
    peer: WebSocketPeer,
    reader: FrameReader,
    /// What is not written yet. Nothing is read before: a client that does not read must not fill it with answers to pings.
    unsent: BytesMut,
    /// When it has to be written.
    send_deadline: Instant,
    write_timeout: Duration,
    /// The payload of the peer's close frame.
    peer_close: Option<Bytes>,
}

/// What the peer sent.
#[derive(Debug, PartialEq, Eq)]
pub enum SocketInput {
    Text(Bytes),
    /// A ping, which is answered, or a pong.
    Control,
}

impl<S: AsyncRead + AsyncWrite + Unpin> WebSocketConnection<S> {
    /// The WebSocket on a stream, of which `received` was read after the handshake.
    pub fn new(
        stream: S,
        peer: WebSocketPeer,
        received: BytesMut,
        limits: WebSocketLimits,
    ) -> Self {
        Self {
            stream,
            peer,
            reader: FrameReader::new(peer, received, limits.message_bytes_max),
            unsent: BytesMut::new(),
            send_deadline: Instant::now(),
            write_timeout: limits.write_timeout,
            peer_close: None,
        }
    }

    /// Code and text of the close frame that the peer has sent; `None` if it has sent none, or one without a code.
    pub fn peer_close(&self) -> Option<(u16, &str)> {
        let (code, text) = self.peer_close.as_deref()?.split_first_chunk()?;
        Some((u16::from_be_bytes(*code), std::str::from_utf8(text).ok()?))
    }

    /// The next message. A call whose future is dropped loses none.
    ///
    /// # Errors
    /// The connection has ended, or is to be closed for what the peer sent.
    pub async fn receive(&mut self) -> Result<SocketInput, SocketEnd> {
        loop {
            self.send_unsent().await?;
            match self.reader.next().map_err(SocketEnd::Gateway)? {
                Some(PeerFrame::Text(text)) => return Ok(SocketInput::Text(text)),
                Some(PeerFrame::Ping(payload)) => {
                    self.push_frame(OpCode::Control(Control::Pong), &payload);
                    return Ok(SocketInput::Control);
                }
                Some(PeerFrame::Pong) => return Ok(SocketInput::Control),
                Some(PeerFrame::Close(payload)) => {
                    self.push_frame(OpCode::Control(Control::Close), &payload);
                    self.peer_close = Some(payload);
                    self.send_unsent().await?;
                    let _ = self.stream.shutdown().await;
                    return Err(SocketEnd::Peer);
                }
                None if matches!(self.read().await, Ok(1..)) => {}
                None => return Err(SocketEnd::Peer),
            }
        }
    }

    /// Sends a text message.
    ///
    /// # Errors
    /// The peer is gone, or did not take the message in time.
    pub async fn send_text(&mut self, text: &[u8]) -> Result<(), SocketEnd> {
        match std::str::from_utf8(text) {
            Ok(_) => self.push_frame(OpCode::Data(Data::Text), text),
            // Of a provider that cuts characters.
            Err(_) => {
                let text = String::from_utf8_lossy(text);
                self.push_frame(OpCode::Data(Data::Text), text.as_bytes());
            }
        }
        self.send_unsent().await
    }

    /// Sends a ping.
    ///
    /// # Errors
    /// The peer is gone, or did not take it in time.
    pub async fn ping(&mut self) -> Result<(), SocketEnd> {
        self.push_frame(OpCode::Control(Control::Ping), b"");
        self.send_unsent().await
    }

    /// Sends a close frame, and waits shortly for the peer's.
    pub async fn close(mut self, reason: CloseReason) {
        if reason.is_of_gateway() {
            self.close_as(reason.code(), reason.text()).await;
        } else if self.send_close(reason.code(), reason.text()).await.is_ok() {
            // What follows a malformed frame is no frame.
            self.discard().await;
        }
    }

    /// Sends a close frame with a code, and a text of at most 123 bytes, and waits shortly for the peer's.
    pub async fn close_as(mut self, code: u16, text: &str) {
        if self.send_close(code, text).await.is_ok() {
            let replied = async { while self.receive().await.is_ok() {} };
            let _ = timeout(CLOSING, replied).await;
        }
    }

    async fn send_close(&mut self, code: u16, text: &str) -> Result<(), SocketEnd> {
        let payload = [&code.to_be_bytes(), text.as_bytes()].concat();
        self.push_frame(OpCode::Control(Control::Close), &payload);
        self.send_unsent().await
    }

    async fn discard(&mut self) {
        let _ = self.stream.shutdown().await;
        let mut discarded = 0;
        // On the heap: an open WebSocket must not have room for it.
        let mut scratch = vec![0; READ_BYTES_MAX];
        while discarded < DISCARD_BYTES_MAX {
            let reading = tokio::io::AsyncReadExt::read(&mut self.stream, &mut scratch);
            match timeout(CLOSING, reading).await {
                Ok(Ok(count @ 1..)) => discarded += count,
                _ => return,
            }
        }
    }

    /// Reads what has arrived; 0 at the end of the connection. A connection that waits has no memory for it.
    async fn read(&mut self) -> io::Result<usize> {
        poll_fn(|context| {
            let mut scratch = [MaybeUninit::uninit(); READ_BYTES_MAX];
            let mut read = ReadBuf::uninit(&mut scratch);
            ready!(Pin::new(&mut self.stream).poll_read(context, &mut read))?;
            self.reader.push(read.filled());
            Ok(read.filled().len()).into()
        })
        .await
    }

    /// Adds a frame to what is sent next.
    fn push_frame(&mut self, opcode: OpCode, payload: &[u8]) {
        if self.unsent.is_empty() {
            self.send_deadline = Instant::now() + self.write_timeout;
        }
        let mask = match self.peer {
            WebSocketPeer::Client => None,
            // A mask hides nothing; it keeps caches between the two from taking a message for HTTP.
            WebSocketPeer::Server => Some(getrandom::u32().unwrap_or_default().to_be_bytes()),
        };
        let header = FrameHeader {
            opcode,
            mask,
            ..FrameHeader::default()
        };
        let length = payload.len() as u64;
        self.unsent.reserve(header.len(length) + payload.len());
        // Writing to memory does not fail.
        let _ = header.format(length, &mut (&mut self.unsent).writer());
        let start = self.unsent.len();
        self.unsent.extend_from_slice(payload);
        if let Some(mask) = mask {
            apply_mask(&mut self.unsent[start..], mask);
        }
    }

    /// Writes what is unsent. A call whose future is dropped is continued by the next one.
    async fn send_unsent(&mut self) -> Result<(), SocketEnd> {
        if self.unsent.is_empty() {
            return Ok(());
        }
        let (stream, unsent) = (&mut self.stream, &mut self.unsent);
        let sending = async {
            while unsent.has_remaining() {
                if stream.write_buf(unsent).await? == 0 {
                    return Err(io::ErrorKind::WriteZero.into());
                }
            }
            *unsent = BytesMut::new();
            stream.flush().await
        };
        match timeout_at(self.send_deadline, sending).await {
            Ok(Ok(())) => Ok(()),
            Ok(Err(_)) => Err(SocketEnd::Peer),
            Err(_) => Err(SocketEnd::WriteTimeout),
        }
    }
}
