//! Data and queues that the instances of a plugin share, within a limit of bytes.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use tokio::sync::Semaphore;

use crate::abi_status::AbiStatus;

/// Bytes that an entry costs beside its key and its value.
const ENTRY_BYTES: usize = 64;
const QUEUES_MAX: usize = 64;

/// Data and queues that the instances of a plugin share.
pub(crate) struct SharedStore {
    max: usize,
    content: Mutex<SharedContent>,
}

#[derive(Default)]
struct SharedContent {
    bytes: usize,
    entries: HashMap<Vec<u8>, VersionedValue>,
    queues: Vec<SharedQueue>,
}

struct VersionedValue {
    value: Bytes,
    version: u32,
}

struct SharedQueue {
    name: String,
    entries: VecDeque<Bytes>,
    /// A permit for each entry that no instance was called for.
    ready: Arc<Semaphore>,
}

impl SharedStore {
    /// A store of at most `max` bytes.
    pub fn new(max: usize) -> Self {
        Self {
            max,
            content: Mutex::default(),
        }
    }

    /// A value and its version.
    pub fn get(&self, key: &[u8]) -> Result<(Bytes, u32), AbiStatus> {
        let content = self.lock();
        let entry = content.entries.get(key).ok_or(AbiStatus::NotFound)?;
        Ok((entry.value.clone(), entry.version))
    }

    /// Sets a value, if its version is `expected` or that is 0.
    pub fn set(&self, key: &[u8], value: &[u8], expected: u32) -> Result<(), AbiStatus> {
        let mut content = self.lock();
        let former = content.entries.get(key);
        let version = former.map_or(0, |former| former.version);
        if expected != 0 && expected != version {
            return Err(AbiStatus::CasMismatch);
        }
        let freed = former.map_or(0, |former| key.len() + former.value.len() + ENTRY_BYTES);
        let bytes = content.bytes - freed + key.len() + value.len() + ENTRY_BYTES;
        if bytes > self.max {
            return Err(AbiStatus::InternalFailure);
        }
        content.bytes = bytes;
        let entry = VersionedValue {
            value: Bytes::copy_from_slice(value),
            // 0 stands for any version.
            version: version.checked_add(1).unwrap_or(1),
        };
        content.entries.insert(key.to_vec(), entry);
        Ok(())
    }

    /// The id of a queue, which is new unless the name is known, and what gets a permit with each entry.
    pub fn register_queue(&self, name: &str) -> Result<(u32, Arc<Semaphore>), AbiStatus> {
        let mut content = self.lock();
        let known = content.queues.iter().position(|queue| queue.name == name);
        if known.is_none() {
            let bytes = content.bytes + name.len() + ENTRY_BYTES;
            if content.queues.len() >= QUEUES_MAX || bytes > self.max {
                return Err(AbiStatus::InternalFailure);
            }
            content.bytes = bytes;
            content.queues.push(SharedQueue {
                name: name.to_owned(),
                entries: VecDeque::new(),
                ready: Arc::new(Semaphore::new(0)),
            });
        }
        let place = known.unwrap_or(content.queues.len() - 1);
        Ok((queue_id(place), Arc::clone(&content.queues[place].ready)))
    }

    pub fn resolve_queue(&self, name: &str) -> Result<u32, AbiStatus> {
        let content = self.lock();
        let place = content.queues.iter().position(|queue| queue.name == name);
        place.map(queue_id).ok_or(AbiStatus::NotFound)
    }

    pub fn enqueue(&self, id: u32, entry: &[u8]) -> Result<(), AbiStatus> {
        let mut content = self.lock();
        let bytes = content.bytes + entry.len() + ENTRY_BYTES;
        let queue = content.queue(id)?;
        if bytes > self.max {
            return Err(AbiStatus::InternalFailure);
        }
        queue.entries.push_back(Bytes::copy_from_slice(entry));
        queue.ready.add_permits(1);
        content.bytes = bytes;
        Ok(())
    }

    pub fn dequeue(&self, id: u32) -> Result<Bytes, AbiStatus> {
        let mut content = self.lock();
        let queue = content.queue(id)?;
        let entry = queue.entries.pop_front().ok_or(AbiStatus::Empty)?;
        content.bytes -= entry.len() + ENTRY_BYTES;
        Ok(entry)
    }

    fn lock(&self) -> MutexGuard<'_, SharedContent> {
        self.content.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl SharedContent {
    fn queue(&mut self, id: u32) -> Result<&mut SharedQueue, AbiStatus> {
        let place = (id as usize).checked_sub(1);
        place
            .and_then(|place| self.queues.get_mut(place))
            .ok_or(AbiStatus::NotFound)
    }
}

/// Ids begin at 1.
fn queue_id(place: usize) -> u32 {
    u32::try_from(place + 1).unwrap_or(u32::MAX)
}
