//! A gateway with a route that streams bodies, a provider that checks them, and callers with HTTP/1.1 or HTTP/2.

use super::certificates::Authority;
use super::gateway::folder_with_schemas;
use super::request::ANN;
use super::upload_provider::{Plan, Upload, UploadProvider, pattern};
use super::{Connection, Gateway, Http2, Request, WholeResponse, config, eventually};
use bytes::Bytes;
use h2::SendStream;
use serde_json::{Value, json};
use std::future::poll_fn;
use std::ops::Range;

pub const MIB: u64 = 1 << 20;
pub const PIECE: usize = 64 << 10;

/// How the caller sends its body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Caller {
    Declared,
    Chunked,
    Http2,
}

pub const CALLERS: [Caller; 3] = [Caller::Declared, Caller::Chunked, Caller::Http2];

pub struct UploadWorld {
    pub provider: UploadProvider,
    pub gateway: Gateway,
    authority: Authority,
}

impl UploadWorld {
    pub async fn start(
        provider: UploadProvider,
        http: &str,
        change: impl FnOnce(&mut Value),
    ) -> Self {
        let (folder, authority) = (folder_with_schemas(), Authority::new());
        let mut config = config::standard(&provider.url());
        config["channels"]["openai"]["http"] = http.into();
        config::without_cool_downs(&mut config);
        config["routes"].as_array_mut().unwrap().push(json!({
            "name": "uploads",
            "match": "POST /v1/uploads",
            "request": ["authenticate", {"limit_body": "2GiB"}, "first_channel"],
        }));
        change(&mut config);
        if config["server"]["tls"] == json!(true) {
            config["server"]["tls"] = authority.server().write(&folder, "server");
        }
        Self {
            gateway: Gateway::start_in(folder, &config.to_string()).await,
            provider,
            authority,
        }
    }

    /// Starts a provider with one version of HTTP, and a gateway for callers with another.
    pub async fn between(caller: Caller, is_http2: bool, plan: Plan) -> Self {
        let (provider, http) = match is_http2 {
            false => (UploadProvider::http1(plan).await, "http1"),
            true => (UploadProvider::http2(plan).await, "http2"),
        };
        Self::start(provider, http, |config| {
            if caller == Caller::Http2 {
                config["server"]["tls"] = true.into();
            }
        })
        .await
    }

    pub async fn upload(&self, caller: Caller, bytes: u64) -> WholeResponse {
        match caller {
            Caller::Declared => self.upload_http1(Some(bytes), bytes).await,
            Caller::Chunked => self.upload_http1(None, bytes).await,
            Caller::Http2 => self.upload_http2(bytes).await,
        }
    }

    async fn upload_http1(&self, declared: Option<u64>, bytes: u64) -> WholeResponse {
        let mut connection = self.gateway.connect().await;
        connection.send(head(declared).as_bytes()).await.unwrap();
        // A refusal may close the connection before the body is written.
        let _ = write(&mut connection, declared.is_none(), 0..bytes).await;
        if declared.is_none() {
            let _ = connection.send(b"0\r\n\r\n").await;
        }
        connection.answer().await.expect("a response")
    }

    async fn upload_http2(&self, bytes: u64) -> WholeResponse {
        let address = self.gateway.address;
        let stream = self.authority.connect(address, &["h2"], None).await;
        let connection = Http2::over(stream.unwrap()).await;
        let request = Request::new("POST", "/v1/uploads");
        let mut waiting = connection.send_head(&request).await;
        write_http2(waiting.body(), 0..bytes).await;
        waiting.reply().await.rest().await.0
    }

    /// The only upload, once it has ended.
    pub async fn received(&self) -> Upload {
        let ended = async || match &self.provider.uploads()[..] {
            [upload] if upload.has_ended => Some(upload.clone()),
            _ => None,
        };
        eventually("one upload's end", ended).await
    }
}

/// The head of an upload with HTTP/1.1.
pub fn head(declared: Option<u64>) -> String {
    let framing = match declared {
        Some(bytes) => format!("Content-Length: {bytes}"),
        None => "Transfer-Encoding: chunked".into(),
    };
    format!(
        "POST /v1/uploads HTTP/1.1\r\nHost: gate.test\r\nAuthorization: Bearer {ANN}\r\n\
         Content-Type: application/octet-stream\r\n{framing}\r\n\r\n"
    )
}

/// Writes a range of the body.
pub async fn write(
    connection: &mut Connection,
    chunked: bool,
    range: Range<u64>,
) -> std::io::Result<()> {
    let mut at = range.start;
    while at < range.end {
        let piece = next_piece(at, range.end);
        at += piece.len() as u64;
        if chunked {
            let size = format!("{:x}\r\n", piece.len());
            connection.send(size.as_bytes()).await?;
        }
        connection.send(&piece).await?;
        if chunked {
            connection.send(b"\r\n").await?;
        }
    }
    Ok(())
}

async fn write_http2(stream: &mut SendStream<Bytes>, range: Range<u64>) {
    let mut at = range.start;
    while at < range.end {
        let mut piece = next_piece(at, range.end);
        at += piece.len() as u64;
        while !piece.is_empty() {
            stream.reserve_capacity(piece.len());
            let Some(Ok(room)) = poll_fn(|context| stream.poll_capacity(context)).await else {
                return;
            };
            let part = piece.split_to(room.min(piece.len()));
            let ends = piece.is_empty() && at == range.end;
            if stream.send_data(part, ends).is_err() {
                return;
            }
        }
    }
}

fn next_piece(at: u64, end: u64) -> Bytes {
    let left = usize::try_from(end - at).unwrap();
    pattern(at, left.min(PIECE))
}
