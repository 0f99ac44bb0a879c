//! A provider of sessions over WebSockets, scripted byte for byte, that records what it receives.

use super::connection::find;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use ring::digest::{SHA1_FOR_LEGACY_USE_ONLY, digest};
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::{sleep, timeout};

/// How the provider accepts a handshake.
#[derive(Clone, Copy, Debug)]
pub enum Acceptance {
    Right,
    /// With these lines in place of `sec-websocket-accept`.
    Instead(&'static str),
    /// With these lines besides.
    Besides(&'static str),
    /// With this response.
    Response(&'static str),
}

pub struct SessionProvider {
    pub address: SocketAddr,
    received: Arc<Mutex<Received>>,
}

#[derive(Default)]
struct Received {
    heads: Vec<String>,
    frames: Vec<Vec<u8>>,
    closed: usize,
}

/// A frame as servers send it.
pub fn server_frame(first_byte: u8, payload: &[u8]) -> Vec<u8> {
    let mut frame = vec![first_byte];
    match payload.len() {
        short @ 0..126 => frame.push(short as u8),
        medium => {
            frame.push(126);
            frame.extend(u16::try_from(medium).unwrap().to_be_bytes());
        }
    }
    frame.extend(payload);
    frame
}

impl SessionProvider {
    /// Accepts each session, sends these bytes, and closes the connection after `ends_after`, if it does.
    pub async fn start(
        acceptance: Acceptance,
        sends: Vec<u8>,
        ends_after: Option<Duration>,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let provider = Self {
            address: listener.local_addr().unwrap(),
            received: Arc::default(),
        };
        let received = provider.received.clone();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let (received, sends) = (received.clone(), sends.clone());
                tokio::spawn(async move {
                    serve(stream, acceptance, &sends, ends_after, &received).await;
                    received.lock().unwrap().closed += 1;
                });
            }
        });
        provider
    }

    pub fn url(&self) -> String {
        format!("http://{}/v1", self.address)
    }

    /// The heads of all handshakes.
    pub fn heads(&self) -> Vec<String> {
        self.received.lock().unwrap().heads.clone()
    }

    /// The number of connections that have ended.
    pub fn closed(&self) -> usize {
        self.received.lock().unwrap().closed
    }

    /// The texts of all frames, which must be masked.
    pub fn texts(&self) -> Vec<String> {
        let received = self.received.lock().unwrap();
        let texts = received.frames.iter();
        texts
            .map(|frame| String::from_utf8_lossy(frame).into_owned())
            .collect()
    }
}

async fn serve(
    mut stream: TcpStream,
    acceptance: Acceptance,
    sends: &[u8],
    ends_after: Option<Duration>,
    received: &Mutex<Received>,
) {
    let mut buffer = Vec::new();
    let end = loop {
        if let Some(end) = find(&buffer, b"\r\n\r\n") {
            break end + 4;
        }
        if stream.read_buf(&mut buffer).await.unwrap_or(0) == 0 {
            return;
        }
    };
    let head = String::from_utf8(buffer.drain(..end).collect()).unwrap();
    let response = response(acceptance, &head);
    received.lock().unwrap().heads.push(head);
    let _ = stream
        .write_all(&[response.as_bytes(), sends].concat())
        .await;
    let reading = async {
        loop {
            while let Some(frame) = take_frame(&mut buffer) {
                received.lock().unwrap().frames.push(frame);
            }
            if stream.read_buf(&mut buffer).await.unwrap_or(0) == 0 {
                return;
            }
        }
    };
    match ends_after {
        Some(after) => drop(timeout(after, reading).await),
        None => {
            reading.await;
            sleep(Duration::from_millis(1)).await;
        }
    }
}

fn response(acceptance: Acceptance, head: &str) -> String {
    let is_key = |line: &&str| line.to_ascii_lowercase().starts_with("sec-websocket-key:");
    let key = head.lines().find(is_key).unwrap_or_default();
    let key = key.split_once(':').map_or("", |(_, value)| value.trim());
    let suffix = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";
    let hash = digest(
        &SHA1_FOR_LEGACY_USE_ONLY,
        format!("{key}{suffix}").as_bytes(),
    );
    let accept = format!("Sec-WebSocket-Accept: {}\r\n", STANDARD.encode(hash));
    let lines = match acceptance {
        Acceptance::Right => accept,
        Acceptance::Instead(lines) => lines.to_owned(),
        Acceptance::Besides(lines) => accept + lines,
        Acceptance::Response(response) => return response.to_owned(),
    };
    format!(
        "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n{lines}\r\n"
    )
}

/// Takes a whole frame, and removes its mask.
///
/// # Panics
/// If the frame is not masked.
fn take_frame(buffer: &mut Vec<u8>) -> Option<Vec<u8>> {
    let length = *buffer.get(1)?;
    assert_eq!(length & 0x80, 0x80, "a client must mask its frames");
    let (length, start) = match length & 0x7f {
        126 => (
            usize::from(u16::from_be_bytes([*buffer.get(2)?, *buffer.get(3)?])),
            4,
        ),
        short => (usize::from(short), 2),
    };
    let mask: [u8; 4] = buffer.get(start..start + 4)?.try_into().unwrap();
    buffer.get(start + 4..start + 4 + length)?;
    let frame: Vec<u8> = buffer.drain(..start + 4 + length).skip(start + 4).collect();
    let bytes = frame.iter().zip(mask.iter().cycle());
    Some(bytes.map(|(byte, mask)| byte ^ mask).collect())
}
