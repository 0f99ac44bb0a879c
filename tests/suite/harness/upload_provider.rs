//! A provider with HTTP/1.1 or HTTP/2 that counts and checks large bodies without buffering them.

use super::http_response::json_response;
use bytes::Bytes;
use h2::server::SendResponse;
use h2::{Reason, RecvStream};
use http::{HeaderMap, HeaderName, HeaderValue, Response};
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

/// What the provider does with each body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Plan {
    /// Reads to the end, and responds with 200.
    Read,
    /// Reads `after` bytes, responds with `status`, and continues to read.
    Respond { after: u64, status: u16 },
    /// Reads `after` bytes, and closes the connection or resets the stream.
    Break { after: u64 },
}

pub struct UploadProvider {
    pub address: SocketAddr,
    uploads: Arc<Mutex<Vec<Upload>>>,
    open: watch::Sender<bool>,
}

/// A body, as far as it was received.
#[derive(Clone, Debug, Default)]
pub struct Upload {
    pub headers: HeaderMap,
    pub bytes: u64,
    /// Whether each byte is that of [`pattern`].
    pub is_intact: bool,
    /// Whether the body is complete according to its framing.
    pub is_complete: bool,
    /// Whether no more of the body will be received.
    pub has_ended: bool,
}

/// The period of the pattern, a prime, so that no piece is equal to another.
const PERIOD: u64 = 251;

/// The bytes of an endless pattern from offset `at`.
pub fn pattern(at: u64, bytes: usize) -> Bytes {
    static PATTERN: std::sync::LazyLock<Bytes> =
        std::sync::LazyLock::new(|| (0..2 << 20).map(|at: u64| (at % PERIOD) as u8).collect());
    let from = (at % PERIOD) as usize;
    PATTERN.slice(from..from + bytes)
}

impl UploadProvider {
    pub async fn http1(plan: Plan) -> Self {
        Self::start(plan, false).await
    }

    pub async fn http2(plan: Plan) -> Self {
        Self::start(plan, true).await
    }

    async fn start(plan: Plan, is_http2: bool) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let provider = Self {
            address: listener.local_addr().unwrap(),
            uploads: Arc::default(),
            open: watch::channel(true).0,
        };
        let (uploads, open) = (provider.uploads.clone(), provider.open.subscribe());
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let receiver = Receiver {
                    plan,
                    uploads: uploads.clone(),
                    open: open.clone(),
                };
                match is_http2 {
                    false => drop(tokio::spawn(serve_http1(stream, receiver))),
                    true => drop(tokio::spawn(serve_http2(stream, receiver))),
                }
            }
        });
        provider
    }

    pub fn url(&self) -> String {
        format!("http://{}/v1", self.address)
    }

    /// Sets whether bodies are read; if not, they stay in the sockets.
    pub fn read(&self, reads: bool) {
        self.open.send_replace(reads);
    }

    pub fn uploads(&self) -> Vec<Upload> {
        self.uploads.lock().unwrap().clone()
    }
}

#[derive(Clone)]
struct Receiver {
    plan: Plan,
    uploads: Arc<Mutex<Vec<Upload>>>,
    open: watch::Receiver<bool>,
}

/// The body that a [`Receiver`] receives.
struct Receiving {
    receiver: Receiver,
    index: usize,
    has_responded: bool,
}

impl Receiver {
    fn begin(&self, headers: HeaderMap) -> Receiving {
        let mut uploads = self.uploads.lock().unwrap();
        uploads.push(Upload {
            headers,
            is_intact: true,
            ..Upload::default()
        });
        Receiving {
            receiver: self.clone(),
            index: uploads.len() - 1,
            has_responded: false,
        }
    }
}

impl Receiving {
    async fn wait(&mut self) {
        self.receiver.open.wait_for(|open| *open).await.unwrap();
    }

    fn take(&self, piece: &[u8]) -> u64 {
        self.with(|upload| {
            upload.is_intact &= pattern(upload.bytes, piece.len()) == piece;
            upload.bytes += piece.len() as u64;
            upload.bytes
        })
    }

    fn end(&self, is_complete: bool) {
        self.with(|upload| {
            upload.is_complete = is_complete;
            upload.has_ended = true;
        });
    }

    /// The status that is due after this many bytes.
    fn early_status(&mut self, bytes: u64) -> Option<u16> {
        let Plan::Respond { after, status } = self.receiver.plan else {
            return None;
        };
        let is_due = bytes >= after && !self.has_responded;
        self.has_responded |= is_due;
        is_due.then_some(status)
    }

    fn breaks(&self, bytes: u64) -> bool {
        matches!(self.receiver.plan, Plan::Break { after } if bytes >= after)
    }

    fn with<T>(&self, change: impl FnOnce(&mut Upload) -> T) -> T {
        change(&mut self.receiver.uploads.lock().unwrap()[self.index])
    }
}

async fn serve_http1(stream: TcpStream, receiver: Receiver) {
    let mut stream = BufReader::with_capacity(64 << 10, stream);
    while let Some(headers) = read_head(&mut stream).await {
        let mut receiving = receiver.begin(headers.clone());
        let is_complete = read_body(&mut stream, &headers, &mut receiving).await;
        receiving.end(is_complete.is_some());
        if is_complete.is_none() || receiving.breaks(u64::MAX) {
            return;
        }
        if !receiving.has_responded && respond(&mut stream, 200).await.is_none() {
            return;
        }
    }
}

async fn read_head(stream: &mut BufReader<TcpStream>) -> Option<HeaderMap> {
    let mut headers = HeaderMap::new();
    let mut is_first = true;
    loop {
        let mut line = String::new();
        if stream.read_line(&mut line).await.ok()? == 0 {
            return None;
        }
        match line.trim_end().split_once(": ") {
            _ if std::mem::take(&mut is_first) => {}
            Some((name, value)) => {
                let name: HeaderName = name.parse().unwrap();
                headers.append(name, HeaderValue::from_str(value).unwrap());
            }
            None => return Some(headers),
        }
    }
}

/// `None` if the body ended early, or the plan is to break it off.
async fn read_body(
    stream: &mut BufReader<TcpStream>,
    headers: &HeaderMap,
    receiving: &mut Receiving,
) -> Option<()> {
    let length = headers.get("content-length");
    if let Some(length) = length {
        let length = length.to_str().unwrap().parse().unwrap();
        return read_exactly(stream, length, receiving).await;
    }
    assert_eq!(headers["transfer-encoding"], "chunked");
    loop {
        let mut line = String::new();
        stream.read_line(&mut line).await.ok()?;
        let size = u64::from_str_radix(line.trim_end(), 16).ok()?;
        read_exactly(stream, size, receiving).await?;
        let mut end = [0; 2];
        stream.read_exact(&mut end).await.ok()?;
        if size == 0 {
            return Some(());
        }
    }
}

async fn read_exactly(
    stream: &mut BufReader<TcpStream>,
    mut left: u64,
    receiving: &mut Receiving,
) -> Option<()> {
    while left > 0 {
        receiving.wait().await;
        let piece = stream.fill_buf().await.ok()?;
        if piece.is_empty() {
            return None;
        }
        let taken = piece.len().min(usize::try_from(left).unwrap());
        let bytes = receiving.take(&piece[..taken]);
        stream.consume(taken);
        left -= taken as u64;
        if receiving.breaks(bytes) {
            return None;
        }
        if let Some(status) = receiving.early_status(bytes) {
            respond(stream, status).await?;
        }
    }
    Some(())
}

async fn respond(stream: &mut BufReader<TcpStream>, status: u16) -> Option<()> {
    let response = json_response(status, "{}");
    stream.write_all(&response).await.ok()
}

async fn serve_http2(stream: TcpStream, receiver: Receiver) {
    let mut connection = h2::server::handshake(stream).await.unwrap();
    while let Some(Ok((request, response))) = connection.accept().await {
        let (head, body) = request.into_parts();
        tokio::spawn(receive(receiver.begin(head.headers), body, response));
    }
}

async fn receive(
    mut receiving: Receiving,
    mut body: RecvStream,
    mut response: SendResponse<Bytes>,
) {
    let mut bytes = 0;
    loop {
        receiving.wait().await;
        match body.data().await {
            Some(Ok(piece)) => {
                bytes = receiving.take(&piece);
                let _ = body.flow_control().release_capacity(piece.len());
            }
            Some(Err(_)) => return receiving.end(false),
            None => break,
        }
        if receiving.breaks(bytes) {
            receiving.end(false);
            return response.send_reset(Reason::INTERNAL_ERROR);
        }
        if let Some(status) = receiving.early_status(bytes) {
            respond_http2(&mut response, status);
        }
    }
    receiving.end(true);
    if receiving.early_status(bytes).is_none() && !receiving.has_responded {
        respond_http2(&mut response, 200);
    }
}

fn respond_http2(response: &mut SendResponse<Bytes>, status: u16) {
    let head = Response::builder()
        .status(status)
        .header("content-type", "application/json")
        .body(())
        .unwrap();
    if let Ok(mut stream) = response.send_response(head, false) {
        let _ = stream.send_data(Bytes::from_static(b"{}"), true);
    }
}
