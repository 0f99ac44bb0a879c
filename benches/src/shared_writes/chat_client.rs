//! A caller with one connection, on which it sends one chat after the other.

use headgate_budget::request::chat_request;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

/// The time within which a response arrives. A worker that is single-stepped takes minutes for a chat.
const READ_TIMEOUT: Duration = Duration::from_secs(600);

pub struct ChatClient {
    connection: TcpStream,
    request: Vec<u8>,
}

impl ChatClient {
    pub fn new(connection: TcpStream) -> Self {
        connection.set_nodelay(true).expect("a socket option");
        connection
            .set_read_timeout(Some(READ_TIMEOUT))
            .expect("a socket option");
        Self {
            connection,
            request: chat_request(1 << 10, false, ""),
        }
    }

    /// Sends a chat and reads its response.
    ///
    /// # Errors
    /// No whole response with status 200 arrived.
    pub fn chat(&mut self) -> Result<(), String> {
        let sent = self.connection.write_all(&self.request);
        sent.map_err(|error| format!("the request was not sent: {error}"))?;
        let mut received = Vec::new();
        let mut piece = [0; 16 << 10];
        while !is_whole(&received) {
            let count = self.connection.read(&mut piece);
            let count = count.map_err(|error| format!("no response: {error}"))?;
            if count == 0 {
                return Err("the connection was closed before the end of a response".into());
            }
            received.extend_from_slice(&piece[..count]);
        }
        match received.starts_with(b"HTTP/1.1 200") {
            true => Ok(()),
            false => Err(String::from_utf8_lossy(&received).into_owned()),
        }
    }
}

/// Whether this is a whole response with a length, or in chunks.
fn is_whole(received: &[u8]) -> bool {
    let text = String::from_utf8_lossy(received);
    let Some((head, body)) = text.split_once("\r\n\r\n") else {
        return false;
    };
    let length = head.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        let is_length = name.eq_ignore_ascii_case("content-length");
        is_length.then(|| value.trim().parse::<usize>().ok())?
    });
    match length {
        Some(length) => body.len() >= length,
        None => body.ends_with("0\r\n\r\n"),
    }
}
