//! Addresses of providers: resolved once, refreshed in the background, never blocking a worker.

use std::collections::HashMap;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// How long an address is used before it is looked up again.
const FRESH: Duration = Duration::from_secs(30);

/// Resolved addresses by host and port.
#[derive(Clone, Default)]
pub struct Addresses {
    known: Arc<Mutex<HashMap<HostAndPort, Resolved>>>,
}

type HostAndPort = (Arc<str>, u16);

#[derive(Clone, Copy)]
struct Resolved {
    address: SocketAddr,
    at: Instant,
    refreshing: bool,
}

impl Addresses {
    /// The address of `host`; an old one is returned at once and refreshed behind the scenes.
    ///
    /// # Errors
    /// The name does not resolve, and never did.
    pub async fn of(&self, host: &Arc<str>, port: u16) -> io::Result<SocketAddr> {
        if let Ok(address) = host.parse::<IpAddr>() {
            return Ok(SocketAddr::new(address, port));
        }
        match self.recall(host, port) {
            Some((address, false)) => Ok(address),
            Some((address, true)) => {
                let (addresses, host) = (self.clone(), host.clone());
                tokio::spawn(async move { addresses.resolve(&host, port).await });
                Ok(address)
            }
            None => self.resolve(host, port).await,
        }
    }

    /// The known address, and whether it is this caller's turn to refresh it.
    fn recall(&self, host: &Arc<str>, port: u16) -> Option<(SocketAddr, bool)> {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let resolved = known.get_mut(&(host.clone(), port))?;
        let stale = resolved.at.elapsed() > FRESH && !resolved.refreshing;
        resolved.refreshing |= stale;
        Some((resolved.address, stale))
    }

    async fn resolve(&self, host: &Arc<str>, port: u16) -> io::Result<SocketAddr> {
        let found = tokio::net::lookup_host((&**host, port))
            .await
            .and_then(|mut found| {
                found.next().ok_or_else(|| {
                    io::Error::new(io::ErrorKind::NotFound, "the name has no address")
                })
            });
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        match found {
            Ok(address) => {
                let resolved = Resolved {
                    address,
                    at: Instant::now(),
                    refreshing: false,
                };
                known.insert((host.clone(), port), resolved);
                Ok(address)
            }
            Err(error) => {
                tracing::warn!(host = &**host, %error, "name not resolved");
                if let Some(resolved) = known.get_mut(&(host.clone(), port)) {
                    // The old address is used on, and looked up again after the same while.
                    resolved.at = Instant::now();
                    resolved.refreshing = false;
                }
                Err(error)
            }
        }
    }
}
