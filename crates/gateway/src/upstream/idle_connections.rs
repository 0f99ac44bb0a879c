//! Idle HTTP/1.1 connections to providers, ready for another request.
//!
//! An idle connection is looked at when it is taken, and once a second: one that the provider has closed, or on which it
//! has sent anything, is dropped. Looking costs no system call, since the runtime knows what is readable.

use pingora_core::protocols::Stream;
use std::collections::{HashMap, VecDeque};
use std::future::poll_fn;
use std::net::SocketAddr;
use std::pin::{Pin, pin};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::task::{Context, Waker};
use std::time::Duration;
use tokio::io::{AsyncRead, ReadBuf};
use tokio::runtime::Handle;
use tokio::task::unconstrained;
use tokio::time::{Instant, sleep};

/// Time between two looks at all connections.
const SWEEP_INTERVAL: Duration = Duration::from_secs(1);

/// Which connections are alike.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ConnectionKey {
    /// The hash of everything that distinguishes connections: address, TLS settings, channel and credential.
    pub pool: u64,
    /// Compared as it is, since the hash has only 64 bits.
    pub address: SocketAddr,
}

/// A bounded set of idle connections.
pub struct IdleConnections {
    connections_max: usize,
    pool: Mutex<IdleConnectionsByKey>,
}

#[derive(Default)]
struct IdleConnectionsByKey {
    by_key: HashMap<ConnectionKey, VecDeque<IdleConnection>, foldhash::fast::RandomState>,
    count: usize,
    is_swept: bool,
}

struct IdleConnection {
    stream: Stream,
    since: Instant,
    until: Instant,
}

impl IdleConnections {
    pub fn new(connections_max: usize) -> Arc<Self> {
        Arc::new(Self {
            connections_max,
            pool: Mutex::default(),
        })
    }

    /// Takes the connection that was used last.
    pub fn take(&self, key: &ConnectionKey) -> Option<Stream> {
        loop {
            let mut connection = self.lock().pop(key)?;
            if connection.until > Instant::now() && is_silent(&mut connection.stream) {
                return Some(connection.stream);
            }
        }
    }

    /// Adds a connection, which is kept for `idle_max`. If there are too many, the one that is idle for longest is closed.
    pub fn put(self: &Arc<Self>, key: ConnectionKey, stream: Stream, idle_max: Duration) {
        let since = Instant::now();
        let mut pool = self.lock();
        let dropped = (pool.count >= self.connections_max).then(|| pool.pop_oldest());
        let connection = IdleConnection {
            stream,
            since,
            until: since + idle_max,
        };
        pool.by_key.entry(key).or_default().push_back(connection);
        pool.count += 1;
        // Without a runtime, they are looked at when they are taken.
        let runtime = Handle::try_current().ok().filter(|_| !pool.is_swept);
        pool.is_swept |= runtime.is_some();
        // A runtime that ends drops the task at once, and its guard takes the lock.
        drop(pool);
        drop(dropped);
        if let Some(runtime) = runtime {
            runtime.spawn(sweep(SweepGuard(Arc::downgrade(self))));
        }
    }

    fn lock(&self) -> MutexGuard<'_, IdleConnectionsByKey> {
        self.pool.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl IdleConnectionsByKey {
    fn pop(&mut self, key: &ConnectionKey) -> Option<IdleConnection> {
        let connection = self.by_key.get_mut(key)?.pop_back()?;
        self.count -= 1;
        Some(connection)
    }

    fn pop_oldest(&mut self) -> Option<IdleConnection> {
        let queues = self.by_key.values_mut().filter(|queue| !queue.is_empty());
        let oldest = queues.min_by_key(|queue| queue.front().map(|connection| connection.since));
        let connection = oldest?.pop_front()?;
        self.count -= 1;
        Some(connection)
    }

    fn remove_unusable(&mut self) -> Vec<IdleConnection> {
        let now = Instant::now();
        let mut removed = Vec::new();
        self.by_key.retain(|_, queue| {
            let is_unusable = |connection: &mut IdleConnection| {
                connection.until <= now || !is_silent(&mut connection.stream)
            };
            for index in (0..queue.len()).rev() {
                if is_unusable(&mut queue[index]) {
                    removed.extend(queue.remove(index));
                }
            }
            !queue.is_empty()
        });
        self.count -= removed.len();
        removed
    }
}

/// Marks the pool as not swept when the sweep ends with its runtime.
struct SweepGuard(Weak<IdleConnections>);

impl Drop for SweepGuard {
    fn drop(&mut self) {
        if let Some(connections) = self.0.upgrade() {
            connections.lock().is_swept = false;
        }
    }
}

/// Drops unusable connections until there are none.
async fn sweep(mut guard: SweepGuard) {
    loop {
        sleep(SWEEP_INTERVAL).await;
        let Some(connections) = guard.0.upgrade() else {
            return;
        };
        let mut pool = connections.lock();
        let removed = pool.remove_unusable();
        let is_empty = pool.count == 0;
        pool.is_swept = !is_empty;
        // Closing takes system calls, for which no request should wait.
        drop(pool);
        drop(removed);
        if is_empty {
            // The mark may be that of the next sweep.
            guard.0 = Weak::new();
            return;
        }
    }
}

/// Whether the provider has neither sent anything nor closed the connection.
fn is_silent(stream: &mut Stream) -> bool {
    let mut byte = [0];
    let mut buffer = ReadBuf::new(&mut byte);
    let reading = poll_fn(|context| Pin::new(&mut *stream).poll_read(context, &mut buffer));
    // A task that has used its budget of I/O would find every connection silent.
    let reading = pin!(unconstrained(reading));
    let mut context = Context::from_waker(Waker::noop());
    reading.poll(&mut context).is_pending()
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::{AsyncWriteExt, DuplexStream, duplex};

    const LONG: Duration = Duration::from_secs(3600);

    fn key(port: u16) -> ConnectionKey {
        ConnectionKey {
            pool: 7,
            address: ([127, 0, 0, 1], port).into(),
        }
    }

    /// Adds a connection; returns the provider's end.
    fn put(connections: &Arc<IdleConnections>, key: ConnectionKey, idle: Duration) -> DuplexStream {
        let (near, far) = duplex(64);
        connections.put(key, Box::new(near), idle);
        far
    }

    /// Sends a byte on the next connection; returns which of the providers received it.
    async fn taken(connections: &IdleConnections, providers: &mut [DuplexStream]) -> Option<usize> {
        let mut stream = connections.take(&key(1))?;
        stream.write_all(b"x").await.unwrap();
        let mut context = Context::from_waker(Waker::noop());
        providers.iter_mut().position(|provider| {
            let mut byte = [0];
            let mut buffer = ReadBuf::new(&mut byte);
            let read = Pin::new(provider).poll_read(&mut context, &mut buffer);
            read.is_ready() && !buffer.filled().is_empty()
        })
    }

    #[tokio::test]
    async fn the_connection_used_last_is_taken_first_and_only_under_its_key() {
        let connections = IdleConnections::new(8);
        let mut providers: Vec<_> = [1, 1, 2]
            .map(|port| put(&connections, key(port), LONG))
            .into();
        for wanted in [Some(1), Some(0), None] {
            assert_eq!(taken(&connections, &mut providers).await, wanted);
        }
        let other = ConnectionKey { pool: 8, ..key(2) };
        assert!(connections.take(&other).is_none());
        assert!(connections.take(&key(2)).is_some());
    }

    #[tokio::test]
    async fn a_closed_connection_one_with_data_and_an_old_one_are_not_taken() {
        let connections = IdleConnections::new(8);
        let usable = put(&connections, key(1), LONG);
        drop(put(&connections, key(1), LONG));
        let mut early = put(&connections, key(1), LONG);
        early.write_all(b"HTTP/1.1 408").await.unwrap();
        let old = put(&connections, key(1), Duration::ZERO);
        let mut providers = [usable, early, old];
        assert_eq!(taken(&connections, &mut providers).await, Some(0));
        assert_eq!(taken(&connections, &mut providers).await, None);
    }

    #[tokio::test]
    async fn any_number_of_closed_connections_is_recognised_in_one_look() {
        let connections = IdleConnections::new(1000);
        for _ in 0..2 {
            for _ in 0..500 {
                drop(put(&connections, key(1), LONG));
            }
            assert!(connections.take(&key(1)).is_none());
            assert_eq!(connections.lock().count, 0);
        }
        for _ in 0..500 {
            drop(put(&connections, key(1), LONG));
        }
        assert_eq!(connections.lock().remove_unusable().len(), 500);
    }

    #[tokio::test]
    async fn beyond_the_limit_the_connection_that_is_idle_for_longest_is_closed() {
        let connections = IdleConnections::new(2);
        let mut providers: Vec<_> = [1, 1, 1]
            .map(|port| put(&connections, key(port), LONG))
            .into();
        for wanted in [Some(2), Some(1), None] {
            assert_eq!(taken(&connections, &mut providers).await, wanted);
        }
    }

    #[tokio::test(start_paused = true)]
    async fn unusable_connections_are_dropped_within_a_second_also_after_the_pool_was_empty() {
        let connections = IdleConnections::new(8);
        for _ in 0..2 {
            let _open = put(&connections, key(1), SWEEP_INTERVAL * 3);
            drop(put(&connections, key(2), LONG));
            assert_eq!(connections.lock().count, 2);
            for left in [1, 1, 0] {
                sleep(SWEEP_INTERVAL + Duration::from_millis(1)).await;
                assert_eq!(connections.lock().count, left);
            }
            assert!(!connections.lock().is_swept);
        }
    }
}
