//! Looks up an id that another gateway may have created a moment ago.

use super::{StateStore, StoreUnavailable};
use std::sync::Arc;
use std::time::Duration;
use tokio::time::sleep;

/// The waits before an unknown id is looked up again, 300 ms in all. A gateway writes an id while it sends the response that
/// has it, which takes milliseconds: a client that names the id at once may reach another gateway before it is written.
const WAITS: [Duration; 3] = [
    Duration::from_millis(20),
    Duration::from_millis(80),
    Duration::from_millis(200),
];

/// The channel that created `id` for `caller`. If other gateways write to the store, the answer that nobody knows the id takes
/// 300 ms.
///
/// # Errors
/// The store is unreachable.
pub async fn find_channel_of_new_id(
    store: &dyn StateStore,
    caller: &Arc<str>,
    id: &str,
) -> Result<Option<Arc<str>>, StoreUnavailable> {
    let mut waits = WAITS.iter();
    loop {
        let found = store.find_channel(caller, id).get().await?;
        match waits.next() {
            Some(wait) if found.is_none() && store.has_other_writers() => sleep(*wait).await,
            _ => return Ok(found),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::state::memory::MemoryStore;
    use crate::state::test_stores::InterceptedStore;
    use tokio::time::Instant;

    #[tokio::test(start_paused = true)]
    async fn an_id_that_another_gateway_writes_meanwhile_is_found() {
        let store = InterceptedStore::new(|_| Box::pin(async { Ok(()) }));
        let (ann, primary) = (Arc::from("ann"), Arc::from("primary"));
        let write = async {
            sleep(Duration::from_millis(250)).await;
            store.remember(&ann, "file-1", &primary);
        };
        let (found, ()) = tokio::join!(find_channel_of_new_id(&store, &ann, "file-1"), write);
        assert_eq!(found.unwrap(), Some(primary));
    }

    #[tokio::test(start_paused = true)]
    async fn an_unknown_id_costs_a_wait_only_if_others_write_to_the_store() {
        let ann = Arc::from("ann");
        let shared = InterceptedStore::new(|_| Box::pin(async { Ok(()) }));
        let stores: [(&dyn StateStore, u64); 2] = [(&MemoryStore::default(), 0), (&shared, 300)];
        for (store, expected_ms) in stores {
            let begun = Instant::now();
            let found = find_channel_of_new_id(store, &ann, "file-1").await;
            assert_eq!(found.unwrap(), None);
            assert_eq!(begun.elapsed(), Duration::from_millis(expected_ms));
        }
    }
}
