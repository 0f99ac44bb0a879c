//! A name server with records that a test can change, over UDP and TCP.

use std::collections::HashMap;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream, UdpSocket};
use tokio::time::sleep;

pub struct NameServer {
    pub address: SocketAddr,
    world: Arc<Mutex<NameServerZones>>,
}

#[derive(Default)]
struct NameServerZones {
    names: HashMap<String, Zone>,
    manner: NameServerBehaviour,
    questions: Vec<String>,
}

struct Zone {
    addresses: Vec<IpAddr>,
    ttl: u32,
}

/// How queries are answered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum NameServerBehaviour {
    #[default]
    AtOnce,
    After(Duration),
    Never,
    /// Responds with SERVFAIL.
    Failing,
    /// Does not respond to queries for IPv6 addresses.
    SilentForIpv6,
    /// Responds over UDP with a truncated message, so that the client uses TCP.
    TooLong,
}

impl NameServer {
    pub async fn start() -> Self {
        // Both need the same port, and another test may have taken it for TCP meanwhile.
        let (datagrams, listener) = loop {
            let datagrams = UdpSocket::bind("127.0.0.1:0").await.unwrap();
            if let Ok(listener) = TcpListener::bind(datagrams.local_addr().unwrap()).await {
                break (datagrams, listener);
            }
        };
        let server = Self {
            address: datagrams.local_addr().unwrap(),
            world: Arc::default(),
        };
        tokio::spawn(serve_datagrams(Arc::new(datagrams), server.world.clone()));
        let world = server.world.clone();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(serve_stream(stream, world.clone()));
            }
        });
        server
    }

    /// Sets the addresses of `name`, with a time to live of `ttl` seconds.
    pub fn reply_with(&self, name: &str, addresses: &[&str], ttl: u32) {
        let addresses = addresses.iter().map(|text| text.parse().unwrap()).collect();
        let mut world = self.world.lock().unwrap();
        world.names.insert(name.into(), Zone { addresses, ttl });
    }

    pub fn behave(&self, manner: NameServerBehaviour) {
        self.world.lock().unwrap().manner = manner;
    }

    /// The number of queries for `name`, in both families.
    pub fn asked(&self, name: &str) -> usize {
        let world = self.world.lock().unwrap();
        world
            .questions
            .iter()
            .filter(|asked| *asked == name)
            .count()
    }
}

async fn serve_datagrams(socket: Arc<UdpSocket>, world: Arc<Mutex<NameServerZones>>) {
    let mut datagram = [0; 512];
    while let Ok((length, from)) = socket.recv_from(&mut datagram).await {
        let question = datagram[..length].to_vec();
        let (socket, world) = (socket.clone(), world.clone());
        tokio::spawn(async move {
            if let Some(mut answer) = answer(&question, &world).await {
                if world.lock().unwrap().manner == NameServerBehaviour::TooLong {
                    answer.truncate(question.len());
                    answer[2] |= 2;
                    answer[7] = 0;
                }
                let _ = socket.send_to(&answer, from).await;
            }
        });
    }
}

async fn serve_stream(mut stream: TcpStream, world: Arc<Mutex<NameServerZones>>) {
    let Ok(length) = stream.read_u16().await else {
        return;
    };
    let mut question = vec![0; usize::from(length)];
    if stream.read_exact(&mut question).await.is_err() {
        return;
    }
    if let Some(answer) = answer(&question, &world).await {
        let _ = stream.write_u16(answer.len() as u16).await;
        let _ = stream.write_all(&answer).await;
    }
}

async fn answer(question: &[u8], world: &Mutex<NameServerZones>) -> Option<Vec<u8>> {
    let name = name_of(question);
    let wants_v6 = question[question.len() - 3] == 28;
    let manner = {
        let mut world = world.lock().unwrap();
        world.questions.push(name.clone());
        world.manner
    };
    match manner {
        NameServerBehaviour::Never => return None,
        NameServerBehaviour::SilentForIpv6 if wants_v6 => return None,
        NameServerBehaviour::After(delay) => sleep(delay).await,
        NameServerBehaviour::AtOnce
        | NameServerBehaviour::Failing
        | NameServerBehaviour::SilentForIpv6
        | NameServerBehaviour::TooLong => {}
    }
    let world = world.lock().unwrap();
    let mut answer = question.to_vec();
    let zone = world.names.get(&name);
    answer[2..4].copy_from_slice(match (manner, zone) {
        (NameServerBehaviour::Failing, _) => &[0x81, 0x82],
        (_, None) => &[0x81, 0x83],
        (_, Some(_)) => &[0x81, 0x80],
    });
    if manner == NameServerBehaviour::Failing {
        return Some(answer);
    }
    if let Some(zone) = zone {
        for address in zone.addresses.iter().filter(|ip| ip.is_ipv6() == wants_v6) {
            answer[7] += 1;
            answer.extend([0xc0, 12, 0, question[question.len() - 3], 0, 1]);
            answer.extend(zone.ttl.to_be_bytes());
            let octets = match address {
                IpAddr::V4(ip) => ip.octets().to_vec(),
                IpAddr::V6(ip) => ip.octets().to_vec(),
            };
            answer.extend([0, octets.len() as u8]);
            answer.extend(octets);
        }
    }
    Some(answer)
}

fn name_of(question: &[u8]) -> String {
    let mut labels = Vec::new();
    let mut rest = &question[12..];
    while rest[0] > 0 {
        let (label, after) = rest[1..].split_at(usize::from(rest[0]));
        labels.push(String::from_utf8_lossy(label).into_owned());
        rest = after;
    }
    labels.join(".")
}
