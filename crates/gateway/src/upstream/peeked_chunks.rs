//! The chunks of a response that were read before they are passed on.

use bytes::Bytes;
use std::collections::VecDeque;

/// Chunks in their order. A single one needs no allocation.
#[derive(Default)]
pub struct PeekedChunks {
    first: Option<Bytes>,
    more: VecDeque<Bytes>,
}

impl PeekedChunks {
    pub fn push_back(&mut self, chunk: Bytes) {
        match &self.first {
            None => self.first = Some(chunk),
            Some(_) => self.more.push_back(chunk),
        }
    }

    pub fn pop_front(&mut self) -> Option<Bytes> {
        let next = self.more.pop_front();
        std::mem::replace(&mut self.first, next)
    }

    pub fn is_empty(&self) -> bool {
        self.first.is_none()
    }

    pub fn iter(&self) -> impl Iterator<Item = &Bytes> {
        self.first.iter().chain(&self.more)
    }
}
