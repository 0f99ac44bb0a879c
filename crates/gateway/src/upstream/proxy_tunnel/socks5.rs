//! Tunnels by SOCKS5 (RFC 1928), with a user and a password (RFC 1929) if the proxy has them.

use super::{TunnelError, TunnelTarget};
use headgate_core::catalog::outbound_proxy::{OutboundProxy, OutboundProxyCredential};
use std::net::IpAddr;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};

const VERSION: u8 = 5;
const NO_AUTHENTICATION: u8 = 0;
const USER_AND_PASSWORD: u8 = 2;
/// The version of the exchange of user and password.
const PASSWORD_VERSION: u8 = 1;
const CONNECT: u8 = 1;
const IPV4: u8 = 1;
const NAME: u8 = 3;
const IPV6: u8 = 4;

/// Turns a connection to the proxy into one to the target.
pub(super) async fn open<S>(
    stream: &mut S,
    proxy: &OutboundProxy,
    target: &TunnelTarget,
) -> Result<(), TunnelError>
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    authenticate(stream, proxy.credential.as_ref()).await?;
    stream.write_all(&request(target)?).await?;
    read_reply(stream).await
}

async fn authenticate<S>(
    stream: &mut S,
    credential: Option<&OutboundProxyCredential>,
) -> Result<(), TunnelError>
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    let methods: &[u8] = match credential {
        None => &[VERSION, 1, NO_AUTHENTICATION],
        Some(_) => &[VERSION, 2, NO_AUTHENTICATION, USER_AND_PASSWORD],
    };
    stream.write_all(methods).await?;
    let [version, method] = read(stream).await?;
    if version != VERSION {
        return Err(TunnelError::Malformed("its response is not SOCKS5"));
    }
    match (method, credential) {
        (NO_AUTHENTICATION, _) => return Ok(()),
        (USER_AND_PASSWORD, Some(OutboundProxyCredential { user, password })) => {
            let mut sent = vec![PASSWORD_VERSION];
            for part in [user, password] {
                sent.push(length(part.len())?);
                sent.extend_from_slice(part.as_bytes());
            }
            stream.write_all(&sent).await?;
        }
        (_, None) => return Err(TunnelError::Refused("it wants a credential".into())),
        (_, Some(_)) => {
            return Err(TunnelError::Refused("it takes no user and password".into()));
        }
    }
    match read(stream).await? {
        [_, 0] => Ok(()),
        [_, _] => Err(TunnelError::Refused("user and password".into())),
    }
}

fn request(target: &TunnelTarget) -> Result<Vec<u8>, TunnelError> {
    let mut request = vec![VERSION, CONNECT, 0];
    match target.host.parse::<IpAddr>() {
        Ok(IpAddr::V4(address)) => {
            request.push(IPV4);
            request.extend(address.octets());
        }
        Ok(IpAddr::V6(address)) => {
            request.push(IPV6);
            request.extend(address.octets());
        }
        Err(_) => {
            request.push(NAME);
            request.push(length(target.host.len())?);
            request.extend_from_slice(target.host.as_bytes());
        }
    }
    request.extend(target.port.to_be_bytes());
    Ok(request)
}

fn length(bytes: usize) -> Result<u8, TunnelError> {
    u8::try_from(bytes).map_err(|_| TunnelError::Malformed("a name has more than 255 bytes"))
}

/// Reads the reply to its last byte: what follows is the server's.
async fn read_reply<S: AsyncRead + Unpin>(stream: &mut S) -> Result<(), TunnelError> {
    let [version, status, _, kind] = read(stream).await?;
    if version != VERSION {
        return Err(TunnelError::Malformed("its response is not SOCKS5"));
    }
    if status != 0 {
        return Err(TunnelError::Refused(reason(status).into()));
    }
    let address = match kind {
        IPV4 => 4,
        IPV6 => 16,
        NAME => {
            let [bytes] = read(stream).await?;
            usize::from(bytes)
        }
        _ => return Err(TunnelError::Malformed("an unknown kind of address")),
    };
    let mut bound = [0; u8::MAX as usize + 2];
    stream.read_exact(&mut bound[..address + 2]).await?;
    Ok(())
}

fn reason(status: u8) -> &'static str {
    match status {
        1 => "general failure",
        2 => "its rules do not allow the connection",
        3 => "network unreachable",
        4 => "host unreachable",
        5 => "connection refused",
        6 => "time to live expired",
        7 => "command not supported",
        8 => "kind of address not supported",
        _ => "unknown error",
    }
}

async fn read<const BYTES: usize, S>(stream: &mut S) -> Result<[u8; BYTES], TunnelError>
where
    S: AsyncRead + Unpin,
{
    let mut bytes = [0; BYTES];
    stream.read_exact(&mut bytes).await?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::duplex;

    async fn opened(
        proxy: &str,
        host: &str,
        response: &[u8],
    ) -> (Result<(), TunnelError>, Vec<u8>) {
        let proxy = OutboundProxy::parse(proxy).unwrap();
        let target = TunnelTarget {
            host: host.into(),
            port: 443,
        };
        let (mut near, mut far) = duplex(64 << 10);
        far.write_all(response).await.unwrap();
        far.shutdown().await.unwrap();
        let result = open(&mut near, &proxy, &target).await;
        let mut rest = Vec::new();
        near.read_to_end(&mut rest).await.unwrap();
        assert!(
            result.is_err() || rest.is_empty() || rest == b"server",
            "{rest:?}"
        );
        drop(near);
        let mut received = Vec::new();
        far.read_to_end(&mut received).await.unwrap();
        (result, received)
    }

    #[tokio::test]
    async fn a_name_is_resolved_by_the_proxy_and_an_address_is_sent_as_it_is() {
        for (host, sent) in [
            ("x.example", &b"\x05\x01\x00\x03\x09x.example\x01\xbb"[..]),
            ("192.0.2.1", b"\x05\x01\x00\x01\xc0\x00\x02\x01\x01\xbb"),
            (
                "2001:db8::1",
                b"\x05\x01\x00\x04\x20\x01\x0d\xb8\0\0\0\0\0\0\0\0\0\0\0\x01\x01\xbb",
            ),
        ] {
            let response = b"\x05\x00\x05\x00\x00\x01\x7f\x00\x00\x01\x00\x50server";
            let (result, received) = opened("socks5://proxy:1", host, response).await;
            assert!(result.is_ok(), "{result:?}");
            assert_eq!(received, [b"\x05\x01\x00", sent].concat());
        }
    }

    #[tokio::test]
    async fn user_and_password_are_sent_if_the_proxy_wants_them() {
        let wanted = b"\x05\x02\x01\x00\x05\x00\x00\x03\x01p\x00\x50";
        let (result, received) = opened("socks5://u:pw@proxy:1", "a", wanted).await;
        assert!(result.is_ok(), "{result:?}");
        assert_eq!(
            received,
            b"\x05\x02\x00\x02\x01\x01u\x02pw\x05\x01\x00\x03\x01a\x01\xbb"
        );
        let unwanted = b"\x05\x00\x05\x00\x00\x04\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\x01\x00\x50";
        let (result, received) = opened("socks5://u:pw@proxy:1", "a", unwanted).await;
        assert!(result.is_ok(), "{result:?}");
        assert_eq!(received, b"\x05\x02\x00\x02\x05\x01\x00\x03\x01a\x01\xbb");
    }

    #[tokio::test]
    async fn anything_but_a_success_makes_no_tunnel() {
        for (proxy, response, words) in [
            ("socks5://proxy:1", &b"\x05\xff"[..], "wants a credential"),
            ("socks5://proxy:1", b"\x05\x02", "wants a credential"),
            (
                "socks5://u:p@proxy:1",
                b"\x05\xff",
                "takes no user and password",
            ),
            (
                "socks5://u:p@proxy:1",
                b"\x05\x02\x01\x01",
                "refused: user and password",
            ),
            (
                "socks5://proxy:1",
                b"\x05\x00\x05\x02\x00\x01",
                "rules do not allow",
            ),
            (
                "socks5://proxy:1",
                b"\x05\x00\x05\x05\x00\x01",
                "connection refused",
            ),
            (
                "socks5://proxy:1",
                b"\x05\x00\x05\x63\x00\x01",
                "unknown error",
            ),
            (
                "socks5://proxy:1",
                b"\x05\x00\x05\x00\x00\x07",
                "unknown kind of address",
            ),
            ("socks5://proxy:1", b"\x05\x00\x05\x00\x00\x01\x7f", "eof"),
            (
                "socks5://proxy:1",
                b"HTTP/1.1 400 Bad Request\r\n\r\n",
                "not SOCKS5",
            ),
            ("socks5://proxy:1", b"\x04\x5a", "not SOCKS5"),
            ("socks5://proxy:1", b"", "eof"),
        ] {
            let (result, _) = opened(proxy, "x.example", response).await;
            let error = result.unwrap_err().to_string();
            assert!(error.contains(words), "{response:?}: {error}");
        }
    }
}
