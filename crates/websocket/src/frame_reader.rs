//! Reads messages out of the bytes of a peer: frames, fragments and their limits (RFC 6455, section 5).

use crate::close::CloseReason;
use bytes::{Buf, Bytes, BytesMut};
use std::io::Cursor;
use tungstenite::protocol::frame::FrameHeader;
use tungstenite::protocol::frame::coding::{CloseCode, Control, Data, OpCode};

/// Maximum payload of a control frame (RFC 6455, section 5.5), in bytes.
const CONTROL_BYTES_MAX: u64 = 125;
/// Room that is made for a message before its bytes have come, in bytes.
const ROOM_MAX: usize = 64 << 10;

/// Which side of a WebSocket the peer is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WebSocketPeer {
    /// It masks its frames.
    Client,
    /// Frames to it are masked (RFC 6455, section 5.1).
    Server,
}

/// Holds what has arrived and is no whole message yet, and nothing while a peer is idle.
#[derive(Debug)]
pub(super) struct FrameReader {
    peer: WebSocketPeer,
    received: BytesMut,
    frame: Option<FrameInProgress>,
    control: BytesMut,
    /// The message whose fragments arrive.
    message: Option<BytesMut>,
    message_bytes_max: usize,
}

#[derive(Debug)]
struct FrameInProgress {
    kind: WebSocketFrameKind,
    is_final: bool,
    /// Number of bytes of the payload that are missing.
    left: usize,
    /// Zeros of a server.
    mask: [u8; 4],
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum WebSocketFrameKind {
    Data,
    Ping,
    Pong,
    Close,
}

/// What a peer has sent.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum PeerFrame {
    Text(Bytes),
    Ping(Bytes),
    Pong,
    /// The payload, to be sent back.
    Close(Bytes),
}

impl FrameReader {
    /// Messages may have `message_bytes_max` bytes over all their fragments.
    pub fn new(peer: WebSocketPeer, received: BytesMut, message_bytes_max: usize) -> Self {
        Self {
            peer,
            received,
            frame: None,
            control: BytesMut::new(),
            message: None,
            message_bytes_max,
        }
    }

    /// Adds bytes that have arrived.
    pub fn push(&mut self, bytes: &[u8]) {
        self.received.extend_from_slice(bytes);
    }

    /// The next message or control frame; `None` if more bytes are needed.
    ///
    /// # Errors
    /// The peer sent what it must not send.
    pub fn next(&mut self) -> Result<Option<PeerFrame>, CloseReason> {
        loop {
            let frame = match self.frame.take() {
                Some(frame) => frame,
                None => match self.take_header()? {
                    Some(frame) => frame,
                    None => return Ok(None),
                },
            };
            let Some((kind, is_final)) = self.take_payload(frame) else {
                return Ok(None);
            };
            match kind {
                WebSocketFrameKind::Data if !is_final => {}
                WebSocketFrameKind::Data => {
                    let message = self.message.take().unwrap_or_default();
                    return text(message).map(|text| Some(PeerFrame::Text(text)));
                }
                WebSocketFrameKind::Ping => {
                    return Ok(Some(PeerFrame::Ping(self.take_control())));
                }
                WebSocketFrameKind::Pong => {
                    self.take_control();
                    return Ok(Some(PeerFrame::Pong));
                }
                WebSocketFrameKind::Close => {
                    let payload = self.take_control();
                    check_close(&payload)?;
                    return Ok(Some(PeerFrame::Close(payload)));
                }
            }
        }
    }

    /// Takes the head of a frame; `None` if it has not arrived.
    fn take_header(&mut self) -> Result<Option<FrameInProgress>, CloseReason> {
        let mut cursor = Cursor::new(&self.received);
        let parsed = FrameHeader::parse(&mut cursor).map_err(|_| CloseReason::Malformed)?;
        let head_bytes = usize::try_from(cursor.position()).unwrap_or(usize::MAX);
        let Some((header, length)) = parsed else {
            return Ok(None);
        };
        self.received.advance(head_bytes);
        let is_reserved = header.rsv1 || header.rsv2 || header.rsv3;
        let mask = match (self.peer, header.mask) {
            (WebSocketPeer::Client, Some(mask)) if !is_reserved => mask,
            (WebSocketPeer::Server, None) if !is_reserved => [0; 4],
            _ => return Err(CloseReason::Malformed),
        };
        let kind = match header.opcode {
            OpCode::Data(data) => {
                self.begin_data(data, length)?;
                WebSocketFrameKind::Data
            }
            OpCode::Control(_) if !header.is_final || length > CONTROL_BYTES_MAX => {
                return Err(CloseReason::Malformed);
            }
            OpCode::Control(Control::Ping) => WebSocketFrameKind::Ping,
            OpCode::Control(Control::Pong) => WebSocketFrameKind::Pong,
            OpCode::Control(Control::Close) => WebSocketFrameKind::Close,
            OpCode::Control(Control::Reserved(_)) => return Err(CloseReason::Malformed),
        };
        Ok(Some(FrameInProgress {
            kind,
            is_final: header.is_final,
            left: usize::try_from(length).map_err(|_| CloseReason::TooLarge)?,
            mask,
        }))
    }

    /// Begins or continues a message with a frame of `length` bytes.
    fn begin_data(&mut self, data: Data, length: u64) -> Result<(), CloseReason> {
        match (data, &self.message) {
            (Data::Continue, Some(_)) => {}
            (Data::Text, None) => self.message = Some(BytesMut::new()),
            (Data::Binary, None) => return Err(CloseReason::Binary),
            _ => return Err(CloseReason::Malformed),
        }
        let message = self.message.get_or_insert_default();
        let room = self.message_bytes_max.saturating_sub(message.len());
        match usize::try_from(length) {
            Ok(length) if length <= room => {
                // A length is only a promise.
                message.reserve(length.min(ROOM_MAX));
                Ok(())
            }
            _ => Err(CloseReason::TooLarge),
        }
    }

    /// Takes what has arrived of a payload; returns the kind of the frame once it is complete.
    fn take_payload(&mut self, mut frame: FrameInProgress) -> Option<(WebSocketFrameKind, bool)> {
        let count = frame.left.min(self.received.len());
        let into = match frame.kind {
            WebSocketFrameKind::Data => self.message.get_or_insert_default(),
            _ => &mut self.control,
        };
        let start = into.len();
        into.extend_from_slice(&self.received[..count]);
        apply_mask(&mut into[start..], frame.mask);
        self.received.advance(count);
        if self.received.is_empty() {
            self.received = BytesMut::new();
        }
        frame.left -= count;
        frame.mask.rotate_left(count % 4);
        match frame.left {
            0 => Some((frame.kind, frame.is_final)),
            _ => {
                self.frame = Some(frame);
                None
            }
        }
    }

    fn take_control(&mut self) -> Bytes {
        std::mem::take(&mut self.control).freeze()
    }
}

/// Masks a payload, or removes its mask (RFC 6455, section 5.3).
pub(super) fn apply_mask(payload: &mut [u8], mask: [u8; 4]) {
    for (byte, mask) in payload.iter_mut().zip(mask.iter().cycle()) {
        *byte ^= mask;
    }
}

/// A message, without the room that was made for more.
fn text(message: BytesMut) -> Result<Bytes, CloseReason> {
    if std::str::from_utf8(&message).is_err() {
        return Err(CloseReason::InvalidText);
    }
    Ok(
        match message.capacity() > message.len() + message.len() / 4 {
            true => Bytes::copy_from_slice(&message),
            false => message.freeze(),
        },
    )
}

/// Checks the payload of a close frame (RFC 6455, sections 5.5.1 and 7.4).
fn check_close(payload: &[u8]) -> Result<(), CloseReason> {
    let [high, low, reason @ ..] = payload else {
        return match payload.is_empty() {
            true => Ok(()),
            false => Err(CloseReason::Malformed),
        };
    };
    if !CloseCode::from(u16::from_be_bytes([*high, *low])).is_allowed() {
        return Err(CloseReason::Malformed);
    }
    match std::str::from_utf8(reason) {
        Ok(_) => Ok(()),
        Err(_) => Err(CloseReason::InvalidText),
    }
}
