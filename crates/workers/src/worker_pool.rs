//! The worker threads of a listener. Each has a runtime of its own and serves the connections that it was given, so that
//! no request wakes another thread. Only streams of a busy worker run on another one.

use crate::busy_meter::BusyMeter;
use crate::stream_placement::destination;
use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;
use std::{io, thread};
use tokio::runtime::{Builder, Handle};
use tokio::task::JoinHandle;

/// Maximum number of threads for blocking work, of all workers together.
const BLOCKING_THREADS_MAX: usize = 512;

/// The worker threads of a listener.
pub struct WorkerPool {
    workers: Vec<Worker>,
    started: Instant,
}

/// A stream and the worker that runs it, for which it counts until this is dropped.
pub struct StreamPlacement<'a> {
    /// The index of the worker, if it is not the connection's own.
    pub elsewhere: Option<usize>,
    worker: &'a Worker,
    is_counted: bool,
}

struct Worker {
    runtime: Handle,
    connections: Arc<AtomicUsize>,
    streams: StreamCount,
    busy: Arc<BusyMeter>,
}

/// The number of open streams that a worker runs, which is written with each stream: on cache lines of its own, of which
/// processors fetch two at a time.
#[derive(Default)]
#[repr(align(128))]
struct StreamCount(AtomicUsize);

/// Counts a connection for its worker until it is dropped.
struct WorkerConnectionGuard(Arc<AtomicUsize>);

/// A task that ends when nobody waits for it any more.
struct AbortOnDrop(JoinHandle<()>);

impl WorkerPool {
    /// Starts `count` threads, which run until the process ends.
    ///
    /// # Errors
    /// The system allows no further threads or file descriptors.
    pub fn start(name: &str, count: usize) -> io::Result<Self> {
        let started = Instant::now();
        let names = (0..count).map(|index| format!("{name} {index}"));
        let workers = names.map(|name| Worker::start(name, count, started));
        Ok(Self {
            workers: workers.collect::<io::Result<_>>()?,
            started,
        })
    }

    /// The number of workers.
    pub fn count(&self) -> usize {
        self.workers.len()
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

    /// Selects the worker of a new stream whose connection is on worker `own`, which calls this. A single worker is neither
    /// measured nor are its streams counted.
    pub fn place_stream(&self, own: usize) -> StreamPlacement<'_> {
        let is_counted = self.workers.len() > 1;
        let index = match is_counted && self.is_busy(own) {
            true => destination(own, self.workers.iter().map(Worker::load)),
            false => own,
        };
        let worker = &self.workers[index];
        if is_counted {
            worker.streams.0.fetch_add(1, Ordering::Relaxed);
        }
        StreamPlacement {
            elsewhere: (index != own).then_some(index),
            worker,
            is_counted,
        }
    }

    fn is_busy(&self, own: usize) -> bool {
        self.workers[own].busy.is_busy(self.started.elapsed())
    }
}

impl StreamPlacement<'_> {
    /// Runs the stream on its worker's thread until it has ended, also by a panic. It is dropped there when this future is
    /// dropped.
    pub async fn run(&self, stream: impl Future<Output = ()> + Send + 'static) {
        let mut task = AbortOnDrop(self.worker.runtime.spawn(stream));
        // The panic was reported on its own thread.
        let _ = (&mut task.0).await;
    }
}

impl Drop for StreamPlacement<'_> {
    fn drop(&mut self) {
        if self.is_counted {
            self.worker.streams.0.fetch_sub(1, Ordering::Relaxed);
        }
    }
}

impl Worker {
    /// One of `count` workers, which measures how long it waits if there are others.
    fn start(name: String, count: usize, started: Instant) -> io::Result<Self> {
        let busy = Arc::new(BusyMeter::default());
        let mut runtime = Builder::new_current_thread();
        runtime
            .enable_all()
            .max_blocking_threads(BLOCKING_THREADS_MAX.div_ceil(count));
        if count > 1 {
            let (parking, unparking) = (busy.clone(), busy.clone());
            runtime
                .on_thread_park(move || parking.park(started.elapsed()))
                .on_thread_unpark(move || unparking.unpark(started.elapsed()));
        }
        let runtime = runtime.build()?;
        let handle = runtime.handle().clone();
        thread::Builder::new()
            .name(name)
            .spawn(move || runtime.block_on(std::future::pending::<()>()))?;
        Ok(Self {
            runtime: handle,
            connections: Arc::default(),
            streams: StreamCount::default(),
            busy,
        })
    }

    /// The number of open connections and streams.
    fn load(&self) -> usize {
        self.connections.load(Ordering::Relaxed) + self.streams.0.load(Ordering::Relaxed)
    }
}

impl Drop for AbortOnDrop {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl Drop for WorkerConnectionGuard {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::{StreamPlacement, WorkerPool};
    use std::future::pending;
    use std::sync::Arc;
    use std::sync::atomic::Ordering;
    use std::sync::mpsc::{Sender, channel};
    use std::thread;
    use std::time::{Duration, Instant};

    /// Sends the name of the thread that drops it.
    struct DropReporter(Sender<String>);

    impl Drop for DropReporter {
        fn drop(&mut self) {
            let _ = self.0.send(thread_name());
        }
    }

    fn thread_name() -> String {
        thread::current().name().unwrap_or_default().to_owned()
    }

    /// Keeps the calling worker busy until one of its streams is to run elsewhere.
    async fn moved_stream(pool: &WorkerPool) -> StreamPlacement<'_> {
        let mut others = Vec::new();
        loop {
            let placement = pool.place_stream(0);
            if placement.elsewhere.is_some() {
                return placement;
            }
            // Some streams count, so that the worker has more than the other one.
            if others.len() < 10 {
                others.push(placement);
            }
            let begun = Instant::now();
            while begun.elapsed() < Duration::from_millis(1) {
                std::hint::spin_loop();
            }
            tokio::task::yield_now().await;
        }
    }

    /// Runs `test` on the first of two workers; returns what it sends.
    fn on_first_of_two<F>(test: impl FnOnce(Arc<WorkerPool>, Sender<String>) -> F) -> String
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let pool = Arc::new(WorkerPool::start("test", 2).expect("two threads"));
        let (sender, receiver) = channel();
        let test = test(pool.clone(), sender);
        pool.spawn(|_| test);
        let received = receiver.recv().expect("the test sends");
        let streams = |worker: usize| pool.workers[worker].streams.0.load(Ordering::Relaxed);
        while streams(0) + streams(1) > 0 {
            thread::yield_now();
        }
        received
    }

    #[test]
    fn a_stream_of_a_busy_worker_runs_on_another_thread() {
        let thread = on_first_of_two(|pool, sender| async move {
            let placement = moved_stream(&pool).await;
            let stream = async move { sender.send(thread_name()).expect("the test waits") };
            placement.run(stream).await;
        });
        assert_eq!(thread, "test 1");
    }

    #[test]
    fn a_stream_that_nobody_waits_for_is_dropped_on_its_own_thread() {
        let thread = on_first_of_two(|pool, sender| async move {
            let placement = moved_stream(&pool).await;
            let (begin, begun) = tokio::sync::oneshot::channel();
            let stream = async move {
                let _dropped = DropReporter(sender);
                begin.send(()).expect("the test waits");
                pending::<()>().await;
            };
            tokio::select! {
                () = placement.run(stream) => {}
                _ = begun => {}
            }
        });
        assert_eq!(thread, "test 1");
    }

    #[test]
    fn a_stream_that_panics_has_ended_and_its_worker_goes_on() {
        let thread = on_first_of_two(|pool, sender| async move {
            let placement = moved_stream(&pool).await;
            placement.run(async { panic!("as the test wants") }).await;
            let next = async move { sender.send(thread_name()).expect("the test waits") };
            placement.run(next).await;
        });
        assert_eq!(thread, "test 1");
    }

    #[test]
    fn a_single_worker_counts_no_streams() {
        let pool = WorkerPool::start("test", 1).expect("a thread");
        let placement = pool.place_stream(0);
        assert_eq!(placement.elsewhere, None);
        assert_eq!(pool.workers[0].streams.0.load(Ordering::Relaxed), 0);
    }

    #[test]
    fn connections_spread_evenly_over_the_workers() {
        let pool = WorkerPool::start("test", 3).expect("three threads");
        let (sender, receiver) = channel();
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
        let (sender, receiver) = channel();
        pool.spawn(|_| pending());
        for _ in 0..3 {
            let sender = sender.clone();
            pool.spawn(move |worker| async move {
                sender.send(worker).expect("the test waits");
            });
            let worker = receiver.recv().expect("the connection is served");
            assert_eq!(worker, 1);
            while pool.workers[1].connections.load(Ordering::Relaxed) > 0 {
                std::thread::yield_now();
            }
        }
    }
}
