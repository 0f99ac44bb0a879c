//! A provider with scripted responses, byte for byte, that records every request.

use super::connection::find;
use std::collections::VecDeque;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Notify;
use tokio::time::sleep;

pub struct ScriptedProvider {
    pub address: SocketAddr,
    script: Arc<ResponseScript>,
}

/// What all connections of a provider share.
struct ResponseScript {
    acts: Vec<ScriptedResponse>,
    /// Scripts for the next requests, one each, before `acts` applies again.
    turns: Mutex<VecDeque<Vec<ScriptedResponse>>>,
    /// The requests, each with the number of its connection.
    requests: Mutex<Vec<(usize, Vec<u8>)>>,
    connections: AtomicUsize,
    closed: AtomicUsize,
    /// Scripts that ended, one for each request.
    ended: AtomicUsize,
}

/// Makes a response of a request, as text.
pub type ResponseFunction = Arc<dyn Fn(&str) -> Vec<u8> + Send + Sync>;

/// An action after a request was received; after the last one, the next request is read.
#[derive(Clone)]
pub enum ScriptedResponse {
    Send(Vec<u8>),
    /// Sends the result of this function of the request.
    Answer(fn(&str) -> Vec<u8>),
    /// Sends the result of this function of the request, which may remember earlier ones.
    Call(ResponseFunction),
    Wait(Duration),
    /// Waits until the client closes the connection.
    Hang,
    /// Waits until a test notifies it.
    WaitFor(Arc<Notify>),
    /// Reads the next request of the connection.
    Read,
    /// Closes the connection with a FIN.
    Close,
    /// Closes the connection with an RST.
    Reset,
}

impl ScriptedProvider {
    /// Applies `acts` to every request.
    pub async fn start(acts: Vec<ScriptedResponse>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        Self::on(listener, acts)
    }

    /// Applies `acts` to every request on `listener`.
    pub fn on(listener: TcpListener, acts: Vec<ScriptedResponse>) -> Self {
        let address = listener.local_addr().unwrap();
        let script = Arc::new(ResponseScript {
            acts,
            turns: Mutex::default(),
            requests: Mutex::default(),
            connections: AtomicUsize::new(0),
            closed: AtomicUsize::new(0),
            ended: AtomicUsize::new(0),
        });
        let shared = Arc::clone(&script);
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let shared = Arc::clone(&shared);
                tokio::spawn(async move {
                    play(stream, &shared).await;
                    shared.closed.fetch_add(1, Ordering::Relaxed);
                });
            }
        });
        Self { address, script }
    }

    /// Applies `acts` to the next request that has no script yet.
    pub fn next(&self, acts: Vec<ScriptedResponse>) {
        self.script.turns.lock().unwrap().push_back(acts);
    }

    /// Removes the scripts of [`Self::next`] that no request got.
    pub fn forget_turns(&self) {
        self.script.turns.lock().unwrap().clear();
    }

    /// Responds to every request with these bytes.
    pub async fn answering(answer: impl Into<Vec<u8>>) -> Self {
        Self::start(vec![ScriptedResponse::Send(answer.into())]).await
    }

    pub fn url(&self) -> String {
        format!("http://{}/v1", self.address)
    }

    /// Head and body of each request, as received.
    pub fn requests(&self) -> Vec<String> {
        let requests = self.script.requests.lock().unwrap();
        requests
            .iter()
            .map(|(_, bytes)| String::from_utf8_lossy(bytes).into_owned())
            .collect()
    }

    /// Head and body of each request in bytes.
    pub fn raw_requests(&self) -> Vec<Vec<u8>> {
        let requests = self.script.requests.lock().unwrap();
        requests.iter().map(|(_, bytes)| bytes.clone()).collect()
    }

    /// The number of connections that are open now.
    pub fn open(&self) -> usize {
        let closed = self.script.closed.load(Ordering::Relaxed);
        let connections = self.script.connections.load(Ordering::Relaxed);
        connections.saturating_sub(closed)
    }

    /// The number of requests whose script has not ended.
    pub fn in_progress(&self) -> usize {
        let ended = self.script.ended.load(Ordering::Relaxed);
        self.script.requests.lock().unwrap().len() - ended
    }

    /// The number of the connection of each request.
    pub fn connections(&self) -> Vec<usize> {
        let requests = self.script.requests.lock().unwrap();
        requests.iter().map(|(connection, _)| *connection).collect()
    }
}

impl ResponseScript {
    fn keep(&self, connection: usize, request: Vec<u8>) {
        self.requests.lock().unwrap().push((connection, request));
    }
}

async fn play(mut stream: TcpStream, script: &ResponseScript) {
    let connection = script.connections.fetch_add(1, Ordering::Relaxed);
    while let Some(request) = read_request(&mut stream).await {
        let asked = String::from_utf8_lossy(&request).into_owned();
        script.keep(connection, request);
        let turn = script.turns.lock().unwrap().pop_front();
        for act in turn.as_ref().unwrap_or(&script.acts) {
            match act {
                ScriptedResponse::Answer(answer) => {
                    if stream.write_all(&answer(&asked)).await.is_err() {
                        return;
                    }
                }
                ScriptedResponse::Call(answer) => {
                    if stream.write_all(&answer(&asked)).await.is_err() {
                        return;
                    }
                }
                ScriptedResponse::Send(bytes) => {
                    if stream.write_all(bytes).await.is_err() {
                        return;
                    }
                }
                ScriptedResponse::Wait(time) => sleep(*time).await,
                ScriptedResponse::Hang => {
                    let _ = read_request(&mut stream).await;
                    return;
                }
                ScriptedResponse::WaitFor(notify) => notify.notified().await,
                ScriptedResponse::Read => match read_request(&mut stream).await {
                    Some(request) => script.keep(connection, request),
                    None => return,
                },
                ScriptedResponse::Close => return,
                ScriptedResponse::Reset => {
                    let socket = socket2::SockRef::from(&stream);
                    socket.set_linger(Some(Duration::ZERO)).unwrap();
                    return;
                }
            }
        }
        script.ended.fetch_add(1, Ordering::Relaxed);
    }
}

/// Reads a request that has a Content-Length or no body.
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
