//! Reads the PROXY protocol header, version 1 or 2, with which a load balancer begins each connection.

use headgate_core::catalog::client_address::ClientAddressResolver;
use proxy_header::{Error, ParseConfig, ProxyHeader};
use std::io;
use std::net::SocketAddr;
use tokio::io::AsyncReadExt;
use tokio::net::TcpStream;

/// A version 1 header has at most 107 bytes; load balancers send a few hundred in version 2.
const HEADER_BYTES_MAX: usize = 4 << 10;
/// Number of bytes that are peeked at a time.
const LOOK: usize = 512;
const VERSION_1: &[u8] = b"PROXY ";
const VERSION_2: &[u8] = b"\r\n\r\n\0\r\nQUIT\n";
const CONFIG: ParseConfig = ParseConfig {
    include_tlvs: false,
    allow_v1: true,
    allow_v2: true,
};

/// Why a connection is closed before its first request.
#[derive(Debug, thiserror::Error)]
pub(super) enum ProxyProtocolError {
    #[error("the peer is not among `server.client_address.trusted_proxies`")]
    Untrusted,
    #[error("the connection does not begin with a PROXY header")]
    NoHeader,
    #[error("the PROXY header is malformed")]
    Malformed,
    #[error("the PROXY header has more than {HEADER_BYTES_MAX} bytes")]
    TooLong,
    #[error("the connection was closed before the PROXY header was complete")]
    Cut(#[from] io::Error),
}

/// Reads exactly the header, and returns the client address in it. A header without an address (`LOCAL`, `UNKNOWN`)
/// belongs to a connection that the load balancer opened for itself; the result is then the peer's address.
///
/// # Errors
/// The header is missing, malformed or too long, or the peer is not trusted.
pub(super) async fn read_client(
    stream: &mut TcpStream,
    addresses: &ClientAddressResolver,
) -> Result<SocketAddr, ProxyProtocolError> {
    let peer = stream.peer_addr()?;
    if !addresses.is_trusted(peer.ip()) {
        return Err(ProxyProtocolError::Untrusted);
    }
    let mut header = Vec::new();
    loop {
        let received = header.len();
        header.resize(received + LOOK, 0);
        let seen = stream.peek(&mut header[received..]).await?;
        if seen == 0 {
            return Err(io::Error::from(io::ErrorKind::UnexpectedEof).into());
        }
        header.truncate(received + seen);
        let parsed = parse(&header)?;
        let end = parsed.as_ref().map_or(header.len(), |(_, end)| *end);
        // `peek` has returned these bytes, so that they can be read without a wait.
        stream.read_exact(&mut header[received..end]).await?;
        if let Some((client, _)) = parsed {
            return Ok(client.unwrap_or(peer));
        }
        if header.len() >= HEADER_BYTES_MAX {
            return Err(ProxyProtocolError::TooLong);
        }
    }
}

/// The client address in a header and the header's length; `None` if the header is incomplete.
fn parse(begin: &[u8]) -> Result<Option<(Option<SocketAddr>, usize)>, ProxyProtocolError> {
    let begins_as = |version: &[u8]| {
        let bytes = version.len().min(begin.len());
        begin[..bytes] == version[..bytes]
    };
    if !begins_as(VERSION_1) && !begins_as(VERSION_2) {
        return Err(ProxyProtocolError::NoHeader);
    }
    match ProxyHeader::parse(begin, CONFIG) {
        Ok((header, end)) => {
            let client = header.proxied_address().map(|proxied| proxied.source);
            Ok(Some((client, end)))
        }
        Err(Error::BufferTooShort) => Ok(None),
        Err(_) => Err(ProxyProtocolError::Malformed),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A version 2 header with this command, family and rest.
    fn version_2(command: u8, family: u8, rest: &[u8]) -> Vec<u8> {
        let length = u16::try_from(rest.len()).unwrap().to_be_bytes();
        [VERSION_2, &[command, family], &length, rest].concat()
    }

    fn client(header: &[u8]) -> Result<Option<(Option<SocketAddr>, usize)>, String> {
        parse(header).map_err(|error| error.to_string())
    }

    const V4: &[u8] = &[203, 0, 113, 7, 10, 0, 0, 1, 0x12, 0x67, 0x1f, 0x90];
    const V6: &[u8] = &[
        0x20, 1, 0xd, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 7, 0xfd, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
        0, 0, 0, 0, 1, 0x12, 0x67, 0x1f, 0x90,
    ];

    #[test]
    fn a_proxy_header_is_parsed_to_its_client_and_its_length() {
        let tlvs = [V4, &[0x01, 0, 2, b'h', b'2', 0x04, 0, 1, 0]].concat();
        for (header, expected) in [
            (
                b"PROXY TCP4 203.0.113.7 10.0.0.1 4711 8080\r\n".to_vec(),
                Some("203.0.113.7:4711"),
            ),
            (
                b"PROXY TCP6 2001:db8::7 fd00::1 4711 8080\r\n".to_vec(),
                Some("[2001:db8::7]:4711"),
            ),
            (b"PROXY UNKNOWN\r\n".to_vec(), None),
            (b"PROXY UNKNOWN ::1 ::1 1 2\r\n".to_vec(), None),
            (version_2(0x21, 0x11, V4), Some("203.0.113.7:4711")),
            (version_2(0x21, 0x21, V6), Some("[2001:db8::7]:4711")),
            (version_2(0x21, 0x11, &tlvs), Some("203.0.113.7:4711")),
            (version_2(0x20, 0x11, V4), None),
            (version_2(0x20, 0x00, &[]), None),
            (version_2(0x21, 0x00, &[1, 2, 3]), None),
        ] {
            let expected = expected.map(|text| text.parse().unwrap());
            let with_request = [&header[..], b"GET / HTTP/1.1\r\n"].concat();
            let found = client(&with_request);
            assert_eq!(found, Ok(Some((expected, header.len()))), "{header:?}");
            for end in 1..header.len() {
                assert_eq!(client(&header[..end]), Ok(None), "{:?}", &header[..end]);
            }
        }
    }

    #[test]
    fn malformed_proxy_headers_are_refused() {
        let long = [&b"PROXY TCP4 "[..], &[b'1'; 200]].concat();
        for header in [
            &b"GET / HTTP/1.1\r\nhost: gate\r\n\r\n"[..],
            b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
            b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\x00\x00\x00\x00\x00",
            b"proxy TCP4 203.0.113.7 10.0.0.1 4711 8080\r\n",
            b"PROXYXTCP4 203.0.113.7 10.0.0.1 4711 8080\r\n",
            b"PROXY TCP5 203.0.113.7 10.0.0.1 4711 8080\r\n",
            b"PROXY TCP4 2001:db8::7 10.0.0.1 4711 8080\r\n",
            b"PROXY TCP4 203.0.113.7 10.0.0.1 4711 80800\r\n",
            b"PROXY TCP4 203.0.113.7 10.0.0.1 4711 8080\rX",
            &long,
            &version_2(0x31, 0x11, V4),
            &version_2(0x22, 0x11, V4),
            &version_2(0x21, 0x51, V4),
            &[version_2(0x21, 0x11, &V4[..8]), b"GET / HTTP/1.1".to_vec()].concat(),
        ] {
            assert!(client(header).is_err(), "{header:?}");
        }
    }
}
