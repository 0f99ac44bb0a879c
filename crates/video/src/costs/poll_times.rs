//! When a task is polled whose cost is reserved: rarely, since callers poll as well, and ever more rarely.

/// How long a reservation is kept: as long as the final status of a task.
pub(super) const KEPT_MS: u64 = 7 * 24 * 60 * 60 * 1_000;
/// The first poll after the create, and the least time between two polls.
const INTERVAL_MS_MIN: u64 = 60_000;
/// The time between two polls is this part of the task's age: an end is seen late by no more than that.
const PART_OF_AGE: u64 = 4;

/// When a task that is created now is polled first, in Unix milliseconds.
pub(super) fn first_poll_ms(now_ms: u64) -> u64 {
    now_ms + INTERVAL_MS_MIN
}

/// When a task whose reservation expires at `expires_ms` is polled after a poll that begins now.
pub(super) fn next_poll_ms(expires_ms: u64, now_ms: u64) -> u64 {
    let age_ms = (now_ms + KEPT_MS).saturating_sub(expires_ms);
    now_ms + (age_ms / PART_OF_AGE).max(INTERVAL_MS_MIN)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn polls_of_a_task_become_rarer_until_its_reservation_expires() {
        let expires_ms = KEPT_MS;
        let mut polled_ms = vec![first_poll_ms(0)];
        while polled_ms.last().is_some_and(|last| *last < expires_ms) {
            let last = *polled_ms.last().unwrap();
            polled_ms.push(next_poll_ms(expires_ms, last));
        }
        let minutes: Vec<_> = polled_ms.iter().take(8).map(|ms| ms / 60_000).collect();
        assert_eq!(minutes, [1, 2, 3, 4, 5, 6, 7, 9]);
        assert!(polled_ms.len() < 50, "{} polls in a week", polled_ms.len());
    }
}
