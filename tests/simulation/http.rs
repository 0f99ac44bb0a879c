//! HTTP/1.1 as the scripted peers of a gateway speak it.

use serde_json::Value;
use tokio::io::{AsyncRead, AsyncReadExt};

/// A request or a response that has arrived.
#[derive(Clone, Debug, Default)]
pub struct Message {
    pub start_line: String,
    pub fields: Vec<(String, String)>,
    pub body: Vec<u8>,
    /// Whether all of the body has arrived.
    pub is_whole: bool,
}

impl Message {
    /// Reads a message; `None` if the connection ends before its head does. `received` is what was read beyond the last one.
    pub async fn read(
        socket: &mut (impl AsyncRead + Unpin),
        received: &mut Vec<u8>,
    ) -> Option<Self> {
        let head_end = loop {
            if let Some(at) = received.windows(4).position(|four| four == b"\r\n\r\n") {
                break at + 4;
            }
            read_more(socket, received).await?;
        };
        let head: Vec<u8> = received.drain(..head_end).collect();
        let mut message = Self::from_head(&String::from_utf8_lossy(&head));
        message.is_whole = message.read_body(socket, received).await.is_some();
        Some(message)
    }

    pub fn field(&self, name: &str) -> Option<&str> {
        let mut fields = self.fields.iter();
        let found = fields.find(|(known, _)| known.eq_ignore_ascii_case(name));
        found.map(|(_, value)| &**value)
    }

    /// The status of a response.
    pub fn status(&self) -> u16 {
        let status = self.start_line.split(' ').nth(1);
        status.and_then(|status| status.parse().ok()).unwrap_or(0)
    }

    /// The target of a request.
    pub fn target(&self) -> &str {
        self.start_line.split(' ').nth(1).unwrap_or_default()
    }

    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_default()
    }

    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    fn from_head(head: &str) -> Self {
        let mut lines = head.split("\r\n");
        let start_line = lines.next().unwrap_or_default().to_owned();
        let fields = lines.filter_map(|line| line.split_once(':'));
        let fields = fields.map(|(name, value)| (name.to_owned(), value.trim().to_owned()));
        Self {
            start_line,
            fields: fields.collect(),
            ..Self::default()
        }
    }

    async fn read_body(
        &mut self,
        socket: &mut (impl AsyncRead + Unpin),
        received: &mut Vec<u8>,
    ) -> Option<()> {
        if self.field("transfer-encoding").is_some() {
            return self.read_chunks(socket, received).await;
        }
        let length = self.field("content-length").unwrap_or("0");
        let length: usize = length.parse().ok()?;
        while received.len() < length {
            if read_more(socket, received).await.is_none() {
                self.body = std::mem::take(received);
                return None;
            }
        }
        self.body = received.drain(..length).collect();
        Some(())
    }

    async fn read_chunks(
        &mut self,
        socket: &mut (impl AsyncRead + Unpin),
        received: &mut Vec<u8>,
    ) -> Option<()> {
        loop {
            let line_end = loop {
                if let Some(at) = received.windows(2).position(|two| two == b"\r\n") {
                    break at;
                }
                read_more(socket, received).await?;
            };
            let line: Vec<u8> = received.drain(..line_end + 2).collect();
            let size = String::from_utf8_lossy(&line[..line_end]).into_owned();
            let size = usize::from_str_radix(&size, 16).ok()?;
            while received.len() < size + 2 {
                read_more(socket, received).await?;
            }
            self.body.extend(received.drain(..size));
            received.drain(..2);
            if size == 0 {
                return Some(());
            }
        }
    }
}

/// A response with this body.
pub fn response(status: u16, body: &Value) -> Vec<u8> {
    let body = body.to_string();
    format!(
        "HTTP/1.1 {status} Status\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    )
    .into_bytes()
}

/// A request with this body.
pub fn request(method: &str, target: &str, fields: &[(&str, &str)], body: &str) -> Vec<u8> {
    let mut text = format!("{method} {target} HTTP/1.1\r\nHost: gateway\r\n");
    for (name, value) in fields {
        text += &format!("{name}: {value}\r\n");
    }
    if method == "POST" {
        text += &format!("Content-Length: {}\r\n", body.len());
    }
    (text + "\r\n" + body).into_bytes()
}

async fn read_more(socket: &mut (impl AsyncRead + Unpin), received: &mut Vec<u8>) -> Option<()> {
    match socket.read_buf(received).await {
        Ok(1..) => Some(()),
        _ => None,
    }
}
