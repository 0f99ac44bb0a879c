//! Request ids: unique and short, but not secret.

use headgate_core::request_id::RequestId;
use headgate_protocol::hex::write_digits;
use std::cell::Cell;
use std::hash::{BuildHasher, RandomState};

thread_local! {
    /// Seeded by the operating system once per thread.
    static STATE: Cell<(u64, u64)> = {
        let seed = RandomState::new();
        Cell::new((seed.hash_one(1) | 1, seed.hash_one(2)))
    };
}

/// A new id: `req_` and 24 hex digits.
pub fn new() -> RequestId {
    let (high, low) = (draw(), draw());
    let mut random = [0; 12];
    random[..4].copy_from_slice(&high.to_be_bytes()[..4]);
    random[4..].copy_from_slice(&low.to_be_bytes());
    let mut id = *b"req_------------------------";
    write_digits(&random, &mut id[4..]);
    id.into()
}

/// xorshift128+: ids may be predictable, but two threads must not draw the same.
fn draw() -> u64 {
    STATE.with(|state| {
        let (mut a, b) = state.get();
        a ^= a << 23;
        let next = a ^ b ^ (a >> 17) ^ (b >> 26);
        state.set((b, next));
        next.wrapping_add(b)
    })
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    #[test]
    fn ids_differ_across_threads() {
        let threads: Vec<_> = (0..4)
            .map(|_| {
                std::thread::spawn(|| {
                    (0..10_000)
                        .map(|_| super::new().to_string())
                        .collect::<Vec<_>>()
                })
            })
            .collect();
        let ids: HashSet<_> = threads
            .into_iter()
            .flat_map(|thread| thread.join().unwrap())
            .collect();
        assert_eq!(ids.len(), 40_000);
        assert!(ids.iter().all(|id| id.len() == 28));
    }
}
