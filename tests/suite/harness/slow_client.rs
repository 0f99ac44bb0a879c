//! A provider that sends endless streams of events as fast as they are read, and counts the bytes.

use bytes::Bytes;
use std::future::poll_fn;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

pub struct Flood {
    pub address: SocketAddr,
    sent: Arc<AtomicU64>,
    open: Arc<AtomicU64>,
}

/// The version of HTTP that the provider speaks, without TLS and without negotiation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Version {
    Http1,
    Http2,
}

impl Flood {
    pub async fn start(version: Version) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let flood = Self {
            address: listener.local_addr().unwrap(),
            sent: Arc::default(),
            open: Arc::default(),
        };
        let (sent, open) = (flood.sent.clone(), flood.open.clone());
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let (sent, open) = (sent.clone(), open.clone());
                match version {
                    Version::Http1 => drop(tokio::spawn(serve_http1(stream, sent, open))),
                    Version::Http2 => drop(tokio::spawn(serve_http2(stream, sent, open))),
                }
            }
        });
        flood
    }

    pub fn url(&self) -> String {
        format!("http://{}/v1", self.address)
    }

    /// The bytes that were read from all streams.
    pub fn sent(&self) -> u64 {
        self.sent.load(Ordering::SeqCst)
    }

    /// The number of open streams.
    pub fn open(&self) -> u64 {
        self.open.load(Ordering::SeqCst)
    }
}

/// One event of 4 KiB.
fn event() -> Bytes {
    let text = "x".repeat(4 << 10);
    format!("data: {{\"choices\":[{{\"index\":0,\"delta\":{{\"content\":\"{text}\"}}}}]}}\n\n")
        .into()
}

async fn serve_http1(mut stream: TcpStream, sent: Arc<AtomicU64>, open: Arc<AtomicU64>) {
    let mut request = [0; 64 << 10];
    // The test's requests arrive in one piece.
    if !stream
        .read(&mut request)
        .await
        .is_ok_and(|length| length > 0)
    {
        return;
    }
    open.fetch_add(1, Ordering::SeqCst);
    let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n";
    let mut going = stream.write_all(head.as_bytes()).await.is_ok();
    let event = event();
    while going {
        going = stream.write_all(&event).await.is_ok();
        sent.fetch_add(event.len() as u64, Ordering::SeqCst);
    }
    open.fetch_sub(1, Ordering::SeqCst);
}

async fn serve_http2(stream: TcpStream, sent: Arc<AtomicU64>, open: Arc<AtomicU64>) {
    let mut connection = h2::server::handshake(stream).await.unwrap();
    while let Some(Ok((_, mut answer))) = connection.accept().await {
        let (sent, open) = (sent.clone(), open.clone());
        tokio::spawn(async move {
            let head = http::Response::builder().header("content-type", "text/event-stream");
            let mut stream = answer.send_response(head.body(()).unwrap(), false).unwrap();
            open.fetch_add(1, Ordering::SeqCst);
            let event = event();
            let mut rest = event.clone();
            loop {
                stream.reserve_capacity(rest.len());
                let Some(Ok(room)) = poll_fn(|context| stream.poll_capacity(context)).await else {
                    break;
                };
                let piece = rest.split_to(room.min(rest.len()));
                sent.fetch_add(piece.len() as u64, Ordering::SeqCst);
                if stream.send_data(piece, false).is_err() {
                    break;
                }
                if rest.is_empty() {
                    rest = event.clone();
                }
            }
            open.fetch_sub(1, Ordering::SeqCst);
        });
    }
}
