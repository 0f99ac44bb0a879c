//! One question to one name server: over UDP, and over TCP where the answer does not fit.

use super::message::{self, Family, Reply};
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpStream, UdpSocket};
use tokio::time::timeout;

/// How long a server has to answer, on each way.
const PATIENCE: Duration = Duration::from_secs(1);
/// No server sends more over UDP to those who do not ask for it; some do all the same.
const DATAGRAM_BYTES_MAX: usize = 4096;

/// Asks `server` for the addresses of `name`.
///
/// # Errors
/// There is no answer: it did not come in time, or the server cannot be reached.
pub async fn ask(server: SocketAddr, name: &str, family: Family) -> io::Result<Reply> {
    let id = u16::from_be_bytes(random()?);
    let question = message::question(id, name, family)
        .ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, "this is no host's name"))?;
    match in_time(over_udp(server, &question, family)).await? {
        Reply::Truncated => in_time(over_tcp(server, &question, family)).await,
        reply => Ok(reply),
    }
}

/// The system picks a random port for each socket, and lets only the server's own datagrams in:
/// with the random id, whoever would answer in its place has much to guess.
async fn over_udp(server: SocketAddr, question: &[u8], family: Family) -> io::Result<Reply> {
    let any: IpAddr = match server {
        SocketAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
        SocketAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
    };
    let socket = UdpSocket::bind((any, 0)).await?;
    socket.connect(server).await?;
    socket.send(question).await?;
    let mut datagram = vec![0; DATAGRAM_BYTES_MAX];
    loop {
        let length = socket.recv(&mut datagram).await?;
        if let Some(reply) = message::read(&datagram[..length], question, family) {
            return Ok(reply);
        }
    }
}

async fn over_tcp(server: SocketAddr, question: &[u8], family: Family) -> io::Result<Reply> {
    let mut stream = TcpStream::connect(server).await?;
    let mut sent = (question.len() as u16).to_be_bytes().to_vec();
    sent.extend(question);
    stream.write_all(&sent).await?;
    let mut answer = vec![0; usize::from(stream.read_u16().await?)];
    stream.read_exact(&mut answer).await?;
    message::read(&answer, question, family)
        .filter(|reply| *reply != Reply::Truncated)
        .ok_or_else(|| {
            io::Error::new(
                io::ErrorKind::InvalidData,
                "the name server's answer is broken",
            )
        })
}

async fn in_time<T>(asked: impl Future<Output = io::Result<T>>) -> io::Result<T> {
    timeout(PATIENCE, asked).await.unwrap_or_else(|_| {
        Err(io::Error::new(
            io::ErrorKind::TimedOut,
            "the name server did not answer in time",
        ))
    })
}

fn random() -> io::Result<[u8; 2]> {
    let mut bytes = [0; 2];
    getrandom::fill(&mut bytes).map_err(|error| io::Error::other(error.to_string()))?;
    Ok(bytes)
}
