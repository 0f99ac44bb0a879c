//! The memory of all instances of a host together: what they have, and who gives some back when there is no more.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use tokio::sync::Notify;

/// Instances, some of which may be idle.
pub(crate) trait EndIdleInstances: Send + Sync {
    /// Ends the instances that can be spared.
    fn end_idle(&self);
}

/// The memory that the instances of a host may have together.
pub(crate) struct MemoryBudget {
    max: AtomicUsize,
    taken: AtomicUsize,
    /// Those whose idle instances may be ended.
    pools: Mutex<Vec<Weak<dyn EndIdleInstances>>>,
    /// Notified when memory is given back.
    freed: Notify,
}

/// What one instance has of the budget. Dropped with the instance.
pub(crate) struct MemoryShare {
    budget: Arc<MemoryBudget>,
    bytes: usize,
    /// Bytes of the growth that was admitted last, in case that it fails.
    last: usize,
}

impl MemoryBudget {
    /// A budget of this many bytes.
    pub fn new(max: usize) -> Self {
        Self {
            max: AtomicUsize::new(max),
            taken: AtomicUsize::new(0),
            pools: Mutex::default(),
            freed: Notify::new(),
        }
    }

    pub fn max(&self) -> usize {
        self.max.load(Ordering::Acquire)
    }

    /// What instances have beyond a smaller budget stays theirs.
    pub fn set_max(&self, bytes: usize) {
        self.max.store(bytes, Ordering::Release);
        self.freed.notify_waiters();
    }

    /// The bytes that instances have.
    pub fn taken(&self) -> usize {
        self.taken.load(Ordering::Acquire)
    }

    /// The bytes that are left.
    pub fn room(&self) -> usize {
        self.max().saturating_sub(self.taken())
    }

    /// Notified when memory is given back.
    pub fn freed(&self) -> &Notify {
        &self.freed
    }

    /// The pool ends idle instances when memory is short.
    pub fn register(&self, pool: Weak<dyn EndIdleInstances>) {
        let mut pools = self.pools.lock().unwrap_or_else(PoisonError::into_inner);
        pools.retain(|pool| pool.strong_count() > 0);
        pools.push(pool);
    }

    /// Takes bytes; if there are none left, after idle instances have ended.
    fn take(&self, bytes: usize) -> bool {
        if self.try_take(bytes) {
            return true;
        }
        for pool in self.registered() {
            pool.end_idle();
            if self.try_take(bytes) {
                return true;
            }
        }
        false
    }

    fn registered(&self) -> Vec<Arc<dyn EndIdleInstances>> {
        let pools = self.pools.lock().unwrap_or_else(PoisonError::into_inner);
        pools.iter().filter_map(Weak::upgrade).collect()
    }

    fn try_take(&self, bytes: usize) -> bool {
        let max = self.max();
        let taken = &self.taken;
        taken
            .fetch_update(Ordering::AcqRel, Ordering::Acquire, |taken| {
                taken.checked_add(bytes).filter(|sum| *sum <= max)
            })
            .is_ok()
    }

    fn give_back(&self, bytes: usize) {
        if bytes > 0 {
            self.taken.fetch_sub(bytes, Ordering::AcqRel);
            self.freed.notify_waiters();
        }
    }
}

impl MemoryShare {
    /// A share of no bytes.
    pub fn new(budget: Arc<MemoryBudget>) -> Self {
        Self {
            budget,
            bytes: 0,
            last: 0,
        }
    }

    /// The budget that the share is of.
    pub fn budget(&self) -> &MemoryBudget {
        &self.budget
    }

    /// Takes more bytes. False if the budget has no room.
    pub fn grow(&mut self, more: usize) -> bool {
        let is_taken = self.budget.take(more);
        if is_taken {
            self.bytes += more;
            self.last = more;
        }
        is_taken
    }

    /// Gives back what [`Self::grow`] took last.
    pub fn undo_growth(&mut self) {
        let last = std::mem::take(&mut self.last);
        self.bytes -= last;
        self.budget.give_back(last);
    }
}

impl Drop for MemoryShare {
    fn drop(&mut self) {
        self.budget.give_back(self.bytes);
    }
}
