//! An HTTP/2 client connection that sends raw frames, for what no library sends.

use super::PATIENCE;
use std::collections::BTreeMap;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::time::timeout;

pub const END_STREAM: u8 = 1;
pub const END_HEADERS: u8 = 4;
pub const DATA: u8 = 0;
pub const HEADERS: u8 = 1;
pub const CONTINUATION: u8 = 9;

const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
pub const PRIORITY: u8 = 2;
pub const RST_STREAM: u8 = 3;
pub const WINDOW_UPDATE: u8 = 8;
const SETTINGS: u8 = 4;
const GOAWAY: u8 = 7;
const ACK: u8 = 1;

pub struct Http2Frames<S> {
    stream: S,
    pub sent: usize,
    ended: BTreeMap<u32, StreamEndState>,
}

/// How the peer ended a stream or the connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StreamEndState {
    /// A response with this status.
    Status(u16),
    /// RST_STREAM without a response.
    Reset(u32),
    /// GOAWAY with an error, or the end of the connection.
    Connection,
}

/// An error that the peer reports.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PeerError {
    /// RST_STREAM of a stream with a code.
    Stream(u32, u32),
    /// GOAWAY with a code.
    Connection(u32),
    /// The connection ended without a reason.
    Closed,
}

pub fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let mut frame = (payload.len() as u32).to_be_bytes()[1..].to_vec();
    frame.extend_from_slice(&[kind, flags]);
    frame.extend_from_slice(&stream.to_be_bytes());
    frame.extend_from_slice(payload);
    frame
}

/// A literal field; `indexed` adds it to the dynamic table.
pub fn literal(indexed: bool, name: &[u8], value: &[u8]) -> Vec<u8> {
    let mut field = vec![if indexed { 0x40 } else { 0 }];
    for text in [name, value] {
        match text.len() {
            short @ ..127 => field.push(short as u8),
            long => {
                let mut rest = long - 127;
                field.push(127);
                while rest >= 128 {
                    field.push((rest & 0x7f) as u8 | 0x80);
                    rest >>= 7;
                }
                field.push(rest as u8);
            }
        }
        field.extend_from_slice(text);
    }
    field
}

impl<S: AsyncRead + AsyncWrite + Unpin> Http2Frames<S> {
    /// Sends the connection preface, with the initial window of each stream.
    pub async fn over(stream: S, window: u32) -> Self {
        let mut connection = Self {
            stream,
            sent: 0,
            ended: BTreeMap::new(),
        };
        let mut settings = vec![0, 4];
        settings.extend_from_slice(&window.to_be_bytes());
        let greeting = [PREFACE, &frame(SETTINGS, 0, 0, &settings)].concat();
        connection.send(&greeting).await;
        connection
    }

    /// Sends bytes; errors after the peer has closed are ignored.
    pub async fn send(&mut self, bytes: &[u8]) {
        self.sent += bytes.len();
        if self.stream.write_all(bytes).await.is_ok() {
            let _ = self.stream.flush().await;
        }
    }

    /// Reads until a stream has ended or has a response.
    pub async fn ended(&mut self, stream: u32) -> StreamEndState {
        loop {
            if let Some(ended) = self.ended.get(&stream) {
                return *ended;
            }
            let read = timeout(PATIENCE, self.read_frame()).await;
            if !read.expect("nothing came") {
                return StreamEndState::Connection;
            }
        }
    }

    /// Reads until the peer has ended a stream whole.
    pub async fn whole(&mut self, stream: u32) {
        loop {
            let next = timeout(PATIENCE, self.next()).await.expect("nothing came");
            let (head, _) = next.expect("the connection ended");
            let ends = matches!(head[3], DATA | HEADERS) && head[4] & END_STREAM != 0;
            if ends && head[5..] == stream.to_be_bytes() {
                return;
            }
        }
    }

    /// Reads until the peer reports an error.
    pub async fn error(&mut self) -> PeerError {
        loop {
            let next = timeout(PATIENCE, self.next()).await.expect("nothing came");
            let Some((head, payload)) = next else {
                return PeerError::Closed;
            };
            let word = |bytes: &[u8]| u32::from_be_bytes(bytes.try_into().unwrap());
            match head[3] {
                RST_STREAM => return PeerError::Stream(word(&head[5..]), word(&payload)),
                GOAWAY if payload[4..8] != [0; 4] => {
                    return PeerError::Connection(word(&payload[4..8]));
                }
                _ => {}
            }
        }
    }

    /// The head and the payload of the next frame; `None` if the connection ends.
    async fn next(&mut self) -> Option<([u8; 9], Vec<u8>)> {
        let mut head = [0; 9];
        self.stream.read_exact(&mut head).await.ok()?;
        let length = u32::from_be_bytes([0, head[0], head[1], head[2]]) as usize;
        let mut payload = vec![0; length];
        self.stream.read_exact(&mut payload).await.ok()?;
        if head[3] == SETTINGS && head[4] & ACK == 0 {
            let ack = frame(SETTINGS, ACK, 0, b"");
            self.send(&ack).await;
        }
        Some((head, payload))
    }

    /// Reads a frame; returns `false` if the connection ends.
    async fn read_frame(&mut self) -> bool {
        let Some((head, payload)) = self.next().await else {
            return false;
        };
        let stream = u32::from_be_bytes([head[5], head[6], head[7], head[8]]);
        match head[3] {
            HEADERS => drop(
                self.ended
                    .entry(stream)
                    .or_insert(StreamEndState::Status(status_of(&payload))),
            ),
            RST_STREAM => {
                let reason = u32::from_be_bytes(payload[..4].try_into().unwrap());
                self.ended
                    .entry(stream)
                    .or_insert(StreamEndState::Reset(reason));
            }
            GOAWAY if payload[4..8] != [0; 4] => return false,
            _ => {}
        }
        true
    }
}

/// The status, which must be the first field; responses that need the dynamic table are not decoded.
fn status_of(block: &[u8]) -> u16 {
    // Table size updates precede it.
    let at = block.iter().position(|byte| byte >> 5 != 1).unwrap();
    match block[at..] {
        [0x88, ..] => 200,
        [0x8c, ..] => 400,
        [0x8d, ..] => 404,
        [0x8e, ..] => 500,
        [0x08 | 0x48, length, ..] => {
            let text = &block[at + 2..at + 2 + usize::from(length & 0x7f)];
            match length & 0x80 {
                0 => std::str::from_utf8(text).unwrap().parse().unwrap(),
                _ => digits_of(text),
            }
        }
        _ => panic!("no status: {block:x?}"),
    }
}

/// Decodes Huffman-coded digits: 0 to 2 have five bits, the others six.
fn digits_of(text: &[u8]) -> u16 {
    let bits: Vec<u16> = text
        .iter()
        .flat_map(|byte| (0..8).rev().map(move |at| u16::from(byte >> at & 1)))
        .collect();
    let (mut at, mut number) = (0, 0);
    for _ in 0..3 {
        let take = |count: usize| {
            bits[at..at + count]
                .iter()
                .fold(0, |sum, bit| sum << 1 | bit)
        };
        let five = take(5);
        let (digit, length) = if five <= 2 {
            (five, 5)
        } else {
            (take(6) - 0x19 + 3, 6)
        };
        number = number * 10 + digit;
        at += length;
    }
    number
}
