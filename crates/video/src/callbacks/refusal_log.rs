//! The log lines about refused callbacks: at most one a minute for each channel, since anyone can send callbacks.

use headgate_core::state::lock::lock;
use std::collections::HashMap;
use std::sync::Mutex;
use std::time::Duration;
use tokio::time::Instant;

const INTERVAL: Duration = Duration::from_secs(60);

/// When the last line of each channel was logged, and how many refusals followed it. It outlives configurations, so that a
/// reload adds no line.
#[derive(Default)]
pub struct RefusalLog(Mutex<HashMap<Box<str>, (Instant, u64)>>);

impl RefusalLog {
    /// Notes a refusal; returns how many refusals a line stands for that is to be logged now.
    pub fn note(&self, channel: &str) -> Option<u64> {
        let mut channels = lock(&self.0);
        let now = Instant::now();
        match channels.get_mut(channel) {
            Some((last, later)) if now.duration_since(*last) < INTERVAL => {
                *later += 1;
                None
            }
            Some((last, later)) => {
                *last = now;
                Some(std::mem::take(later) + 1)
            }
            None => {
                channels.insert(channel.into(), (now, 0));
                Some(1)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::time::advance;

    #[tokio::test(start_paused = true)]
    async fn a_line_a_minute_stands_for_all_refusals_since_the_last_one() {
        let log = RefusalLog::default();
        assert_eq!(log.note("a"), Some(1));
        assert_eq!(log.note("a"), None);
        assert_eq!(log.note("b"), Some(1));
        advance(INTERVAL).await;
        assert_eq!(log.note("a"), Some(2));
        assert_eq!(log.note("a"), None);
    }
}
