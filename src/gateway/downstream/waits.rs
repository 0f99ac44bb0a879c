//! Measures whom an exchange waits for. What is ready at once costs no look at the clock.

use crate::observe::time_spent::{Silence, TimeSpent};
use std::future::{Future, poll_fn};
use std::pin::pin;
use std::task::Poll;
use std::time::{Duration, Instant};

/// The waits of an exchange so far.
#[derive(Default)]
pub struct Waits {
    upstream: Silence,
    client: Silence,
    /// How long the provider has been silent now: one wait may follow another.
    silent: Duration,
    /// The longest time between two waits.
    between: Duration,
    last_ended: Option<Instant>,
}

#[derive(Clone, Copy)]
enum Side {
    Upstream,
    Client,
}

impl Waits {
    /// Waits for the provider; `answered` tells whether the outcome ends its silence.
    pub async fn upstream<T>(
        &mut self,
        work: impl Future<Output = T>,
        answered: impl Fn(&T) -> bool,
    ) -> T {
        let done = self.measured(Side::Upstream, work).await;
        if answered(&done) {
            self.silent = Duration::ZERO;
        }
        done
    }

    /// Waits for the caller.
    pub async fn client<T>(&mut self, work: impl Future<Output = T>) -> T {
        self.measured(Side::Client, work).await
    }

    /// Moves `time`, which was counted as a wait for the provider, to the caller, whose body came slowly.
    pub fn move_to_client(&mut self, time: Duration) {
        self.upstream.total = self.upstream.total.saturating_sub(time);
        self.upstream.longest = self.upstream.longest.saturating_sub(time);
        if !time.is_zero() {
            self.client.add(time);
        }
    }

    /// Where the time went of an exchange that took from `began` until now.
    pub fn settle(&self, began: Instant) -> TimeSpent {
        let Self {
            upstream,
            client,
            between,
            last_ended,
            silent: _,
        } = self;
        let total = began.elapsed();
        let since = last_ended.unwrap_or(began).elapsed();
        TimeSpent {
            upstream: *upstream,
            client: *client,
            gateway: Silence {
                total: total.saturating_sub(upstream.total + client.total),
                longest: since.max(*between),
            },
        }
    }

    async fn measured<T>(&mut self, side: Side, work: impl Future<Output = T>) -> T {
        let mut work = pin!(work);
        let at_once = poll_fn(|context| Poll::Ready(work.as_mut().poll(context))).await;
        if let Poll::Ready(done) = at_once {
            return done;
        }
        let _wait = Wait::begin(self, side);
        work.await
    }
}

/// A wait that has begun; it ends when it is dropped, with the work done or given up.
struct Wait<'w> {
    waits: &'w mut Waits,
    side: Side,
    began: Instant,
}

impl<'w> Wait<'w> {
    fn begin(waits: &'w mut Waits, side: Side) -> Self {
        let began = Instant::now();
        if let Some(last_ended) = waits.last_ended {
            waits.between = waits.between.max(began - last_ended);
        }
        Self { waits, side, began }
    }
}

impl Drop for Wait<'_> {
    fn drop(&mut self) {
        let Self { waits, side, began } = self;
        let ended = Instant::now();
        waits.last_ended = Some(ended);
        match side {
            Side::Upstream => {
                waits.silent += ended - *began;
                waits.upstream.total += ended - *began;
                waits.upstream.longest = waits.upstream.longest.max(waits.silent);
            }
            Side::Client => waits.client.add(ended - *began),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Waits;
    use crate::observe::time_spent::{Silence, TimeSpent};
    use std::time::{Duration, Instant};
    use tokio::time::sleep;

    const SHORT: Duration = Duration::from_millis(20);
    const LONG: Duration = Duration::from_millis(60);

    #[tokio::test]
    async fn each_side_has_its_waits_and_the_gateway_the_rest() {
        let began = Instant::now();
        let mut waits = Waits::default();
        waits.upstream(sleep(SHORT), |()| true).await;
        std::thread::sleep(SHORT);
        waits.upstream(sleep(SHORT), |()| false).await;
        waits.upstream(sleep(LONG), |()| true).await;
        waits.client(sleep(SHORT)).await;
        assert_eq!(waits.client(async { 7 }).await, 7);
        let TimeSpent {
            upstream,
            client,
            gateway,
        } = waits.settle(began);
        assert!(upstream.longest >= SHORT + LONG && upstream.total >= SHORT * 2 + LONG);
        assert!(client.longest >= SHORT && client.longest == client.total);
        assert!(gateway.longest >= SHORT && gateway.total >= gateway.longest);
        let sum = upstream.total + client.total + gateway.total;
        assert!(sum >= SHORT * 4 + LONG && sum <= began.elapsed());
    }

    #[tokio::test]
    async fn what_is_ready_at_once_is_no_wait() {
        let mut waits = Waits::default();
        for _ in 0..100 {
            waits.upstream(async {}, |()| true).await;
            waits.client(async {}).await;
        }
        let spent = waits.settle(Instant::now());
        assert_eq!(
            (spent.upstream, spent.client),
            (Silence::default(), Silence::default())
        );
    }
}
