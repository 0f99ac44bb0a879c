//! The load of one run: chat requests and streams, one after the other on one connection.

use super::provider::{ANSWER_END, Next, Provider};
use headgate_budget::request::{CHAT, chat_request_to};
use headgate_budget::setup::{
    CACHE, CALLOUT, CONDITION, EDIT, PLUGIN_ON_BODIES, PLUGIN_ON_HEADERS,
};
use std::io::{Read, Write};
use std::net::TcpStream;

/// A kind of chat request: its path, and the size of its body.
#[derive(Clone, Copy)]
pub struct ChatKind {
    pub path: &'static str,
    pub body_bytes: usize,
}

/// How many requests of each kind a run sends.
#[derive(Clone, Copy)]
pub struct Load {
    /// For each of [`CHAT_KINDS`].
    pub chats: [usize; CHAT_KINDS.len()],
    /// For each of [`STREAM_PATHS`].
    pub streams: [usize; STREAM_PATHS.len()],
    pub events_per_stream: [usize; STREAM_PATHS.len()],
}

pub const STREAM_PATHS: [&str; 2] = [CHAT, PLUGIN_ON_BODIES];

pub const CHAT_KINDS: [ChatKind; 8] = [
    ChatKind {
        path: CHAT,
        body_bytes: 1 << 10,
    },
    ChatKind {
        path: CHAT,
        body_bytes: 16 << 10,
    },
    ChatKind {
        path: CONDITION,
        body_bytes: 1 << 10,
    },
    ChatKind {
        path: EDIT,
        body_bytes: 16 << 10,
    },
    ChatKind {
        path: CALLOUT,
        body_bytes: 1 << 10,
    },
    ChatKind {
        path: CACHE,
        body_bytes: 1 << 10,
    },
    ChatKind {
        path: PLUGIN_ON_HEADERS,
        body_bytes: 1 << 10,
    },
    ChatKind {
        path: PLUGIN_ON_BODIES,
        body_bytes: 16 << 10,
    },
];

impl Load {
    /// Sends all requests to the peer of `connection`, and checks each response.
    pub fn send(self, connection: TcpStream, provider: &Provider) {
        connection.set_nodelay(true).expect("a socket option");
        let mut client = Client {
            connection,
            received: Vec::new(),
        };
        for (kind, chats) in CHAT_KINDS.into_iter().zip(self.chats) {
            let request = chat_request_to(kind.path, kind.body_bytes, false, "");
            for _ in 0..chats {
                client.send(&request);
                client.read_until(ANSWER_END);
            }
        }
        let streams = STREAM_PATHS.into_iter().zip(self.streams);
        for ((path, streams), events) in streams.zip(self.events_per_stream) {
            let request = chat_request_to(path, 1 << 10, true, "");
            for _ in 0..streams {
                client.send(&request);
                for _ in 0..events {
                    provider.send(Next::Event);
                    client.read_until("\n\n\r\n");
                    client.received.clear();
                }
                provider.send(Next::End);
                client.read_until("data: [DONE]\n\n\r\n0\r\n\r\n");
            }
        }
    }

    /// The same load with more events in each stream of one kind.
    pub const fn with_more_events(mut self, kind: usize, count: usize) -> Self {
        self.events_per_stream[kind] += count;
        self
    }

    /// The same load with more chats of one kind.
    pub const fn with_more_chats(mut self, kind: usize, count: usize) -> Self {
        self.chats[kind] += count;
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

    /// Reads until the received data ends with `end`.
    fn read_until(&mut self, end: &str) {
        while !self.received.ends_with(end.as_bytes()) {
            let mut piece = [0; 16 << 10];
            let count = self.connection.read(&mut piece).expect("an answer comes");
            self.received.extend_from_slice(&piece[..count]);
            let shown = String::from_utf8_lossy(&self.received);
            assert!(count > 0, "the connection was closed behind: {shown}");
            assert!(!shown.starts_with("HTTP/1.1 4"), "{shown}");
            assert!(!shown.starts_with("HTTP/1.1 5"), "{shown}");
        }
    }
}
