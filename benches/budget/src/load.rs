//! The load of one run: requests and streams, one after the other on one connection.

use super::provider::{ANSWER_END, Next, Provider};
use headgate_budget::request::{CHAT, chat_request_to, video_request_to};
use headgate_budget::setup::{
    CACHE, CALLOUT, COMPUTED_VIDEO_MODEL, CONDITION, EDIT, PLAIN_VIDEO_MODEL, PLUGIN_ON_BODIES,
    PLUGIN_ON_HEADERS, VIDEO,
};
use std::io::{Read, Write};
use std::net::TcpStream;

/// A kind of request that is answered in one piece.
#[derive(Clone, Copy)]
pub enum RequestKind {
    /// A chat by its path, with a body of this size.
    Chat {
        path: &'static str,
        body_bytes: usize,
    },
    /// A create of a video with this model.
    Video { model: &'static str },
}

/// How many requests of each kind a run sends.
#[derive(Clone, Copy)]
pub struct Load {
    /// For each of [`REQUEST_KINDS`].
    pub requests: [usize; REQUEST_KINDS.len()],
    /// For each of [`STREAM_PATHS`].
    pub streams: [usize; STREAM_PATHS.len()],
    pub events_per_stream: [usize; STREAM_PATHS.len()],
}

pub const STREAM_PATHS: [&str; 2] = [CHAT, PLUGIN_ON_BODIES];

pub const REQUEST_KINDS: [RequestKind; 10] = [
    chat(CHAT, 1 << 10),
    chat(CHAT, 16 << 10),
    chat(CONDITION, 1 << 10),
    chat(EDIT, 16 << 10),
    chat(CALLOUT, 1 << 10),
    chat(CACHE, 1 << 10),
    chat(PLUGIN_ON_HEADERS, 1 << 10),
    chat(PLUGIN_ON_BODIES, 16 << 10),
    RequestKind::Video {
        model: PLAIN_VIDEO_MODEL,
    },
    RequestKind::Video {
        model: COMPUTED_VIDEO_MODEL,
    },
];

/// The end of the gateway's response to a create of a video.
const CREATED_END: &str = r#""status":"queued"}"#;

const fn chat(path: &'static str, body_bytes: usize) -> RequestKind {
    RequestKind::Chat { path, body_bytes }
}

impl RequestKind {
    /// The request, and the end of its response.
    fn exchange(self) -> (Vec<u8>, &'static str) {
        match self {
            Self::Chat { path, body_bytes } => {
                (chat_request_to(path, body_bytes, false, ""), ANSWER_END)
            }
            Self::Video { model } => (video_request_to(VIDEO, model), CREATED_END),
        }
    }
}

impl Load {
    /// Sends all requests to the peer of `connection`, and checks each response.
    pub fn send(self, connection: TcpStream, provider: &Provider) {
        connection.set_nodelay(true).expect("a socket option");
        let mut client = Client {
            connection,
            received: Vec::new(),
        };
        for (kind, count) in REQUEST_KINDS.into_iter().zip(self.requests) {
            let (request, end) = kind.exchange();
            for _ in 0..count {
                client.send(&request);
                client.read_until(end);
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

    /// The same load with more requests of one kind.
    pub const fn with_more_requests(mut self, kind: usize, count: usize) -> Self {
        self.requests[kind] += count;
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
