//! The connection to Redis: one for all requests, re-established in the background. Nobody waits while it is down.

use super::scripts::LuaScripts;
use headgate_core::state::StoreUnavailable;
use headgate_core::state::health::StoreHealthCounters;
use headgate_core::state::lock::lock;
use headgate_core::state::records::OPERATION_TIMEOUT;
use redis::aio::MultiplexedConnection;
use redis::{
    AsyncConnectionConfig, Client, Cmd, ErrorKind, FromRedisValue, Pipeline, RedisError,
    ServerErrorKind,
};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;
use tokio::sync::Notify;
use tokio::time::{Instant, sleep, timeout};

/// The timeout of connecting, with TLS and authentication.
const CONNECT_WAIT: Duration = Duration::from_secs(2);
/// The interval between two attempts to connect.
const RETRY: Duration = Duration::from_millis(250);
/// The interval between pings on a connection.
const PING_EVERY: Duration = Duration::from_secs(1);
/// The timeout of background writes and pings.
const WRITE_WAIT: Duration = Duration::from_secs(2);
const SLOW: &str = "no response in time";

/// Keeps the connection to Redis.
pub struct RedisConnector {
    client: Client,
    /// The timeout of a command that a request waits for.
    operation_timeout: Duration,
    current: Mutex<ConnectionSlot>,
    /// Wakes those who wait for the first attempt to connect.
    first_attempt_done: Condvar,
    /// Notified when a connection has failed, or a command had no response in time.
    doubted: Notify,
    /// Notified when a connection is established.
    restored: Notify,
    tally: Arc<StoreHealthCounters>,
    /// Error responses since the process started, of which only some are logged.
    errors: AtomicU64,
}

#[derive(Default)]
struct ConnectionSlot {
    connection: Option<MultiplexedConnection>,
    /// The number of the current connection, so that the failure of an old one does not drop the new one.
    number: u64,
    was_tried: bool,
    /// Why the last connection was dropped.
    reason: String,
}

/// A connection that was up when it was taken from the connector; it may have failed since.
pub struct RedisConnection {
    connection: MultiplexedConnection,
    number: u64,
}

/// The result of a pipeline of commands.
pub enum PipelineResult {
    /// Redis responded to each command.
    Responded(Vec<Result<redis::Value, RedisError>>),
    /// The connection failed or timed out: Redis may have executed the commands.
    Unknown,
    /// The commands were not sent.
    Unsent,
}

impl RedisConnector {
    pub fn new(
        client: Client,
        operation_timeout: Duration,
        tally: Arc<StoreHealthCounters>,
    ) -> Self {
        Self {
            client,
            operation_timeout,
            current: Mutex::default(),
            first_attempt_done: Condvar::new(),
            doubted: Notify::new(),
            restored: Notify::new(),
            tally,
            errors: AtomicU64::new(0),
        }
    }

    /// The current connection.
    ///
    /// # Errors
    /// Redis is unreachable.
    pub fn connection(&self) -> Result<RedisConnection, StoreUnavailable> {
        let current = lock(&self.current);
        match &current.connection {
            Some(connection) => Ok(RedisConnection {
                connection: connection.clone(),
                number: current.number,
            }),
            None => Err(StoreUnavailable("no connection to Redis".into())),
        }
    }

    /// Sends a command that a request waits for. If it is slow, a ping finds out at once whether the connection works: others
    /// neither lose it to a short stall, nor wait for a server that hangs.
    ///
    /// # Errors
    /// The connection fails, or Redis responds with an error or not in time.
    pub async fn query<T: FromRedisValue>(
        &self,
        connection: RedisConnection,
        command: &Cmd,
    ) -> Result<T, StoreUnavailable> {
        let queried = self.query_within(connection, command, self.operation_timeout);
        queried.await.unwrap_or_else(|| {
            self.doubted.notify_one();
            Err(StoreUnavailable(SLOW.into()))
        })
    }

    /// Sends a command of durable records, whose writes may wait for a disk. A slow one does not end the connection,
    /// on which pings find out whether it works.
    ///
    /// # Errors
    /// The connection fails, or Redis responds with an error or not in time.
    pub async fn query_record<T: FromRedisValue>(
        &self,
        connection: RedisConnection,
        command: &Cmd,
    ) -> Result<T, StoreUnavailable> {
        let queried = self.query_within(connection, command, OPERATION_TIMEOUT);
        queried
            .await
            .unwrap_or_else(|| Err(StoreUnavailable(SLOW.into())))
    }

    /// The result of a command; `None` if there is none in time.
    async fn query_within<T: FromRedisValue>(
        &self,
        mut connection: RedisConnection,
        command: &Cmd,
        limit: Duration,
    ) -> Option<Result<T, StoreUnavailable>> {
        let queried = timeout(limit, command.query_async(&mut connection.connection));
        let result = queried.await.ok()?;
        Some(result.map_err(|error| {
            self.handle_error(&error, connection.number);
            StoreUnavailable(error.to_string())
        }))
    }

    /// The texts of these keys, where they exist, in one round trip.
    ///
    /// # Errors
    /// Redis is unreachable, or does not respond in time.
    pub async fn get_each(
        &self,
        mut connection: RedisConnection,
        keys: impl Iterator<Item = String>,
    ) -> Result<Vec<Option<String>>, StoreUnavailable> {
        let mut pipeline = redis::pipe();
        for key in keys {
            pipeline.get(key);
        }
        let queried = pipeline.query_async(&mut connection.connection);
        match timeout(self.operation_timeout, queried).await {
            Ok(result) => result.map_err(|error| {
                self.handle_error(&error, connection.number);
                StoreUnavailable(error.to_string())
            }),
            Err(_) => {
                self.doubted.notify_one();
                Err(StoreUnavailable(SLOW.into()))
            }
        }
    }

    /// Sends background commands, in order.
    pub async fn send(&self, pipeline: &mut Pipeline) -> PipelineResult {
        let Ok(RedisConnection {
            mut connection,
            number,
        }) = self.connection()
        else {
            return PipelineResult::Unsent;
        };
        let replies = pipeline.ignore_errors().query_async(&mut connection);
        match timeout(WRITE_WAIT, replies).await {
            Ok(Ok(replies)) => {
                let replies: Vec<Result<redis::Value, RedisError>> = replies;
                for error in replies.iter().filter_map(|reply| reply.as_ref().err()) {
                    self.handle_error(error, number);
                }
                PipelineResult::Responded(replies)
            }
            Ok(Err(error)) => {
                self.drop_connection(number, &error.to_string());
                PipelineResult::Unknown
            }
            Err(_) => {
                self.drop_connection(number, SLOW);
                PipelineResult::Unknown
            }
        }
    }

    /// Waits until there is a connection.
    pub async fn restored(&self) {
        loop {
            let restored = self.restored.notified();
            if lock(&self.current).connection.is_some() {
                return;
            }
            restored.await;
        }
    }

    /// Blocks until the first attempt to connect has ended, at most for `max_wait`.
    pub fn wait_for_first_attempt(&self, max_wait: Duration) {
        let untried = |current: &mut ConnectionSlot| !current.was_tried;
        let waited =
            self.first_attempt_done
                .wait_timeout_while(lock(&self.current), max_wait, untried);
        drop(waited);
    }

    /// Connects and reconnects for as long as the process runs. `policy` is text for the log: what happens to requests
    /// while Redis is unreachable.
    pub async fn keep_connected(&self, scripts: &LuaScripts, policy: &str) {
        let mut is_logged = false;
        let mut log_outcome = |outcome: Result<(), &str>| match outcome {
            Ok(()) if is_logged => {
                is_logged = false;
                tracing::info!("Redis is reachable again");
            }
            Err(reason) if !is_logged => {
                is_logged = true;
                tracing::error!(reason, "Redis is unreachable; {policy}; retrying");
            }
            _ => {}
        };
        loop {
            let began = Instant::now();
            match timeout(CONNECT_WAIT, self.connect(scripts)).await {
                Ok(Ok(connection)) => {
                    log_outcome(Ok(()));
                    self.publish(Some(connection));
                    self.watch().await;
                    log_outcome(Err(&lock(&self.current).reason));
                }
                Ok(Err(error)) => {
                    self.publish(None);
                    log_outcome(Err(&error.to_string()));
                }
                Err(_) => {
                    self.publish(None);
                    log_outcome(Err(SLOW));
                }
            }
            sleep(RETRY.saturating_sub(began.elapsed())).await;
        }
    }

    async fn connect(&self, scripts: &LuaScripts) -> Result<MultiplexedConnection, RedisError> {
        // The timeouts are set around each command instead.
        let config = AsyncConnectionConfig::new()
            .set_connection_timeout(None)
            .set_response_timeout(None);
        let mut connection = self
            .client
            .get_multiplexed_async_connection_with_config(&config)
            .await?;
        for script in scripts.all() {
            script.load_async(&mut connection).await?;
        }
        Ok(connection)
    }

    /// Pings the connection, at intervals and when it is doubted, and returns once it has failed.
    async fn watch(&self) {
        loop {
            let limit = match timeout(PING_EVERY, self.doubted.notified()).await {
                Ok(()) => self.operation_timeout,
                Err(_) => WRITE_WAIT,
            };
            let Ok(RedisConnection {
                mut connection,
                number,
            }) = self.connection()
            else {
                return;
            };
            let ping = redis::cmd("PING");
            match timeout(limit, ping.query_async(&mut connection)).await {
                Ok(Ok(redis::Value::SimpleString(_))) => {}
                Ok(Err(error)) => self.drop_connection(number, &error.to_string()),
                Ok(Ok(_)) | Err(_) => self.drop_connection(number, SLOW),
            }
        }
    }

    fn publish(&self, connection: Option<MultiplexedConnection>) {
        let mut current = lock(&self.current);
        self.tally.set_up(connection.is_some());
        current.connection = connection;
        current.number += 1;
        current.was_tried = true;
        drop(current);
        self.first_attempt_done.notify_all();
        self.restored.notify_waiters();
    }

    /// Drops the connection, so that nobody waits for it any more.
    fn drop_connection(&self, number: u64, reason: &str) {
        let mut current = lock(&self.current);
        if current.number == number && current.connection.take().is_some() {
            current.reason = reason.to_string();
            self.tally.set_up(false);
            self.doubted.notify_one();
        }
    }

    /// Drops the connection if the server cannot serve at all. Other errors concern one command, and are logged once in
    /// a thousand.
    fn handle_error(&self, error: &RedisError, number: u64) {
        if is_unreachable(error) {
            return self.drop_connection(number, &error.to_string());
        }
        let count = self.errors.fetch_add(1, Ordering::Relaxed);
        if count.is_multiple_of(1000) {
            tracing::error!(%error, errors = count + 1, "Redis returned an error");
        }
    }
}

/// Whether the server cannot serve or the connection failed. A server that has lost its scripts receives them on the
/// next connection.
pub fn is_unreachable(error: &RedisError) -> bool {
    use ServerErrorKind::{BusyLoading, MasterDown, NoScript, ReadOnly};
    match error.kind() {
        ErrorKind::Server(kind) => matches!(kind, BusyLoading | MasterDown | NoScript | ReadOnly),
        _ => error.is_io_error() || error.is_unrecoverable_error(),
    }
}
