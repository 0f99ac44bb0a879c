//! URLs that lead inside, and a decoy that counts who connects.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use tokio::net::TcpListener;

/// `PORT` is that of a decoy on the loopback addresses.
const HOSTILE: [&str; 64] = [
    "https://127.0.0.1:PORT/x",
    "http://127.0.0.1:PORT/x",
    "https://127.0.0.1.:PORT/x",
    "https://127.1:PORT/x",
    "https://127.0.1:PORT/x",
    "https://2130706433:PORT/x",
    "https://0x7f000001:PORT/x",
    "https://0x7f.0.0.1:PORT/x",
    "https://0x7f.1:PORT/x",
    "https://0177.0.0.1:PORT/x",
    "https://017700000001:PORT/x",
    "https://127.0.0.01:PORT/x",
    "https://localhost:PORT/x",
    "https://LOCALHOST:PORT/x",
    "https://localhost.:PORT/x",
    "https://[::1]:PORT/x",
    "https://[0:0:0:0:0:0:0:1]:PORT/x",
    "https://[::ffff:127.0.0.1]:PORT/x",
    "https://[::ffff:7f00:1]:PORT/x",
    "https://[0:0:0:0:0:ffff:7f00:1]:PORT/x",
    "https://[::127.0.0.1]:PORT/x",
    "https://[64:ff9b::127.0.0.1]:PORT/x",
    "https://[64:ff9b::7f00:1]:PORT/x",
    "https://[64:ff9b:1::7f00:1]:PORT/x",
    "https://[2002:7f00:1::]:PORT/x",
    "https://[2001::7f00:1]:PORT/x",
    "https://[fe80::1]:PORT/x",
    "https://[fe80::1%25lo]:PORT/x",
    "https://[fc00::1]:PORT/x",
    "https://[fd00::1]:PORT/x",
    "https://[ff02::1]:PORT/x",
    "https://[::]:PORT/x",
    "https://0.0.0.0:PORT/x",
    "https://0:PORT/x",
    "https://10.0.0.1/x",
    "https://172.16.0.1/x",
    "https://192.168.0.1/x",
    "https://169.254.169.254/latest/meta-data",
    "http://169.254.169.254/latest/meta-data",
    "https://100.64.0.1/x",
    "https://192.0.0.1/x",
    "https://192.0.2.1/x",
    "https://198.18.0.1/x",
    "https://224.0.0.1/x",
    "https://255.255.255.255/x",
    "https://user@127.0.0.1:PORT/x",
    "https://user:word@receiver.test/x",
    "https://receiver.test@127.0.0.1:PORT/x",
    "https://receiver.test:443@127.0.0.1:PORT/x",
    "https://127.0.0.1:PORT#@receiver.test/",
    "https://127.0.0.1:PORT?@receiver.test/",
    "https://127.0.0.1:PORT\\@receiver.test/",
    "https://\u{2460}\u{2461}\u{2466}.0.0.1:PORT/x",
    "https://127\u{3002}0\u{3002}0\u{3002}1:PORT/x",
    "https://%31%32%37.0.0.1:PORT/x",
    "https:///127.0.0.1:PORT/x",
    "https:127.0.0.1:PORT/x",
    "//127.0.0.1:PORT/x",
    "ftp://127.0.0.1:PORT/x",
    "file:///etc/passwd",
    "https://",
    "https://127.0.0.1:99999/x",
    "https://inside.test:PORT/x",
    "http://receiver.test/x",
];

/// Listens on 127.0.0.1 and [::1] at one port, and counts connections, whatever they send.
pub struct Decoy {
    pub port: u16,
    connections: Arc<AtomicUsize>,
}

impl Decoy {
    pub async fn start() -> Self {
        let (v4, v6) = loop {
            let v4 = TcpListener::bind("127.0.0.1:0").await.unwrap();
            let port = v4.local_addr().unwrap().port();
            match TcpListener::bind(("::1", port)).await {
                Ok(v6) => break (v4, Some(v6)),
                // The port is taken: another one.
                Err(error) if error.kind() == std::io::ErrorKind::AddrInUse => {}
                // A system without IPv6.
                Err(_) => break (v4, None),
            }
        };
        let decoy = Self {
            port: v4.local_addr().unwrap().port(),
            connections: Arc::default(),
        };
        for listener in [Some(v4), v6].into_iter().flatten() {
            let connections = Arc::clone(&decoy.connections);
            tokio::spawn(async move {
                while listener.accept().await.is_ok() {
                    connections.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
        decoy
    }

    pub fn connections(&self) -> usize {
        self.connections.load(Ordering::Relaxed)
    }

    /// URLs of this decoy and of other addresses inside, in 64 notations. `inside.test` must resolve to a loopback
    /// address, and `receiver.test` to a global one.
    pub fn urls(&self) -> Vec<String> {
        let port = self.port.to_string();
        HOSTILE.map(|url| url.replace("PORT", &port)).to_vec()
    }
}
