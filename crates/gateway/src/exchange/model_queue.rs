//! The models that one exchange was and will be sent to.

use headgate_core::catalog::fallback::MODELS_MAX;
use std::collections::VecDeque;
use std::sync::Arc;

/// Models that may stand in, each at most once, and [`MODELS_MAX`] models in all.
pub(super) struct ModelQueue {
    /// The models that were chosen so far, with the one that the request names.
    chosen: Vec<Arc<str>>,
    waiting: VecDeque<Arc<str>>,
}

impl ModelQueue {
    /// A queue after `requested`, the model that the request names.
    pub fn new(requested: &Arc<str>) -> Self {
        Self {
            chosen: vec![requested.clone()],
            waiting: VecDeque::new(),
        }
    }

    /// Adds models, in their order, before those that wait.
    pub fn add_first(&mut self, models: &[Arc<str>]) {
        for name in models.iter().rev() {
            self.waiting.push_front(name.clone());
        }
    }

    /// Takes the next model that was not chosen before.
    pub fn next(&mut self) -> Option<Arc<str>> {
        while let Some(name) = self.waiting.pop_front() {
            if self.chosen.len() >= MODELS_MAX {
                self.waiting.clear();
                return None;
            }
            if !self.chosen.contains(&name) {
                self.chosen.push(name.clone());
                return Some(name);
            }
        }
        None
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
    fn a_model_comes_once_and_no_more_than_three_come() {
        let mut queue = ModelQueue::new(&"a".into());
        assert!(queue.next().is_none());
        queue.add_first(&names(&["a", "b", "c"]));
        assert_eq!(queue.next().as_deref(), Some("b"));
        queue.add_first(&names(&["b", "d", "a"]));
        assert_eq!(queue.next().as_deref(), Some("d"));
        assert!(!queue.is_empty());
        assert!(queue.next().is_none());
        assert!(queue.is_empty());
    }
}
