//! An address at which connections are refused, until somebody listens there.

use std::net::SocketAddr;
use tokio::net::{TcpListener, TcpSocket};

/// A port that is reserved while nothing listens on it. A port that was only free a moment ago may be that of the next server
/// of another test.
pub struct ClosedPort(TcpSocket);

impl ClosedPort {
    pub fn new() -> Self {
        let socket = TcpSocket::new_v4().unwrap();
        socket.bind("127.0.0.1:0".parse().unwrap()).unwrap();
        Self(socket)
    }

    pub fn address(&self) -> SocketAddr {
        self.0.local_addr().unwrap()
    }

    /// Its base URL as a provider.
    pub fn url(&self) -> String {
        format!("http://{}/v1", self.address())
    }

    pub fn listen(self) -> TcpListener {
        self.0.listen(64).unwrap()
    }
}
