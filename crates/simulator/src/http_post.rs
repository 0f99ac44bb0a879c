//! Sends a POST in plain HTTP/1.1, each on a new connection.

use bytes::Bytes;
use http::{Request, Uri, header};
use http_body_util::Full;
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use std::error::Error;
use std::time::Duration;
use tokio::net::TcpStream;
use tokio::time::timeout;

/// How long a receiver may take.
const WITHIN: Duration = Duration::from_secs(5);

/// Sends JSON to `url`; returns whether the response is a success.
pub async fn post(url: &str, body: Bytes) -> bool {
    matches!(timeout(WITHIN, send(url, body)).await, Ok(Ok(true)))
}

async fn send(url: &str, body: Bytes) -> Result<bool, Box<dyn Error + Send + Sync>> {
    let uri: Uri = url.parse()?;
    let authority = uri.authority().ok_or("no host")?.clone();
    let stream = TcpStream::connect((authority.host(), authority.port_u16().unwrap_or(80))).await?;
    let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await?;
    tokio::spawn(connection);
    let path = uri.path_and_query().map_or("/", |path| path.as_str());
    let request = Request::post(path)
        .header(header::HOST, authority.as_str())
        .header(header::CONTENT_TYPE, "application/json")
        .body(Full::new(body))?;
    Ok(sender.send_request(request).await?.status().is_success())
}
