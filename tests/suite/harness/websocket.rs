//! A client of WebSockets that sends any bytes, and sees every frame.

use super::connection::Headers;
use super::{Connection, Gateway, Request};
use serde_json::{Value, json};

/// The key of RFC 6455, section 1.3, and what is sent back for it.
pub const KEY: &str = "dGhlIHNhbXBsZSBub25jZQ==";
pub const ACCEPT: &str = "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=";
/// The mask of all frames; which one it is makes no difference.
const MASK: [u8; 4] = [0x37, 0xfa, 0x21, 0x3d];

/// Opcodes with the bit of a last fragment.
pub const TEXT: u8 = 0x81;
pub const BINARY: u8 = 0x82;
pub const CLOSE: u8 = 0x88;
pub const PING: u8 = 0x89;
pub const PONG: u8 = 0x8a;

pub struct WebSocketClient {
    pub connection: Connection,
    pub headers: Headers,
}

/// A frame of the gateway.
#[derive(Debug, PartialEq, Eq)]
pub struct ServerFrame {
    pub first_byte: u8,
    pub payload: Vec<u8>,
}

/// A handshake at the path of the responses protocol.
pub fn handshake() -> Request {
    handshake_at("/v1/responses")
}

/// A handshake at this path.
pub fn handshake_at(target: &str) -> Request {
    Request::get(target)
        .header("Connection", "Upgrade")
        .header("Upgrade", "websocket")
        .header("Sec-WebSocket-Version", "13")
        .header("Sec-WebSocket-Key", KEY)
}

/// `response.create` with a text as input and these further members.
pub fn create(input: &str, further: Value) -> Value {
    let mut event = json!({"type": "response.create", "model": "demo-large", "input": input});
    for (name, value) in further.as_object().expect("an object") {
        event[name] = value.clone();
    }
    event
}

/// A frame as clients send it, masked.
pub fn client_frame(first_byte: u8, payload: &[u8]) -> Vec<u8> {
    let mut frame = vec![first_byte];
    match payload.len() {
        short @ 0..126 => frame.push(0x80 | short as u8),
        medium @ 126..65_536 => {
            frame.push(0x80 | 126);
            frame.extend((medium as u16).to_be_bytes());
        }
        long => {
            frame.push(0x80 | 127);
            frame.extend((long as u64).to_be_bytes());
        }
    }
    frame.extend(MASK);
    let masked = payload.iter().zip(MASK.iter().cycle());
    frame.extend(masked.map(|(byte, mask)| byte ^ mask));
    frame
}

impl WebSocketClient {
    pub async fn open(gateway: &Gateway) -> Self {
        Self::open_by(gateway, &handshake()).await
    }

    /// # Panics
    /// If the handshake is refused.
    pub async fn open_by(gateway: &Gateway, handshake: &Request) -> Self {
        let mut connection = gateway.connect().await;
        connection.send(&handshake.bytes()).await.unwrap();
        let (status, headers) = connection.head().await.expect("an answer");
        assert_eq!(status, 101, "{headers:?}");
        Self {
            connection,
            headers,
        }
    }

    pub async fn send(&mut self, event: &Value) {
        self.send_frame(TEXT, event.to_string().as_bytes()).await;
    }

    pub async fn send_frame(&mut self, first_byte: u8, payload: &[u8]) {
        let frame = client_frame(first_byte, payload);
        self.connection.send(&frame).await.unwrap();
    }

    /// The next frame; `None` if the connection ends instead.
    pub async fn frame(&mut self) -> Option<ServerFrame> {
        let head = self.connection.take(2).await?;
        let length = match head[1] {
            126 => {
                let length = self.connection.take(2).await?;
                usize::from(u16::from_be_bytes(length.try_into().unwrap()))
            }
            127 => {
                let length = self.connection.take(8).await?;
                u64::from_be_bytes(length.try_into().unwrap()) as usize
            }
            short => {
                assert!(short < 126, "a server must not mask its frames");
                usize::from(short)
            }
        };
        Some(ServerFrame {
            first_byte: head[0],
            payload: self.connection.take(length).await?,
        })
    }

    /// The next event; pings before it are passed over.
    ///
    /// # Panics
    /// If the connection ends or is closed instead.
    pub async fn event(&mut self) -> Value {
        loop {
            let frame = self.frame().await.expect("an event");
            match frame.first_byte {
                PING | PONG => {}
                TEXT => return serde_json::from_slice(&frame.payload).unwrap(),
                _ => panic!("no event: {frame:?}"),
            }
        }
    }

    /// The events up to the one that ends a response.
    pub async fn response(&mut self) -> Vec<Value> {
        let mut events = Vec::new();
        loop {
            let event = self.event().await;
            let kind = event["type"].as_str().unwrap_or_default().to_owned();
            events.push(event);
            let ends = [
                "error",
                "response.completed",
                "response.failed",
                "response.incomplete",
                "response.steer.failed",
            ];
            if ends.contains(&kind.as_str()) {
                return events;
            }
        }
    }

    /// Sends an event, and returns the last one of the response.
    pub async fn ask(&mut self, event: &Value) -> Value {
        self.send(event).await;
        self.response().await.pop().unwrap()
    }

    /// The code of the close frame, after frames of other kinds, and the end of the connection after it; `None` if the
    /// connection ends without one.
    pub async fn close_code(&mut self) -> Option<u16> {
        loop {
            let frame = self.frame().await?;
            if frame.first_byte != CLOSE {
                continue;
            }
            let code = frame.payload.get(..2).unwrap_or_default();
            let code = code
                .iter()
                .fold(0, |code, byte| code << 8 | u16::from(*byte));
            // The client's side of the closing handshake; the gateway may have closed the connection already.
            let _ = self
                .connection
                .send(&client_frame(CLOSE, &frame.payload))
                .await;
            while self.connection.take(1).await.is_some() {}
            return Some(code);
        }
    }
}
