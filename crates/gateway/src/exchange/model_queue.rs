//! The models that one exchange was and will be sent to.

use headgate_core::catalog::fallback::MODELS_MAX;
use std::collections::VecDeque;
use std::sync::Arc;

/// Models that may stand in, each at most once. A request is sent to [`MODELS_MAX`] models at most; those that are passed
/// over do not count.
pub(super) struct ModelQueue {
    /// The models that were taken so far, with the one that the request names.
    taken: Vec<Arc<str>>,
    waiting: VecDeque<Arc<str>>,
    /// The number of models that the request was sent to.
    sent: usize,
}

impl ModelQueue {
    /// A queue after `requested`, the model that the request names.
    pub fn new(requested: &Arc<str>) -> Self {
        Self {
            taken: vec![requested.clone()],
            waiting: VecDeque::new(),
            sent: 1,
        }
    }

    /// Adds models, in their order, before those that wait.
    pub fn add_first(&mut self, models: &[Arc<str>]) {
        for name in models.iter().rev() {
            self.waiting.push_front(name.clone());
        }
    }

    /// Takes the next model that was not taken before.
    pub fn next(&mut self) -> Option<Arc<str>> {
        if self.sent >= MODELS_MAX {
            self.waiting.clear();
        }
        while let Some(name) = self.waiting.pop_front() {
            if !self.taken.contains(&name) {
                self.taken.push(name.clone());
                return Some(name);
            }
        }
        None
    }

    /// Counts the model that was taken last, if the request is sent to it.
    pub fn count_sent(&mut self, is_sent: bool) {
        self.sent += usize::from(is_sent);
    }

    pub fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(names: &[&str]) -> Vec<Arc<str>> {
        names.iter().map(|name| Arc::from(*name)).collect()
    }

    #[test]
    fn a_model_comes_once_and_the_request_is_sent_to_no_more_than_three() {
        let mut queue = ModelQueue::new(&"a".into());
        assert!(queue.next().is_none());
        queue.add_first(&names(&["a", "forbidden", "b", "c"]));
        // A model that is passed over does not count.
        assert_eq!(queue.next().as_deref(), Some("forbidden"));
        queue.count_sent(false);
        assert_eq!(queue.next().as_deref(), Some("b"));
        queue.count_sent(true);
        queue.add_first(&names(&["b", "d", "a"]));
        assert_eq!(queue.next().as_deref(), Some("d"));
        queue.count_sent(true);
        assert!(!queue.is_empty());
        assert!(queue.next().is_none());
        assert!(queue.is_empty());
    }
}
