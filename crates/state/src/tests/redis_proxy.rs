//! A proxy in front of a Redis server, which a test makes keep back what goes over the connections that are open.

use std::net::Ipv4Addr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

/// What goes over a connection in one direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    Requests,
    Responses,
}

/// A running proxy. Needs a runtime with threads of its own, since `flush` blocks.
pub struct RedisProxy {
    pub port: u16,
    accepted: Arc<AtomicUsize>,
    directions: [HeldDirection; 2],
}

/// One direction of all connections.
#[derive(Clone)]
struct HeldDirection {
    /// What goes over connections with a lower number is kept back.
    held_below: watch::Sender<usize>,
    /// The number of connections of which something was kept back, and that have not ended yet.
    held: Arc<AtomicUsize>,
}

impl RedisProxy {
    pub async fn start(server_port: u16) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let proxy = Self {
            port: listener.local_addr().unwrap().port(),
            accepted: Arc::default(),
            directions: std::array::from_fn(|_| HeldDirection {
                held_below: watch::Sender::new(0),
                held: Arc::default(),
            }),
        };
        let (accepted, [requests, responses]) = (proxy.accepted.clone(), proxy.directions.clone());
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                let number = accepted.fetch_add(1, Ordering::SeqCst);
                let server = TcpStream::connect((Ipv4Addr::LOCALHOST, server_port));
                let server = server.await.unwrap();
                let (from_client, to_client) = client.into_split();
                let (from_server, to_server) = server.into_split();
                tokio::spawn(requests.clone().forward(number, from_client, to_server));
                tokio::spawn(responses.clone().forward(number, from_server, to_client));
            }
        });
        proxy
    }

    pub fn url(&self) -> String {
        format!("redis://127.0.0.1:{}/0", self.port)
    }

    /// Keeps back what goes over the connections that are open now, also once their client has closed them.
    pub fn hold(&self, direction: Direction) {
        let accepted = self.accepted.load(Ordering::SeqCst);
        self.directions[direction as usize]
            .held_below
            .send_replace(accepted);
    }

    /// Lets everything go; returns once the connections have ended, which their client has left.
    pub async fn release(&self) {
        for direction in &self.directions {
            direction.held_below.send_replace(0);
        }
        while self.is_holding() {
            tokio::task::yield_now().await;
        }
    }

    /// Whether something is or was kept back of a connection that has not ended.
    pub fn is_holding(&self) -> bool {
        let mut directions = self.directions.iter();
        directions.any(|direction| direction.held.load(Ordering::SeqCst) > 0)
    }
}

impl HeldDirection {
    async fn forward(
        self,
        number: usize,
        mut from: impl AsyncReadExt + Unpin,
        mut to: impl AsyncWriteExt + Unpin,
    ) {
        let mut held_below = self.held_below.subscribe();
        let mut chunk = vec![0; 64 << 10];
        let mut is_held = false;
        while let Ok(count @ 1..) = from.read(&mut chunk).await {
            if *held_below.borrow_and_update() > number && !is_held {
                is_held = true;
                self.held.fetch_add(1, Ordering::SeqCst);
            }
            drop(held_below.wait_for(|below| *below <= number).await);
            if to.write_all(&chunk[..count]).await.is_err() {
                break;
            }
        }
        if is_held {
            self.held.fetch_sub(1, Ordering::SeqCst);
        }
    }
}
