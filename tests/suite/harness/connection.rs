//! An HTTP/1.1 client connection that exposes every received byte, and how the connection ended.

use super::{PATIENCE, Request};
use serde_json::Value;
use std::io;
use std::net::SocketAddr;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

pub struct Connection<S = TcpStream> {
    stream: S,
    /// Bytes that were read from the socket, but not yet consumed.
    buffer: Vec<u8>,
    /// How long to wait for the next bytes.
    patience: Duration,
}

/// Header fields in the order received.
#[derive(Clone, Debug, Default)]
pub struct Headers(Vec<(String, String)>);

/// A response whose body has not been read.
pub struct OpenResponse<S = TcpStream> {
    pub status: u16,
    pub headers: Headers,
    framing: Framing,
    pub connection: Connection<S>,
}

/// A response, as far as it was received.
#[derive(Debug)]
pub struct WholeResponse {
    pub status: u16,
    pub headers: Headers,
    pub body: Vec<u8>,
    /// Whether the body is complete according to its framing.
    pub whole: bool,
}

/// The next piece of a body.
#[derive(Debug, PartialEq, Eq)]
pub enum StreamPiece {
    Data(Vec<u8>),
    End,
    /// The connection ended before the body did.
    Broken,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Framing {
    Left(usize),
    Chunked,
    Ended,
}

impl Connection {
    pub async fn to(address: SocketAddr) -> Self {
        let stream = TcpStream::connect(address).await.unwrap();
        stream.set_nodelay(true).unwrap();
        Self::over(stream)
    }

    /// Closes with an RST, like a process that is killed with unread input.
    pub fn reset(self) {
        let socket = socket2::SockRef::from(&self.stream);
        socket.set_linger(Some(Duration::ZERO)).unwrap();
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> Connection<S> {
    pub fn over(stream: S) -> Self {
        Self {
            stream,
            buffer: Vec::new(),
            patience: PATIENCE,
        }
    }

    /// Waits this long for the next bytes, where a response takes longer than others.
    pub fn with_patience(self, patience: Duration) -> Self {
        Self { patience, ..self }
    }

    pub async fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.stream.write_all(bytes).await?;
        self.stream.flush().await
    }

    /// Sends a request and reads the whole response.
    pub async fn ask(&mut self, request: &Request) -> WholeResponse {
        self.send(&request.bytes()).await.unwrap();
        self.answer()
            .await
            .expect("the connection ended without an answer")
    }

    /// Sends a request and reads the head of its response.
    pub async fn open(mut self, request: &Request) -> OpenResponse<S> {
        self.send(&request.bytes()).await.unwrap();
        self.reply()
            .await
            .expect("the connection ended without an answer")
    }

    /// The head of the next response; `None` if the connection ends instead.
    pub async fn reply(mut self) -> Option<OpenResponse<S>> {
        let (status, headers) = self.head().await?;
        Some(OpenResponse {
            status,
            framing: Framing::of(status, &headers),
            headers,
            connection: self,
        })
    }

    /// The next whole response; `None` if the connection ends instead.
    pub async fn answer(&mut self) -> Option<WholeResponse> {
        let (status, headers) = self.head().await?;
        let mut framing = Framing::of(status, &headers);
        let (body, whole) = self.body(&mut framing).await;
        Some(WholeResponse {
            status,
            headers,
            body,
            whole,
        })
    }

    /// The next head, which may be informational.
    pub async fn head(&mut self) -> Option<(u16, Headers)> {
        let head = self.take_until(b"\r\n\r\n").await?;
        let head = String::from_utf8(head).unwrap();
        let mut lines = head.split("\r\n");
        let status = lines.next()?.split(' ').nth(1)?.parse().ok()?;
        let fields = lines
            .filter_map(|line| line.split_once(':'))
            .map(|(name, value)| (name.to_ascii_lowercase(), value.trim().to_string()));
        Some((status, Headers(fields.collect())))
    }

    /// The next bytes; `None` if the connection ends before they have come.
    pub async fn take(&mut self, count: usize) -> Option<Vec<u8>> {
        while self.buffer.len() < count {
            if !self.read_more().await {
                return None;
            }
        }
        Some(self.buffer.drain(..count).collect())
    }

    /// Whether the peer closes the connection without sending another byte.
    pub async fn is_over(&mut self) -> bool {
        self.buffer.is_empty() && !self.read_more().await
    }

    async fn body(&mut self, framing: &mut Framing) -> (Vec<u8>, bool) {
        let mut body = Vec::new();
        loop {
            match self.piece(framing).await {
                StreamPiece::Data(data) => body.extend(data),
                StreamPiece::End => return (body, true),
                StreamPiece::Broken => return (body, false),
            }
        }
    }

    async fn piece(&mut self, framing: &mut Framing) -> StreamPiece {
        match *framing {
            Framing::Ended | Framing::Left(0) => StreamPiece::End,
            Framing::Left(left) => {
                if self.buffer.is_empty() && !self.read_more().await {
                    return StreamPiece::Broken;
                }
                let taken = left.min(self.buffer.len());
                *framing = Framing::Left(left - taken);
                StreamPiece::Data(self.buffer.drain(..taken).collect())
            }
            Framing::Chunked => self.chunk(framing).await.unwrap_or(StreamPiece::Broken),
        }
    }

    async fn chunk(&mut self, framing: &mut Framing) -> Option<StreamPiece> {
        let line = self.take_until(b"\r\n").await?;
        let digits = std::str::from_utf8(&line).unwrap().trim();
        let size = usize::from_str_radix(digits, 16).expect("a chunk begins with its size");
        while self.buffer.len() < size + 2 {
            if !self.read_more().await {
                return None;
            }
        }
        let data: Vec<u8> = self.buffer.drain(..size).collect();
        let end: Vec<u8> = self.buffer.drain(..2).collect();
        assert_eq!(end, b"\r\n", "a chunk ends with a line break");
        if size == 0 {
            *framing = Framing::Ended;
            return Some(StreamPiece::End);
        }
        Some(StreamPiece::Data(data))
    }

    async fn take_until(&mut self, end: &[u8]) -> Option<Vec<u8>> {
        loop {
            if let Some(at) = find(&self.buffer, end) {
                return Some(self.buffer.drain(..at + end.len()).collect());
            }
            if !self.read_more().await {
                return None;
            }
        }
    }

    /// Reads available bytes; returns `false` at the end, whether or not it was clean.
    async fn read_more(&mut self) -> bool {
        self.buffer.reserve(64 << 10);
        let read = timeout(self.patience, self.stream.read_buf(&mut self.buffer))
            .await
            .expect("nothing came, nor did the connection end");
        matches!(read, Ok(count) if count > 0)
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> OpenResponse<S> {
    pub async fn piece(&mut self) -> StreamPiece {
        self.connection.piece(&mut self.framing).await
    }

    /// Reads until the text of the body contains `needle`; returns the text so far.
    pub async fn until(&mut self, needle: &str) -> String {
        let mut text = Vec::new();
        while find(&text, needle.as_bytes()).is_none() {
            match self.piece().await {
                StreamPiece::Data(data) => text.extend(data),
                end => panic!(
                    "{end:?} before `{needle}`: {}",
                    String::from_utf8_lossy(&text)
                ),
            }
        }
        String::from_utf8(text).unwrap()
    }

    /// Reads the rest of the body.
    pub async fn rest(mut self) -> WholeResponse {
        let (body, whole) = self.connection.body(&mut self.framing).await;
        WholeResponse {
            status: self.status,
            headers: self.headers,
            body,
            whole,
        }
    }
}

impl WholeResponse {
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    /// The body as JSON; null if it is not JSON.
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_default()
    }
}

impl Headers {
    /// The value of a field, which must not be repeated.
    pub fn get(&self, name: &str) -> Option<&str> {
        let mut values = self.0.iter().filter(|(known, _)| known == name);
        let value = values.next().map(|(_, value)| value.as_str());
        assert!(values.next().is_none(), "`{name}` came twice");
        value
    }

    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|(name, _)| name.as_str())
    }
}

impl From<&http::HeaderMap> for Headers {
    fn from(headers: &http::HeaderMap) -> Self {
        let text = |value: &http::HeaderValue| String::from_utf8_lossy(value.as_bytes()).into();
        let fields = headers
            .iter()
            .map(|(name, value)| (name.as_str().to_string(), text(value)));
        Self(fields.collect())
    }
}

impl Framing {
    fn of(status: u16, headers: &Headers) -> Self {
        let chunked = headers
            .get("transfer-encoding")
            .is_some_and(|coding| coding == "chunked");
        let length = headers.get("content-length");
        assert!(!chunked || length.is_none(), "two framings at once");
        match length {
            _ if chunked => Self::Chunked,
            Some(length) => Self::Left(length.parse().unwrap()),
            None if matches!(status, 100..200 | 204 | 304) => Self::Ended,
            None => panic!("an answer without framing: {headers:?}"),
        }
    }
}

pub fn find(bytes: &[u8], needle: &[u8]) -> Option<usize> {
    memchr::memmem::find(bytes, needle)
}
