//! The conversations of one WebSocket whose responses the provider does not store, within a limit of memory.

use super::item_list::append_items;
use bytes::{Bytes, BytesMut};
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// What a response takes beside its items, in bytes.
const OVERHEAD: usize = 256;
/// Maximum number of ids that are known to be forgotten.
const FORGOTTEN_MAX: usize = 4096;

/// A response with the input that led to it, after the response that it continued.
#[derive(Debug)]
pub struct ConversationNode {
    parent: Option<Arc<Self>>,
    /// JSON texts with commas between them.
    items: Bytes,
    /// Memory of all nodes of the WebSocket, in bytes.
    all_bytes: Arc<AtomicUsize>,
}

/// The responses that can be continued.
#[derive(Debug)]
pub struct ConversationHistory {
    bytes_max: usize,
    all_bytes: Arc<AtomicUsize>,
    /// By id, the oldest first.
    known: VecDeque<(String, Arc<ConversationNode>)>,
    /// Ids of responses that were dropped, so that none is continued without its history.
    forgotten: VecDeque<String>,
}

/// What is known of a response that is to be continued.
#[derive(Debug)]
pub enum KnownResponse {
    Known(Arc<ConversationNode>),
    /// It was made on this WebSocket, and dropped.
    Forgotten,
    /// It was made elsewhere, or the provider has stored it.
    Elsewhere,
}

/// A response that can be continued.
#[derive(Debug)]
pub struct CompletedResponse {
    pub id: String,
    pub parent: Option<Arc<ConversationNode>>,
    /// The input and the output, as JSON texts with commas between them.
    pub items: Bytes,
}

impl ConversationHistory {
    /// Keeps responses that take `bytes_max` bytes together.
    pub fn new(bytes_max: usize) -> Self {
        Self {
            bytes_max,
            all_bytes: Arc::default(),
            known: VecDeque::new(),
            forgotten: VecDeque::new(),
        }
    }

    pub fn find(&self, id: &str) -> KnownResponse {
        if let Some((_, node)) = self.known.iter().rev().find(|(known, _)| known == id) {
            return KnownResponse::Known(node.clone());
        }
        match self.forgotten.iter().any(|forgotten| forgotten == id) {
            true => KnownResponse::Forgotten,
            false => KnownResponse::Elsewhere,
        }
    }

    /// Adds a response, and drops the oldest ones for which there is no room.
    pub fn add(&mut self, completed: CompletedResponse) {
        let CompletedResponse { id, parent, items } = completed;
        let all_bytes = self.all_bytes.clone();
        all_bytes.fetch_add(items.len() + OVERHEAD, Ordering::Relaxed);
        let node = ConversationNode {
            parent,
            items,
            all_bytes,
        };
        self.known.push_back((id, Arc::new(node)));
        while self.all_bytes.load(Ordering::Relaxed) > self.bytes_max {
            // Also the new one, if its conversation alone takes more.
            let Some((id, _)) = self.known.pop_front() else {
                break;
            };
            if self.forgotten.len() == FORGOTTEN_MAX {
                self.forgotten.pop_front();
            }
            self.forgotten.push_back(id);
        }
    }
}

impl ConversationNode {
    /// Appends the items of the conversation, the oldest first.
    pub fn append_items(&self, list: &mut BytesMut) {
        let mut nodes = vec![self];
        while let Some(parent) = nodes.last().and_then(|node| node.parent.as_deref()) {
            nodes.push(parent);
        }
        for node in nodes.into_iter().rev() {
            append_items(list, &node.items);
        }
    }
}

impl Drop for ConversationNode {
    fn drop(&mut self) {
        let bytes = self.items.len() + OVERHEAD;
        self.all_bytes.fetch_sub(bytes, Ordering::Relaxed);
        // One after the other: a long conversation must not need as much stack.
        let mut next = self.parent.take();
        while let Some(node) = next {
            next = Arc::into_inner(node).and_then(|mut node| node.parent.take());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn completed(id: usize, parent: Option<Arc<ConversationNode>>) -> CompletedResponse {
        CompletedResponse {
            id: format!("resp_{id}"),
            parent,
            items: format!("{{\"n\":{id}}}").into(),
        }
    }

    fn node(history: &ConversationHistory, id: usize) -> Option<Arc<ConversationNode>> {
        match history.find(&format!("resp_{id}")) {
            KnownResponse::Known(node) => Some(node),
            _ => None,
        }
    }

    #[test]
    fn a_conversation_has_its_items_in_order_with_commas_between_them() {
        let mut history = ConversationHistory::new(1 << 20);
        let mut parent = None;
        for id in 0..3 {
            history.add(completed(id, parent));
            parent = node(&history, id);
        }
        let mut list = BytesMut::from("[");
        parent.unwrap().append_items(&mut list);
        assert_eq!(list, r#"[{"n":0},{"n":1},{"n":2}"#);
    }

    #[test]
    fn the_oldest_responses_make_room_and_are_known_to_be_forgotten() {
        let mut history = ConversationHistory::new(4 * (OVERHEAD + 8));
        for id in 0..10 {
            history.add(completed(id, None));
        }
        for id in 0..10 {
            let is_known = node(&history, id).is_some();
            assert_eq!(is_known, id >= 6, "{id}");
            let found = history.find(&format!("resp_{id}"));
            assert_eq!(matches!(found, KnownResponse::Forgotten), id < 6, "{id}");
        }
        assert!(matches!(history.find("resp_x"), KnownResponse::Elsewhere));
    }

    #[test]
    fn a_conversation_that_alone_takes_too_much_is_dropped_and_frees_its_memory() {
        let mut history = ConversationHistory::new(5 * (OVERHEAD + 8));
        let mut parent = None;
        for id in 0..8 {
            history.add(completed(id, parent.take()));
            parent = node(&history, id);
        }
        // The sixth needed too much, so that the seventh began a conversation of its own.
        for id in 0..8 {
            assert_eq!(node(&history, id).is_some(), id > 5, "{id}");
        }
        drop(parent);
        assert!(history.all_bytes.load(Ordering::Relaxed) <= history.bytes_max);
        history.add(completed(9, None));
        assert!(node(&history, 9).is_some());
    }

    #[test]
    fn the_end_of_a_long_conversation_needs_little_stack() {
        let mut history = ConversationHistory::new(usize::MAX);
        let mut parent = None;
        for id in 0..100_000 {
            history.add(completed(id, parent.take()));
            parent = history.known.back().map(|(_, node)| node.clone());
            if history.known.len() > 1 {
                history.known.pop_front();
            }
        }
        let all_bytes = history.all_bytes.clone();
        drop((history, parent));
        assert_eq!(all_bytes.load(Ordering::Relaxed), 0);
    }
}
