//! The handover of sockets on systems other than Linux, where it is not supported.

use std::future::pending;
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixListener;

/// A process offers no sockets on these systems.
pub enum SocketOffer {}

/// The sockets that a process received from its predecessor.
pub struct InheritedSockets {
    pub pid: i32,
    pub gateway: Option<TcpListener>,
    pub admin: Option<TcpListener>,
    pub name: Option<UnixListener>,
}

impl SocketOffer {
    pub fn new(_: SocketAddr, _: OwnedFd, _: OwnedFd, _: Option<UnixListener>) -> io::Result<Self> {
        Err(unsupported())
    }

    pub async fn until_taken(&mut self) -> i32 {
        pending().await
    }
}

impl InheritedSockets {
    pub fn take(_: SocketAddr) -> io::Result<Option<Self>> {
        Err(unsupported())
    }

    pub fn serving(self) -> io::Result<()> {
        Err(unsupported())
    }
}

fn unsupported() -> io::Error {
    io::Error::new(
        io::ErrorKind::Unsupported,
        "in-place upgrades require Linux",
    )
}
