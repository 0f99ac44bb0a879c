//! Tunnels by HTTP CONNECT (RFC 9110, section 9.3.6).

use super::{TunnelError, TunnelTarget};
use headgate_core::catalog::outbound_proxy::OutboundProxy;
use http::StatusCode;
use memchr::memmem;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};

/// Maximum number of bytes of the head of the proxy's response.
const HEAD_BYTES_MAX: usize = 16 << 10;

/// Turns a connection to the proxy into one to the target.
pub(super) async fn open<S>(
    stream: &mut S,
    proxy: &OutboundProxy,
    target: &TunnelTarget,
) -> Result<(), TunnelError>
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    let TunnelTarget { host, port } = target;
    let authority = match host.contains(':') {
        true => format!("[{host}]:{port}"),
        false => format!("{host}:{port}"),
    };
    let mut request = format!("CONNECT {authority} HTTP/1.1\r\nHost: {authority}\r\n");
    if let Some(credential) = proxy.basic_authorization() {
        request += &format!("Proxy-Authorization: {credential}\r\n");
    }
    request += "\r\n";
    stream.write_all(request.as_bytes()).await?;
    let head = read_head(stream).await?;
    let status = status(&head)?;
    match status.is_success() {
        true => Ok(()),
        // The phrase is the proxy's own text, which may be anything.
        false => Err(TunnelError::Refused(status.to_string())),
    }
}

/// The head of the response; what follows it would be the server's, which does not speak first.
async fn read_head<S: AsyncRead + Unpin>(stream: &mut S) -> Result<Vec<u8>, TunnelError> {
    let mut head = Vec::with_capacity(512);
    loop {
        if stream.read_buf(&mut head).await? == 0 {
            let closed = std::io::ErrorKind::UnexpectedEof;
            return Err(std::io::Error::new(closed, "it closed the connection").into());
        }
        match memmem::find(&head, b"\r\n\r\n") {
            Some(end) if is_refusal(&head) || end + 4 == head.len() => return Ok(head),
            Some(_) => return Err(TunnelError::Malformed("bytes after its response")),
            None if head.len() > HEAD_BYTES_MAX => {
                return Err(TunnelError::Malformed("its response has no end"));
            }
            None => {}
        }
    }
}

/// A refusal may have a body, which is not read.
fn is_refusal(head: &[u8]) -> bool {
    status(head).is_ok_and(|status| !status.is_success())
}

fn status(head: &[u8]) -> Result<StatusCode, TunnelError> {
    let malformed = || TunnelError::Malformed("its response is not HTTP/1.1");
    let digits = head.strip_prefix(b"HTTP/1.").and_then(|rest| match rest {
        [b'0' | b'1', b' ', digits @ ..] => digits.get(..3),
        _ => None,
    });
    let ends_word = matches!(head.get(12), Some(b' ' | b'\r'));
    let digits = digits.filter(|_| ends_word).ok_or_else(malformed)?;
    StatusCode::from_bytes(digits).map_err(|_| malformed())
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::duplex;

    /// Opens a tunnel with a proxy that sends these bytes and closes; returns what the proxy received.
    async fn opened(proxy: &str, host: &str, response: &[u8]) -> (Result<(), TunnelError>, String) {
        let proxy = OutboundProxy::parse(proxy).unwrap();
        let target = TunnelTarget {
            host: host.into(),
            port: 443,
        };
        let (mut near, mut far) = duplex(64 << 10);
        far.write_all(response).await.unwrap();
        far.shutdown().await.unwrap();
        let result = open(&mut near, &proxy, &target).await;
        drop(near);
        let mut received = String::new();
        far.read_to_string(&mut received).await.unwrap();
        (result, received)
    }

    #[tokio::test]
    async fn the_request_names_the_server_and_has_the_credential() {
        let response = b"HTTP/1.0 200 Connection established\r\nVia: p\r\n\r\n";
        let (result, sent) = opened("http://u:p@proxy:1", "x.example", response).await;
        assert!(result.is_ok(), "{result:?}");
        assert_eq!(
            sent,
            "CONNECT x.example:443 HTTP/1.1\r\nHost: x.example:443\r\nProxy-Authorization: Basic dTpw\r\n\r\n"
        );
        let (result, sent) = opened("http://proxy:1", "2001:db8::1", response).await;
        assert!(result.is_ok(), "{result:?}");
        assert_eq!(
            sent,
            "CONNECT [2001:db8::1]:443 HTTP/1.1\r\nHost: [2001:db8::1]:443\r\n\r\n"
        );
    }

    #[tokio::test]
    async fn anything_but_a_success_makes_no_tunnel() {
        let endless = [b"HTTP/1.1 200 OK\r\na: ".to_vec(), vec![b'b'; 20 << 10]].concat();
        for (response, words) in [
            (
                &b"HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 4\r\n\r\nbody"[..],
                "refused: 407 Proxy Authentication Required",
            ),
            (b"HTTP/1.1 403 \x1b[31mNo\r\n\r\n", "refused: 403 Forbidden"),
            (
                b"HTTP/1.1 502 Bad Gateway\r\n\r\n",
                "refused: 502 Bad Gateway",
            ),
            (b"HTTP/1.1 100 Continue\r\n\r\n", "refused: 100 Continue"),
            (b"", "closed the connection"),
            (b"HTTP/1.1 200 OK\r\n", "closed the connection"),
            (b"HTTP/2 200 OK\r\n\r\n", "not HTTP/1.1"),
            (b"SSH-2.0-OpenSSH\r\n\r\n", "not HTTP/1.1"),
            (b"HTTP/1.1 2000 OK\r\n\r\n", "not HTTP/1.1"),
            (
                b"HTTP/1.1 200 OK\r\n\r\nHTTP/1.1 200 OK",
                "bytes after its response",
            ),
            (&endless, "no end"),
        ] {
            let (result, _) = opened("http://proxy:1", "x.example", response).await;
            let error = result.unwrap_err().to_string();
            assert!(error.contains(words), "{error}");
        }
    }
}
