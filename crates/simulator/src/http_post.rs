//! Sends a POST in plain HTTP/1.1, each on a new connection.

use bytes::Bytes;
use http::{Request, Uri, header};
use http_body_util::{BodyExt, Full, Limited};
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use std::error::Error;
use std::time::Duration;
use tokio::net::TcpStream;
use tokio::time::timeout;

/// How long a receiver may take.
const WITHIN: Duration = Duration::from_secs(5);

/// The longest body of a response that is read, in bytes.
const REPLY_BYTES_MAX: usize = 64 << 10;

/// A header of a callback.
pub type CallbackHeader = (&'static str, String);

/// The response of a receiver.
pub struct CallbackReply {
    pub is_success: bool,
    pub body: Bytes,
}

/// Sends JSON with `headers` to `url`; `None` if there is no response.
pub async fn post(url: &str, headers: &[CallbackHeader], body: Bytes) -> Option<CallbackReply> {
    timeout(WITHIN, send(url, headers, body)).await.ok()?.ok()
}

async fn send(
    url: &str,
    headers: &[CallbackHeader],
    body: Bytes,
) -> Result<CallbackReply, Box<dyn Error + Send + Sync>> {
    let uri: Uri = url.parse()?;
    let authority = uri.authority().ok_or("no host")?.clone();
    let stream = TcpStream::connect((authority.host(), authority.port_u16().unwrap_or(80))).await?;
    let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await?;
    tokio::spawn(connection);
    let path = uri.path_and_query().map_or("/", |path| path.as_str());
    let mut request = Request::post(path)
        .header(header::HOST, authority.as_str())
        .header(header::CONTENT_TYPE, "application/json");
    for (name, value) in headers {
        request = request.header(*name, value);
    }
    let response = sender.send_request(request.body(Full::new(body))?).await?;
    Ok(CallbackReply {
        is_success: response.status().is_success(),
        body: Limited::new(response.into_body(), REPLY_BYTES_MAX)
            .collect()
            .await?
            .to_bytes(),
    })
}
