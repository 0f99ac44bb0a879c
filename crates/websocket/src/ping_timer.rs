//! When an idle peer is pinged, and when it is given up.

use std::pin::Pin;
use std::time::Duration;
use tokio::time::{Instant, Sleep, sleep};

/// Measures the time since the last input of a peer.
pub(crate) struct PingTimer {
    elapsed: Pin<Box<Sleep>>,
    interval: Duration,
    is_pinged: bool,
}

/// What is to be done with a peer of which nothing came for an interval.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum IdlePeerAction {
    Ping,
    /// It did not answer the last ping.
    GiveUp,
}

impl PingTimer {
    pub fn new(interval: Duration) -> Self {
        Self {
            elapsed: Box::pin(sleep(interval)),
            interval,
            is_pinged: false,
        }
    }

    /// Notes that something came.
    pub fn note_input(&mut self) {
        self.is_pinged = false;
        self.begin_interval();
    }

    /// Waits until something is to be done. A call whose future is dropped is continued by the next one.
    pub async fn next_action(&mut self) -> IdlePeerAction {
        self.elapsed.as_mut().await;
        self.begin_interval();
        match std::mem::replace(&mut self.is_pinged, true) {
            false => IdlePeerAction::Ping,
            true => IdlePeerAction::GiveUp,
        }
    }

    fn begin_interval(&mut self) {
        self.elapsed.as_mut().reset(Instant::now() + self.interval);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_peer_is_given_up_only_after_a_ping_without_an_answer() {
        let interval = Duration::from_secs(30);
        let mut timer = PingTimer::new(interval);
        assert_eq!(timer.next_action().await, IdlePeerAction::Ping);
        timer.note_input();
        let began = Instant::now();
        assert_eq!(timer.next_action().await, IdlePeerAction::Ping);
        assert_eq!(timer.next_action().await, IdlePeerAction::GiveUp);
        assert_eq!(began.elapsed(), interval * 2);
    }
}
