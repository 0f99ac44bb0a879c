//! Values of which each thread has its own, so that threads that count at the same time never write one cache line.

use std::sync::atomic::{AtomicI64, Ordering};
use thread_local::ThreadLocal;

/// One value for each thread that has asked for its own, in cache lines of its own.
///
/// A request counts in the value of its thread, and who reads adds up the values of all threads. The value of a thread that
/// has ended stays, and a later thread goes on with it: nothing that was counted is lost.
pub struct ThreadShards<T: Send>(ThreadLocal<ThreadShard<T>>);

/// The value of one thread. A cache line has 64 bytes on the processors that matter.
#[repr(align(64))]
struct ThreadShard<T>(T);

/// A number that requests raise and lower, such as how many of them are in flight. A request may end on another thread than
/// the one where it began.
#[derive(Default)]
pub struct ThreadGauge(ThreadShards<AtomicI64>);

/// One that a [`ThreadGauge`] counts until this is dropped.
pub struct ThreadGaugeGuard<'g>(&'g ThreadGauge);

impl<T: Send> Default for ThreadShards<T> {
    fn default() -> Self {
        Self(ThreadLocal::new())
    }
}

impl<T: Send + Sync> ThreadShards<T> {
    /// The calling thread's own value, which `first` makes if the thread has none.
    pub fn own_or(&self, first: impl FnOnce() -> T) -> &T {
        &self.0.get_or(|| ThreadShard(first())).0
    }

    /// The values of all threads, also of those that have ended.
    pub fn iter(&self) -> impl Iterator<Item = &T> {
        self.0.iter().map(|shard| &shard.0)
    }
}

impl<T: Send + Sync + Default> ThreadShards<T> {
    /// The calling thread's own value.
    pub fn own(&self) -> &T {
        self.own_or(T::default)
    }
}

impl ThreadGauge {
    /// Adds `change`, which may be negative.
    pub fn add(&self, change: i64) {
        let own = self.0.own();
        // No other thread writes it, so that two steps lose nothing.
        let sum = own.load(Ordering::Relaxed).wrapping_add(change);
        own.store(sum, Ordering::Relaxed);
    }

    /// Adds one until the guard is dropped.
    pub fn guard(&self) -> ThreadGaugeGuard<'_> {
        self.add(1);
        ThreadGaugeGuard(self)
    }

    /// The sum of all changes.
    pub fn sum(&self) -> i64 {
        let values = self.0.iter().map(|value| value.load(Ordering::Relaxed));
        values.fold(0, i64::wrapping_add)
    }
}

impl Drop for ThreadGaugeGuard<'_> {
    fn drop(&mut self) {
        self.0.add(-1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::state::lock::lock;
    use std::sync::mpsc::channel;
    use std::sync::{Barrier, Mutex};
    use std::thread;

    #[test]
    fn changes_of_several_threads_add_up_and_those_of_ended_threads_stay() {
        let gauge = ThreadGauge::default();
        let counts: ThreadShards<Mutex<u64>> = ThreadShards::default();
        // The second round's threads go on with the values of the first.
        for _ in 0..2 {
            thread::scope(|scope| {
                for _ in 0..4 {
                    scope.spawn(|| {
                        for _ in 0..10_000 {
                            gauge.add(3);
                            gauge.add(-1);
                            *lock(counts.own()) += 1;
                        }
                    });
                }
            });
        }
        assert_eq!(gauge.sum(), 160_000);
        let counted: u64 = counts.iter().map(|count| *lock(count)).sum();
        assert_eq!(counted, 80_000);
        assert!(counts.iter().count() <= 8);
    }

    #[test]
    fn what_begins_on_one_thread_and_ends_on_another_leaves_zero() {
        let gauge = ThreadGauge::default();
        let (begun, ends) = channel();
        thread::scope(|scope| {
            let gauge = &gauge;
            scope.spawn(move || {
                for _ in 0..1000 {
                    gauge.add(1);
                    begun.send(()).expect("the other thread ends them");
                }
            });
            scope.spawn(move || ends.iter().for_each(|()| gauge.add(-1)));
        });
        assert_eq!(gauge.sum(), 0);
    }

    #[test]
    fn values_of_two_threads_are_in_different_cache_lines() {
        let shards: ThreadShards<AtomicI64> = ThreadShards::default();
        let line = || std::ptr::from_ref(shards.own()).addr() / 64;
        let own = line();
        let both = Barrier::new(2);
        let lines = thread::scope(|scope| {
            let threads = [(); 2].map(|()| {
                scope.spawn(|| {
                    let line = line();
                    // A thread that ends leaves its value to the next one.
                    both.wait();
                    line
                })
            });
            threads.map(|thread| thread.join().unwrap())
        });
        assert!(
            lines[0] != lines[1] && !lines.contains(&own),
            "{lines:?} {own}"
        );
    }
}
