//! Downloads the media that creates name by URLs of a media store on this machine, and records what came.

use super::json::{JsonText, object};
use http::{Request, Uri, header};
use http_body_util::{BodyExt, Empty};
use hyper::body::{Bytes, Incoming};
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use serde_json::Value;
use sha2::{Digest, Sha256};
use std::error::Error;
use std::fmt::Write;
use std::sync::{Arc, Mutex, PoisonError};
use tokio::net::TcpStream;

/// What the paths or queries of a media store's URLs contain: those of the gateway, and presigned ones of S3. Other URLs
/// are not opened, so that tests can count the connections of others to them.
const STORE_MARKS: [&str; 2] = ["/_headgate/media/", "X-Amz-Signature="];
/// The hosts of this machine.
const LOOPBACK: [&str; 3] = ["127.0.0.1", "localhost", "[::1]"];

/// All downloads so far.
#[derive(Default)]
pub struct InputMediaDownloadLog(Mutex<Vec<FinishedInputDownload>>);

/// A finished download.
struct FinishedInputDownload {
    url: String,
    outcome: Result<DownloadedInputSummary, String>,
}

struct DownloadedInputSummary {
    status: u16,
    content_type: String,
    bytes: u64,
    sha256: String,
}

impl InputMediaDownloadLog {
    /// Downloads the media that a create names, in the background.
    pub fn start(self: &Arc<Self>, create: &Value) {
        let mut urls = Vec::new();
        collect_urls(create, &mut urls);
        for url in urls {
            let downloads = self.clone();
            tokio::spawn(async move {
                let outcome = download(&url).await.map_err(|error| error.to_string());
                let mut list = downloads.0.lock().unwrap_or_else(PoisonError::into_inner);
                list.push(FinishedInputDownload { url, outcome });
            });
        }
    }

    /// All finished downloads as a JSON array, in the order in which they finished.
    pub fn json(&self) -> JsonText {
        let downloads = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let records: Vec<_> = downloads.iter().map(FinishedInputDownload::json).collect();
        JsonText::serialize(&records)
    }
}

impl FinishedInputDownload {
    fn json(&self) -> JsonText {
        match &self.outcome {
            Ok(file) => object! {
                "url": self.url, "status": file.status, "content_type": file.content_type,
                "bytes": file.bytes, "sha256": file.sha256,
            },
            Err(error) => object! {"url": self.url, "error": error},
        }
    }
}

fn collect_urls(value: &Value, urls: &mut Vec<String>) {
    match value {
        Value::String(text) if is_of_a_store(text) => urls.push(text.clone()),
        Value::Array(elements) => elements.iter().for_each(|one| collect_urls(one, urls)),
        Value::Object(members) => members.values().for_each(|one| collect_urls(one, urls)),
        Value::String(_) | Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

fn is_of_a_store(text: &str) -> bool {
    let is_marked = STORE_MARKS.iter().any(|mark| text.contains(mark));
    let host = text.parse::<Uri>().ok().filter(|_| is_marked);
    let host = host.and_then(|uri| uri.host().map(str::to_owned));
    host.is_some_and(|host| LOOPBACK.contains(&&*host))
}

async fn download(url: &str) -> Result<DownloadedInputSummary, Box<dyn Error + Send + Sync>> {
    let uri: Uri = url.parse()?;
    let authority = uri.authority().ok_or("the URL has no host")?;
    let address = (
        authority.host().trim_matches(['[', ']']),
        authority.port_u16().unwrap_or(80),
    );
    let stream = TcpStream::connect(address).await?;
    let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await?;
    tokio::spawn(connection);
    let path = uri.path_and_query().map_or("/", |path| path.as_str());
    let request = Request::get(path).header(header::HOST, authority.as_str());
    let response = sender
        .send_request(request.body(Empty::<Bytes>::new())?)
        .await?;
    let status = response.status().as_u16();
    let content_type = response.headers().get(header::CONTENT_TYPE);
    let content_type = content_type.and_then(|value| value.to_str().ok());
    let content_type = content_type.unwrap_or_default().to_owned();
    let (bytes, sha256) = hash(response.into_body()).await?;
    Ok(DownloadedInputSummary {
        status,
        content_type,
        bytes,
        sha256,
    })
}

/// The length and the SHA-256 of a body, which may be large.
async fn hash(mut body: Incoming) -> Result<(u64, String), hyper::Error> {
    let (mut hasher, mut bytes) = (Sha256::new(), 0);
    while let Some(frame) = body.frame().await {
        if let Ok(data) = frame?.into_data() {
            bytes += data.len() as u64;
            hasher.update(&data);
        }
    }
    let mut hex = String::new();
    for byte in hasher.finalize() {
        write!(hex, "{byte:02x}").expect("writing to a string cannot fail");
    }
    Ok((bytes, hex))
}
