//! Ports of servers whose address is written down before they listen.

use std::net::{Ipv4Addr, TcpListener};
use std::process;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU32, Ordering};

/// Below the range from which Linux picks ports (`ip_local_port_range`): no connection and no server of another test that
/// leaves the choice to the system can take one between [`free_port`] and the start of the server.
const PORTS: std::ops::Range<u32> = 10_000..32_000;

/// Where a process begins to look: several that run tests at once look in different places.
static NEXT: LazyLock<AtomicU32> = LazyLock::new(|| AtomicU32::new(process::id().wrapping_mul(97)));

/// A port that nobody listens on, and that no other call in this process returns.
pub fn free_port() -> u16 {
    loop {
        let number = NEXT.fetch_add(1, Ordering::Relaxed) % PORTS.len() as u32;
        let port = u16::try_from(PORTS.start + number).expect("below 32,000");
        if TcpListener::bind((Ipv4Addr::LOCALHOST, port)).is_ok() {
            return port;
        }
    }
}
