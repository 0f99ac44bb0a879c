//! The load of one run: chat requests and streams, one after the other on one connection.

use super::provider::{Next, Provider};
use headgate_budget::request::chat_request;
use std::io::{Read, Write};
use std::net::TcpStream;

/// How many requests of each kind a run sends.
#[derive(Clone, Copy)]
pub struct Load {
    pub chats_1_kb: usize,
    pub chats_16_kb: usize,
    pub streams: usize,
    pub events_per_stream: usize,
}

impl Load {
    /// Sends all requests to the peer of `connection`, and checks each response.
    pub fn send(self, connection: TcpStream, provider: &Provider) {
        connection.set_nodelay(true).expect("a socket option");
        let mut client = Client {
            connection,
            received: Vec::new(),
        };
        for (bytes, chats) in [(1 << 10, self.chats_1_kb), (16 << 10, self.chats_16_kb)] {
            let request = chat_request(bytes, false, "");
            for _ in 0..chats {
                client.send(&request);
                client.read_until("}}");
            }
        }
        let request = chat_request(1 << 10, true, "");
        for _ in 0..self.streams {
            client.send(&request);
            for _ in 0..self.events_per_stream {
                provider.send(Next::Event);
                client.read_until("\n\n\r\n");
                client.received.clear();
            }
            provider.send(Next::End);
            client.read_until("data: [DONE]\n\n\r\n0\r\n\r\n");
        }
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
