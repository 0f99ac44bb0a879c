//! The load of one run: requests and streams, one after the other on one connection.

use super::provider::{Next, Provider};
use headgate_budget::conversation::Conversation;
use headgate_budget::request::{CHAT, chat_request_to, video_request_to};
use headgate_budget::setup::VIDEO;
use std::io::{Read, Write};
use std::net::TcpStream;

/// A kind of requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RequestKind {
    /// A chat by its path, with a body of this size.
    Chat {
        path: &'static str,
        body_bytes: usize,
    },
    /// A create of a video with this model.
    Video { model: &'static str },
    /// A request of a caller to a channel, each with a protocol.
    Conversation {
        caller: Conversation,
        channel: Conversation,
        body_bytes: usize,
    },
}

/// How many requests of each kind a run sends, and how many streams with how many events.
#[derive(Clone, Debug, Default)]
pub struct Load {
    pub requests: Vec<(RequestKind, usize)>,
    pub streams: Vec<StreamLoad>,
}

/// Streams of one kind.
#[derive(Clone, Copy, Debug)]
pub struct StreamLoad {
    pub kind: RequestKind,
    pub streams: usize,
    pub events_per_stream: usize,
}

/// The end of a response in chunks.
const LAST_CHUNK: &str = "\r\n0\r\n\r\n";

impl RequestKind {
    /// A chat with a body of 1 KB, in the protocol of the routes without translation.
    pub const CHAT: Self = Self::chat(CHAT, 1 << 10);

    pub const fn chat(path: &'static str, body_bytes: usize) -> Self {
        Self::Chat { path, body_bytes }
    }

    /// The bytes on the wire.
    fn request(self, stream: bool) -> Vec<u8> {
        match self {
            Self::Chat { path, body_bytes } => chat_request_to(path, body_bytes, stream, ""),
            Self::Video { model } => video_request_to(VIDEO, model),
            Self::Conversation {
                caller,
                channel,
                body_bytes,
            } => caller.request(channel.name(), body_bytes, stream),
        }
    }
}

impl Load {
    /// Sends all requests to the peer of `connection`, and checks each response.
    pub fn send(&self, connection: TcpStream, provider: &Provider) {
        connection.set_nodelay(true).expect("a socket option");
        let mut client = Client {
            connection,
            received: Vec::new(),
        };
        for (kind, count) in &self.requests {
            let request = kind.request(false);
            for _ in 0..*count {
                client.send(&request);
                client.read_response();
            }
        }
        for load in &self.streams {
            let request = load.kind.request(true);
            for _ in 0..load.streams {
                client.send(&request);
                for _ in 0..load.events_per_stream {
                    provider.send(Next::Event);
                    client.read_until("\n\n\r\n");
                    client.received.clear();
                }
                provider.send(Next::End);
                client.read_until(LAST_CHUNK);
            }
        }
    }

    /// The same load with more requests of one kind.
    pub fn with_more_requests(mut self, kind: RequestKind, more: usize) -> Self {
        match self.requests.iter_mut().find(|(known, _)| *known == kind) {
            Some((_, count)) => *count += more,
            None => self.requests.push((kind, more)),
        }
        self
    }

    /// The same load with more events in each stream of one kind.
    pub fn with_more_events(mut self, kind: RequestKind, more: usize) -> Self {
        let known = self.streams.iter_mut().find(|load| load.kind == kind);
        let streams = known.expect("the base has streams of each counted kind");
        streams.events_per_stream += more;
        self
    }
}

struct Client {
    connection: TcpStream,
    received: Vec<u8>,
}

impl Client {
    fn send(&mut self, request: &[u8]) {
        self.received.clear();
        self.connection
            .write_all(request)
            .expect("the request is read");
    }

    /// Reads a response that has a length, or chunks.
    fn read_response(&mut self) {
        let head = loop {
            if let Some(end) = self
                .received
                .windows(4)
                .position(|part| part == b"\r\n\r\n")
            {
                break String::from_utf8_lossy(&self.received[..end + 4]).to_ascii_lowercase();
            }
            self.read();
        };
        let length = head.lines().find_map(|line| {
            let length = line.strip_prefix("content-length:")?;
            length.trim().parse::<usize>().ok()
        });
        match length {
            Some(length) => {
                while self.received.len() < head.len() + length {
                    self.read();
                }
            }
            None => self.read_until(LAST_CHUNK),
        }
    }

    /// Reads until the received data ends with `end`.
    fn read_until(&mut self, end: &str) {
        while !self.received.ends_with(end.as_bytes()) {
            self.read();
        }
    }

    fn read(&mut self) {
        let mut piece = [0; 16 << 10];
        let count = self.connection.read(&mut piece).expect("an answer comes");
        self.received.extend_from_slice(&piece[..count]);
        let shown = String::from_utf8_lossy(&self.received);
        assert!(count > 0, "the connection was closed behind: {shown}");
        assert!(!shown.starts_with("HTTP/1.1 4"), "{shown}");
        assert!(!shown.starts_with("HTTP/1.1 5"), "{shown}");
    }
}
