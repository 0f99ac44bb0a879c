//! The worker threads of a listener. Each has a runtime of its own and serves the connections that it was given, so that
//! no request wakes another thread.

use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::{io, thread};
use tokio::runtime::{Builder, Handle};

/// Maximum number of threads for blocking work, of all workers together.
const BLOCKING_THREADS_MAX: usize = 512;

/// The worker threads of a listener.
pub(super) struct WorkerPool {
    workers: Vec<Worker>,
}

struct Worker {
    runtime: Handle,
    connections: Arc<AtomicUsize>,
}

/// Counts a connection for its worker until it is dropped.
struct WorkerConnectionGuard(Arc<AtomicUsize>);

impl WorkerPool {
    /// Starts `count` threads, which run until the process ends.
    ///
    /// # Errors
    /// The system allows no further threads or file descriptors.
    pub fn start(name: &str, count: usize) -> io::Result<Self> {
        let workers = (0..count).map(|index| Worker::start(format!("{name} {index}"), count));
        Ok(Self {
            workers: workers.collect::<io::Result<_>>()?,
        })
    }

    /// Runs the loop that accepts connections: on the worker itself if it is the only one, so that a new connection wakes
    /// no other thread, or else on the thread of the caller.
    pub async fn run_accept_loop(&self, accepting: impl Future<Output = ()> + Send + 'static) {
        match &*self.workers {
            [only] => {
                // A loop that panics has ended, too.
                let _ = only.runtime.spawn(accepting).await;
            }
            _ => accepting.await,
        }
    }

    /// Whether the only worker runs the accept loop, so that both share a runtime.
    pub fn runs_accept_loop(&self) -> bool {
        self.workers.len() == 1
    }

    /// Serves a connection on the worker that has the fewest. `serve` is called with the index of the worker.
    pub fn spawn<F>(&self, serve: impl FnOnce(usize) -> F)
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let load = |worker: &Worker| worker.connections.load(Ordering::Relaxed);
        let workers = self.workers.iter().enumerate();
        let Some((index, worker)) = workers.min_by_key(|(_, worker)| load(worker)) else {
            return;
        };
        worker.connections.fetch_add(1, Ordering::Relaxed);
        let counted = WorkerConnectionGuard(worker.connections.clone());
        let connection = serve(index);
        worker.runtime.spawn(async move {
            connection.await;
            drop(counted);
        });
    }
}

impl Worker {
    fn start(name: String, count: usize) -> io::Result<Self> {
        let runtime = Builder::new_current_thread()
            .enable_all()
            .max_blocking_threads(BLOCKING_THREADS_MAX.div_ceil(count))
            .build()?;
        let handle = runtime.handle().clone();
        thread::Builder::new()
            .name(name)
            .spawn(move || runtime.block_on(std::future::pending::<()>()))?;
        Ok(Self {
            runtime: handle,
            connections: Arc::default(),
        })
    }
}

impl Drop for WorkerConnectionGuard {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::WorkerPool;
    use std::future::pending;
    use std::sync::mpsc;

    #[test]
    fn connections_spread_evenly_over_the_workers() {
        let pool = WorkerPool::start("test", 3).expect("three threads");
        let (sender, receiver) = mpsc::channel();
        for _ in 0..12 {
            let sender = sender.clone();
            pool.spawn(|worker| async move {
                sender.send(worker).expect("the test waits");
                pending::<()>().await;
            });
        }
        let mut served: Vec<_> = receiver.iter().take(12).collect();
        served.sort_unstable();
        assert_eq!(served, [0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2]);
    }

    #[test]
    fn a_worker_whose_connection_ended_gets_the_next_one() {
        let pool = WorkerPool::start("test", 2).expect("two threads");
        let (sender, receiver) = mpsc::channel();
        pool.spawn(|_| pending());
        for _ in 0..3 {
            let sender = sender.clone();
            pool.spawn(move |worker| async move {
                sender.send(worker).expect("the test waits");
            });
            let worker = receiver.recv().expect("the connection is served");
            assert_eq!(worker, 1);
            while pool.workers[1]
                .connections
                .load(std::sync::atomic::Ordering::Relaxed)
                > 0
            {
                std::thread::yield_now();
            }
        }
    }
}
