//! Events that the state store does not have yet.

use crate::event::AlertEvent;
use std::collections::VecDeque;

/// Events that are held while the store is unreachable; the earliest are lost beyond.
const EVENTS_MAX: usize = 1000;

/// Events in memory, the earliest first.
#[derive(Default)]
pub(crate) struct UnstoredEvents {
    events: VecDeque<AlertEvent>,
    lost: usize,
}

impl UnstoredEvents {
    /// Adds events.
    pub fn extend(&mut self, events: impl IntoIterator<Item = AlertEvent>) {
        events.into_iter().for_each(|event| self.push(event));
    }

    /// The earliest one.
    pub fn first(&self) -> Option<&AlertEvent> {
        self.events.front()
    }

    /// Removes the earliest one.
    pub fn remove_first(&mut self) {
        self.events.pop_front();
    }

    /// Takes those that are due at a time in Unix milliseconds.
    pub fn take_due(&mut self, now_ms: u64) -> Vec<AlertEvent> {
        let is_due = |event: &AlertEvent| event.due_ms <= now_ms;
        let (due, later): (Vec<_>, Vec<_>) = self.events.drain(..).partition(is_due);
        self.events = later.into();
        due
    }

    /// Number of events.
    pub fn len(&self) -> usize {
        self.events.len()
    }

    /// The number of events that were lost since it was last taken.
    pub fn take_lost(&mut self) -> usize {
        std::mem::take(&mut self.lost)
    }

    fn push(&mut self, event: AlertEvent) {
        if self.events.len() >= EVENTS_MAX {
            self.events.pop_front();
            self.lost += 1;
        }
        self.events.push_back(event);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_earliest_events_are_lost_beyond_the_limit_and_counted() {
        let mut unstored = UnstoredEvents::default();
        for number in 0..EVENTS_MAX + 3 {
            unstored.push(AlertEvent::new(&format!("r{number}"), String::new()));
        }
        assert_eq!(unstored.len(), EVENTS_MAX);
        assert_eq!(unstored.first().unwrap().receiver, "r3");
        assert_eq!((unstored.take_lost(), unstored.take_lost()), (3, 0));
    }

    #[test]
    fn what_is_due_is_taken_and_the_rest_stays_in_its_order() {
        let mut unstored = UnstoredEvents::default();
        for (receiver, due_ms) in [("a", 1), ("b", 9), ("c", 2), ("d", 8)] {
            let event = AlertEvent::new(receiver, String::new());
            unstored.push(AlertEvent { due_ms, ..event });
        }
        let due = unstored.take_due(2);
        let names: Vec<&str> = due.iter().map(|event| &*event.receiver).collect();
        assert_eq!(names, ["a", "c"]);
        assert_eq!(
            (unstored.len(), &*unstored.first().unwrap().receiver),
            (2, "b")
        );
    }
}
