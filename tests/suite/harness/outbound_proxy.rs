//! A proxy between the gateway and servers: HTTP CONNECT and SOCKS5. It records what it was asked for.

use super::connection::find;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use tokio::io::{AsyncReadExt, AsyncWriteExt, copy_bidirectional};
use tokio::net::{TcpListener, TcpStream};

/// A proxy that leads every tunnel to one server.
pub struct RecordingProxy {
    pub address: SocketAddr,
    requests: Arc<Mutex<Vec<TunnelRequest>>>,
}

/// What a client wanted of a proxy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TunnelRequest {
    /// Such as `x.example:443`.
    pub target: String,
    /// User and password, with a colon between them.
    pub credential: Option<String>,
}

/// What a proxy does with a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProxyBehaviour {
    /// It makes a tunnel to the server, whatever the target is.
    Tunnel(SocketAddr),
    /// It responds with these bytes to CONNECT.
    Respond(&'static str),
    /// It refuses a SOCKS5 request with this code.
    RefuseSocks(u8),
    /// It wants a user and a password, and refuses them.
    RefuseCredential,
    Close,
    Hang,
}

impl RecordingProxy {
    pub async fn start(behaviour: ProxyBehaviour) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let requests: Arc<Mutex<Vec<TunnelRequest>>> = Arc::default();
        let shared = requests.clone();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let requests = shared.clone();
                tokio::spawn(async move { serve(stream, behaviour, &requests).await });
            }
        });
        Self { address, requests }
    }

    /// What clients wanted so far, one for each connection that named a target.
    pub fn requests(&self) -> Vec<TunnelRequest> {
        self.requests.lock().unwrap().clone()
    }

    pub fn targets(&self) -> Vec<String> {
        let requests = self.requests();
        requests.into_iter().map(|request| request.target).collect()
    }

    pub fn url(&self, scheme: &str, credential: &str) -> String {
        match credential {
            "" => format!("{scheme}://{}", self.address),
            credential => format!("{scheme}://{credential}@{}", self.address),
        }
    }
}

async fn serve(
    mut stream: TcpStream,
    behaviour: ProxyBehaviour,
    requests: &Mutex<Vec<TunnelRequest>>,
) -> Option<()> {
    if behaviour == ProxyBehaviour::Hang {
        let mut ignored = Vec::new();
        stream.read_to_end(&mut ignored).await.ok()?;
        return None;
    }
    let first = stream.read_u8().await.ok()?;
    let success = match first {
        5 => {
            let request = socks_request(&mut stream, behaviour).await?;
            requests.lock().unwrap().push(request);
            &b"\x05\x00\x00\x01\x00\x00\x00\x00\x00\x00"[..]
        }
        first => {
            let request = connect_request(&mut stream, first).await?;
            requests.lock().unwrap().push(request);
            b"HTTP/1.1 200 Connection established\r\nproxy-agent: test\r\n\r\n"
        }
    };
    match behaviour {
        ProxyBehaviour::Tunnel(server) => {
            let mut server = TcpStream::connect(server).await.unwrap();
            stream.write_all(success).await.ok()?;
            copy_bidirectional(&mut stream, &mut server).await.ok()?;
        }
        ProxyBehaviour::Respond(bytes) => stream.write_all(bytes.as_bytes()).await.ok()?,
        ProxyBehaviour::RefuseSocks(code) => {
            let reply = [5, code, 0, 1, 0, 0, 0, 0, 0, 0];
            stream.write_all(&reply).await.ok()?;
        }
        ProxyBehaviour::RefuseCredential | ProxyBehaviour::Close | ProxyBehaviour::Hang => {}
    }
    Some(())
}

async fn connect_request(stream: &mut TcpStream, first: u8) -> Option<TunnelRequest> {
    let mut head = vec![first];
    while find(&head, b"\r\n\r\n").is_none() {
        stream
            .read_buf(&mut head)
            .await
            .ok()
            .filter(|count| *count > 0)?;
    }
    let head = String::from_utf8(head).unwrap();
    let mut lines = head.lines();
    let target = lines
        .next()?
        .strip_prefix("CONNECT ")?
        .strip_suffix(" HTTP/1.1")?;
    let credential = lines.find_map(|line| {
        let (name, value) = line.split_once(": ")?;
        name.eq_ignore_ascii_case("proxy-authorization")
            .then_some(value)
    });
    Some(TunnelRequest {
        target: target.to_owned(),
        credential: credential.map(|value| {
            use base64::Engine;
            let encoded = value.strip_prefix("Basic ").unwrap();
            let decoded = base64::engine::general_purpose::STANDARD.decode(encoded);
            String::from_utf8(decoded.unwrap()).unwrap()
        }),
    })
}

async fn socks_request(stream: &mut TcpStream, behaviour: ProxyBehaviour) -> Option<TunnelRequest> {
    let mut methods = vec![0; usize::from(stream.read_u8().await.ok()?)];
    stream.read_exact(&mut methods).await.ok()?;
    let mut credential = None;
    if methods.contains(&2) {
        stream.write_all(&[5, 2]).await.ok()?;
        assert_eq!(stream.read_u8().await.ok()?, 1);
        let user = counted(stream).await?;
        let password = counted(stream).await?;
        credential = Some(format!("{user}:{password}"));
        let status = u8::from(behaviour == ProxyBehaviour::RefuseCredential);
        stream.write_all(&[1, status]).await.ok()?;
    } else {
        stream.write_all(&[5, 0]).await.ok()?;
    }
    let mut request = [0; 4];
    stream.read_exact(&mut request).await.ok()?;
    assert_eq!(request[..3], [5, 1, 0]);
    let host = match request[3] {
        1 => {
            let mut address = [0; 4];
            stream.read_exact(&mut address).await.ok()?;
            std::net::Ipv4Addr::from(address).to_string()
        }
        3 => counted(stream).await?,
        4 => {
            let mut address = [0; 16];
            stream.read_exact(&mut address).await.ok()?;
            format!("[{}]", std::net::Ipv6Addr::from(address))
        }
        kind => panic!("an address of kind {kind}"),
    };
    let port = stream.read_u16().await.ok()?;
    Some(TunnelRequest {
        target: format!("{host}:{port}"),
        credential,
    })
}

async fn counted(stream: &mut TcpStream) -> Option<String> {
    let mut text = vec![0; usize::from(stream.read_u8().await.ok()?)];
    stream.read_exact(&mut text).await.ok()?;
    Some(String::from_utf8(text).unwrap())
}
