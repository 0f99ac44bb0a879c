//! URLs that lead inside, and a decoy that counts who connects.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use tokio::net::TcpListener;

/// `PORT` is that of a decoy on the loopback addresses.
const HOSTILE: [&str; 198] = [
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
    // Loopback as in each notation that some parser of addresses takes.
    "https://127.255.255.254:PORT/x",
    "https://127.0.0.1..:PORT/x",
    "https://127.0.00.01:PORT/x",
    "https://0x7F.0x0.0x0.0x1:PORT/x",
    "https://127.0.0.0x1:PORT/x",
    "https://127.0x1:PORT/x",
    "https://0177.1:PORT/x",
    "https://00000177.0.0.1:PORT/x",
    "https://0x000000007f.0.0.1:PORT/x",
    "https://0x7f000001.:PORT/x",
    "https://6425673729:PORT/x",
    "https://0x17f000001:PORT/x",
    "https://127.0.0.257:PORT/x",
    "https://383.0.0.1:PORT/x",
    "https://127.0.0.1%2f:PORT/x",
    "https://127.0.0.1%00:PORT/x",
    "https://127.0.0.1%0d%0a:PORT/x",
    "https://127%2e0%2e0%2e1:PORT/x",
    "https://localhos%74:PORT/x",
    // Letters that an application of IDNA reads as others: full-width, circled, mathematical, and other dots.
    "https://\u{ff11}\u{ff12}\u{ff17}.0.0.1:PORT/x",
    "https://127\u{ff0e}0\u{ff0e}0\u{ff0e}1:PORT/x",
    "https://127\u{ff61}0\u{ff61}0\u{ff61}1:PORT/x",
    "https://\u{1d7cf}\u{1d7d0}\u{1d7d5}.0.0.1:PORT/x",
    "https://\u{ff4c}\u{ff4f}\u{ff43}\u{ff41}\u{ff4c}host:PORT/x",
    "https://\u{24db}\u{24de}\u{24d2}\u{24d0}\u{24db}\u{24d7}\u{24de}\u{24e2}\u{24e3}:PORT/x",
    "https://loc\u{200b}alhost:PORT/x",
    "https://local\u{ad}host:PORT/x",
    "https://127.0.0.1\u{3002}:PORT/x",
    // Names of the machine, of its network and of metadata servers.
    "https://localhost.localdomain:PORT/x",
    "https://a.localhost:PORT/x",
    "https://ip6-localhost:PORT/x",
    "https://ip6-loopback:PORT/x",
    "https://printer.local/x",
    "https://db.internal/x",
    "https://router.home.arpa/x",
    "https://intranet/x",
    "https://metadata/x",
    "https://metadata.google.internal/computeMetadata/v1/",
    "https://instance-data.ec2.internal/latest/meta-data",
    "https://kubernetes.default.svc/api",
    "https://kubernetes.default.svc.cluster.local/api",
    "https://host.docker.internal/x",
    "https://gateway.docker.internal/x",
    // Addresses of metadata servers.
    "https://169.254.169.254.:443/latest/meta-data",
    "https://169.254.43518/latest/meta-data",
    "https://0xa9fea9fe/latest/meta-data",
    "https://2852039166/latest/meta-data",
    "https://0251.0376.0251.0376/latest/meta-data",
    "https://[::ffff:169.254.169.254]/latest/meta-data",
    "https://[::ffff:a9fe:a9fe]/latest/meta-data",
    "https://[64:ff9b::a9fe:a9fe]/latest/meta-data",
    "https://[2002:a9fe:a9fe::]/latest/meta-data",
    "https://[fd00:ec2::254]/latest/meta-data",
    "https://[fd00:ec2::23]/v1/credentials",
    "https://[fd20:ce::254]/computeMetadata/v1/",
    "https://169.254.170.2/v2/credentials",
    "https://169.254.170.23/v1/credentials",
    "https://100.100.100.200/latest/meta-data",
    "https://192.0.0.192/opc/v2/instance",
    "https://168.63.129.16@169.254.169.254/x",
    // The ends of the networks that are not global unicast, by IANA's registries for special purposes.
    "https://0.255.255.255/x",
    "https://10.255.255.255/x",
    "https://100.127.255.255/x",
    "https://169.254.0.1/x",
    "https://172.31.255.255/x",
    "https://192.0.0.170/x",
    "https://192.88.99.1/x",
    "https://192.168.255.255/x",
    "https://198.19.255.255/x",
    "https://198.51.100.1/x",
    "https://203.0.113.1/x",
    "https://239.255.255.250/x",
    "https://240.0.0.1/x",
    "https://[::2]:PORT/x",
    "https://[::ffff:0:7f00:1]:PORT/x",
    "https://[::ffff:10.0.0.1]/x",
    "https://[::ffff:192.168.0.1]/x",
    "https://[0000:0000:0000:0000:0000:0000:0000:0001]:PORT/x",
    "https://[0::0:1]:PORT/x",
    "https://[::ffff:0.0.0.0]:PORT/x",
    "https://[64:ff9b::10.0.0.1]/x",
    "https://[64:ff9b:1:ffff:ffff:ffff:c0a8:1]/x",
    "https://[100::1]/x",
    "https://[2001::1]/x",
    "https://[2001:0:4136:e378:8000:63bf:80ff:fffe]/x",
    "https://[2001:2::1]/x",
    "https://[2001:10::1]/x",
    "https://[2001:20::1]/x",
    "https://[2001:db8::1]/x",
    "https://[2002:a00:1::]/x",
    "https://[2002:c0a8:1::1]/x",
    "https://[3fff::1]/x",
    "https://[5f00::1]/x",
    "https://[4000::1]/x",
    "https://[fdff:ffff::1]/x",
    "https://[fe80::1%lo]:PORT/x",
    "https://[febf::1]/x",
    "https://[fec0::1]/x",
    "https://[ff01::1]/x",
    "https://[ff05::2]/x",
    // Texts that parsers of URLs take apart in different ways.
    "https://127.0.0.1:PORT:443/x",
    "https://127.0.0.1:PORT%40receiver.test/x",
    "https://receiver.test%40127.0.0.1:PORT/x",
    "https://@127.0.0.1:PORT/x",
    "https://:@127.0.0.1:PORT/x",
    "https://receiver.test:443:PORT/x",
    "https://receiver.test\\@127.0.0.1:PORT/x",
    "https:\\\\127.0.0.1:PORT/x",
    "https:/\\127.0.0.1:PORT/x",
    "https:////127.0.0.1:PORT/x",
    "https:/127.0.0.1:PORT/x",
    "\\\\127.0.0.1:PORT\\x",
    "https://127.0.0.1\t:PORT/x",
    "https://127.0.0.1\n:PORT/x",
    "ht\ntps://127.0.0.1:PORT/x",
    " https://127.0.0.1:PORT/x",
    "https://127.0.0.1:PORT/x y",
    "https://receiver.test\u{0}@127.0.0.1:PORT/x",
    "https://[::1:PORT/x",
    "https://::1]:PORT/x",
    "https://[[::1]]:PORT/x",
    "https://[127.0.0.1]:PORT/x",
    "https://[v1.::1]:PORT/x",
    "https://[]:PORT/x",
    "https://::1:PORT/x",
    "https://127.0.0.1:0/x",
    "https://127.0.0.1:-1/x",
    "https://127.0.0.1:+PORT/x",
    "https://127.0.0.1:0xPORT/x",
    "gopher://127.0.0.1:PORT/x",
    "dict://127.0.0.1:PORT/x",
    "ws://127.0.0.1:PORT/x",
    "unix:///run/service.sock",
    "jar:https://127.0.0.1:PORT/x!/y",
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

    /// URLs of this decoy and of other addresses inside, in many notations. `inside.test` must resolve to a loopback
    /// address, and `receiver.test` to a global one.
    pub fn urls(&self) -> Vec<String> {
        let port = self.port.to_string();
        HOSTILE.map(|url| url.replace("PORT", &port)).to_vec()
    }
}
