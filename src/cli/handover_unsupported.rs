//! Handing sockets over, where the system is not Linux: there it cannot be done.

use std::future::pending;
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixListener;

/// What a process offers its successor: never anything.
pub enum SocketOffer {}

/// What a process got from its predecessor.
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
