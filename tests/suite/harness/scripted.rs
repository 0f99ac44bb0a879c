//! A provider that does to the byte what a test tells it, and keeps every byte it was sent.

use super::connection::find;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::sleep;

pub struct Scripted {
    pub address: SocketAddr,
    requests: Arc<Mutex<Vec<Vec<u8>>>>,
}

/// What is done when a request has come; behind the last act the next request is read.
#[derive(Clone)]
pub enum Act {
    Send(Vec<u8>),
    /// Sends what this makes of the request.
    Answer(fn(&str) -> Vec<u8>),
    Wait(Duration),
    /// Reads the next request of the connection.
    Read,
    /// Ends the connection with a FIN.
    Close,
    /// Ends the connection with an RST.
    Reset,
}

impl Scripted {
    /// Does `acts` for every request.
    pub async fn start(acts: Vec<Act>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        Self::on(listener, acts)
    }

    /// Does `acts` for every request that comes to `listener`.
    pub fn on(listener: TcpListener, acts: Vec<Act>) -> Self {
        let address = listener.local_addr().unwrap();
        let requests = Arc::new(Mutex::default());
        let shared = Arc::clone(&requests);
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(play(stream, acts.clone(), Arc::clone(&shared)));
            }
        });
        Self { address, requests }
    }

    /// Answers every request with these bytes.
    pub async fn answering(answer: impl Into<Vec<u8>>) -> Self {
        Self::start(vec![Act::Send(answer.into())]).await
    }

    pub fn url(&self) -> String {
        format!("http://{}/v1", self.address)
    }

    /// Head and body of each request, as they came.
    pub fn requests(&self) -> Vec<String> {
        let requests = self.requests.lock().unwrap();
        requests
            .iter()
            .map(|bytes| String::from_utf8_lossy(bytes).into_owned())
            .collect()
    }
}

async fn play(mut stream: TcpStream, acts: Vec<Act>, requests: Arc<Mutex<Vec<Vec<u8>>>>) {
    while let Some(request) = read_request(&mut stream).await {
        let asked = String::from_utf8_lossy(&request).into_owned();
        requests.lock().unwrap().push(request);
        for act in &acts {
            match act {
                Act::Answer(answer) => {
                    if stream.write_all(&answer(&asked)).await.is_err() {
                        return;
                    }
                }
                Act::Send(bytes) => {
                    if stream.write_all(bytes).await.is_err() {
                        return;
                    }
                }
                Act::Wait(time) => sleep(*time).await,
                Act::Read => match read_request(&mut stream).await {
                    Some(request) => requests.lock().unwrap().push(request),
                    None => return,
                },
                Act::Close => return,
                Act::Reset => {
                    let socket = socket2::SockRef::from(&stream);
                    socket.set_linger(Some(Duration::ZERO)).unwrap();
                    return;
                }
            }
        }
    }
}

/// A request with a Content-Length or without a body.
async fn read_request(stream: &mut TcpStream) -> Option<Vec<u8>> {
    let mut request = Vec::new();
    loop {
        stream
            .read_buf(&mut request)
            .await
            .ok()
            .filter(|count| *count > 0)?;
        let Some(end) = find(&request, b"\r\n\r\n") else {
            continue;
        };
        let head = String::from_utf8_lossy(&request[..end]).to_ascii_lowercase();
        let length = head
            .lines()
            .find_map(|line| line.strip_prefix("content-length:")?.trim().parse().ok());
        if request.len() >= end + 4 + length.unwrap_or(0) {
            return Some(request);
        }
    }
}
