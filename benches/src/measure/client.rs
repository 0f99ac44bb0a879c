//! A plain HTTP/1.1 client that checks every response.

use std::net::SocketAddr;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// The end of a response in chunks, with the line end before it, since the last field of a head may end with a zero.
const LAST_CHUNK: &[u8] = b"\r\n0\r\n\r\n";

/// A persistent connection.
pub struct Connection {
    stream: TcpStream,
    buffer: Vec<u8>,
}

impl Connection {
    pub async fn open(address: SocketAddr) -> Self {
        let stream = TcpStream::connect(address)
            .await
            .expect("the target listens");
        stream.set_nodelay(true).expect("a socket option");
        Self {
            stream,
            buffer: Vec::with_capacity(64 << 10),
        }
    }

    /// Sends a request and reads its response, which must be a 200 with a Content-Length or chunks.
    pub async fn exchange(&mut self, request: &[u8]) {
        self.read_response(request).await;
        assert!(self.is_good(), "{}", self.text());
    }

    /// Sends a request and reads its response, which must be no 200.
    pub async fn refused(&mut self, request: &[u8]) {
        self.read_response(request).await;
        assert!(!self.is_good(), "{}", self.text());
    }

    fn is_good(&self) -> bool {
        self.buffer.starts_with(b"HTTP/1.1 200")
    }

    fn text(&self) -> String {
        String::from_utf8_lossy(&self.buffer).into_owned()
    }

    async fn read_response(&mut self, request: &[u8]) {
        self.stream
            .write_all(request)
            .await
            .expect("the target reads");
        self.buffer.clear();
        let head = loop {
            if let Some(end) = find(&self.buffer, b"\r\n\r\n") {
                break end + 4;
            }
            self.read_more().await;
        };
        match content_length(&self.buffer[..head]) {
            Some(length) => {
                while self.buffer.len() < head + length {
                    self.read_more().await;
                }
            }
            None => {
                while !self.buffer.ends_with(LAST_CHUNK) {
                    self.read_more().await;
                }
            }
        }
    }

    /// Sends a request and calls `seen` with each piece of its response up to the last chunk.
    pub async fn stream(&mut self, request: &[u8], mut seen: impl FnMut(&[u8])) {
        self.stream
            .write_all(request)
            .await
            .expect("the target reads");
        self.buffer.clear();
        while !self.buffer.ends_with(LAST_CHUNK) {
            let before = self.buffer.len();
            self.read_more().await;
            seen(&self.buffer[before..]);
        }
        assert!(self.is_good(), "{}", self.text());
        assert!(
            find(&self.buffer, b"data: [DONE]").is_some(),
            "the stream is not whole"
        );
    }

    async fn read_more(&mut self) {
        let read = self
            .stream
            .read_buf(&mut self.buffer)
            .await
            .expect("the target answers");
        assert!(read > 0, "the target closed: {}", self.text());
    }
}

fn content_length(head: &[u8]) -> Option<usize> {
    let head = std::str::from_utf8(head).ok()?.to_ascii_lowercase();
    let at = head.find("\r\ncontent-length: ")? + 18;
    head[at..].split("\r\n").next()?.parse().ok()
}

fn find(haystack: &[u8], needle: &[u8]) -> Option<usize> {
    haystack
        .windows(needle.len())
        .position(|window| window == needle)
}
